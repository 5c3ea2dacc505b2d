/*
 * batches.h - what the functions for many products share: lists, how a batch by lists is described,
 * and how it is captured.
 */
#ifndef DUO_BATCHES_H
#define DUO_BATCHES_H

#include "call/context.h"

/* A list of addresses for each operand; NULL: there is none. */
typedef struct duo_lists {
    float *const *of[DUO_OPERANDS];
    bool unread[DUO_OPERANDS]; /* it is in device memory */
    bool to_host;   /* one of these may lead to memory of duo_malloc that lies in host memory */
    float **copies; /* duo_lists_read: what is to be freed */
} duo_lists;

/* Finds out which lists of `count` addresses are on the device. DUO_ERR_RANGE: one runs over the
 * end of device memory. DUO_ERR_LOST: it was on a device that is lost. */
duo_status duo_lists_find(duo_lists *lists, const float *const a[], const float *const b[],
                          float *const c[], int64_t count);
bool duo_lists_unread(const duo_lists *lists);
/* May the device read the lists, so that nobody else need? */
bool duo_lists_for_device(const duo_context *ctx, const duo_lists *lists);

/* Replaces lists on the device by copies. DUO_ERR_CAPTURE: the context's calls are captured. */
duo_status duo_lists_read(duo_context *ctx, duo_lists *lists, int64_t count);

/* Row-major storage is column-major storage of the transpose: A and B change places. */
void duo_batch_swap(duo_batch *batch);

/* Describes a batch of the products from `first` on in the lists. Returns duo_sgemm_batched's
 * status for bad arguments. */
duo_status duo_batch_describe(duo_call *call, duo_batch *batch, const duo_lists *lists,
                              int64_t first, int64_t count, duo_layout layout, duo_transpose transa,
                              duo_transpose transb, int64_t m, int64_t n, int64_t k, float alpha,
                              int64_t lda, int64_t ldb, float beta, int64_t ldc);

/* The products that are calls of their own, and product p as one. Where all have the same C they
 * are added up: without factors only beta counts, and only once. */
bool duo_batch_adds_up(const duo_batch *batch);
int64_t duo_batch_calls(const duo_call *call);
duo_call duo_batch_product(const duo_call *call, int64_t p);

/* Does the batch multiply no more than a tiny cube, of an edge of at most `most`, and touch little
 * more memory, all of it in no region? */
bool duo_batch_is_tiny(duo_context *ctx, const duo_call *call, int64_t most);

/* Adds the products as nodes to the graph that the context captures. */
duo_status duo_batch_capture(duo_context *ctx, const duo_call *call);

#endif
