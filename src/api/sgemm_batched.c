/* sgemm_batched.c - duo_sgemm_batched and duo_sgemm_strided_batched: check arguments, hand over. */
#include <stdlib.h>

#include "api/batches.h"
#include "api/describe.h"
#include "call/execute.h"
#include "cpu/kernels.h"
#include "host/stack.h"

static bool overflows(int64_t stride, int64_t count)
{
    int64_t floats;
    return __builtin_mul_overflow(stride, count - 1, &floats) || floats > PTRDIFF_MAX / 8 ||
           floats < -(PTRDIFF_MAX / 8);
}

/* Do the C of a strided batch lie apart? */
static bool apart(const duo_batch *batch, const duo_call *call)
{
    const duo_operand *const c = &call->operand[DUO_C];
    const int64_t stride = batch->stride[DUO_C] < 0 ? -batch->stride[DUO_C] : batch->stride[DUO_C];
    if (!c->written || batch->count <= 1) return true;
    /* Either one behind the other, or columns of each between the others' columns. */
    return stride >= (c->columns - 1) * c->ld + c->rows ||
           (stride >= c->rows && (batch->count - 1) * stride + c->rows <= c->ld);
}

/* The products as calls, in order. */
static duo_status one_by_one(duo_context *ctx, const duo_call *call)
{
    duo_status status = DUO_OK;
    for (int64_t p = 0; p < duo_batch_calls(call) && status == DUO_OK; p++) {
        duo_call one = duo_batch_product(call, p);
        status = duo_execute(ctx, &one);
    }
    return status;
}

static bool has_work(const duo_call *call)
{
    return call->batch->count > 0 && call->operand[DUO_C].written;
}

/* Multiplies a tiny batch on the calling thread. A larger one takes 20 times as long as to choose
 * and to put it together, and is learned from. False: it is none, or its products need more stack
 * than the thread has. */
static bool ran_tiny(duo_context *ctx, const duo_call *call)
{
    enum { EDGE = 64 };
    const duo_algorithm *const algorithm = ctx->policy.tiny_algorithm[DUO_SGEMM];
    if (duo_batch_adds_up(call->batch) || !call->operand[DUO_A].read ||
        !duo_batch_is_tiny(ctx, call, EDGE) || algorithm->id != DUO_sgemm_cpu_ffma ||
        duo_stack_is_small())
        return false;
    duo_sgemm_cpu_ffma_products(call, 0, call->batch->count);
    duo_last_was_tiny(&ctx->last, call, algorithm);
    return true;
}

static duo_status run(duo_context *ctx, duo_call *call)
{
    if (!has_work(call) || ran_tiny(ctx, call)) return DUO_OK;
    call->program = duo_policy_program(&ctx->policy);
    if (ctx->policy.capture != NULL) return duo_batch_capture(ctx, call);
    if (call->batch->count == 1 || duo_batch_adds_up(call->batch)) return one_by_one(ctx, call);
    return duo_execute(ctx, call);
}

duo_status duo_sgemm_strided_batched(duo_context *given, duo_layout layout, duo_transpose transa,
                                     duo_transpose transb, int64_t m, int64_t n, int64_t k,
                                     float alpha, const float *a, int64_t lda, int64_t stride_a,
                                     const float *b, int64_t ldb, int64_t stride_b, float beta,
                                     float *c, int64_t ldc, int64_t stride_c, int64_t count)
{
    duo_context *const ctx = duo_context_of(given);
    duo_call call;
    if (ctx == NULL) return given == NULL ? DUO_ERR_MEMORY : DUO_ERR_CONTEXT;
    static float any; /* stands for operands that a batch of no products need not have */
    const bool none = count == 0;
    const duo_status checked =
        duo_sgemm_describe(&call, layout, transa, transb, m, n, k, alpha, none ? &any : a, lda,
                           none ? &any : b, ldb, beta, none ? &any : c, ldc);
    if (checked != DUO_OK) return checked;
    if (count < 0) return DUO_ERR_SIZE;
    if (count > 0 &&
        (overflows(stride_a, count) || overflows(stride_b, count) || overflows(stride_c, count)))
        return DUO_ERR_SIZE;
    duo_batch batch = {.count = count, .stride = {stride_a, stride_b, stride_c}};
    if (call.swapped) duo_batch_swap(&batch);
    if (!duo_batch_adds_up(&batch) && !apart(&batch, &call)) return DUO_ERR_LD;
    call.batch = &batch;
    return run(ctx, &call);
}

duo_status duo_sgemm_batched(duo_context *given, duo_layout layout, duo_transpose transa,
                             duo_transpose transb, int64_t m, int64_t n, int64_t k, float alpha,
                             const float *const a[], int64_t lda, const float *const b[],
                             int64_t ldb, float beta, float *const c[], int64_t ldc, int64_t count)
{
    duo_context *const ctx = duo_context_of(given);
    duo_call call;
    duo_batch batch;
    duo_lists lists;
    if (ctx == NULL) return given == NULL ? DUO_ERR_MEMORY : DUO_ERR_CONTEXT;
    const duo_status found = duo_lists_find(&lists, a, b, c, count);
    if (found != DUO_OK) return found;
    const duo_status checked = duo_batch_describe(&call, &batch, &lists, 0, count, layout, transa,
                                                  transb, m, n, k, alpha, lda, ldb, beta, ldc);
    if (checked != DUO_OK) return checked;
    if (!duo_lists_unread(&lists)) return run(ctx, &call);
    duo_outcome outcome = DUO_OK;
    if (has_work(&call))
        outcome =
            duo_lists_for_device(ctx, &lists) ? duo_execute_together(ctx, &call) : DUO_DECLINED;
    if (outcome != DUO_DECLINED) return (duo_status)outcome;
    duo_status status = duo_lists_read(ctx, &lists, count);
    if (status == DUO_OK)
        status = duo_sgemm_batched(
            given, layout, transa, transb, m, n, k, alpha, (const float *const *)lists.of[DUO_A],
            lda, (const float *const *)lists.of[DUO_B], ldb, beta, lists.of[DUO_C], ldc, count);
    free(lists.copies);
    return status;
}
