/*
 * graph_launch.c - duo_graph_launch (graph.h).
 *
 * Wave by wave: what the device does is queued in the lanes, what comes home is copied, and what
 * the host does is shared by the team, each node in a context of its own.
 */
#include <stdatomic.h>
#include <string.h>

#include "data/coherence.h"
#include "data/residency.h"
#include "gpu/backend/devices.h"
#include "graph/graph.h"
#include "host/machine.h"
#include "host/team.h"

/* ---- One node ---- */

static duo_status run_operation(duo_context *ctx, const duo_work *w)
{
    duo_status status = ctx->policy.math == w->math ? DUO_OK : duo_set_math(ctx, w->math);
    if (status != DUO_OK) return status;
    switch (w->kind) {
    case DUO_WORK_SGEMM:
        return duo_sgemm(ctx, w->layout, w->transa, w->transb, w->m, w->n, w->k, w->alpha, w->a,
                         w->lda, w->b, w->ldb, w->beta, w->c, w->ldc);
    case DUO_WORK_SASUM:
        return duo_sasum(ctx, w->n, w->x, w->incx, w->result);
    case DUO_WORK_SSUM:
        return duo_ssum(ctx, w->n, w->x, w->incx, w->result);
    default:
        return duo_sdot(ctx, w->n, w->x, w->incx, w->y, w->incy, w->result);
    }
}

/* Runs without gaps are one. */
static bool dense(const duo_work *w)
{
    return w->height == 1 ||
           (w->dst_pitch == w->width && (w->kind == DUO_WORK_SET || w->src_pitch == w->width));
}

static duo_status run_copy(duo_context *ctx, const duo_work *w)
{
    if (w->width == 0 || w->height == 0) return DUO_OK;
    if (dense(w)) return duo_copy(ctx, w->dst, w->src, w->width * w->height);
    duo_status status = DUO_OK;
    for (size_t run = 0; run < w->height && status == DUO_OK; run++)
        status = duo_copy(ctx, (char *)w->dst + run * w->dst_pitch,
                          (const char *)w->src + run * w->src_pitch, w->width);
    return status;
}

static void set_on_host(const duo_work *w)
{
    for (size_t run = 0; run < w->height; run++)
        memset((char *)w->dst + run * w->dst_pitch, w->value, w->width);
}

static duo_status set_on_device(duo_context *ctx, const duo_work *w)
{
    duo_resources *const res = &ctx->resources;
    const uintptr_t low = (uintptr_t)w->dst;
    const uintptr_t high = low + (w->height - 1) * w->dst_pitch + w->width;
    bool crosses;
    duo_residency_lock();
    duo_region *const region = duo_residency_find(low, high, &crosses);
    duo_status status = region == NULL ? DUO_ERR_RANGE : region->lost ? DUO_ERR_LOST : DUO_OK;
    if (status == DUO_OK) status = duo_resources_reach(res, region);
    if (status == DUO_OK) status = duo_coherence_claim(res, region);
    if (status == DUO_OK) {
        duo_packed_stale(&region->packed, low - region->low, high - region->low);
        status = duo_queue_fill(res->queue, w->dst, w->dst_pitch, (unsigned char)w->value, w->width,
                                w->height);
        if (status == DUO_OK)
            res->unwaited = true;
        else
            (void)duo_resources_failed(res, status, "set memory");
    }
    duo_residency_unlock();
    return status;
}

static duo_status run_node(duo_context *ctx, const duo_graph_node *n)
{
    const duo_work *const w = &n->work;
    switch (w->kind) {
    case DUO_WORK_EMPTY:
        return DUO_OK;
    case DUO_WORK_HOST:
        w->function(w->user);
        return DUO_OK;
    case DUO_WORK_COPY:
        return run_copy(ctx, w);
    case DUO_WORK_SET:
        if (w->width == 0 || w->height == 0) return DUO_OK;
        if (n->side == DUO_NODE_QUEUED) return set_on_device(ctx, w);
        set_on_host(w);
        return DUO_OK;
    default:
        return run_operation(ctx, w);
    }
}

/* What a node depends on has failed: so has the node. */
static duo_status status_before(const duo_graph *g, const duo_graph_node *n)
{
    for (int a = 0; a < n->afters; a++)
        if (g->node[n->after[a]].status != DUO_OK) return g->node[n->after[a]].status;
    return DUO_OK;
}

/* ---- On the device ---- */

/* The lane follows what the node depends on in other lanes; the host's part is done. */
static duo_status follow_lanes(duo_graph *g, const duo_graph_node *n)
{
    duo_status status = DUO_OK;
    for (int a = 0; a < n->afters && status == DUO_OK; a++) {
        const duo_graph_node *const before = &g->node[n->after[a]];
        if (before->side == DUO_NODE_QUEUED && before->lane != n->lane)
            status = duo_event_wait(g->lane[n->lane], before->event);
    }
    return status;
}

static void run_in_lane(duo_graph *g, duo_graph_node *n)
{
    duo_context *const lane = g->lane[n->lane];
    n->status = status_before(g, n);
    if (n->status == DUO_OK) n->status = follow_lanes(g, n);
    if (n->status == DUO_OK) n->status = run_node(lane, n);
    if (n->event != NULL) (void)duo_event_record(lane, n->event);
}

