/* cublas_batched.h - cuBLAS's batches, by its handle and stream (cublas.h). */
#ifndef DUO_CUBLAS_BATCHED_H
#define DUO_CUBLAS_BATCHED_H

#include "batch.h"

/* Resident operands; where the batch has lists, these are in device memory. False: it is not open,
 * lacks the function, or failed. */
bool duo_peer_cublas_batch(const duo_call *call, const duo_batch *batch);

/* The host waits for all of it. */
bool duo_peer_cublas_finish(void);

#endif
