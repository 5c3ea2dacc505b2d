/* graph_build.c - duo_graph_build: parts and lanes (graph.h); duo_graph_update, and
 * duo_graph_destroy. */
#include "graph/graph_steps.h"

#include <stdlib.h>

#include "gpu/backend/devices.h"
#include "host/fork.h"

/* ---- Lanes ---- */

/* A lane for a node of the device: the lane of a node that it depends on, if that lane is free in
 * this wave; else any free one; else the next. */
static int lane_of(const duo_graph *g, const duo_graph_node *n, bool taken[DUO_GRAPH_LANES],
                   int in_wave)
{
    for (int a = 0; a < n->afters; a++) {
        const duo_graph_node *const before = &g->node[n->after[a]];
        if (before->side == DUO_NODE_QUEUED && !taken[before->lane]) return before->lane;
    }
    for (int lane = 0; lane < DUO_GRAPH_LANES; lane++)
        if (!taken[lane]) return lane;
    return in_wave % DUO_GRAPH_LANES;
}

/* Chooses the lanes of a part of the device. */
static void choose_lanes_of(duo_graph *g, const duo_graph_part *part)
{
    bool taken[DUO_GRAPH_LANES] = {false};
    int in_wave = 0;
    for (int at = part->from; at < part->to; at++) {
        duo_graph_node *const n = &g->node[g->order[at]];
        if (at > part->from && n->wave != g->node[g->order[at - 1]].wave) {
            for (int lane = 0; lane < DUO_GRAPH_LANES; lane++) taken[lane] = false;
            in_wave = 0;
        }
        n->lane = lane_of(g, n, taken, in_wave++);
        taken[n->lane] = true;
        if (n->lane >= g->lanes) g->lanes = n->lane + 1;
    }
}

static void choose_lanes(duo_graph *g)
{
    int most_at_once = 0;
    for (int i = 0; i < g->parts; i++) {
        const duo_graph_part *const part = &g->part[i];
        int hosts = 0;
        if (part->queued) choose_lanes_of(g, part);
        for (int at = part->from; at < part->to; at++)
            hosts += g->node[g->order[at]].side == DUO_NODE_HOST;
        if (hosts > most_at_once) most_at_once = hosts;
    }
    const int threads = duo_graph_threads(g, 1);
    g->host_lanes = most_at_once < threads ? most_at_once : threads;
    if (g->host_lanes > DUO_GRAPH_HOST_LANES) g->host_lanes = DUO_GRAPH_HOST_LANES;
}

/* Sets how many nodes of each part the host does side by side. */
static void share_host(duo_graph *g)
{
    for (int i = 0; i < g->parts; i++) {
        duo_graph_part *const part = &g->part[i];
        int hosts = 0;
        for (int at = part->from; at < part->to; at++)
            if (g->node[g->order[at]].side == DUO_NODE_HOST) g->hosts[hosts++] = g->order[at];
        const int most = hosts < g->host_lanes ? hosts : g->host_lanes;
        part->at_once = most > 1 ? duo_graph_at_once(g, g->hosts, hosts, most) : 1;
    }
}

/* A context for nodes of one side, on the graph's device. */
static duo_context *new_lane(const duo_graph *g, duo_path path)
{
    const int device = g->device;
    duo_context *const ctx = duo_context_make();
    if (ctx == NULL) return NULL;
    duo_resources_set_others(&ctx->resources, NULL, 0);
    ctx->resources.device = device;
    ctx->resources.rank_device = false;
    ctx->resources.threads = g->threads;
    ctx->policy.path = path;
    duo_policy_changed(&ctx->policy, &ctx->resources);
    return ctx;
}

/* Does a node in another lane of its part follow a node? */
static bool followed_elsewhere(const duo_graph *g, const duo_followers *f, int node)
{
    for (int k = f->first[node]; k < f->first[node + 1]; k++) {
        const duo_graph_node *const next = &g->node[f->node[k]];
        if (next->part == g->node[node].part && next->lane != g->node[node].lane) return true;
    }
    return false;
}

/* Does the thread wait for a part of the device: for copies to the host, or to go on? */
static bool awaited(duo_graph *g, const duo_followers *f, duo_graph_part *part)
{
    bool followed = false;
    for (int at = part->from; at < part->to && part->queued; at++) {
        const int node = g->order[at];
        const duo_graph_node *const n = &g->node[node];
        part->fetches |= n->work.kind == DUO_WORK_COPY && !n->to_device;
        for (int k = f->first[node]; k < f->first[node + 1]; k++)
            followed |= g->node[f->node[k]].side != DUO_NODE_QUEUED;
    }
    return followed || part->fetches;
}

static bool make_event(duo_event **event)
{
    *event = duo_event_make();
    return *event != NULL;
}

