/* sgemm_batched.c - duo_sgemm_batched and duo_sgemm_strided_batched: check arguments, hand over. */
#include "api/describe.h"
#include "call/capture.h"
#include "call/execute.h"
#include "host/stack.h"

static bool overflows(int64_t stride, int64_t count)
{
    int64_t floats;
    return __builtin_mul_overflow(stride, count - 1, &floats) || floats > PTRDIFF_MAX / 8 ||
           floats < -(PTRDIFF_MAX / 8);
}

/* Row-major storage is column-major storage of the transpose: A and B change places. */
static void swap_operands(duo_batch *batch)
{
    const int64_t stride = batch->stride[DUO_A];
    float *const *const pointer = batch->pointer[DUO_A];
    batch->stride[DUO_A] = batch->stride[DUO_B];
    batch->stride[DUO_B] = stride;
    batch->pointer[DUO_A] = batch->pointer[DUO_B];
    batch->pointer[DUO_B] = pointer;
}

static duo_status check_lists(duo_batch *batch, const duo_call *call)
{
    for (int i = 0; i < DUO_OPERANDS && batch->count > 0; i++) {
        if (!duo_operand_touched(&call->operand[i]) || batch->pointer[i] == NULL) continue;
        duo_batch_look(batch, i);
        if (batch->list[i].lowest == (uintptr_t)NULL) return DUO_ERR_NULL;
    }
    return DUO_OK;
}

/* Have all products the same C? They are added up. */
static bool adds_up(const duo_batch *batch)
{
    return batch->pointer[DUO_C] == NULL && batch->stride[DUO_C] == 0 && batch->count > 1;
}

/* The products that are calls of their own. Without factors only beta counts, and only once. */
static int64_t calls_of(const duo_call *call)
{
    return adds_up(call->batch) && !call->operand[DUO_A].read ? 1 : call->batch->count;
}

/* Product p as a call of its own. */
static duo_call product_of(const duo_call *call, int64_t p)
{
    duo_call one;
    duo_call_products(call, p, 1, &one, NULL);
    if (p > 0 && adds_up(call->batch)) {
        one.beta = 1.0f;
        one.operand[DUO_C].read = true;
    }
    return one;
}

/* Do the C of a strided batch lie apart? */
static bool apart(const duo_batch *batch, const duo_call *call)
{
    const duo_operand *const c = &call->operand[DUO_C];
    const int64_t stride = batch->stride[DUO_C] < 0 ? -batch->stride[DUO_C] : batch->stride[DUO_C];
    if (!c->written || batch->count <= 1 || batch->pointer[DUO_C] != NULL) return true;
    /* Either one behind the other, or columns of each between the others' columns. */
    return stride >= (c->columns - 1) * c->ld + c->rows ||
           (stride >= c->rows && (batch->count - 1) * stride + c->rows <= c->ld);
}

/* The products become nodes of the graph that is captured. */
static duo_status capture(duo_context *ctx, const duo_call *call)
{
    duo_status status = DUO_OK;
    for (int64_t p = 0; p < calls_of(call) && status == DUO_OK; p++) {
        const duo_call one = product_of(call, p);
        const duo_work work = duo_sgemm_work(&one, ctx->policy.math);
        status = ctx->policy.capture->add(ctx, &work);
    }
    return status;
}

/* The products as calls, in order. */
static duo_status one_by_one(duo_context *ctx, const duo_call *call)
{
    duo_status status = DUO_OK;
    for (int64_t p = 0; p < calls_of(call) && status == DUO_OK; p++) {
        duo_call one = product_of(call, p);
        status = duo_execute(ctx, &one);
    }
    return status;
}

static duo_status run(duo_context *ctx, duo_call *call, duo_batch *batch)
{
    if (call->swapped) swap_operands(batch);
    const duo_status lists = check_lists(batch, call);
    if (lists != DUO_OK) return lists;
    if (!adds_up(batch) && !apart(batch, call)) return DUO_ERR_LD;
    if (batch->count == 0 || !call->operand[DUO_C].written) return DUO_OK;
    call->batch = batch;
    call->program = duo_policy_program(&ctx->policy);
    if (ctx->policy.capture != NULL) return capture(ctx, call);
    if (batch->count == 1 || adds_up(batch)) return one_by_one(ctx, call);
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
    return run(ctx, &call, &batch);
}

duo_status duo_sgemm_batched(duo_context *given, duo_layout layout, duo_transpose transa,
                             duo_transpose transb, int64_t m, int64_t n, int64_t k, float alpha,
                             const float *const a[], int64_t lda, const float *const b[],
                             int64_t ldb, float beta, float *const c[], int64_t ldc, int64_t count)
{
    duo_context *const ctx = duo_context_of(given);
    duo_call call;
    if (ctx == NULL) return given == NULL ? DUO_ERR_MEMORY : DUO_ERR_CONTEXT;
    static float any;
    const bool some = count > 0;
    const duo_status checked = duo_sgemm_describe(&call, layout, transa, transb, m, n, k, alpha,
                                                  !some       ? &any
                                                  : a != NULL ? a[0]
                                                              : NULL,
                                                  lda,
                                                  !some       ? &any
                                                  : b != NULL ? b[0]
                                                              : NULL,
                                                  ldb, beta,
                                                  !some       ? &any
                                                  : c != NULL ? c[0]
                                                              : NULL,
                                                  ldc);
    if (checked != DUO_OK) return checked;
    if (count < 0) return DUO_ERR_SIZE;
    duo_batch batch = {.count = count,
                       .pointer = {(float *const *)(uintptr_t)a, (float *const *)(uintptr_t)b, c}};
    return run(ctx, &call, &batch);
}
