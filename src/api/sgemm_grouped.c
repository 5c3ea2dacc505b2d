/* sgemm_grouped.c - duo_sgemm_grouped: check the arguments of all groups, hand over. */
#include <stdlib.h>

#include "api/batches.h"
#include "call/execution.h"
#include "call/groups.h"

/* The caller's arguments, but for the lists. */
typedef struct arguments {
    duo_layout layout;
    int64_t groups;
    const duo_transpose *transa, *transb;
    const int64_t *m, *n, *k, *lda, *ldb, *ldc, *size;
    const float *alpha, *beta;
} arguments;

static bool any_null(const arguments *x)
{
    return x->transa == NULL || x->transb == NULL || x->m == NULL || x->n == NULL || x->k == NULL ||
           x->lda == NULL || x->ldb == NULL || x->ldc == NULL || x->size == NULL ||
           x->alpha == NULL || x->beta == NULL;
}

/* Products of all groups. DUO_ERR_SIZE: they cannot be counted, or one group's are negative. */
static duo_status count_products(const arguments *x, int64_t *count)
{
    *count = 0;
    for (int64_t g = 0; g < x->groups; g++)
        if (x->size[g] < 0 || __builtin_add_overflow(*count, x->size[g], count) ||
            *count > PTRDIFF_MAX / (int64_t)sizeof(float *))
            return DUO_ERR_SIZE;
    return DUO_OK;
}

/* Describes the groups that have work to do; *groups: how many. */
static duo_status describe(duo_context *ctx, const arguments *x, const duo_lists *lists,
                           int64_t *groups)
{
    int64_t first = 0;
    *groups = 0;
    for (int64_t g = 0; g < x->groups; first += x->size[g++]) {
        duo_group *const group = &ctx->groups[*groups];
        const duo_status status =
            duo_batch_describe(&group->call, &group->batch, lists, first, x->size[g], x->layout,
                               x->transa[g], x->transb[g], x->m[g], x->n[g], x->k[g], x->alpha[g],
                               x->lda[g], x->ldb[g], x->beta[g], x->ldc[g]);
        if (status != DUO_OK) return status;
        group->call.program = duo_policy_program(&ctx->policy);
        if (x->size[g] > 0 && group->call.operand[DUO_C].written) ++*groups;
    }
    return DUO_OK;
}

static duo_status capture(duo_context *ctx, int64_t groups)
{
    duo_status status = DUO_OK;
    for (int64_t g = 0; g < groups && status == DUO_OK; g++)
        status = duo_batch_capture(ctx, &ctx->groups[g].call);
    return status;
}

/* Makes the products of tiny groups, as calls, which takes less than to put them together. *groups:
 * how many others there are; they stand in front. */
static duo_status run_tiny(duo_context *ctx, int64_t *groups)
{
    duo_status status = DUO_OK;
    for (int64_t g = *groups - 1; g >= 0 && status == DUO_OK; g--) {
        const duo_call *const call = &ctx->groups[g].call;
        if (!duo_batch_is_tiny(ctx, call, DUO_TINY_EDGE)) continue;
        for (int64_t p = 0; p < call->batch->count && status == DUO_OK; p++) {
            const duo_call one = duo_batch_product(call, p);
            const duo_operand *const o = one.operand;
            status = duo_sgemm(ctx, DUO_COL_MAJOR, one.transa ? DUO_TRANS : DUO_NO_TRANS,
                               one.transb ? DUO_TRANS : DUO_NO_TRANS, one.m, one.n, one.k,
                               one.alpha, o[DUO_A].address, o[DUO_A].ld, o[DUO_B].address,
                               o[DUO_B].ld, one.beta, o[DUO_C].address, o[DUO_C].ld);
        }
        ctx->groups[g] = ctx->groups[--*groups];
        ctx->groups[g].call.batch = &ctx->groups[g].batch;
    }
    return status;
}

