/* random_calls.c - calls of random programs (random_program.h), and batches. */
#include <stdlib.h>

#include "gpu/backend/devices.h"
#include "support/graph_works.h"
#include "support/random_program.h"

enum { BATCH_EDGE = 12, BATCH = 6 };

/* ---- Calls ---- */

duo_status perform(actor *a, context *c, const duo_work *v)
{
    switch (v->kind) {
    case DUO_WORK_SGEMM:
        return CALL(a,
                    duo_sgemm(c->ctx, v->layout, v->transa, v->transb, v->m, v->n, v->k, v->alpha,
                              v->a, v->lda, v->b, v->ldb, v->beta, v->c, v->ldc),
                    "context %d: sgemm %s %d%d %ld x %ld x %ld, %g, %p (%ld), %p (%ld), %g, %p "
                    "(%ld)",
                    (int)(c - a->context), v->layout == DUO_COL_MAJOR ? "columns" : "rows",
                    (int)v->transa % 10, (int)v->transb % 10, (long)v->m, (long)v->n, (long)v->k,
                    (double)v->alpha, (const void *)v->a, (long)v->lda, (const void *)v->b,
                    (long)v->ldb, (double)v->beta, (void *)v->c, (long)v->ldc);
    case DUO_WORK_COPY:
        return CALL(a, duo_copy(c->ctx, v->dst, v->src, v->width), "context %d: copy %p <- %p, %zu",
                    (int)(c - a->context), v->dst, v->src, v->width);
    case DUO_WORK_SDOT:
        return CALL(a, duo_sdot(c->ctx, v->n, v->x, v->incx, v->y, v->incy, v->result),
                    "context %d: sdot %ld, %p (%ld), %p (%ld), %p", (int)(c - a->context),
                    (long)v->n, (const void *)v->x, (long)v->incx, (const void *)v->y,
                    (long)v->incy, (void *)v->result);
    default:
        return CALL(a,
                    (v->kind == DUO_WORK_SSUM ? duo_ssum : duo_sasum)(c->ctx, v->n, v->x, v->incx,
                                                                      v->result),
                    "context %d: %s %ld, %p (%ld), %p", (int)(c - a->context),
                    v->kind == DUO_WORK_SSUM ? "ssum" : "sasum", (long)v->n, (const void *)v->x,
                    (long)v->incx, (void *)v->result);
    }
}

/* Checks the arrays after a call. spared: if it failed, it has not touched its output. */
static void after(actor *a, bool done, bool spared, array *out, array *const *list, int count)
{
    if (done) {
        if (out != NULL) out->newer |= is_kept(out);
        return;
    }
    if (out != NULL) {
        unstash(out);
        out->newer |= is_kept(out);
        if (!spared) refill(a, out);
    }
    for (int i = 0; i < count; i++) look(a, list[i]);
}

static void make_call(actor *a, context *c, const duo_work *v)
{
    array *list[4];
    const int count = named(a, v, list);
    array *const out = array_around(a, v->kind == DUO_WORK_SGEMM ? (void *)v->c
                                       : work_reduces(v->kind)   ? (void *)v->result
                                                                 : v->dst);
    bool may_lose = false;
    const int losses = duo_devices_losses();
    if (out != NULL) stash(out);
    if (!imagine(a, v)) {
        if (out != NULL) unstash(out);
        return;
    }
    const duo_status status = perform(a, c, v);
    if (out != NULL) out->newer |= is_kept(out); /* by an earlier part */
    for (int i = 0; i < count; i++) may_lose |= lossy(list[i]);
    const bool done = judge(a, status, MAY_LOSE | MAY_FAIL, may_lose, "a call");
    /* A call that fails midway has transferred a part, and a failed copy does not tell which bytes
     * it has written. */
    const bool spared =
        v->kind != DUO_WORK_COPY && status == DUO_ERR_LOST && duo_devices_losses() == losses;
    after(a, done, spared, out, list, count);
}

/* A reduction with its result outside all arrays. */
static void reduce_home(actor *a, context *c, duo_work *v)
{
    array *list[4];
    float expected = test_poison();
    v->result = &expected;
    if (!imagine(a, v)) return;
    if (c->results == AWAITED) synchronize(a, c);
    bool may_lose = false;
    const int count = named(a, v, list);
    float *const result = malloc(sizeof *result); /* a block of its own: a late write is seen */
    if (result == NULL) abort();
    *result = test_poison();
    v->result = result;
    const duo_status status = perform(a, c, v);
    for (int i = 0; i < count; i++) may_lose |= lossy(list[i]);
    const bool done = judge(a, status, MAY_LOSE | MAY_FAIL, may_lose, "a reduction");
    if (done && c->async && c->ctx != NULL) {
        c->awaited[c->results].at = result;
        c->awaited[c->results++].expected = expected;
        return;
    }
    if (done && !(*result == expected))
        wrong(a, "the result is %g, expected %g", (double)*result, (double)expected);
    if (!done && !test_is_poison(*result)) wrong(a, "a result without DUO_OK");
    free(result);
    after(a, done, true, NULL, list, count);
}

