/* batched/plan_size.h - what the estimates of batched/plan.h need to know of a batch. */
#ifndef DUO_BATCHED_PLAN_SIZE_H
#define DUO_BATCHED_PLAN_SIZE_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "batch.h"

typedef struct duo_batched_size {
    int64_t m, n, k, count;
    bool along_k_a, along_k_b; /* neighbours in memory are neighbours in k */
    bool wide_a, wide_b;       /* is it copied in fours along m, or n? */
    bool shifted_a, shifted_b; /* do columns not begin on 16 bytes? */
    bool boxes;                /* can tensor copies read both? */
    bool reads_c, vector;
    bool beside;        /* other groups fill what the tiles leave free */
    bool gaps_c, odd_c; /* C is not read, and sectors of memory are written in parts: those at the
                           gaps between columns; those that two columns share */
    bool padding[4];    /* false: sizes are compared byte by byte */
    double odd;       /* share of the operands whose columns do not begin with sectors of memory */
    double megabytes; /* of all operands, gaps between columns included */
    double megabytes_c; /* of C, without gaps */
} duo_batched_size;
static_assert(sizeof(duo_batched_size) ==
                  4 * sizeof(int64_t) + 16 * sizeof(bool) + 3 * sizeof(double),
              "no byte without a name");

/* Are there fours along m, or n, and do they begin on 16 bytes? */
static inline bool duo_batched_wide(const duo_call *call, const duo_batch *batch, int i)
{
    const duo_operand *const o = &call->operand[i];
    const uintptr_t column = (uintptr_t)o->rows * sizeof(float);
    return o->read && !duo_call_along_k(call, i) &&
           (duo_batch_bits(batch, call, i) | column) % 16 == 0;
}

static inline bool duo_batched_shifted(const duo_call *call, const duo_batch *batch, int i)
{
    return duo_batch_bits(batch, call, i) % 16 != 0;
}

/* Products are not a multiple of 16 bytes apart. But do all columns of all products follow each
 * other, an equal distance apart? */
static inline bool duo_batched_runs_on(const duo_call *call, const duo_batch *batch, int i)
{
    const int64_t stride = batch->stride[i], ld = call->operand[i].ld;
    return batch->count > 1 && stride * (int64_t)sizeof(float) % 16 != 0 && stride % ld == 0;
}

/* Can tensor copies read it? Its columns may be anywhere; its products are a multiple of 16 bytes
 * apart, or run on. */
static inline bool duo_batched_boxes(const duo_call *call, const duo_batch *batch, int i)
{
    enum { MOST_COLUMNS = 1 << 30 };
    const int64_t stride = batch->stride[i];
    return !duo_batch_listed(batch, i) && stride >= 0 &&
           (batch->count == 1 || stride * (int64_t)sizeof(float) % 16 == 0 ||
            duo_batched_runs_on(call, batch, i)) &&
           stride / call->operand[i].ld <= MOST_COLUMNS / batch->count;
}

enum { DUO_BATCHED_SECTOR = 8 }; /* floats */

static inline double duo_batched_odd(const duo_call *call, int i)
{
    return call->operand[i].ld % DUO_BATCHED_SECTOR != 0 ? 1.0 / DUO_OPERANDS : 0.0;
}

/* A short gap between columns is in the same sectors as their elements. */
static inline double duo_batched_megabytes(const duo_call *call, const duo_batch *batch, int i)
{
    const duo_operand *const o = &call->operand[i];
    const int64_t column = o->ld - o->rows < DUO_BATCHED_SECTOR ? o->ld : o->rows;
    return 4e-6 * (double)column * (double)o->columns * (double)batch->count;
}

static inline duo_batched_size duo_batched_size_of(const duo_call *call, const duo_batch *batch)
{
    const bool reads_c = call->beta != 0.0f;
    const duo_operand *const c = &call->operand[DUO_C];
    return (duo_batched_size){
        .m = call->m,
        .n = call->n,
        .k = call->alpha == 0.0f ? 0 : call->k,
        .count = batch->count,
        .along_k_a = duo_call_along_k(call, DUO_A),
        .along_k_b = duo_call_along_k(call, DUO_B),
        .wide_a = duo_batched_wide(call, batch, DUO_A),
        .wide_b = duo_batched_wide(call, batch, DUO_B),
        .shifted_a = duo_batched_shifted(call, batch, DUO_A),
        .shifted_b = duo_batched_shifted(call, batch, DUO_B),
        .boxes = duo_batched_boxes(call, batch, DUO_A) && duo_batched_boxes(call, batch, DUO_B),
        .reads_c = reads_c,
        .vector = duo_call_is_vector(call),
        .beside = false,
        .gaps_c = !reads_c && c->ld != c->rows,
        .odd_c = !reads_c && c->ld == c->rows && c->ld % DUO_BATCHED_SECTOR != 0,
        .padding = {false},
        .odd = duo_batched_odd(call, DUO_A) + duo_batched_odd(call, DUO_B) +
               duo_batched_odd(call, DUO_C),
        .megabytes = duo_batched_megabytes(call, batch, DUO_A) +
                     duo_batched_megabytes(call, batch, DUO_B) +
                     duo_batched_megabytes(call, batch, DUO_C) * (reads_c ? 2.0 : 1.0),
        .megabytes_c = 4e-6 * (double)call->m * (double)call->n * (double)batch->count};
}

#endif