static duo_status run(duo_context *ctx, const arguments *x, duo_lists *lists, int64_t count)
{
    int64_t groups;
    const duo_status described = describe(ctx, x, lists, &groups);
    if (described != DUO_OK || groups == 0) return described;
    duo_outcome outcome = DUO_DECLINED;
    if (!duo_lists_unread(lists) && ctx->policy.capture != NULL) return capture(ctx, groups);
    const duo_status tiny = duo_lists_unread(lists) ? DUO_OK : run_tiny(ctx, &groups);
    if (tiny != DUO_OK || groups == 0) return tiny;
    if (!duo_lists_unread(lists) || duo_lists_for_device(ctx, lists))
        outcome = duo_execute_groups(ctx, ctx->groups, groups);
    if (outcome != DUO_DECLINED) return (duo_status)outcome;
    const duo_status read = duo_lists_read(ctx, lists, count);
    return read == DUO_OK ? run(ctx, x, lists, count) : read;
}

/* The groups as batches, where there is no memory to put them together: first all are checked. */
static duo_status one_after_another(duo_context *given, const arguments *x, const duo_lists *lists)
{
    duo_group group;
    duo_status status = DUO_OK;
    int64_t first = 0;
    for (int64_t g = 0; g < x->groups && status == DUO_OK; first += x->size[g++])
        status = duo_batch_describe(&group.call, &group.batch, lists, first, x->size[g], x->layout,
                                    x->transa[g], x->transb[g], x->m[g], x->n[g], x->k[g],
                                    x->alpha[g], x->lda[g], x->ldb[g], x->beta[g], x->ldc[g]);
    first = 0;
    for (int64_t g = 0; g < x->groups && status == DUO_OK; first += x->size[g++]) {
        float *const *of[DUO_OPERANDS];
        for (int i = 0; i < DUO_OPERANDS; i++)
            of[i] = lists->of[i] != NULL ? lists->of[i] + first : NULL;
        status = duo_sgemm_batched(given, x->layout, x->transa[g], x->transb[g], x->m[g], x->n[g],
                                   x->k[g], x->alpha[g], (const float *const *)of[DUO_A], x->lda[g],
                                   (const float *const *)of[DUO_B], x->ldb[g], x->beta[g],
                                   of[DUO_C], x->ldc[g], x->size[g]);
    }
    return status;
}

duo_status duo_sgemm_grouped(duo_context *given, duo_layout layout, int64_t group_count,
                             const duo_transpose transa[], const duo_transpose transb[],
                             const int64_t m[], const int64_t n[], const int64_t k[],
                             const float alpha[], const float *const a[], const int64_t lda[],
                             const float *const b[], const int64_t ldb[], const float beta[],
                             float *const c[], const int64_t ldc[], const int64_t group_size[])
{
    duo_context *const ctx = duo_context_of(given);
    const arguments x = {.layout = layout,
                         .groups = group_count,
                         .transa = transa,
                         .transb = transb,
                         .m = m,
                         .n = n,
                         .k = k,
                         .lda = lda,
                         .ldb = ldb,
                         .ldc = ldc,
                         .size = group_size,
                         .alpha = alpha,
                         .beta = beta};
    duo_lists lists;
    int64_t count;
    if (ctx == NULL) return given == NULL ? DUO_ERR_MEMORY : DUO_ERR_CONTEXT;
    if (layout != DUO_COL_MAJOR && layout != DUO_ROW_MAJOR) return DUO_ERR_ENUM;
    if (group_count < 0) return DUO_ERR_SIZE;
    if (group_count == 0) return DUO_OK;
    if (any_null(&x)) return DUO_ERR_NULL;
    duo_status status = count_products(&x, &count);
    const duo_status found = duo_lists_find(&lists, a, b, c, count);
    if (status == DUO_OK && found == DUO_OK)
        status = duo_context_groups(ctx, group_count) == DUO_OK
                     ? run(ctx, &x, &lists, count)
                     : one_after_another(given, &x, &lists);
    free(lists.copies);
    return status == DUO_OK ? found : status;
}
