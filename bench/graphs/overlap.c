/*
 * overlap.c - many products that do not fill the GPU: in one context, in eight by turns, in eight
 * with a thread each, and as a graph of eight independent chains.
 */
#include <stdio.h>
#include <stdlib.h>

#include "bench/graphs/graphs.h"
#include "bench/graphs/works.h"

enum { EACH = 50, PRODUCTS = DUO_OVERLAPPING * EACH, A = 0, B, C, ARRAYS };

typedef struct overlap {
    duo_buffers buffers[DUO_OVERLAPPING]; /* each with its context */
    duo_work work[DUO_OVERLAPPING];
    duo_context *context[DUO_OVERLAPPING];
} overlap;

/* A way: in 1 or 8 contexts, or as a graph. All ways work on the same arrays in the same order. */
typedef struct way {
    const overlap *of;
    int contexts;
    bool threads; /* one for each context */
    duo_graph *graph;
    const char *name;
} way;

/* Queues products first, first + every and so on, each in its context. */
static bool queue(const way *w, int first, int every)
{
    bool good = true;
    for (int i = first; i < PRODUCTS && good; i += every)
        good = duo_work_call(w->of->context[i % w->contexts], &w->of->work[i % DUO_OVERLAPPING]) ==
               DUO_OK;
    return good;
}

static bool queue_in_threads(const way *w)
{
    int failed = 0;
#pragma omp parallel for num_threads(DUO_OVERLAPPING) schedule(static) reduction(+ : failed)
    for (int i = 0; i < DUO_OVERLAPPING; i++) failed += !queue(w, i, DUO_OVERLAPPING);
    return failed == 0;
}

static bool run(void *user, int64_t times)
{
    const way *const w = user;
    bool good = true;
    for (int64_t t = 0; t < times && good; t++) {
        good = w->graph != NULL ? duo_graph_launch(w->graph, w->of->context[0]) == DUO_OK
               : w->threads     ? queue_in_threads(w)
                                : queue(w, 0, 1);
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

/* Are all results right? All products have the same data, so their results equal the first
 * one's. */
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

static bool measure(duo_graphs *g, const overlap *o, way *ways, int count)
{
    char what[48];
    duo_benchmark benchmark[4];
    for (int i = 0; i < count; i++) {
        benchmark[i] = (duo_benchmark){.run = run, .user = &ways[i]};
        if (!right(o, &ways[i])) return false;
    }
    duo_measure(benchmark, count, &g->effort);
    snprintf(what, sizeof what, "sgemm %d^3", g->edge);
    for (int i = 0; i < count; i++) {
        if (benchmark[i].failed) return false;
        duo_graphs_row row =
            duo_graphs_row_of(DUO_SIDE_GPU, what, ways[i].name, &benchmark[i], PRODUCTS);
        if (i > 0) row.ratio = benchmark[i].median_seconds / benchmark[0].median_seconds;
        duo_graphs_print(g, &row);
    }
    return true;
}

/* A graph with a chain for each context. */
static duo_graph *graph_of(const overlap *o)
{
    duo_node last[DUO_OVERLAPPING];
    duo_graph *graph = NULL;
    duo_status status = duo_graph_create(&graph);
    for (int i = 0; i < PRODUCTS && status == DUO_OK; i++) {
        duo_node *const node = &last[i % DUO_OVERLAPPING];
        status =
            duo_graph_add(graph, &o->work[i % DUO_OVERLAPPING], node, i >= DUO_OVERLAPPING, node);
    }
    if (status == DUO_OK) status = duo_graph_build(graph, o->context[0]);
    if (status == DUO_OK) return graph;
    (void)duo_graph_destroy(graph);
    return NULL;
}

static bool measure_all(duo_graphs *g, const overlap *o)
{
    duo_graph *const graph = graph_of(o);
    way ways[] = {{o, 1, false, NULL, "one context"},
                  {o, DUO_OVERLAPPING, false, NULL, "eight contexts"},
                  {o, DUO_OVERLAPPING, true, NULL, "eight in threads"},
                  {o, 1, false, graph, "graph: 8 chains"}};
    const bool good = graph != NULL && measure(g, o, ways, 4);
    (void)duo_graph_destroy(graph);
    return good;
}

bool duo_graphs_overlap(duo_graphs *g)
{
    overlap o = {0};
    bool good = open(&o, g) && measure_all(g, &o);
    if (!good) fprintf(stderr, "duoblas: overlap: a product failed, or is wrong\n");
    for (int i = 0; i < DUO_OVERLAPPING; i++) duo_buffers_close(&o.buffers[i]);
    return good;
}
