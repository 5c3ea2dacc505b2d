/*
 * reduce.c - duo_sasum, duo_ssum and duo_sdot: check arguments, take the quick returns, hand over.
 *
 * A tiny call takes ten nanoseconds, so dispatch may take only a few: contiguous vectors in plain
 * host memory, of at most policy.tiny elements, go straight to the CPU algorithm's kernel. The
 * limit is computed from the algorithms' costs (call/policy.c).
 */
#include "api/describe.h"
#include "call/capture.h"
#include "call/execute.h"
#include "data/residency.h"
#include "cpu/lanes.h"

/* Does this vector certainly lie in no region? */
static inline bool is_plain(const float *p, int64_t n)
{
    return !duo_residency_near((uintptr_t)p, (uintptr_t)(p + n));
}

/* Remembers a tiny call for duo_explain_last. */
static inline void remember(duo_context *ctx, duo_operation operation, int64_t n)
{
    ctx->last.tiny = true;
    ctx->last.call.operation = operation;
    ctx->last.call.n = n;
    ctx->last.algorithm = ctx->policy.tiny_algorithm[operation];
}

/* ---- A call of any size ---- */

/* Do n elements, inc apart, fit the address space? */
static bool addressable(int64_t n, int64_t inc)
{
    int64_t span;
    return n <= 1 ||
           (inc != INT64_MIN && !__builtin_mul_overflow(n - 1, inc < 0 ? -inc : inc, &span) &&
            span <= PTRDIFF_MAX / 4 - 1);
}

static duo_operand vector(const float *x, int64_t n, int64_t inc)
{
    /* BLAS starts a vector with a negative increment at its far end in memory. */
    const float *const first = inc < 0 ? x - (n - 1) * inc : x;
    return (duo_operand){
        .address = (float *)(uintptr_t)first, .rows = 1, .columns = n, .ld = inc, .read = true};
}

/* Checks the arguments, and describes the call. *nothing: nothing is read, and the result is 0. */
static duo_status check(duo_call *call, bool *nothing, duo_operation operation, int64_t n,
                        const float *x, int64_t incx, const float *y, int64_t incy, float *result)
{
    if (result == NULL) return DUO_ERR_NULL;
    const bool dot = operation == DUO_SDOT;
    *call = (duo_call){.operation = operation, .m = 1, .n = n, .threads = 1};
    call->operand[DUO_RESULT] =
        (duo_operand){.address = result, .rows = 1, .columns = 1, .ld = 1, .written = true};
    *nothing = n <= 0 || (!dot && incx <= 0);
    if (*nothing) return DUO_OK;
    if (x == NULL || (dot && y == NULL)) return DUO_ERR_NULL;
    if (!addressable(n, incx) || (dot && !addressable(n, incy)) || n > PTRDIFF_MAX / 4)
        return DUO_ERR_SIZE;
    call->operand[DUO_X] = vector(x, n, incx);
    if (dot) call->operand[DUO_Y] = vector(y, n, incy);
    return DUO_OK;
}

static duo_work_kind kind_of(duo_operation operation)
{
    return operation == DUO_SASUM  ? DUO_WORK_SASUM
           : operation == DUO_SSUM ? DUO_WORK_SSUM
                                   : DUO_WORK_SDOT;
}

/* Is the call within the limit for tiny calls? The first check did not know this limit: it came
 * later, with the context or the profile. */
static bool is_tiny(const duo_context *ctx, const duo_call *call)
{
    const duo_operand *const x = &call->operand[DUO_X], *const y = &call->operand[DUO_Y];
    const bool dot = call->operation == DUO_SDOT;
    return call->n <= ctx->policy.tiny[call->operation] && x->ld == 1 && (!dot || y->ld == 1) &&
           is_plain(x->address, call->n) && (!dot || is_plain(y->address, call->n)) &&
           is_plain(call->operand[DUO_RESULT].address, 1);
}

