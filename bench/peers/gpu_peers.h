/*
 * gpu_peers.h - what the GPU's rows are compared with and nvcc compiles: a bare read, CUB, and a
 * product in float64.
 *
 * gpu_peers_none.c stands in where there is no CUDA. Everything runs on the current device of the
 * CUDA runtime, so peers are there for device 0 alone; results stay on the device. False: CUDA, or
 * this code, cannot do it; nothing waits but duo_exact_product.
 */
#ifndef DUO_GPU_PEERS_H
#define DUO_GPU_PEERS_H

#include "call.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- read_gpu.cu: reads the operands of a reduction, writes nothing ---- */

/* Ways of reading; which is the fastest depends on device and size. */
int duo_read_gpu_variants(void);
const char *duo_read_gpu_name(int variant);
bool duo_read_gpu(int variant, const duo_call *call, void *stream);

/* ---- cub_reduce.cu ---- */

/* `host`: NULL, or a pinned float that gets a copy of the result by and by. n < 2^32. */
bool duo_cub_reduce(const duo_call *call, void *stream, float *host);

/* ---- exact_product.cu ---- */

/* op(A) op(B) and |op(A)| |op(B)| in float64, so many columns of them, evenly spread (see
 * duo_product_column), to host memory. */
bool duo_exact_product(const duo_call *call, int64_t columns, double *product, double *magnitude,
                       void *stream);

#ifdef __cplusplus
}
#endif

#endif
