/* verify_part.c - see verify_part.h */
#include "call/verify_part.h"

#include <math.h>

#include "call/execution.h"
#include "data/locate.h"

static const double kUnit = 0x1p-24, kUnit64 = 0x1p-53;

duo_status duo_verify_locate(duo_resources *res, duo_verify_part *part)
{
    duo_status status = duo_locate(res->device, &part->call);
    if (status == DUO_OK) status = duo_locate_ask(&res->report, &part->call);
    if (status != DUO_OK || part->call.batch == NULL) return status;
    status = duo_batch_locate(&part->call, res->device);
    return status == DUO_OK ? duo_locate_ask(&res->report, &part->batch.spans) : status;
}

duo_freivalds_product duo_verify_product_of(const duo_verify *v, const duo_call *call, int i,
                                            const double *by, double *sum)
{
    const int64_t rows = i == DUO_B ? call->k : call->m, columns = i == DUO_A ? call->k : call->n;
    const int64_t count = duo_call_count(call);
    return (duo_freivalds_product){
        .x = call->operand[i].address,
        .ld = call->operand[i].ld,
        .stride = call->batch != NULL ? call->batch->stride[i] : 0,
        .trans = i == DUO_A ? call->transa : i == DUO_B && call->transb,
        .rows = rows,
        .columns = columns,
        .count = count,
        .by = by,
        .by_magnitude = by != NULL ? by + columns * count : NULL,
        .by_largest = by != NULL ? by + 2 * columns * count : NULL,
        .seed = v->seed,
        /* Algorithms may lose what is below 2^-136 of elements below 2^-113 (numerics.md). */
        .least = i == DUO_C ? 0.0 : 0x1p-112,
        .sum = sum,
        .magnitude = sum + rows * count,
        .largest = i == DUO_C ? NULL : sum + 2 * rows * count};
}

/*
 * Of a product that an algorithm of this library computed alone, its documented bound. Else that of
 * one chain over k, which a BLAS may add to C once for every 128 of k. */
static duo_freivalds_bound bound_of(const duo_call *call, duo_math math, bool own)
{
    const double k = call->operand[DUO_A].read ? (double)call->k : 0.0, n = (double)call->n;
    const double chain = own ? fmin(k, 260.0 + k / 16.0) + 3.0 : k + 3.0;
    const double rounded = math == DUO_MATH_TF32 ? 0x1p-10 : 0.0;
    const bool float64 = math == DUO_MATH_FLOAT64;
    return (duo_freivalds_bound){
        .alpha = call->alpha,
        .beta = call->beta,
        .per_product = float64 ? (k + 2.0) * kUnit64 : rounded + chain * kUnit,
        .per_old = float64 ? (k + 2.0) * kUnit64 : (2.0 + k / 128.0) * kUnit,
        .per_result = float64 ? 1.01 * kUnit : 0.0,
        .sums = (n + k + 8.0) * kUnit64,
        .least = n * (k + 3.0) * 0x1p-149 * fmax(1.0, fabs(call->alpha))};
}

int64_t duo_verify_doubles(const duo_verify_part *part)
{
    return (5 * part->call.m + 3 * part->call.k) * duo_verify_count(part);
}

duo_verify_sums duo_verify_sums_at(const duo_verify_part *part, double *memory)
{
    const int64_t m = part->call.m * duo_verify_count(part),
                  k = part->call.k * duo_verify_count(part);
    return (duo_verify_sums){
        .product = memory, .between = memory + 3 * m, .result = memory + 3 * (m + k)};
}

duo_freivalds_rows duo_verify_rows_of(const duo_verify_part *part, const duo_verify_sums *s,
                                      duo_math math, bool own)
{
    const duo_call *const call = &part->call;
    const int64_t rows = call->m * duo_verify_count(part);
    const bool product = call->operand[DUO_A].read, old = call->beta != 0.0f;
    return (duo_freivalds_rows){.rows = rows,
                                .product = product ? s->product : NULL,
                                .product_magnitude = product ? s->product + rows : NULL,
                                .product_largest = product ? s->product + 2 * rows : NULL,
                                .old = old ? s->old : NULL,
                                .old_magnitude = old ? s->old + rows : NULL,
                                .result = s->result,
                                .result_magnitude = s->result + rows,
                                .bound = bound_of(call, math, own)};
}
