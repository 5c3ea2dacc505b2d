/* cublas.h - the GPU's peer: cuBLAS, opened at run time, in the stream of our queue on device 0. */
#ifndef DUO_CUBLAS_H
#define DUO_CUBLAS_H

#include "batch.h"
#include "bench/measure/implementation.h"

/* Opens cuBLAS with only fp32 arithmetic (its default), or TF32. Returns NULL, or the reason of a
 * failure. */
const char *duo_peer_cublas_open(duo_queue *queue, bool tf32);

/* Results stay on the device. cuBLAS has no sum: for ssum its asum, which reads as much, stands in.
 * False: cuBLAS is not open, or failed. */
bool duo_peer_cublas(duo_implementation *peer, duo_operation operation, const duo_stock *stock,
                     bool wait_each);

/* The same, but the host waits for each call, and a reduction's result goes to plain host memory
 * (cuBLAS's host pointer mode, which waits by itself). */
bool duo_peer_cublas_to_host(duo_implementation *peer, duo_operation operation,
                             const duo_stock *stock);

/* cuBLAS's product in TF32, however it was opened. */
bool duo_peer_cublas_tf32(duo_implementation *peer, const duo_stock *stock);

/* ---- Batches ---- */

/* Does a batch on resident operands; its lists, if any, are in device memory. False: cuBLAS is not
 * open, lacks the function, or failed. */
bool duo_peer_cublas_batch(const duo_call *call, const duo_batch *batch);

/* Groups, column-major and untransposed, of dense matrices; the lists are in device memory. The
 * first tells whether cuBLAS has them. */
bool duo_peer_cublas_has_groups(void);
bool duo_peer_cublas_grouped(int64_t groups, const int64_t m[], const int64_t n[],
                             const int64_t k[], const float alpha[], const float beta[],
                             float *const *const list[DUO_OPERANDS], const int64_t size[]);

/* Waits for all work. */
bool duo_peer_cublas_finish(void);

/* ---- cuBLASXt ---- */

/* The peer for products in host memory: cuBLASXt. It cuts them into square blocks for one or
 * several GPUs. It is in cuBLAS's library. */

/* Opens it on devices 0 to devices - 1, with only fp32 arithmetic (its default). Returns NULL, or
 * the reason of a failure. */
const char *duo_peer_cublasxt_open(int devices);

/* The peer with square blocks of `block` rows; a call returns when C is complete. False: it is not
 * open. */
bool duo_peer_cublasxt(duo_implementation *peer, int block);

#endif
