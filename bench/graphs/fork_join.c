/*
 * fork_join.c - an operation, three that depend on it, and one that depends on all three: a launch
 * of the graph, and the launches of five graphs of one operation each.
 */
#include <stdio.h>
#include <stdlib.h>

#include "bench/graphs/buffers.h"
#include "bench/graphs/graphs.h"
#include "bench/graphs/works.h"

enum { OPERATIONS = 5, LAST = OPERATIONS - 1, MIDDLE = 3, X = OPERATIONS, Y, ARRAYS };

typedef struct fork_join {
    duo_buffers buffers; /* what each operation writes, and two that they read */
    duo_work work[OPERATIONS];
    duo_works whole, part[OPERATIONS];
    float *expected;
} fork_join;

static void make_products(fork_join *f, int n)
{
    float *const *const at = f->buffers.at;
    const float *const factors[OPERATIONS][2] = {
        {at[X], at[Y]}, {at[0], at[X]}, {at[0], at[Y]}, {at[Y], at[0]}, {at[1], at[MIDDLE]}};
    for (int i = 0; i < OPERATIONS; i++)
        f->work[i] =
            duo_work_product(n, n, n, 1.0f / (float)n, factors[i][0], factors[i][1], at[i]);
}

/* Each writes one float. */
static void make_dots(fork_join *f, int n)
{
    float *const *const at = f->buffers.at;
    for (int i = 0; i < OPERATIONS; i++)
        f->work[i] = duo_work_reduction(DUO_WORK_SDOT, n, at[X], at[Y], at[i]);
}

static bool open(fork_join *f, const duo_graphs *g, duo_side side, int n, bool dots)
{
    const size_t floats = dots ? (size_t)n : (size_t)n * (size_t)n;
    if (!duo_buffers_open(&f->buffers, g->bench, side, ARRAYS, floats)) return false;
    duo_context *const context = f->buffers.context;
    if (dots)
        make_dots(f, n);
    else
        make_products(f, n);
    duo_works calls = {.context = context, .work = f->work, .count = OPERATIONS};
    f->whole = calls;
    f->whole.graph = duo_works_graph(context, f->work, OPERATIONS, DUO_FORK_JOIN);
    bool good = f->whole.graph != NULL && duo_works_run(&calls, 1);
    for (int i = 0; i < OPERATIONS && good; i++) {
        f->part[i] = (duo_works){.context = context};
        f->part[i].graph = duo_works_graph(context, &f->work[i], 1, DUO_CHAIN);
        good = f->part[i].graph != NULL;
    }
    f->expected = good ? duo_buffers_read(&f->buffers, LAST) : NULL;
    return f->expected != NULL;
}

static void close(fork_join *f)
{
    free(f->expected);
    (void)duo_graph_destroy(f->whole.graph);
    for (int i = 0; i < OPERATIONS; i++) (void)duo_graph_destroy(f->part[i].graph);
    duo_buffers_close(&f->buffers);
}

static bool measure(duo_graphs *g, fork_join *f, duo_side side, const char *what)
{
    enum { WHOLE = OPERATIONS };
    duo_benchmark benchmark[OPERATIONS + 1];
    for (int i = 0; i < OPERATIONS; i++)
        benchmark[i] = (duo_benchmark){.run = duo_works_run, .user = &f->part[i]};
    benchmark[WHOLE] = (duo_benchmark){.run = duo_works_run, .user = &f->whole};
    if (!duo_works_run(&f->whole, 1) || !duo_buffers_agree(&f->buffers, LAST, f->expected))
        return false;
    duo_measure(benchmark, OPERATIONS + 1, &g->effort);
    duo_graphs_row whole = duo_graphs_row_of(side, what, "graph", &benchmark[WHOLE], 1.0);
    duo_graphs_row parts = {
        .side = side, .what = what, .way = "sum of its parts", .rounds = whole.rounds};
    for (int i = 0; i <= OPERATIONS; i++)
        if (benchmark[i].failed) return false;
    for (int i = 0; i < OPERATIONS; i++) {
        parts.median += benchmark[i].median_seconds;
        parts.least += benchmark[i].minimum_seconds;
        if (benchmark[i].rounds < parts.rounds) parts.rounds = benchmark[i].rounds;
    }
    whole.ratio = whole.median / parts.median;
    duo_graphs_print(g, &whole);
    duo_graphs_print(g, &parts);
    return true;
}

static bool fork_and_join(duo_graphs *g, duo_side side, int n, bool dots)
{
    char what[48];
    fork_join f = {0};
    snprintf(what, sizeof what, dots ? "5 sdot %d" : "5 sgemm %d^3", n);
    const bool good = open(&f, g, side, n, dots) && measure(g, &f, side, what);
    if (!good) fprintf(stderr, "duoblas: fork-join: an operation failed, or is wrong\n");
    close(&f);
    return good;
}

bool duo_graphs_fork_join(duo_graphs *g, duo_side side)
{
    static const int edges[] = {96, 128, 192};
    bool good = true;
    if (side == DUO_SIDE_GPU) return fork_and_join(g, side, g->edge, false);
    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++)
        good = fork_and_join(g, side, edges[i], false) && good;
    return fork_and_join(g, side, 100000, true) && good;
}
