/*
 * batch.h - many products with one shape and one scaling, as their algorithms see them; and groups
 * of these.
 *
 * The operands of product i are i strides behind the operands in the duo_call, or are named by a
 * list of pointers. A long list is slow to read, so duo_batch_look reads it once, and notes the
 * facts that all its pointers decide. A list in device memory is not read by the host at all.
 *
 * A call may have groups. Each is a call with a batch of its own. The call that has them stands for
 * all of them: it has the first one's sizes and operands, and its batch counts all products.
 */
#ifndef DUO_BATCH_H
#define DUO_BATCH_H

#include <string.h>

#include "call.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Facts about all pointers of a list. A part of a list has the facts of the whole list. */
typedef struct duo_list {
    uintptr_t lowest, highest;
    uintptr_t bits; /* no pointer is less aligned than this value, if the list was read */
    bool even;      /* the pointers are the batch's stride apart */
} duo_list;

/* Where an operand of all products is. */
typedef enum duo_batch_where {
    DUO_BATCH_TOGETHER,  /* its whole span is in one region, or at equal distances */
    DUO_BATCH_SCATTERED, /* a list: in several regions, all memory of the context's device */
    DUO_BATCH_HOSTED,    /* a list: anywhere in host memory that has no device copy */
    DUO_BATCH_UNREAD /* a list in device memory: by the caller's word all memory of the device */
} duo_batch_where;

typedef struct duo_group duo_group;

struct duo_batch {
    int64_t count;
    int64_t stride[DUO_OPERANDS];        /* floats between products; not for an uneven list */
    float *const *pointer[DUO_OPERANDS]; /* a list, one for each product; NULL: strides */
    bool unread[DUO_OPERANDS];           /* the list is in device memory */
    duo_list list[DUO_OPERANDS];         /* facts about the pointers */
    int64_t shift[DUO_OPERANDS];         /* bytes from a list's pointer to the copy used instead */
    duo_group *group;                    /* NULL: all products have one shape */
    int64_t groups;

    /* Found out by call/batch.c. */
    bool mixed; /* a list leads to host memory and to a device: no route takes all products */
    duo_batch_where where[DUO_OPERANDS];
    /* A call: its operands are the spans, gaps included, of the TOGETHER operands: these are
     * located and placed by it. It does not touch other operands. */
    duo_call spans;
};

/* A call with its batch. */
struct duo_group {
    duo_call call; /* its batch is the next member */
    duo_batch batch;
    int64_t first_piece, per_piece; /* route_team.c: its first piece, and products of a piece */
};

/* Nothing is known about a list that was not read; kernels on tensor cores look at its
 * pointers' alignment. */
static inline void duo_batch_look_away(duo_batch *batch, int i)
{
    batch->unread[i] = true;
    batch->stride[i] = 0;
    batch->list[i].lowest = batch->list[i].highest = batch->list[i].bits = 0;
    batch->list[i].even = false;
}

/* Has the batch a list that the host has not read? */
static inline bool duo_batch_unread(const duo_batch *batch)
{
    bool any = false;
    for (int i = 0; i < DUO_OPERANDS; i++) any |= batch->unread[i];
    return any;
}

