/*
 * batch.h - many products of one shape and one scaling, as their algorithms see them.
 *
 * Where the operands of product i are: in strides from those of the duo_call that goes with it, or
 * by a list of pointers.
 */
#ifndef DUO_BATCH_H
#define DUO_BATCH_H

#include "call.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct duo_batch {
    int64_t count;
    int64_t stride[DUO_OPERANDS]; /* floats from product to product, where there is no list */
    float *const *pointer[DUO_OPERANDS]; /* in host memory, one for each product; NULL: strides */
    int64_t shift[DUO_OPERANDS]; /* bytes from what a list says to the copy that is used instead */
} duo_batch;

/* Operand i of this product. */
static inline float *duo_batch_address(const duo_batch *batch, const duo_call *call, int i,
                                       int64_t number)
{
    if (batch->pointer[i] == NULL) return call->operand[i].address + number * batch->stride[i];
    return (float *)((uintptr_t)batch->pointer[i][number] + (uintptr_t)batch->shift[i]);
}

/* The products from `first` on. */
static inline duo_batch duo_batch_from(const duo_batch *batch, duo_call *call, int64_t first)
{
    duo_batch rest = *batch;
    rest.count -= first;
    for (int i = 0; i < DUO_OPERANDS; i++) {
        if (!duo_operand_touched(&call->operand[i])) continue;
        call->operand[i].address = duo_batch_address(batch, call, i, first);
        if (rest.pointer[i] != NULL) rest.pointer[i] += first;
    }
    return rest;
}

#ifdef __cplusplus
}
#endif

#endif