/* ---- On the host ---- */

typedef struct wave {
    duo_graph *graph;
    const int *node; /* those that the host does */
    int nodes;
    atomic_int next;
    int threads; /* for each */
} wave;

static void run_on_host(duo_graph *g, duo_graph_node *n, duo_context *ctx)
{
    n->status = status_before(g, n);
    if (n->status == DUO_OK) n->status = run_node(ctx, n);
}

/* A piece has a context of its own, and takes one node after the other. */
static void run_some(void *job, int64_t piece)
{
    wave *const w = job;
    duo_context *const ctx = w->graph->host_lane[piece];
    if (ctx->resources.threads != w->threads) (void)duo_set_threads(ctx, w->threads);
    for (;;) {
        const int at = atomic_fetch_add_explicit(&w->next, 1, memory_order_relaxed);
        if (at >= w->nodes) return;
        run_on_host(w->graph, &w->graph->node[w->node[at]], ctx);
    }
}

/* The host waits for what a node depends on on the device. */
static void wait_for_lanes(duo_graph *g, duo_graph_node *n)
{
    for (int a = 0; a < n->afters; a++) {
        duo_graph_node *const before = &g->node[n->after[a]];
        if (before->side != DUO_NODE_QUEUED || before->status != DUO_OK) continue;
        before->status = duo_event_synchronize(before->event);
    }
}

static void run_hosts(duo_graph *g, const int *node, int nodes, int at_once)
{
    for (int i = 0; i < nodes; i++) wait_for_lanes(g, &g->node[node[i]]);
    if (at_once == 1) {
        for (int i = 0; i < nodes; i++) run_on_host(g, &g->node[node[i]], g->host);
        return;
    }
    const int all = duo_machine_threads_for(g->threads);
    wave w = {
        .graph = g, .node = node, .nodes = nodes, .threads = all > at_once ? all / at_once : 1};
    duo_team_run(run_some, &w, at_once, at_once);
}

/* ---- The whole ---- */

/* Behind the launch before, and behind what the context was given. What the host does follows that
 * as well. */
static duo_status begin(duo_graph *g, duo_context *ctx)
{
    duo_status status = DUO_OK;
    for (int i = 0; i < g->lanes && status == DUO_OK; i++) status = duo_event_wait(ctx, g->end[i]);
    if (status == DUO_OK) status = duo_event_record(ctx, g->begin);
    for (int i = 0; i < g->lanes && status == DUO_OK; i++)
        status = duo_event_wait(g->lane[i], g->begin);
    if (status == DUO_OK && g->host_lanes > 0) {
        status = duo_event_synchronize(g->begin);
        if (status == DUO_ERR_LOST) status = DUO_OK; /* whoever uses what is lost is told */
    }
    return status;
}

/* The nodes of a wave: queued first, then what is waited for, then the host's. `hosts` has room for
 * all of them. */
static void run_wave(duo_graph *g, const int *node, int nodes, int *hosts, int at_once)
{
    int count = 0;
    for (int i = 0; i < nodes; i++)
        if (g->node[node[i]].side == DUO_NODE_QUEUED) run_in_lane(g, &g->node[node[i]]);
    for (int i = 0; i < nodes; i++)
        if (g->node[node[i]].side == DUO_NODE_FETCHING) run_in_lane(g, &g->node[node[i]]);
    for (int i = 0; i < nodes; i++)
        if (g->node[node[i]].side == DUO_NODE_HOST) hosts[count++] = node[i];
    run_hosts(g, hosts, count, at_once);
}

static duo_status first_failure(duo_graph *g)
{
    for (int at = 0; at < g->nodes; at++) {
        const int node = g->order[at];
        const duo_status status = g->node[node].status;
        if (status != DUO_OK) return duo_graph_wrong(g, node, status, duo_status_string(status));
    }
    return DUO_OK;
}

duo_status duo_graph_launch(duo_graph *graph, duo_context *given)
{
    if (!duo_graph_live(graph)) return DUO_ERR_GRAPH;
    duo_context *const ctx = duo_context_of(given);
    if (ctx == NULL) return DUO_ERR_CONTEXT;
    if (!graph->built) return duo_graph_wrong(graph, -1, DUO_ERR_BUILT, "it is not built");
    for (int i = 0; i < graph->nodes; i++) graph->node[i].status = DUO_OK;
    const duo_status begun = begin(graph, ctx);
    if (begun != DUO_OK) return duo_graph_wrong(graph, -1, begun, "cannot follow the context");
    for (int i = 0, at = 0; i < graph->waves; at = graph->wave_end[i++])
        run_wave(graph, graph->order + at, graph->wave_end[i] - at, graph->hosts,
                 graph->at_once[i]);
    duo_status status = first_failure(graph);
    for (int i = 0; i < graph->lanes; i++) {
        (void)duo_event_record(graph->lane[i], graph->end[i]);
        const duo_status followed = duo_event_wait(ctx, graph->end[i]);
        if (status == DUO_OK) status = followed;
    }
    /* What the lanes left on the device is the context's to wait for. */
    ctx->resources.unwaited |= graph->lanes > 0 && ctx->resources.queue != NULL;
    return status;
}
