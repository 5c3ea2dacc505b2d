/*
 * graph_launch.c - duo_graph_launch (graph.h): part by part. Recorded parts are replayed in the
 * queue of the launching context.
 */
#include <stdatomic.h>

#include "data/coherence.h"
#include "data/residency.h"
#include "gpu/backend/devices.h"
#include "graph/graph_steps.h"
#include "host/team.h"

typedef struct launch {
    duo_graph *graph;
    duo_context *ctx;
    bool by_calls; /* no more replays: calls may have taken memory from recordings */
} launch;

static bool on_device(const duo_graph *g) { return g->lanes > 0 || g->caller != NULL; }

static void set_status(duo_graph *g, duo_graph_node *n, duo_status status)
{
    n->status = status;
    if (status != DUO_OK) atomic_store_explicit(&g->failed, true, memory_order_relaxed);
}

/* A node fails if a node that it depends on has failed: returns that status. */
static duo_status status_before(const duo_graph *g, const duo_graph_node *n)
{
    if (!atomic_load_explicit(&g->failed, memory_order_relaxed)) return DUO_OK;
    for (int a = 0; a < n->afters; a++)
        if (g->node[n->after[a]].status != DUO_OK) return g->node[n->after[a]].status;
    return DUO_OK;
}

/* ---- On the device: recorded ---- */

/* Is an operand packed as it was when the part was recorded? Under the residency lock. */
static bool still_packed(const duo_graph_use *u)
{
    const duo_packed *p = u->region->packed.first;
    while (p != NULL && p->number != u->packed) p = p->next;
    return p != NULL && p->current;
}

/* The queue waits for other queues' work on the part's memory, and their later work waits for
 * it. */
static duo_status claim(duo_graph *g, const duo_graph_part *part, duo_resources *res)
{
    duo_status status = DUO_OK;
    for (int i = part->use; i < part->use + part->uses && status == DUO_OK; i++) {
        duo_region *const region = g->use[i].region;
        if (region != NULL) status = duo_coherence_claim(res, region, g->use[i].written);
    }
    return status;
}

/* Before a replay: orders it behind other work, and holds its memory and packed operands until it
 * is queued. */
static duo_status begin_replay(duo_graph *g, const duo_graph_part *part, duo_resources *res)
{
    duo_residency_lock();
    const bool held = duo_graph_hold(g, part);
    duo_status status = held ? claim(g, part, res) : DUO_ERR_DEVICE;
    for (int i = part->use; i < part->use + part->uses && status == DUO_OK; i++)
        if (g->use[i].packed != 0 && !still_packed(&g->use[i])) status = DUO_ERR_DEVICE;
    if (held && status != DUO_OK) duo_graph_let_go(g, part);
    duo_residency_unlock();
    return status;
}

/* After a replay: marks packed operands stale, and claims the memory once more, since other calls
 * may have used it meanwhile. */
static void end_replay(duo_graph *g, const duo_graph_part *part, duo_resources *res, bool queued)
{
    duo_residency_lock();
    for (int i = part->use; i < part->use + part->uses; i++) {
        const duo_graph_use *const u = &g->use[i];
        if (queued && u->written && u->region != NULL)
            duo_packed_stale(&u->region->packed, u->low - u->region->low, u->high - u->region->low);
    }
    if (queued) (void)claim(g, part, res);
    duo_graph_let_go(g, part);
    duo_residency_unlock();
}

/* False: calls have to do the part. */
static bool replay(const launch *l, duo_graph_part *part)
{
    duo_graph *const g = l->graph;
    duo_resources *const res = &l->ctx->resources;
    if (l->by_calls || part->recorded == NULL) return false;
    for (int at = part->from; at < part->to; at++)
        if (status_before(g, &g->node[g->order[at]]) != DUO_OK) return false;
    if (duo_context_open(l->ctx) != DUO_OK || res->queue_device != g->device) return false;
    if (begin_replay(g, part, res) != DUO_OK) return false;
    const duo_status status = duo_queue_replay(res->queue, part->recorded);
    end_replay(g, part, res, status == DUO_OK);
    if (status != DUO_OK) (void)duo_resources_failed(res, status, "replay a graph");
    return status == DUO_OK;
}

/* ---- On the device: by calls ---- */

