/*
 * chain.c - twenty small operations, each on the result of the one before: as calls, as a graph,
 * and on the GPU as a CUDA graph that was recorded from the same calls.
 */
#include <stdio.h>
#include <stdlib.h>

#include "bench/graphs/graphs.h"
#include "bench/graphs/works.h"
#include "bench/peers/gpu_peers.h"
#include "gpu/backend/devices.h"
#include "host/environment.h"

enum { OPERATIONS = 20, A = 0, B, C, ARRAYS = C + 2, LAST = C + 1 };

typedef struct raw_graph {
    duo_context *context; /* its stream is the queue's */
    duo_queue *queue;
    void *stream, *graph;
} raw_graph;

typedef struct chain {
    duo_buffers buffers;
    int edge;
    duo_work work[OPERATIONS];
    duo_works calls, graph;
    raw_graph raw;
    const char *why; /* if there is no raw graph: the reason */
    float *expected;
} chain;

/* Makes the operations: C := A B / 8; C's first element := a sum of C; D := A C / 8; and so on, in
 * C and D by turns. The factor keeps all magnitudes far from overflow. */
static void make_works(chain *c)
{
    static const duo_work_kind sums[] = {DUO_WORK_SSUM, DUO_WORK_SASUM, DUO_WORK_SDOT};
    float *const *const at = c->buffers.at;
    for (int i = 0; i < OPERATIONS; i += 2) {
        float *const from = i == 0 ? at[B] : at[C + (i / 2 - 1) % 2], *const to = at[C + i / 2 % 2];
        c->work[i] = duo_work_product(c->edge, c->edge, c->edge, 0.125f, at[A], from, to);
        c->work[i + 1] =
            duo_work_reduction(sums[i / 2 % 3], (int64_t)c->edge * c->edge, to, to, to);
    }
}

/* ---- The raw graph ---- */

static bool run_raw(void *user, int64_t times)
{
    const raw_graph *const r = user;
    bool good = true;
    for (int64_t t = 0; t < times && good; t++)
        good = duo_peer_cuda_graph_launch(r->graph, r->stream);
    return (duo_backend_current()->finish(r->queue) == DUO_OK) & good;
}

/* Records the CUDA graph. All calls are made once before, so that recording allocates nothing.
 * Returns NULL, or the reason of a failure. */
static const char *open_raw(const duo_graphs *g, chain *c)
{
    raw_graph *const r = &c->raw;
    r->queue = g->bench->queue;
    r->stream = duo_backend_current()->stream(r->queue);
    if (r->stream == NULL) return "this device has no CUDA stream";
    r->context = duo_buffers_context(g->bench, DUO_SIDE_GPU);
    duo_works calls = {.context = r->context, .work = c->work, .count = OPERATIONS};
    if (r->context == NULL || duo_set_stream(r->context, r->stream) != DUO_OK ||
        !duo_works_run(&calls, 1))
        return "a call in the stream failed";
    const char *why = duo_peer_cuda_graph_begin(duo_environment_get()->device, r->stream);
    if (why != NULL) return why;
    duo_status status = DUO_OK;
    for (int i = 0; i < OPERATIONS && status == DUO_OK; i++)
        status = duo_work_call(r->context, &c->work[i]);
    why = duo_peer_cuda_graph_end(r->stream, &r->graph);
    return status != DUO_OK ? "a call that was recorded failed" : why;
}

static void close_raw(raw_graph *r)
{
    duo_peer_cuda_graph_close(r->graph);
    (void)duo_destroy(r->context);
}

/* ---- All of them ---- */

static bool open(duo_graphs *g, chain *c, duo_side side)
{
    const size_t floats = (size_t)c->edge * (size_t)c->edge;
    if (!duo_buffers_open(&c->buffers, g->bench, side, ARRAYS, floats)) return false;
    make_works(c);
    c->calls = (duo_works){.context = c->buffers.context, .work = c->work, .count = OPERATIONS};
    c->graph = c->calls;
    c->graph.graph = duo_works_graph(c->buffers.context, c->work, OPERATIONS, DUO_CHAIN);
    if (c->graph.graph == NULL || !duo_works_run(&c->calls, 1)) return false;
    c->expected = duo_buffers_read(&c->buffers, LAST);
    c->why = side == DUO_SIDE_GPU ? open_raw(g, c) : "it is for a GPU";
    return c->expected != NULL;
}

static bool right(const chain *c, const duo_benchmark *benchmark)
{
    return duo_buffers_spoil(&c->buffers, LAST) && benchmark->run(benchmark->user, 1) &&
           duo_buffers_agree(&c->buffers, LAST, c->expected);
}

static bool measure(duo_graphs *g, chain *c, duo_side side)
{
    static const char *const ways[] = {"graph", "calls", "raw CUDA graph"};
    duo_benchmark benchmark[] = {{.run = duo_works_run, .user = &c->graph},
                                 {.run = duo_works_run, .user = &c->calls},
                                 {.run = run_raw, .user = &c->raw}};
    const int count = c->why == NULL ? 3 : 2;
    char what[48];
    snprintf(what, sizeof what, "20 ops n = %d", c->edge);
    for (int i = 0; i < count; i++)
        if (!right(c, &benchmark[i])) return false;
    duo_measure(benchmark, count, &g->effort);
    for (int i = 0; i < count; i++) {
        if (benchmark[i].failed) return false;
        duo_graphs_row row = duo_graphs_row_of(side, what, ways[i], &benchmark[i], 1.0);
        if (i == 1) row.ratio = row.median / benchmark[0].median_seconds;
        if (i == 2) row.ratio = benchmark[0].median_seconds / row.median;
        duo_graphs_print(g, &row);
    }
    if (side == DUO_SIDE_GPU && c->why != NULL)
        printf("%s  no raw CUDA graph: %s\n", g->bench->csv ? "#" : "", c->why);
    return true;
}

static bool chain_of(duo_graphs *g, duo_side side, int edge)
{
    chain c = {.edge = edge};
    const bool good = open(g, &c, side) && measure(g, &c, side);
    if (!good) fprintf(stderr, "duoblas: chain: an operation failed, or is wrong\n");
    free(c.expected);
    close_raw(&c.raw);
    (void)duo_graph_destroy(c.graph.graph);
    duo_buffers_close(&c.buffers);
    return good;
}

bool duo_graphs_chain(duo_graphs *g, duo_side side)
{
    static const int edges[] = {16, 32, 64};
    bool good = true;
    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++)
        good = chain_of(g, side, edges[i]) && good;
    return good;
}
