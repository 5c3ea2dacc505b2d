/* cublas.h - the GPU's peer: cuBLAS, opened at run time, in the stream of our queue on device 0. */
#ifndef DUO_CUBLAS_H
#define DUO_CUBLAS_H

#include "bench/measure/implementation.h"

/* The library, opened at the first call; NULL: there is none, which is why: */
void *duo_peer_cublas_library(void);
extern const char duo_peer_cublas_missing[];

/* NULL if it is there; otherwise why not. fp32 arithmetic alone (its default), or TF32. */
const char *duo_peer_cublas_open(duo_queue *queue, bool tf32);

/* Results are left on the device. There is no sum in cuBLAS: for ssum its asum, which reads as
 * much, stands in. False: it is not open, or failed. */
bool duo_peer_cublas(duo_implementation *peer, duo_operation operation, const duo_stock *stock,
                     bool wait_each);

/* The host waits for each call, and a reduction's result goes to plain host memory (cuBLAS's host
 * pointer mode, which waits by itself). */
bool duo_peer_cublas_to_host(duo_implementation *peer, duo_operation operation,
                             const duo_stock *stock);

#endif