/* From the first check on. ctx: the context that was given, or the thread's default; NULL: there is
 * none yet. */
static duo_status reduce(duo_context *given, duo_context *ctx, duo_operation operation, int64_t n,
                         const float *x, int64_t incx, const float *y, int64_t incy, float *result)
{
    const bool first = given == NULL && ctx == NULL;
    duo_call call;
    bool nothing;
    if (first) ctx = duo_context_of(NULL);
    if (ctx == NULL) return given == NULL ? DUO_ERR_MEMORY : DUO_ERR_CONTEXT;
    const duo_status checked = check(&call, &nothing, operation, n, x, incx, y, incy, result);
    if (checked != DUO_OK) return checked;
    if (ctx->policy.capture != NULL) {
        const duo_work work = {.size = sizeof work,
                               .kind = kind_of(operation),
                               .math = ctx->policy.math,
                               .n = n,
                               .x = x,
                               .y = y,
                               .incx = incx,
                               .incy = incy,
                               .result = result};
        return ctx->policy.capture->add(ctx, &work);
    }
    if (nothing) return duo_execute_store(ctx, operation, n, 0.0f, result);
    const bool settled = duo_policy_settle(&ctx->policy, &ctx->resources, operation, n);
    if ((first || settled) && is_tiny(ctx, &call)) {
        *result = duo_lanes_current()->whole[operation](n, x, y);
        remember(ctx, operation, n);
        return DUO_OK;
    }
    return duo_execute(ctx, &call);
}

duo_status duo_reduce_describe(duo_call *call, duo_operation operation, int64_t n, const float *x,
                               int64_t incx, const float *y, int64_t incy, float *result)
{
    bool nothing;
    return check(call, &nothing, operation, n, x, incx, y, incy, result);
}

/* ---- The operations ---- */

duo_status duo_sasum(duo_context *given, int64_t n, const float *x, int64_t incx, float *result)
{
    duo_context *const ctx = given == NULL ? duo_context_default : duo_context_of(given);
    if (ctx != NULL && n > 0 && n <= ctx->policy.tiny[DUO_SASUM] && incx == 1 && x != NULL &&
        result != NULL && is_plain(x, n) && is_plain(result, 1)) {
        *result = duo_lanes_current()->whole[DUO_SASUM](n, x, NULL);
        remember(ctx, DUO_SASUM, n);
        return DUO_OK;
    }
    return reduce(given, ctx, DUO_SASUM, n, x, incx, NULL, 0, result);
}

duo_status duo_ssum(duo_context *given, int64_t n, const float *x, int64_t incx, float *result)
{
    duo_context *const ctx = given == NULL ? duo_context_default : duo_context_of(given);
    if (ctx != NULL && n > 0 && n <= ctx->policy.tiny[DUO_SSUM] && incx == 1 && x != NULL &&
        result != NULL && is_plain(x, n) && is_plain(result, 1)) {
        *result = duo_lanes_current()->whole[DUO_SSUM](n, x, NULL);
        remember(ctx, DUO_SSUM, n);
        return DUO_OK;
    }
    return reduce(given, ctx, DUO_SSUM, n, x, incx, NULL, 0, result);
}

duo_status duo_sdot(duo_context *given, int64_t n, const float *x, int64_t incx, const float *y,
                    int64_t incy, float *result)
{
    duo_context *const ctx = given == NULL ? duo_context_default : duo_context_of(given);
    if (ctx != NULL && n > 0 && n <= ctx->policy.tiny[DUO_SDOT] && incx == 1 && incy == 1 &&
        x != NULL && y != NULL && result != NULL && is_plain(x, n) && is_plain(y, n) &&
        is_plain(result, 1)) {
        *result = duo_lanes_current()->whole[DUO_SDOT](n, x, y);
        remember(ctx, DUO_SDOT, n);
        return DUO_OK;
    }
    return reduce(given, ctx, DUO_SDOT, n, x, incx, y, incy, result);
}
