/*
 * reduce.h - what duo_sasum, duo_ssum and duo_sdot share: the short way of a tiny call.
 *
 * A dispatcher must not cost more than a few nanoseconds where a call takes ten: contiguous data in
 * plain host memory, at most policy.tiny long, goes straight to the CPU algorithm's kernel. The
 * limit is computed from the algorithms' costs.
 */
#ifndef DUO_REDUCE_H
#define DUO_REDUCE_H

#include "call/context.h"
#include "cpu/lanes.h"
#include "data/residency.h"

static inline bool duo_reduce_plain(const float *p, int64_t n)
{
    return !duo_residency_near((uintptr_t)p, (uintptr_t)(p + n));
}

static inline void duo_reduce_remember(duo_context *ctx, duo_operation operation, int64_t n)
{
    ctx->last.tiny = true;
    ctx->last.call.operation = operation;
    ctx->last.call.n = n;
    ctx->last.algorithm = ctx->policy.tiny_algorithm[operation];
}

/* The whole call, from its first check on. */
duo_status duo_reduce(duo_context *given, duo_operation operation, int64_t n, const float *x,
                      int64_t incx, const float *y, int64_t incy, float *result);

#endif
