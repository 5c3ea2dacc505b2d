/*
 * launch.c - the host's time for one launch of a graph, until the launch returns, while the queue
 * is busy. On the CPU's side the launch also does the work, which is tiny.
 */
#include <stdio.h>

#include "bench/graphs/graphs.h"
#include "bench/graphs/works.h"
#include "bench/measure/benchmark.h"

enum {
    FLOATS = 16,
    MOST_ROUNDS = 64,
    AT_A_TIME = 100
}; /* AT_A_TIME: nodes of all launches in a sample */

typedef struct launch {
    duo_buffers buffers, large; /* one for each node; for the product in the queue */
    duo_work busy;
    int products;
} launch;

/* Makes the work that keeps the queue busy longer than the launches take. */
static bool open(launch *l, const duo_graphs *g, duo_side side)
{
    const int n = g->long_edge;
    if (!duo_buffers_open(&l->buffers, g->bench, side, DUO_MOST_WORKS, FLOATS)) return false;
    if (side == DUO_SIDE_CPU) return true;
    if (!duo_buffers_open(&l->large, g->bench, side, 3, (size_t)n * (size_t)n)) return false;
    float *const *const at = l->large.at;
    l->busy = duo_work_product(n, n, n, 1.0f, at[0], at[1], at[2]);
    l->products = g->queued / 10;
    return true;
}

/* Seconds of a launch, until it returns; negative: it failed. */
static double once(const launch *l, duo_graph *graph, int launches)
{
    duo_context *const context = l->buffers.context;
    duo_status status = DUO_OK;
    for (int i = 0; i < l->products && status == DUO_OK; i++)
        status = duo_work_call(context, &l->busy);
    const double begin = duo_now_seconds();
    for (int i = 0; i < launches && status == DUO_OK; i++)
        status = duo_graph_launch(graph, context);
    const double seconds = duo_now_seconds() - begin;
    if (duo_synchronize(context) != DUO_OK || status != DUO_OK) return -1.0;
    return seconds / launches;
}

static bool measure(duo_graphs *g, const launch *l, int nodes, duo_pattern pattern)
{
    char what[48];
    duo_work work[DUO_MOST_WORKS] = {0};
    double sample[MOST_ROUNDS];
    for (int i = 0; i < nodes; i++) {
        float *const at = l->buffers.at[i];
        work[i] = duo_work_reduction(DUO_WORK_SSUM, FLOATS, at, NULL, at);
    }
    duo_graph *const graph = duo_works_graph(l->buffers.context, work, nodes, pattern);
    const int rounds = g->effort.rounds, launches = AT_A_TIME / nodes;
    bool good = graph != NULL && once(l, graph, launches) >= 0.0;
    for (int i = 0; i < rounds && good; i++) {
        sample[i] = once(l, graph, launches);
        good = sample[i] >= 0.0;
    }
    (void)duo_graph_destroy(graph);
    if (!good) return false;
    snprintf(what, sizeof what, "%d node%s", nodes, nodes == 1 ? "" : "s");
    duo_graphs_row row = {.side = l->buffers.side,
                          .what = what,
                          .way = pattern == DUO_CHAIN ? "chain" : "side by side",
                          .rounds = rounds,
                          .median = duo_median(sample, rounds)};
    row.least = sample[0]; /* the median sorted them */
    row.most = sample[rounds - 1];
    duo_graphs_print(g, &row);
    return true;
}

bool duo_graphs_launch(duo_graphs *g, duo_side side)
{
    static const int nodes[] = {1, 5, 20, 100};
    launch l = {0};
    bool good = open(&l, g, side);
    for (size_t i = 0; i < sizeof nodes / sizeof nodes[0] && good; i++)
        good = measure(g, &l, nodes[i], DUO_CHAIN) &&
               (nodes[i] == 1 || measure(g, &l, nodes[i], DUO_SIDE_BY_SIDE));
    if (!good) fprintf(stderr, "duoblas: launch: a launch failed\n");
    duo_buffers_close(&l.large);
    duo_buffers_close(&l.buffers);
    return good;
}
