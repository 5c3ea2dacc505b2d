/*
 * rest.c - the rest of a call (rest.h).
 *
 * If C comes home, the rest is the tiles that have not arrived. A tile goes on where its last piece
 * ended, because beta has been applied to the arrived part. If C stays on the device, the rest is
 * the products that were not queued; the queued ones have changed C. A batch's products come, and
 * are queued, in order.
 */
#include "call/rest.h"

#include <stdlib.h>

/* Rows [i, i + m) and columns [j, j + n) of C, over [p, p + k) of k, as a call. */
static duo_call part_of(const duo_call *call, const duo_step *step)
{
    duo_call part = duo_call_part(call, step->m, step->n, step->k);
    duo_operand *const a = &part.operand[DUO_A], *const b = &part.operand[DUO_B],
                       *const c = &part.operand[DUO_C];
    if (a->read) a->address += call->transa ? step->p + step->i * a->ld : step->i + step->p * a->ld;
    if (b->read) b->address += call->transb ? step->j + step->p * b->ld : step->p + step->j * b->ld;
    c->address += step->i + step->j * c->ld;
    return part;
}

typedef struct rest {
    duo_execution *whole;
    const duo_call *call;
} rest;

static duo_status run_part(const rest *r, const duo_step *step)
{
    if (step->n == 0) return DUO_OK;
    duo_call part = part_of(r->call, step);
    return r->whole->run_part(r->whole, &part);
}

/* The first `done` elements of a tile, by columns, are final. Computes the rest of one column, then
 * the whole columns that are left. */
static duo_status finish_tile(const rest *r, const duo_step *tile)
{
    duo_step left = *tile;
    left.p = 0;
    left.k = r->call->k;
    left.j += tile->done / tile->m;
    left.n -= tile->done / tile->m;
    const int64_t rows_done = tile->done % tile->m;
    if (rows_done > 0) {
        duo_step column = left;
        column.i += rows_done;
        column.m -= rows_done;
        column.n = 1;
        const duo_status status = run_part(r, &column);
        if (status != DUO_OK) return status;
        left.j++;
        left.n--;
    }
    return run_part(r, &left);
}

/* Makes a product that was not queued; C is on the device. */
static duo_status finish_product(const rest *r, const duo_step *step)
{
    rest later = *r;
    duo_call adds = *r->call;
    if (!step->starts) { /* an earlier slab of k has applied beta */
        adds.beta = 1.0f;
        adds.operand[DUO_C].read = true;
        later.call = &adds;
    }
    return run_part(&later, step);
}

duo_status duo_rest_of_product(duo_execution *e)
{
    const rest r = {e, e->call};
    duo_plan *const of_context = &e->ctx->resources.plan;
    const duo_plan plan = *of_context; /* the parts may make plans of their own */
    *of_context = (duo_plan){.step = NULL};
    duo_status status = DUO_OK;
    for (int i = 0; i < plan.count && status == DUO_OK; i++) {
        const duo_step *const step = &plan.step[i];
        if (plan.of.fetched && step->kind == DUO_STEP_FETCH && step->done < step->m * step->n)
            status = finish_tile(&r, step);
        if (!plan.of.fetched && step->kind == DUO_STEP_MULTIPLY && step->done == 0)
            status = finish_product(&r, step);
    }
    free(plan.step);
    return status;
}

/* Elements of C, by products, that are final; or, if C is on the device, of the queued products. */
static int64_t done_of_batch(const duo_plan *plan)
{
    int64_t done = 0;
    for (int i = 0; i < plan->count; i++) {
        const duo_step *const step = &plan->step[i];
        if (step->kind == DUO_STEP_FETCH) done += step->done;
        if (step->kind == DUO_STEP_MULTIPLY && !plan->of.fetched && step->done > 0)
            done += step->products * step->m * step->n;
    }
    return done;
}

duo_status duo_rest_of_batch(duo_execution *e)
{
    const int64_t each = e->call->m * e->call->n, done = done_of_batch(&e->ctx->resources.plan);
    int64_t first = done / each;
    duo_call part;
    duo_batch batch;
    if (done % each > 0) {
        const duo_step product = {.m = e->call->m, .n = e->call->n, .done = done % each};
        duo_call_products(e->call, first, 1, &part, NULL);
        const rest r = {e, &part};
        const duo_status status = finish_tile(&r, &product);
        if (status != DUO_OK) return status;
        first++;
    }
    if (first == e->call->batch->count) return DUO_OK;
    duo_call_products(e->call, first, e->call->batch->count - first, &part, &batch);
    return e->run_part(e, &part);
}
