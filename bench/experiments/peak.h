/* peak.h - the most that a GPU's units can give a product, by the data sheet. */
#ifndef DUO_PEAK_H
#define DUO_PEAK_H

#include "choice/algorithm.h"

/*
 * FLOP/s of a product by this algorithm of the GPU. On tensor cores: what the sheet says of their
 * type, over the products of that type that make one of float32's. On FP32 lanes, and where there
 * is no algorithm of ours (NULL): in each cycle of the device's highest clock a fused multiply-add
 * on every lane. 0: not known here.
 */
double duo_peak_flops(const duo_algorithm *algorithm, const duo_device_info *device);

#endif
