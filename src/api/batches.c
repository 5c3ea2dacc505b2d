/* batches.c - see batches.h */
#include "api/batches.h"

#include <stdlib.h>

#include "api/describe.h"
#include "call/capture.h"
#include "call/execution.h"

/* ---- Lists ---- */

static duo_status find_list(const void *list, int64_t count, bool *unread, bool *to_host)
{
    const uintptr_t low = (uintptr_t)list;
    size_t bytes;
    uintptr_t high;
    bool crosses;
    duo_status status = DUO_OK;
    *unread = false;
    if (list == NULL || count <= 0 ||
        __builtin_mul_overflow((size_t)count, sizeof(float *), &bytes) ||
        __builtin_add_overflow(low, bytes, &high) || !duo_residency_near(low, high))
        return DUO_OK;
    duo_residency_lock();
    const duo_region *const region = duo_residency_find(low, high, &crosses);
    if (region != NULL && duo_region_lies_on_device(region)) {
        *unread = true;
        *to_host = duo_residency_count_hosted() > 0;
        if (region->lost) status = DUO_ERR_LOST;
    }
    for (const duo_region *r = crosses ? duo_residency_first(low, high) : NULL; r != NULL;
         r = duo_residency_next(r, high))
        if (duo_region_counts_as_device(r)) status = DUO_ERR_RANGE;
    duo_residency_unlock();
    return status;
}

duo_status duo_lists_find(duo_lists *lists, const float *const a[], const float *const b[],
                          float *const c[], int64_t count)
{
    duo_status status = DUO_OK;
    *lists = (duo_lists){.of = {(float *const *)(uintptr_t)a, (float *const *)(uintptr_t)b, c}};
    for (int i = 0; i < DUO_OPERANDS && status == DUO_OK; i++)
        status = find_list(lists->of[i], count, &lists->unread[i], &lists->to_host);
    return status;
}

bool duo_lists_unread(const duo_lists *lists)
{
    return lists->unread[DUO_A] || lists->unread[DUO_B] || lists->unread[DUO_C];
}

bool duo_lists_for_device(const duo_context *ctx, const duo_lists *lists)
{
    return !lists->to_host && !duo_context_captured(ctx);
}

duo_status duo_lists_read(duo_context *ctx, duo_lists *lists, int64_t count)
{
    const size_t bytes = (size_t)count * sizeof(float *);
    duo_status status = DUO_OK;
    if (duo_context_captured(ctx)) return DUO_ERR_CAPTURE;
    lists->copies = malloc(DUO_OPERANDS * bytes);
    if (lists->copies == NULL) return DUO_ERR_MEMORY;
    for (int i = 0; i < DUO_OPERANDS && status == DUO_OK; i++) {
        float **const copy = lists->copies + i * count;
        if (!lists->unread[i]) continue;
        status = duo_copy(ctx, copy, lists->of[i], bytes);
        lists->of[i] = copy;
        lists->unread[i] = false;
    }
    return status;
}

/* ---- Batches ---- */

void duo_batch_swap(duo_batch *batch)
{
    const int64_t stride = batch->stride[DUO_A];
    float *const *const pointer = batch->pointer[DUO_A];
    const bool unread = batch->unread[DUO_A];
    batch->stride[DUO_A] = batch->stride[DUO_B];
    batch->stride[DUO_B] = stride;
    batch->pointer[DUO_A] = batch->pointer[DUO_B];
    batch->pointer[DUO_B] = pointer;
    batch->unread[DUO_A] = batch->unread[DUO_B];
    batch->unread[DUO_B] = unread;
}

static duo_status look(duo_call *call)
{
    duo_batch *const batch = call->batch;
    for (int i = 0; i < DUO_OPERANDS && batch->count > 0; i++) {
        if (batch->unread[i]) {
            duo_batch_look_away(batch, i);
            call->operand[i].address = NULL;
        }
        if (!duo_operand_touched(&call->operand[i]) || batch->pointer[i] == NULL ||
            batch->unread[i])
            continue;
        duo_batch_look(batch, i);
        if (batch->list[i].lowest == (uintptr_t)NULL) return DUO_ERR_NULL;
    }
    return DUO_OK;
}

duo_status duo_batch_describe(duo_call *call, duo_batch *batch, const duo_lists *lists,
                              int64_t first, int64_t count, duo_layout layout, duo_transpose transa,
                              duo_transpose transb, int64_t m, int64_t n, int64_t k, float alpha,
                              int64_t lda, int64_t ldb, float beta, int64_t ldc)
{
    static float any; /* stands for operands that a batch need not have, or that are not known */
    float *of[DUO_OPERANDS];
    *batch = (duo_batch){.count = count};
    for (int i = 0; i < DUO_OPERANDS; i++) {
        if (lists->of[i] != NULL) batch->pointer[i] = lists->of[i] + first;
        batch->unread[i] = lists->unread[i];
        of[i] = count <= 0 || lists->unread[i] ? &any
                : batch->pointer[i] != NULL    ? batch->pointer[i][0]
                                               : NULL;
    }
    const duo_status checked =
        duo_sgemm_describe(call, layout, transa, transb, m, n, k, alpha, of[DUO_A], lda, of[DUO_B],
                           ldb, beta, of[DUO_C], ldc);
    if (checked != DUO_OK) return checked;
    if (count < 0) return DUO_ERR_SIZE;
    if (call->swapped) duo_batch_swap(batch);
    call->batch = batch;
    return look(call);
}

bool duo_batch_adds_up(const duo_batch *batch)
{
    return batch->pointer[DUO_C] == NULL && batch->stride[DUO_C] == 0 && batch->count > 1;
}

int64_t duo_batch_calls(const duo_call *call)
{
    return duo_batch_adds_up(call->batch) && !call->operand[DUO_A].read ? 1 : call->batch->count;
}

duo_call duo_batch_product(const duo_call *call, int64_t p)
{
    duo_call one;
    duo_call_products(call, p, 1, &one, NULL);
    if (p > 0 && duo_batch_adds_up(call->batch)) {
        one.beta = 1.0f;
        one.operand[DUO_C].read = true;
    }
    return one;
}

bool duo_batch_is_tiny(duo_context *ctx, const duo_call *call, int64_t most)
{
    (void)duo_policy_settle(&ctx->policy, &ctx->resources, DUO_SGEMM, DUO_TINY_EDGE);
    const int64_t edge = ctx->policy.tiny[DUO_SGEMM];
    return edge > 0 &&
           duo_fits_cube(call->m, call->n, call->k, call->batch->count,
                         edge < most ? edge : most) &&
           duo_batch_plain(call);
}

duo_status duo_batch_capture(duo_context *ctx, const duo_call *call)
{
    duo_status status = DUO_OK;
    for (int64_t p = 0; p < duo_batch_calls(call) && status == DUO_OK; p++) {
        const duo_call one = duo_batch_product(call, p);
        const duo_work work = duo_sgemm_work(&one, ctx->policy.math);
        status = ctx->policy.capture->add(ctx, &work);
    }
    return status;
}