static void run_in_lane(duo_graph *g, duo_graph_node *n)
{
    duo_context *const lane = g->lane[n->lane];
    duo_status status = status_before(g, n);
    for (int a = 0; a < n->afters && status == DUO_OK; a++) {
        const duo_graph_node *const before = &g->node[n->after[a]];
        if (before->part == n->part && before->lane != n->lane)
            status = duo_event_wait(lane, before->event);
    }
    set_status(g, n, status == DUO_OK ? duo_graph_run_node(lane, n) : status);
    if (n->event != NULL) (void)duo_event_record(lane, n->event);
}

/* The lanes wait for the context. At the end the first lane waits for all others, and takes over
 * their unwaited outputs; the context waits for the first lane. */
static void run_in_lanes(launch *l, const duo_graph_part *part)
{
    duo_graph *const g = l->graph;
    (void)duo_event_record(l->ctx, g->begin);
    for (int i = 0; i < g->lanes; i++) (void)duo_event_wait(g->lane[i], g->begin);
    for (int at = part->from; at < part->to; at++) run_in_lane(g, &g->node[g->order[at]]);
    for (int i = g->lanes - 1; i >= 0; i--) {
        g->lane[0]->resources.unwaited |= g->lane[i]->resources.unwaited;
        (void)duo_event_record(g->lane[i], g->lane_end[i]);
        (void)duo_event_wait(i > 0 ? g->lane[0] : l->ctx, g->lane_end[i]);
    }
    l->by_calls = true;
}

static void run_on_device(launch *l, duo_graph_part *part)
{
    /* The launching context may be on another device, with other work that could be lost. */
    duo_context *const behind = replay(l, part) ? l->ctx : l->graph->lane[0];
    if (behind == l->ctx)
        l->ctx->resources.unwaited = true; /* before the event, so that waiting tells of a loss */
    else
        run_in_lanes(l, part);
    if (part->event != NULL) duo_event_set_work(part->event, &behind->resources);
}

/* ---- By the thread ---- */

/* The host's nodes of a part, on the team. */
typedef struct wave {
    duo_graph *graph;
    const int *node;
    int nodes;
    atomic_int next;
    int threads; /* for each node */
} wave;

/* An operation that need not be decided again. */
static duo_outcome run_fixed(duo_graph_node *n)
{
    if (n->choice.algorithm != NULL) return n->choice.algorithm->run(&n->call);
    if (n->work.kind != DUO_WORK_SGEMM) *n->work.result = 0.0f;
    return DUO_OK;
}

static void run_on_host(duo_graph *g, duo_graph_node *n, duo_context *ctx)
{
    const duo_status before = status_before(g, n);
    if (before != DUO_OK)
        set_status(g, n, before);
    else if (!n->fixed || run_fixed(n) != DUO_OK)
        set_status(g, n, duo_graph_run_node(ctx, n));
}

/* A piece of the team's job: it has a context of its own, and does one node after the other. */
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

static void run_hosts(duo_graph *g, const int *node, int nodes, int at_once)
{
    if (at_once == 1) {
        for (int i = 0; i < nodes; i++) run_on_host(g, &g->node[node[i]], g->host);
        return;
    }
    wave w = {.graph = g, .node = node, .nodes = nodes, .threads = duo_graph_threads(g, at_once)};
    duo_team_run(run_some, &w, at_once, at_once);
}

/* The event behind the node `before` on the device; NULL: the node is done. */
static duo_event *event_of(const duo_graph *g, const duo_graph_node *before)
{
    return before->side == DUO_NODE_QUEUED ? g->part[before->part].event : before->event;
}

/* The host waits for the device's nodes that a node depends on. */
static void wait_for_device(duo_graph *g, const duo_graph_node *n)
{
    for (int a = 0; a < n->afters; a++) {
        duo_graph_node *const before = &g->node[n->after[a]];
        duo_event *const event = event_of(g, before);
        if (event != NULL && before->status == DUO_OK)
            set_status(g, before, duo_event_synchronize(event));
    }
}

/* Calls the node when the nodes that it depends on are done; the context then waits for it. */
static void run_called(launch *l, duo_graph_node *n)
{
    duo_graph *const g = l->graph;
    duo_status status = status_before(g, n);
    for (int a = 0; a < n->afters && status == DUO_OK; a++) {
        duo_event *const event = event_of(g, &g->node[n->after[a]]);
        if (event != NULL) status = duo_event_wait(g->caller, event);
    }
    set_status(g, n, status == DUO_OK ? duo_graph_run_node(g->caller, n) : status);
    if (n->event == NULL) return;
    (void)duo_event_record(g->caller, n->event);
    (void)duo_event_wait(l->ctx, n->event);
}

