/*
 * overlap.c - many products that do not fill the GPU: queued in eight contexts by turns, and all of
 * them in one.
 */
#include <stdio.h>
#include <stdlib.h>

#include "bench/graphs/buffers.h"
#include "bench/graphs/graphs.h"
#include "bench/graphs/works.h"

enum { EACH = 50, PRODUCTS = DUO_OVERLAPPING * EACH, A = 0, B, C, ARRAYS };

typedef struct overlap {
    duo_buffers buffers[DUO_OVERLAPPING]; /* each with the context that works on it */
    duo_work work[DUO_OVERLAPPING];
    duo_context *context[DUO_OVERLAPPING];
} overlap;

/* One way: contexts 1 or 8. Either works on the same arrays in the same order. */
typedef struct way {
    const overlap *of;
    int contexts;
} way;

static bool run(void *user, int64_t times)
{
    const way *const w = user;
    bool good = true;
    for (int64_t t = 0; t < times && good; t++) {
        for (int i = 0; i < PRODUCTS && good; i++)
            good = duo_work_call(w->of->context[i % w->contexts],
                                 &w->of->work[i % DUO_OVERLAPPING]) == DUO_OK;
        for (int i = 0; i < w->contexts; i++)
            good = duo_synchronize(w->of->context[i]) == DUO_OK && good;
    }
    return good;
}

static bool open(overlap *o, const duo_graphs *g)
{
    const int n = g->edge;
    for (int i = 0; i < DUO_OVERLAPPING; i++) {
        duo_buffers *const b = &o->buffers[i];
        if (!duo_buffers_open(b, g->bench, DUO_SIDE_GPU, ARRAYS, (size_t)n * (size_t)n))
            return false;
        o->context[i] = b->context;
        o->work[i] = duo_work_product(n, n, n, 1.0f, b->at[A], b->at[B], b->at[C]);
    }
    return true;
}

/* All have the same data, so all products are the first one's. */
static bool right(const overlap *o, way *w)
{
    bool good = true;
    float *const expected = duo_work_call(o->context[0], &o->work[0]) == DUO_OK
                                ? duo_buffers_read(&o->buffers[0], C)
                                : NULL;
    for (int i = 0; i < DUO_OVERLAPPING; i++) good = duo_buffers_spoil(&o->buffers[i], C) && good;
    good = expected != NULL && good && run(w, 1);
    for (int i = 0; i < DUO_OVERLAPPING && good; i++)
        good = duo_buffers_agree(&o->buffers[i], C, expected);
    free(expected);
    return good;
}

static bool measure(duo_graphs *g, const overlap *o)
{
    char what[48];
    way one = {o, 1}, eight = {o, DUO_OVERLAPPING};
    duo_benchmark benchmark[] = {{.run = run, .user = &one}, {.run = run, .user = &eight}};
    if (!right(o, &one) || !right(o, &eight)) return false;
    duo_measure(benchmark, 2, &g->effort);
    if (benchmark[0].failed || benchmark[1].failed) return false;
    snprintf(what, sizeof what, "sgemm %d^3", g->edge);
    duo_graphs_row first =
        duo_graphs_row_of(DUO_SIDE_GPU, what, "one context", &benchmark[0], PRODUCTS);
    duo_graphs_row second =
        duo_graphs_row_of(DUO_SIDE_GPU, what, "eight contexts", &benchmark[1], PRODUCTS);
    second.ratio = second.median / first.median;
    duo_graphs_print(g, &first);
    duo_graphs_print(g, &second);
    return true;
}

bool duo_graphs_overlap(duo_graphs *g)
{
    overlap o = {0};
    bool good = open(&o, g) && measure(g, &o);
    if (!good) fprintf(stderr, "duoblas: overlap: a product failed, or is wrong\n");
    if (good && g->bench->plot != NULL) good = duo_graphs_draw(g, o.context, o.work);
    for (int i = 0; i < DUO_OVERLAPPING; i++) duo_buffers_close(&o.buffers[i]);
    return good;
}