/* Sets the facts about list i, which has at least one pointer, and its stride. */
static inline void duo_batch_look(duo_batch *batch, int i)
{
    float *const *const at = batch->pointer[i];
    const uintptr_t first = (uintptr_t)at[0];
    const uintptr_t step = batch->count > 1 ? (uintptr_t)at[1] - first : 0;
    int64_t p = 1;
    while (p < batch->count && (uintptr_t)at[p] - (uintptr_t)at[p - 1] == step) p++;
    const uintptr_t last = (uintptr_t)at[p - 1]; /* the last at equal distances */
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

/* Do all products have the same matrix? */
static inline bool duo_batch_shares(const duo_batch *batch, int i)
{
    return duo_batch_even(batch, i) && batch->stride[i] == 0;
}

/* Does a launch need the operand's list? Not if its pointers are at equal distances. */
static inline bool duo_batch_listed(const duo_batch *batch, int i)
{
    return batch->pointer[i] != NULL && !batch->list[i].even;
}

/* Does it have to be sent? */
static inline bool duo_batch_sends_list(const duo_batch *batch, int i)
{
    return duo_batch_listed(batch, i) && !batch->unread[i];
}

/* Bytes of all lists that have to be sent. */
static inline size_t duo_batch_list_bytes(const duo_batch *batch)
{
    size_t lists = 0;
    for (int i = 0; i < DUO_OPERANDS; i++) lists += duo_batch_sends_list(batch, i);
    return lists * (size_t)batch->count * sizeof(float *);
}

/* An operand that is not touched may be NULL, which C does not let move, not even by 0. */
static inline float *duo_moved(float *x, int64_t floats)
{
    return (float *)((uintptr_t)x + (uintptr_t)floats * sizeof *x);
}

/* Operand i of this product. */
static inline float *duo_batch_address(const duo_batch *batch, const duo_call *call, int i,
                                       int64_t number)
{
    if (batch->pointer[i] == NULL)
        return duo_moved(call->operand[i].address, number * batch->stride[i]);
    return (float *)((uintptr_t)batch->pointer[i][number] + (uintptr_t)batch->shift[i]);
}

/* Operand i of `count` products from the `first` on. A loop over the function above would ask for
 * the list in each turn. */
static inline void duo_batch_addresses(const duo_batch *batch, const duo_call *call, int i,
                                       int64_t first, int64_t count, float *at[])
{
    float *const *const list = batch->pointer[i];
    if (list == NULL) {
        const int64_t stride = batch->stride[i];
        float *const address = call->operand[i].address;
        for (int64_t p = 0; p < count; p++) at[p] = duo_moved(address, (first + p) * stride);
    } else {
        const uintptr_t shift = (uintptr_t)batch->shift[i];
        for (int64_t p = 0; p < count; p++) at[p] = (float *)((uintptr_t)list[first + p] + shift);
    }
}

/* Bits that are set in the operand's addresses or in the bytes between its columns: all columns of
 * all products are on 16 bytes if they are a multiple of 16. */
static inline uintptr_t duo_batch_bits(const duo_batch *batch, const duo_call *call, int i)
{
    const duo_operand *const o = &call->operand[i];
    const uintptr_t bits = (uintptr_t)o->ld * sizeof(float);
    if (batch->pointer[i] != NULL) return bits | (uintptr_t)batch->shift[i] | batch->list[i].bits;
    return bits | (uintptr_t)o->address | (uintptr_t)batch->stride[i] * sizeof(float);
}

/* Has the call groups, or a list that the host has not read? Then there is no first product that
 * tells of the others: the call goes in one launch, or not at all. */
static inline bool duo_call_together(const duo_call *call)
{
    return call->batch != NULL && (call->batch->group != NULL || duo_batch_unread(call->batch));
}

/* Groups of a batch; one without groups counts as one. Group g as a call. */
static inline int64_t duo_batch_groups(const duo_batch *batch)
{
    return batch->group != NULL ? batch->groups : 1;
}
static inline duo_call *duo_call_group(duo_call *call, int64_t g)
{
    return call->batch->group != NULL ? &call->batch->group[g].call : call;
}

/* One product: the call's own operands. */
static inline duo_batch duo_batch_of_one(void)
{
    duo_batch one;
    memset(&one, 0, sizeof one);
    one.count = 1;
    return one;
}

/* Products in the call. */
static inline int64_t duo_call_count(const duo_call *call)
{
    return call->batch != NULL ? call->batch->count : 1;
}

/* Is operand i, of all products, in host memory without a device copy? Then it is sent and fetched
 * part by part. */
static inline bool duo_call_hosts(const duo_call *call, int i)
{
    const duo_batch *const batch = call->batch;
    if (!duo_operand_touched(&call->operand[i])) return false;
    if (batch == NULL) return duo_operand_lies_in_host(&call->operand[i]);
    return batch->where[i] == DUO_BATCH_HOSTED ||
           (batch->where[i] == DUO_BATCH_TOGETHER &&
            duo_operand_lies_in_host(&batch->spans.operand[i]));
}

/* Is it pinned memory? The memory of a list is not known. */
static inline bool duo_call_pinned(const duo_call *call, int i)
{
    const duo_batch *const batch = call->batch;
    if (batch == NULL) return call->operand[i].residence == DUO_AT_PINNED;
    return batch->where[i] == DUO_BATCH_TOGETHER &&
           batch->spans.operand[i].residence == DUO_AT_PINNED;
}

/* Bytes of operand i, of all products. */
static inline double duo_call_bytes(const duo_call *call, int i)
{
    const bool once = call->batch == NULL || duo_batch_shares(call->batch, i);
    return duo_operand_bytes(&call->operand[i]) * (once ? 1.0 : (double)call->batch->count);
}

/* The call that is placed: for a batch, the call of its operands' spans. */
static inline const duo_call *duo_call_whole(const duo_call *call)
{
    return call->batch != NULL ? &call->batch->spans : call;
}

/* Operand i begins with product `first` from now on, by its address and by its list. */
static inline void duo_batch_skip(duo_call *call, duo_batch *batch, int i, int64_t first)
{
    if (!batch->unread[i]) call->operand[i].address = duo_batch_address(batch, call, i, first);
    if (batch->pointer[i] != NULL) batch->pointer[i] += first;
}

/* Makes `part` the `count` products from `first` on; with count > 1 `batch` becomes its batch. */
static inline void duo_call_products(const duo_call *call, int64_t first, int64_t count,
                                     duo_call *part, duo_batch *batch)
{
    *part = *call;
    for (int i = 0; i < DUO_OPERANDS; i++)
        if (duo_operand_touched(&call->operand[i]) && !call->batch->unread[i])
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