static const choice_of anywhere = {.side = -1};

/* May an asynchronous context write the result later? */
static bool comes_later(actor *a, const duo_work *v)
{
    const array *const out = array_around(a, v->result);
    const bool host = out->place == PLAIN || out->place == PINNED;
    return host && (v->result < out->x + out->kept_from || v->result >= out->x + out->kept_to);
}

void do_call(actor *a)
{
    duo_work v = {.user = NULL};
    context *const c = any_context(a);
    if (!any_work(a, (duo_work_kind)any(a, DUO_WORK_SGEMM, DUO_WORK_COPY), &anywhere, &v)) return;
    if (work_reduces(v.kind) &&
        (one_in(a, 2) || (c->async && c->ctx != NULL && comes_later(a, &v))))
        reduce_home(a, c, &v);
    else
        make_call(a, c, &v);
}

/* ---- Batches ---- */

void do_batch(actor *a)
{
    context *const c = any_context(a);
    duo_work v = work_of(DUO_WORK_SGEMM);
    const spans s = any_shape(a, &v);
    const int count = (int)any(a, 0, BATCH);
    const bool strided = one_in(a, 2);
    const float *as[BATCH + 1], *bs[BATCH + 1];
    float *cs[BATCH + 1];
    array *list[3 * BATCH + 3];
    int lists = 0;
    if (v.m > BATCH_EDGE || v.n > BATCH_EDGE) return;
    /* Each C behind the one before, sometimes with a gap. */
    const int64_t step = s.c + any(a, 0, 2), sa = any(a, 0, s.a + 1), sb = any(a, 0, s.b + 1);
    float *const first = area(a, &anywhere, step * BATCH, true);
    const float *const fa = area(a, &anywhere, sa * (BATCH - 1) + s.a, false),
                       *const fb = area(a, &anywhere, sb * (BATCH - 1) + s.b, false);
    array *const out = first != NULL ? array_around(a, first) : NULL;
    if (out == NULL || fa == NULL || fb == NULL || array_around(a, fa) == out ||
        array_around(a, fb) == out || (strided && step < s.c))
        return;
    list[lists++] = out, list[lists++] = array_around(a, fa), list[lists++] = array_around(a, fb);
    for (int i = 0; i < count; i++) {
        as[i] = fa + i * sa, bs[i] = fb + i * sb, cs[i] = first + i * step;
        if (strided) continue;
        if (one_in(a, 3)) as[i] = area(a, &anywhere, s.a, false);
        if (one_in(a, 3)) bs[i] = area(a, &anywhere, s.b, false);
        if (as[i] == NULL || bs[i] == NULL) return;
        list[lists++] = array_around(a, as[i]), list[lists++] = array_around(a, bs[i]);
        if (list[lists - 1] == out || list[lists - 2] == out) return;
    }
    stash(out);
    bool good = true, may_lose = false;
    for (int i = 0; i < count && good; i++) {
        v.a = as[i], v.b = bs[i], v.c = cs[i];
        good = imagine(a, &v);
    }
    if (!good) {
        unstash(out);
        return;
    }
    const duo_status status =
        strided
            ? CALL(a,
                   duo_sgemm_strided_batched(c->ctx, v.layout, v.transa, v.transb, v.m, v.n, v.k,
                                             v.alpha, fa, v.lda, sa, fb, v.ldb, sb, v.beta, first,
                                             v.ldc, step, count),
                   "context %d: %d strided, %ld x %ld x %ld, %g, %p, %p, %g, %p",
                   (int)(c - a->context), count, (long)v.m, (long)v.n, (long)v.k, (double)v.alpha,
                   (const void *)fa, (const void *)fb, (double)v.beta, (void *)first)
            : CALL(a,
                   duo_sgemm_batched(c->ctx, v.layout, v.transa, v.transb, v.m, v.n, v.k, v.alpha,
                                     as, v.lda, bs, v.ldb, v.beta, cs, v.ldc, count),
                   "context %d: batch of %d, %ld x %ld x %ld, %g, %g, %p", (int)(c - a->context),
                   count, (long)v.m, (long)v.n, (long)v.k, (double)v.alpha, (double)v.beta,
                   (void *)first);
    int there = 0; /* without matrices that have no elements */
    for (int i = 0; i < lists; i++)
        if (list[i] != NULL) list[there++] = list[i];
    lists = there;
    out->newer |= is_kept(out); /* by earlier products */
    for (int i = 0; i < lists; i++) may_lose |= lossy(list[i]);
    const bool done = judge(a, status, MAY_LOSE | MAY_FAIL, may_lose, "a batch");
    after(a, done, false, out, list, lists); /* not spared: earlier products were written */
}
