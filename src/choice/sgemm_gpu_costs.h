/* sgemm_gpu_costs.h - what the costs of sgemm_gpu_costs.c and sgemm_gpu_thin_costs.c share. */
#ifndef DUO_SGEMM_GPU_COSTS_H
#define DUO_SGEMM_GPU_COSTS_H

#include <math.h>

#include "choice/costs.h"

/* The size in whole tiles. A size of 0 counts as 1: a call with k = 0 is predicted, too. */
static inline double duo_whole_tiles(int64_t size, double tile)
{
    return ceil((double)(size > 1 ? size : 1) / tile) * tile;
}

/* Kept arrays have to fit; operands in host memory are streamed, which takes little memory. */
static inline bool duo_sgemm_fits_device(const duo_call *call, const duo_conditions *conditions)
{
    const double least = 0x1p21; /* bytes for a plan of the smallest blocks, of 2048 of k */
    double bytes = 0.0;
    for (int i = 0; i < DUO_OPERANDS; i++) {
        const duo_operand *const o = &call->operand[i];
        if (!duo_operand_touched(o) || o->on_device) continue;
        bytes += duo_operand_hosted(o) ? fmin(duo_operand_bytes(o), least) : duo_operand_bytes(o);
    }
    return conditions->gpu && bytes <= conditions->device_memory_bytes;
}

/* Seconds to read so many bytes of device memory: what ssum takes for them. */
static inline double duo_device_memory_seconds(const duo_conditions *conditions, double bytes)
{
    return duo_curve_seconds(&conditions->profile->curve[DUO_ssum_gpu_shuffle], bytes / 4.0, 1);
}

/* Multiprocessors of the device. Until a device was looked at those of an H100, 132: its curves are
 * used till then. */
static inline double duo_multiprocessors(const duo_conditions *conditions)
{
    return conditions->multiprocessors > 0 ? conditions->multiprocessors : 132.0;
}

#endif
