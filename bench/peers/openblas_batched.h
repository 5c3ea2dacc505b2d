/*
 * openblas_batched.h - batches of products by the CPU's peer (openblas.h), on so many threads of
 * its instance.
 */
#ifndef DUO_OPENBLAS_BATCHED_H
#define DUO_OPENBLAS_BATCHED_H

#include "batch.h"

/* Product by product. False: there is no peer. */
bool duo_peer_openblas_each(const duo_call *call, const duo_batch *batch, int threads);

/* All by one call: strides, or lists where the batch has them. False: it has no such function. */
bool duo_peer_openblas_batch(const duo_call *call, const duo_batch *batch, int threads);

/* Is there such a function? One that crashes, or is wrong, is none, which is said on stderr. */
bool duo_peer_openblas_batches(const duo_batch *batch);

#endif
