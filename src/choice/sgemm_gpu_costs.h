/* sgemm_gpu_costs.h - shared by sgemm_gpu_costs.c and the costs of thin products and of wgmma. */
#ifndef DUO_SGEMM_GPU_COSTS_H
#define DUO_SGEMM_GPU_COSTS_H

#include <math.h>

#include "choice/costs.h"
#include "gpu/batched/plan.h"
#include "gpu/whole.h"

/* The size in whole tiles. A size of 0 counts as 1: a call with k = 0 is predicted, too. */
static inline double duo_whole_tiles(int64_t size, double tile)
{
    return duo_whole((double)(size > 1 ? size : 1) / tile) * tile;
}

/* Kept arrays have to fit; operands in host memory are streamed, which takes little memory. */
static inline bool duo_sgemm_fits_device(const duo_call *call, const duo_conditions *conditions)
{
    const double least = 0x1p21; /* bytes for a plan of the smallest blocks, of 2048 of k */
    double bytes = 0.0;
    for (int i = 0; i < DUO_OPERANDS; i++) {
        const duo_operand *const o = &call->operand[i];
        if (!duo_operand_touched(o) || o->on_device) continue;
        bytes +=
            duo_operand_lies_in_host(o) ? fmin(duo_operand_bytes(o), least) : duo_operand_bytes(o);
    }
    return conditions->gpu && bytes <= conditions->device_memory_bytes;
}

/* May every segment be one chain? Not in vector products in DUO_MATH_IEEE (product_order.h):
 * algorithms that know no other segment leave those to others. */
static inline bool duo_one_chain_will_do(const duo_call *call, const duo_conditions *conditions)
{
    return conditions->math != DUO_MATH_IEEE || !duo_call_is_vector(call);
}

/* Seconds to read bytes of device memory: ssum's time for them. */
static inline double duo_device_memory_seconds(const duo_conditions *conditions, double bytes)
{
    return duo_curve_seconds(&conditions->profile->curve[DUO_ssum_gpu_shuffle], bytes / 4.0, 1);
}

/* The same without a launch; 0 if nothing was measured. */
static inline double duo_device_moving_seconds(const duo_conditions *conditions, double bytes)
{
    if (conditions->profile->curve[DUO_ssum_gpu_shuffle].count == 0) return 0.0;
    return duo_device_memory_seconds(conditions, bytes) -
           duo_device_memory_seconds(conditions, 0.0);
}

/* Multiprocessors of the device. Until a device was looked at: 132, an H100's, because its curves
 * are used until then. */
static inline double duo_multiprocessors(const duo_conditions *conditions)
{
    return conditions->multiprocessors > 0 ? conditions->multiprocessors : 132.0;
}

/* The device as the plan of batches sees it. */
static inline duo_batched_device duo_batched_device_of(const duo_conditions *conditions)
{
    return (duo_batched_device){.multiprocessors = (int)duo_multiprocessors(conditions),
                                .capability = conditions->capability,
                                .shared_bytes = 227 << 10,
                                .memory_rate = conditions->memory_rate};
}

/* The smallest cube takes no time but the launch. */
static inline double duo_launch_seconds(const duo_curve *curve)
{
    return curve->count > 0 ? curve->seconds[0] : 0.0;
}

/*
 * Seconds for memory traffic of a product of m x n x k beyond the cube of this edge: the curve, of
 * cubes with beta = 0, does not contain it. An element of A or B moves per_element bytes; an
 * element of C is written, and read if beta is not 0.
 */
static inline double duo_extra_traffic(const duo_call *call, const duo_conditions *conditions,
                                       double per_element, double m, double n, double k,
                                       double edge)
{
    const double of_c = call->beta != 0.0f ? 8.0 : 4.0;
    const double extra =
        duo_device_moving_seconds(conditions, per_element * (m * k + k * n) + of_c * m * n) -
        duo_device_moving_seconds(conditions, (2.0 * per_element + 4.0) * edge * edge);
    return extra > 0.0 ? extra : 0.0;
}

/* Bytes that an element of A or B moves if operands are split: it is read, and its planes of 2
 * bytes each are written and read. */
static inline double duo_split_bytes(double planes) { return 4.0 + 2.0 * 2.0 * planes; }

/* The error bound of products on tensor cores holds from this k on (numerics.md): do not lower
 * it for speed. */
enum { DUO_LEAST_TENSOR_K = 64 };

#endif