static void run_by_thread(launch *l, const duo_graph_part *part)
{
    duo_graph *const g = l->graph;
    int hosts = 0;
    for (int at = part->from; at < part->to; at++) {
        duo_graph_node *const n = &g->node[g->order[at]];
        if (n->side == DUO_NODE_CALLED)
            run_called(l, n);
        else
            g->hosts[hosts++] = g->order[at];
    }
    for (int i = 0; i < hosts && on_device(g); i++) wait_for_device(g, &g->node[g->hosts[i]]);
    run_hosts(g, g->hosts, hosts, part->at_once);
}

/* ---- The whole ---- */

/* The launch waits for the previous one, and for the context's earlier work. So does the thread's
 * own work. */
static duo_status begin(launch *l)
{
    duo_graph *const g = l->graph;
    const bool calls = g->caller != NULL, hosts = g->host_lanes > 0;
    duo_status status = DUO_OK;
    if (g->last != l->ctx && on_device(g)) status = duo_event_wait(l->ctx, g->end);
    if (status != DUO_OK || (!calls && !hosts)) return status;
    status = duo_event_record(l->ctx, g->begin);
    if (calls && status == DUO_OK) status = duo_event_wait(g->caller, g->begin);
    if (hosts && status == DUO_OK) status = duo_event_synchronize(g->begin);
    return status == DUO_ERR_LOST ? DUO_OK : status; /* a later use of lost data tells of it */
}

/* Waits for copies to the host. */
static void wait_for_copies(duo_graph *g)
{
    for (int i = 0; i < g->parts; i++) {
        if (!g->part[i].fetches) continue;
        const duo_status status = duo_event_synchronize(g->part[i].event);
        for (int at = g->part[i].from; at < g->part[i].to && status != DUO_OK; at++) {
            duo_graph_node *const n = &g->node[g->order[at]];
            if (n->status == DUO_OK) set_status(g, n, status);
        }
    }
}

static duo_status first_failure(duo_graph *g)
{
    for (int at = 0; at < g->nodes && atomic_load(&g->failed); at++) {
        const int node = g->order[at];
        const duo_status status = g->node[node].status;
        if (status != DUO_OK) return duo_graph_wrong(g, node, status, duo_status_string(status));
    }
    return DUO_OK;
}

static void end(launch *l)
{
    duo_graph *const g = l->graph;
    if (!on_device(g)) return;
    duo_resources *const res = &l->ctx->resources; /* it has to wait for the work on its device */
    if (l->by_calls && res->queue != NULL && res->queue_device == g->device)
        res->unwaited |= g->lane[0]->resources.unwaited;
    (void)duo_event_record(l->ctx, g->end);
    g->last = l->ctx;
    for (int i = 0; i < g->parts && l->by_calls; i++)
        if (g->part[i].recorded != NULL) g->settled = false;
}

duo_status duo_graph_launch(duo_graph *handle, duo_context *given)
{
    duo_graph *const graph = duo_graph_of(handle);
    if (graph == NULL) return DUO_ERR_GRAPH;
    duo_context *const ctx = duo_context_of(given);
    if (ctx == NULL) return DUO_ERR_CONTEXT;
    if (!graph->built) return duo_graph_wrong(graph, -1, DUO_ERR_BUILT, "it is not built");
    if (duo_context_captured(ctx))
        return duo_graph_wrong(graph, -1, DUO_ERR_CAPTURE, "the context captures another graph");
    launch l = {.graph = graph, .ctx = ctx};
    const duo_status laid_out = graph->moved ? duo_graph_lay_out(graph) : DUO_OK;
    if (laid_out != DUO_OK) return laid_out;
    duo_graph_settle(graph);
    for (int i = 0; i < graph->nodes && atomic_load(&graph->failed); i++)
        graph->node[i].status = DUO_OK;
    atomic_store(&graph->failed, false);
    const duo_status begun = begin(&l);
    if (begun != DUO_OK) return duo_graph_wrong(graph, -1, begun, "cannot follow the context");
    for (int i = 0; i < graph->parts; i++) {
        if (graph->part[i].queued)
            run_on_device(&l, &graph->part[i]);
        else
            run_by_thread(&l, &graph->part[i]);
    }
    wait_for_copies(graph);
    end(&l);
    return first_failure(graph);
}
