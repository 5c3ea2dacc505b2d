/*
 * gpu_kernels.h - the peers of the GPU's reductions that nvcc compiles: a bare read, and CUB.
 *
 * gpu_kernels_none.c stands in for builds without CUDA. All run on the current device of the CUDA
 * runtime, so they are only for device 0. Results stay on the device, and nothing waits. False:
 * CUDA, or this code, cannot do it.
 */
#ifndef DUO_GPU_KERNELS_H
#define DUO_GPU_KERNELS_H

#include "call.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- read_gpu.cu: reads the operands of a reduction, writes nothing ---- */

/* Variants of reading; the fastest depends on device and size. */
int duo_read_gpu_variants(void);
const char *duo_read_gpu_name(int variant);
bool duo_read_gpu(int variant, const duo_call *call, void *stream);

/* ---- cub_reduce.cu ---- */

/* Which runs CUB promises the same bits: those on one GPU, none, or those on all GPUs. The last two
 * are only there for sums, and if the build's CUB has them (3.2 on). */
typedef enum duo_cub_promise {
    DUO_CUB_RUN_TO_RUN,
    DUO_CUB_NONE,
    DUO_CUB_GPU_TO_GPU,
    DUO_CUB_PROMISES
} duo_cub_promise;

bool duo_cub_has(duo_operation operation, duo_cub_promise promise);

/* `host`: NULL, or a pinned float. A copy of the result to it is queued, too. n < 2^32. */
bool duo_cub_reduce(duo_cub_promise promise, const duo_call *call, void *stream, float *host);

#ifdef __cplusplus
}
#endif

#endif
