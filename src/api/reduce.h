/*
 * reduce.h - shared by duo_sasum, duo_ssum and duo_sdot.
 *
 * A tiny call takes ten nanoseconds, so dispatch may take only a few: contiguous vectors in plain
 * host memory, of at most policy.tiny elements, go straight to the CPU algorithm's kernel. The
 * limit is computed from the algorithms' costs (call/policy.c).
 */
#ifndef DUO_REDUCE_H
#define DUO_REDUCE_H

#include "call/context.h"
#include "data/residency.h"

/* Does this vector certainly lie in no region? */
static inline bool duo_reduce_plain(const float *p, int64_t n)
{
    return !duo_residency_near((uintptr_t)p, (uintptr_t)(p + n));
}

/* Remembers a tiny call for duo_explain_last. */
static inline void duo_reduce_remember(duo_context *ctx, duo_operation operation, int64_t n)
{
    ctx->last.tiny = true;
    ctx->last.call.operation = operation;
    ctx->last.call.n = n;
    ctx->last.algorithm = ctx->policy.tiny_algorithm[operation];
}

/* A call of any size, from its first check on. ctx: the context that was given, or the thread's
 * default; NULL: there is none yet. */
duo_status duo_reduce(duo_context *given, duo_context *ctx, duo_operation operation, int64_t n,
                      const float *x, int64_t incx, const float *y, int64_t incy, float *result);

#endif