static bool make_events(duo_graph *g, const duo_followers *f)
{
    bool good = make_event(&g->begin) && make_event(&g->end);
    for (int i = 0; i < g->lanes && good; i++) good = make_event(&g->lane_end[i]);
    for (int i = 0; i < g->parts && good; i++)
        if (awaited(g, f, &g->part[i])) good = make_event(&g->part[i].event);
    for (int i = 0; i < g->nodes && good; i++) {
        duo_graph_node *const n = &g->node[i];
        const bool needed = n->side == DUO_NODE_QUEUED ? followed_elsewhere(g, f, i)
                                                       : n->side == DUO_NODE_CALLED && n->to_device;
        if (needed) good = make_event(&n->event);
    }
    return good;
}

static bool make_lanes(duo_graph *g)
{
    bool good = true, calls = false;
    for (int i = 0; i < g->nodes; i++) calls |= g->node[i].side == DUO_NODE_CALLED;
    if (calls) {
        g->caller = new_lane(g, DUO_PATH_GPU);
        good = g->caller != NULL;
    }
    for (int i = 0; i < g->lanes && good; i++) {
        g->lane[i] = new_lane(g, DUO_PATH_GPU);
        good = g->lane[i] != NULL;
    }
    if (g->host_lanes > 0 && good) {
        g->host = new_lane(g, DUO_PATH_CPU);
        good = g->host != NULL;
    }
    for (int i = 0; i < g->host_lanes && g->host_lanes > 1 && good; i++) {
        g->host_lane[i] = new_lane(g, DUO_PATH_CPU);
        good = g->host_lane[i] != NULL;
    }
    return good;
}

/* ---- Taking it down ---- */

static void end_event(duo_event **event)
{
    if (*event != NULL) duo_event_end(*event);
    *event = NULL;
}

static void close_signal(duo_signal **signal)
{
    if (*signal != NULL && !duo_forked()) duo_backend_current()->signal_close(*signal);
    *signal = NULL;
}

/* Ends all that the build made, once the last launch is done. Returns the status of waiting. */
static duo_status take_down(duo_graph *g)
{
    duo_status status = g->end != NULL ? duo_event_finish(g->end) : DUO_OK;
    /* The launching context lost work of its own, on another device. */
    if (status == DUO_ERR_LOST && duo_device_usable(g->device)) status = DUO_OK;
    duo_graph_unsettle(g);
    for (int i = 0; i < DUO_GRAPH_LANES; i++) {
        const duo_status ended = g->lane[i] != NULL ? duo_context_end(g->lane[i]) : DUO_OK;
        if (status == DUO_OK) status = ended;
        g->lane[i] = NULL;
        end_event(&g->lane_end[i]);
        close_signal(&g->lane_signal[i]);
    }
    if (g->caller != NULL) (void)duo_context_end(g->caller);
    if (g->host != NULL) (void)duo_context_end(g->host);
    g->caller = g->host = NULL;
    for (int i = 0; i < DUO_GRAPH_HOST_LANES; i++) {
        if (g->host_lane[i] != NULL) (void)duo_context_end(g->host_lane[i]);
        g->host_lane[i] = NULL;
    }
    end_event(&g->begin);
    end_event(&g->end);
    g->last = NULL;
    for (int i = 0; i < g->parts; i++) end_event(&g->part[i].event);
    for (int i = 0; i < g->nodes; i++) {
        end_event(&g->node[i].event);
        close_signal(&g->node[i].signal);
    }
    free(g->order);
    free(g->part);
    free(g->hosts);
    free(g->use);
    g->order = g->hosts = NULL;
    g->part = NULL;
    g->use = NULL;
    g->parts = g->lanes = g->host_lanes = g->uses = g->use_room = 0;
    return status;
}

/* ---- Building ---- */

static duo_status lay_out(duo_graph *g, duo_followers *f)
{
    const size_t nodes = (size_t)g->nodes + 1;
    int *const missing = malloc(nodes * sizeof *missing);
    g->order = malloc(nodes * sizeof *g->order);
    g->part = malloc(nodes * sizeof *g->part);
    g->hosts = malloc(nodes * sizeof *g->hosts);
    duo_status status = DUO_OK;
    if (missing == NULL || g->order == NULL || g->part == NULL || g->hosts == NULL ||
        !duo_followers_find(g, f))
        status = duo_graph_wrong(g, -1, DUO_ERR_MEMORY, "out of memory");
    if (status == DUO_OK) status = duo_graph_put_in_order(g, f, missing);
    if (status == DUO_OK) {
        choose_lanes(g);
        if (!make_lanes(g) || !make_events(g, f))
            status = duo_graph_wrong(g, -1, DUO_ERR_MEMORY, "out of memory");
    }
    if (status == DUO_OK && g->host_lanes > 0) share_host(g);
    free(missing);
    return status;
}

duo_status duo_graph_lay_out(duo_graph *graph)
{
    duo_followers f = {NULL, NULL};
    (void)take_down(graph); /* the context of the last launch tells of a loss */
    const duo_status status = lay_out(graph, &f);
    duo_followers_free(&f);
    graph->moved = status != DUO_OK;
    if (status == DUO_OK)
        duo_graph_settle(graph);
    else
        (void)take_down(graph);
    return status;
}

