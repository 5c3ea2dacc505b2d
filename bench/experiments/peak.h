/* peak.h - the most that a GPU's units can give a row of sgemm, by the data sheet. */
#ifndef DUO_PEAK_H
#define DUO_PEAK_H

#include "duoblas.h"

/*
 * FLOP/s of the product. A row on tensor cores: what the sheet says of its type, by the products
 * that it makes of one. All others: every FP32 lane a fused multiply-add in each cycle of the
 * device's highest clock. 0: not known here.
 */
double duo_peak_flops(const char *row, const duo_device_info *device);

#endif
