/*
 * batch.h - many products of one shape and one scaling, as their algorithms see them.
 *
 * Where the operands of product i are: in strides from those of the duo_call that goes with it, or
 * by a list of pointers. A long list is slow to read; so duo_batch_look reads it once, for all who
 * want to know something of all its pointers.
 */
#ifndef DUO_BATCH_H
#define DUO_BATCH_H

#include "call.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The pointers of a list, or of one that it is a part of. */
typedef struct duo_list {
    uintptr_t lowest, highest;
    uintptr_t bits; /* none of them is less aligned than these */
    bool even;      /* they are the batch's stride apart */
} duo_list;

/* Where an operand of all products is. */
typedef enum duo_batch_where {
    DUO_BATCH_TOGETHER,  /* its whole span is in one region, or at equal distances */
    DUO_BATCH_SCATTERED, /* a list: in several regions, all memory of the context's device */
    DUO_BATCH_HOSTED     /* a list: anywhere in host memory that has no device copy */
} duo_batch_where;

struct duo_batch {
    int64_t count;
    int64_t
        stride[DUO_OPERANDS]; /* floats from product to product, but for a list that is uneven */
    float *const *pointer[DUO_OPERANDS]; /* in host memory, one for each product; NULL: strides */
    duo_list list[DUO_OPERANDS];         /* of these */
    int64_t shift[DUO_OPERANDS]; /* bytes from what a list says to the copy that is used instead */

    /* Found out by call/batch.c. */
    bool mixed; /* a list leads to host memory and to a device: no route takes all products */
    duo_batch_where where[DUO_OPERANDS];
    /* The spans of what is TOGETHER, as vectors, by which they are located and placed: gaps
     * included. Operands that are not are untouched in it. */
    duo_call spans;
};

/* Sets what is known of a list, of at least one pointer, and its stride. */
static inline void duo_batch_look(duo_batch *batch, int i)
{
    float *const *const at = batch->pointer[i];
    const uintptr_t first = (uintptr_t)at[0];
    const uintptr_t step = batch->count > 1 ? (uintptr_t)at[1] - first : 0;
    int64_t p = 1;
    while (p < batch->count && (uintptr_t)at[p] - (uintptr_t)at[p - 1] == step) p++;
    const uintptr_t last = (uintptr_t)at[p - 1]; /* of those that are even */
    const bool even = p == batch->count && step % sizeof(float) == 0;
    uintptr_t lowest = first < last ? first : last, highest = first < last ? last : first;
    uintptr_t bits = first | step;
    for (; p < batch->count; p++) {
        const uintptr_t here = (uintptr_t)at[p];
        lowest = here < lowest ? here : lowest;
        highest = here > highest ? here : highest;
        bits |= here;
    }
    batch->list[i].lowest = lowest;
    batch->list[i].highest = highest;
    batch->list[i].bits = bits;
    batch->list[i].even = even;
    batch->stride[i] = (intptr_t)step / (intptr_t)sizeof(float);
}

/* Do its products stand at equal distances? */
static inline bool duo_batch_even(const duo_batch *batch, int i)
{
    return batch->pointer[i] == NULL || batch->list[i].even;
}

/* Operand i of this product. */
static inline float *duo_batch_address(const duo_batch *batch, const duo_call *call, int i,
                                       int64_t number)
{
    if (batch->pointer[i] == NULL) return call->operand[i].address + number * batch->stride[i];
    return (float *)((uintptr_t)batch->pointer[i][number] + (uintptr_t)batch->shift[i]);
}

/* Products in the call. */
static inline int64_t duo_call_count(const duo_call *call)
{
    return call->batch != NULL ? call->batch->count : 1;
}

/* The call by whose operands all of a call is placed: of a batch, that of their spans. */
static inline const duo_call *duo_call_whole(const duo_call *call)
{
    return call->batch != NULL ? &call->batch->spans : call;
}

/* Makes `part` the `count` products from `first` on; `batch` becomes its batch, if it needs one. */
static inline void duo_call_products(const duo_call *call, int64_t first, int64_t count,
                                     duo_call *part, duo_batch *batch)
{
    *part = *call;
    for (int i = 0; i < DUO_OPERANDS; i++)
        if (duo_operand_touched(&call->operand[i]))
            part->operand[i].address = duo_batch_address(call->batch, call, i, first);
    part->batch = NULL;
    if (count == 1) return;
    *batch = *call->batch;
    batch->count = count;
    for (int i = 0; i < DUO_OPERANDS; i++)
        if (batch->pointer[i] != NULL) batch->pointer[i] += first;
    part->batch = batch;
}

#ifdef __cplusplus
}
#endif

#endif