static void set_place(duo_graph_node *n, const duo_node_place *place)
{
    n->side = place->side;
    n->to_device = place->to_device;
}

static duo_status check_nodes(duo_graph *g)
{
    duo_status status = DUO_OK;
    for (int i = 0; i < g->nodes && status == DUO_OK; i++) {
        duo_node_place place;
        duo_graph_node *const n = &g->node[i];
        status = duo_graph_check(g, i, &n->work, &place);
        set_place(n, &place);
        n->to = place.to;
        n->from = place.from;
    }
    return status;
}

duo_status duo_graph_build(duo_graph *handle, duo_context *given)
{
    duo_graph *const graph = duo_graph_of(handle);
    if (graph == NULL) return DUO_ERR_GRAPH;
    duo_context *const ctx = duo_context_of(given);
    if (ctx == NULL) return DUO_ERR_CONTEXT;
    if (graph->built) return duo_graph_wrong(graph, -1, DUO_ERR_BUILT, "it is built");
    if (duo_context_captured(ctx))
        return duo_graph_wrong(graph, -1, DUO_ERR_CAPTURE, "the context captures another graph");
    duo_resources_settle_device(&ctx->resources);
    graph->device = ctx->resources.device;
    graph->threads = ctx->resources.threads;
    duo_status status = check_nodes(graph);
    if (status == DUO_OK) status = duo_graph_lay_out(graph);
    graph->built = status == DUO_OK;
    return status;
}

/* ---- Updating ---- */

/* Are two works the same except for pointers, scalars, the value and the function? */
static bool same_transpose(duo_transpose a, duo_transpose b)
{
    return (a == DUO_NO_TRANS) == (b == DUO_NO_TRANS);
}

static bool same_shape(const duo_work *a, const duo_work *b)
{
    return a->kind == b->kind && a->math == b->math && a->layout == b->layout &&
           same_transpose(a->transa, b->transa) && same_transpose(a->transb, b->transb) &&
           a->m == b->m && a->n == b->n && a->k == b->k && a->lda == b->lda && a->ldb == b->ldb &&
           a->ldc == b->ldc && a->incx == b->incx && a->incy == b->incy &&
           a->dst_pitch == b->dst_pitch && a->src_pitch == b->src_pitch && a->width == b->width &&
           a->height == b->height;
}

/* Is the new memory of the same kind as the node's, to the program? Pageable memory may become
 * pinned. */
static bool same_memory(const duo_graph_node *n, const duo_node_place *place)
{
    const bool to = place->to == DUO_MEMORY_DEVICE, from = place->from == DUO_MEMORY_DEVICE;
    if (to != (n->to == DUO_MEMORY_DEVICE) || from != (n->from == DUO_MEMORY_DEVICE)) return false;
    if (to == from) return true;
    return to ? place->from == n->from || n->from == DUO_MEMORY_HOST
              : place->to == n->to || n->to == DUO_MEMORY_HOST;
}

/* Does the node at its new place fit the layout? Calls can do any work, but if they write on the
 * device, their followers need an event. */
static bool fits(const duo_graph_node *n, const duo_node_place *place)
{
    if (n->side == DUO_NODE_CALLED) return !place->to_device || n->to_device;
    return place->side == n->side && place->to_device == n->to_device;
}

duo_status duo_graph_update(duo_graph *handle, duo_node node, const duo_work *work)
{
    duo_work taken;
    duo_node_place place;
    duo_graph *const graph = duo_graph_of(handle);
    if (graph == NULL) return DUO_ERR_GRAPH;
    if (!graph->built) return duo_graph_wrong(graph, -1, DUO_ERR_BUILT, "it is not built");
    const int number = duo_graph_number(graph, node);
    if (number < 0) return duo_graph_wrong(graph, -1, DUO_ERR_NODE, "a node of another graph");
    duo_status status = duo_graph_take_work(graph, number, work, &taken);
    if (status != DUO_OK) return status;
    duo_graph_node *const n = &graph->node[number];
    if (!same_shape(&taken, &n->work))
        return duo_graph_wrong(graph, number, DUO_ERR_SHAPE, "another kind or shape");
    status = duo_graph_check(graph, number, &taken, &place);
    if (status != DUO_OK) return status;
    if (!place.anywhere && !same_memory(n, &place))
        return duo_graph_wrong(graph, number, DUO_ERR_SHAPE, "its operands are elsewhere");
    n->work = taken;
    if (!place.anywhere && !fits(n, &place)) {
        set_place(n, &place);
        graph->moved = true;
    }
    graph->settled = false;
    return DUO_OK;
}

duo_status duo_graph_destroy(duo_graph *handle)
{
    if (handle == NULL) return DUO_OK;
    duo_graph *const graph = duo_graph_of(handle);
    if (graph == NULL) return DUO_ERR_GRAPH;
    const duo_status status = take_down(graph);
    duo_graph_unmake(graph);
    return status;
}
