/* cublas.h - the GPU's peer: cuBLAS, opened at run time, in the stream of our queue on device 0. */
#ifndef DUO_CUBLAS_H
#define DUO_CUBLAS_H

#include "batch.h"
#include "bench/measure/implementation.h"

/* NULL if it is there; otherwise why not. Only fp32 arithmetic (its default), or TF32. */
const char *duo_peer_cublas_open(duo_queue *queue, bool tf32);

/* Results are left on the device. There is no sum in cuBLAS: for ssum its asum, which reads as
 * much, stands in. False: it is not open, or failed. */
bool duo_peer_cublas(duo_implementation *peer, duo_operation operation, const duo_stock *stock,
                     bool wait_each);

/* The host waits for each call, and a reduction's result goes to plain host memory (cuBLAS's host
 * pointer mode, which waits by itself). */
bool duo_peer_cublas_to_host(duo_implementation *peer, duo_operation operation,
                             const duo_stock *stock);

/* ---- Batches ---- */

/* Resident operands; where the batch has lists, these are in device memory. False: it is not open,
 * lacks the function, or failed. */
bool duo_peer_cublas_batch(const duo_call *call, const duo_batch *batch);

/* The host waits for all of it. */
bool duo_peer_cublas_finish(void);

/* ---- cublasxt.c ---- */

/* The peer for products in host memory: cuBLASXt, which cuts them into square blocks and sends
 * these to one or several GPUs. It is in cuBLAS's library. */

/* On devices 0 to devices - 1, only fp32 arithmetic (its default). NULL if it is there; otherwise
 * why not. */
const char *duo_peer_cublasxt_open(int devices);

/* With square blocks of `block` rows; a call returns when C is there. False: it is not
 * open. */
bool duo_peer_cublasxt(duo_implementation *peer, int block);

#endif
