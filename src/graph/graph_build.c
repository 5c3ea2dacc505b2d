/* graph_build.c - duo_graph_build: the order of the nodes, their waves, sides and lanes (graph.h);
 * duo_graph_update, and duo_graph_destroy. */
#include <stdlib.h>

#include "graph/graph_check.h"
#include "graph/graph_cost.h"
#include "host/machine.h"

/* ---- Order ---- */

/* The nodes that depend on each node, as lists in one array: those of node i are
 * [first[i], first[i + 1]). */
typedef struct followers {
    int *first, *node;
} followers;

static void free_followers(followers *f)
{
    free(f->first);
    free(f->node);
}

static bool find_followers(const duo_graph *g, followers *f)
{
    size_t edges = 0;
    for (int i = 0; i < g->nodes; i++) edges += (size_t)g->node[i].afters;
    *f = (followers){calloc((size_t)g->nodes + 2, sizeof *f->first),
                     malloc((edges + 1) * sizeof *f->node)};
    if (f->first == NULL || f->node == NULL) return false;
    for (int i = 0; i < g->nodes; i++)
        for (int a = 0; a < g->node[i].afters; a++) f->first[g->node[i].after[a] + 2]++;
    for (int i = 2; i <= g->nodes + 1; i++) f->first[i] += f->first[i - 1];
    for (int i = 0; i < g->nodes; i++) /* first[x + 1] counts up to where first[x + 2] began */
        for (int a = 0; a < g->node[i].afters; a++)
            f->node[f->first[g->node[i].after[a] + 1]++] = i;
    return true;
}

/* A node of a cycle: from one that was never reached, back along what was not reached either,
 * until one comes again. */
static int node_of_cycle(const duo_graph *g, const int *missing)
{
    int node = 0;
    while (missing[node] == 0) node++;
    for (int step = 0; step < g->nodes; step++) /* then it is in the cycle */
        for (int a = 0; a < g->node[node].afters; a++)
            if (missing[g->node[node].after[a]] > 0) {
                node = g->node[node].after[a];
                break;
            }
    return node;
}

/*
 * Puts the nodes in order: each behind those that it depends on, and tells its wave. An empty node
 * is queued where something that it depends on is. `missing`: of how many nodes each still waits.
 */
static duo_status put_in_order(duo_graph *g, const followers *f, int *missing)
{
    int count = 0;
    for (int i = 0; i < g->nodes; i++) {
        missing[i] = g->node[i].afters;
        if (missing[i] == 0) g->order[count++] = i;
    }
    g->waves = 0;
    for (int begin = 0; begin < count;) {
        const int end = count;
        g->wave_end[g->waves] = end;
        for (int at = begin; at < end; at++) {
            duo_graph_node *const n = &g->node[g->order[at]];
            n->wave = g->waves;
            for (int a = 0; a < n->afters && n->work.kind == DUO_WORK_EMPTY; a++)
                if (g->node[n->after[a]].side == DUO_NODE_QUEUED) n->side = DUO_NODE_QUEUED;
            for (int k = f->first[g->order[at]]; k < f->first[g->order[at] + 1]; k++)
                if (--missing[f->node[k]] == 0) g->order[count++] = f->node[k];
        }
        g->waves++;
        begin = end;
    }
    if (count == g->nodes) return DUO_OK;
    return duo_graph_wrong(g, node_of_cycle(g, missing), DUO_ERR_CYCLE,
                           "depends on itself, by way of others or not");
}

/* ---- Lanes ---- */

/* A lane for a node that is queued: that of a node before it, if it is free in this wave; else any
 * that is; else the next. */
static int lane_of(const duo_graph *g, const duo_graph_node *n, bool taken[DUO_GRAPH_LANES],
                   int in_wave)
{
    for (int a = 0; a < n->afters; a++) {
        const duo_graph_node *const before = &g->node[n->after[a]];
        if (before->side != DUO_NODE_HOST && !taken[before->lane]) return before->lane;
    }
    for (int lane = 0; lane < DUO_GRAPH_LANES; lane++)
        if (!taken[lane]) return lane;
    return in_wave % DUO_GRAPH_LANES;
}

static void choose_lanes(duo_graph *g)
{
    int most_at_once = 0;
    for (int wave = 0, at = 0; wave < g->waves; wave++) {
        bool taken[DUO_GRAPH_LANES] = {false};
        int queued = 0, hosts = 0;
        for (; at < g->wave_end[wave]; at++) {
            duo_graph_node *const n = &g->node[g->order[at]];
            if (n->side == DUO_NODE_HOST) {
                hosts++;
                continue;
            }
            n->lane = lane_of(g, n, taken, queued++);
            taken[n->lane] = true;
            if (n->lane >= g->lanes) g->lanes = n->lane + 1;
        }
        if (hosts > most_at_once) most_at_once = hosts;
    }
    const int threads = duo_machine_threads_for(g->threads);
    g->host_lanes = most_at_once < threads ? most_at_once : threads;
    if (g->host_lanes > DUO_GRAPH_HOST_LANES) g->host_lanes = DUO_GRAPH_HOST_LANES;
}

/* How many nodes of each wave the host does at once. */
static void share_host(duo_graph *g)
{
    const int threads = duo_machine_threads_for(g->threads);
    for (int i = 0; i < g->nodes; i++) {
        duo_graph_node *const n = &g->node[i];
        if (n->side != DUO_NODE_HOST) continue;
        n->seconds_one = duo_graph_seconds(g->host, &n->work, 1);
        n->seconds_all = duo_graph_seconds(g->host, &n->work, threads);
    }
    for (int wave = 0, at = 0; wave < g->waves; wave++) {
        int hosts = 0;
        for (; at < g->wave_end[wave]; at++)
            if (g->node[g->order[at]].side == DUO_NODE_HOST) g->hosts[hosts++] = g->order[at];
        const int most = hosts < g->host_lanes ? hosts : g->host_lanes;
        g->at_once[wave] = most > 1 ? duo_graph_at_once(g, g->hosts, hosts, most) : 1;
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

/* Does the host, or a node in another lane, follow a node that is queued? */
static bool followed_elsewhere(const duo_graph *g, const followers *f, int node)
{
    for (int k = f->first[node]; k < f->first[node + 1]; k++) {
        const duo_graph_node *const next = &g->node[f->node[k]];
        if (next->side == DUO_NODE_HOST || next->lane != g->node[node].lane) return true;
    }
    return false;
}

static bool make_lanes(duo_graph *g, const followers *f)
{
    g->begin = duo_event_make();
    bool good = g->begin != NULL;
    for (int i = 0; i < g->lanes && good; i++) {
        g->lane[i] = new_lane(g, DUO_PATH_GPU);
        g->end[i] = duo_event_make();
        good = g->lane[i] != NULL && g->end[i] != NULL;
    }
    if (g->host_lanes > 0 && good) {
        g->host = new_lane(g, DUO_PATH_CPU);
        good = g->host != NULL;
    }
    for (int i = 0; i < g->host_lanes && g->host_lanes > 1 && good; i++) {
        g->host_lane[i] = new_lane(g, DUO_PATH_CPU);
        good = g->host_lane[i] != NULL;
    }
    for (int i = 0; i < g->nodes && good; i++) {
        duo_graph_node *const n = &g->node[i];
        if (n->side != DUO_NODE_QUEUED || !followed_elsewhere(g, f, i)) continue;
        n->event = duo_event_make();
        good = n->event != NULL;
    }
    return good;
}

/* Ends what the build made: lanes and events. The status of ending them. */
static duo_status take_down(duo_graph *g)
{
    duo_status status = DUO_OK;
    for (int i = 0; i < DUO_GRAPH_LANES; i++) {
        const duo_status ended = g->lane[i] != NULL ? duo_context_end(g->lane[i]) : DUO_OK;
        if (status == DUO_OK) status = ended;
        if (g->end[i] != NULL) duo_event_end(g->end[i]);
        g->lane[i] = NULL;
        g->end[i] = NULL;
    }
    if (g->host != NULL) (void)duo_context_end(g->host);
    g->host = NULL;
    for (int i = 0; i < DUO_GRAPH_HOST_LANES; i++) {
        if (g->host_lane[i] != NULL) (void)duo_context_end(g->host_lane[i]);
        g->host_lane[i] = NULL;
    }
    if (g->begin != NULL) duo_event_end(g->begin);
    g->begin = NULL;
    for (int i = 0; i < g->nodes; i++) {
        if (g->node[i].event != NULL) duo_event_end(g->node[i].event);
        g->node[i].event = NULL;
    }
    free(g->order);
    free(g->wave_end);
    free(g->at_once);
    free(g->hosts);
    g->order = g->wave_end = g->at_once = g->hosts = NULL;
    g->waves = g->lanes = g->host_lanes = 0;
    g->built = false;
    return status;
}

/* ---- Building ---- */

static duo_status lay_out(duo_graph *g, followers *f)
{
    const size_t nodes = (size_t)g->nodes + 1;
    int *const missing = malloc(nodes * sizeof *missing);
    g->order = malloc(nodes * sizeof *g->order);
    g->wave_end = malloc(nodes * sizeof *g->wave_end);
    g->at_once = malloc(nodes * sizeof *g->at_once);
    g->hosts = malloc(nodes * sizeof *g->hosts);
    duo_status status = DUO_OK;
    bool anywhere;
    if (missing == NULL || g->order == NULL || g->wave_end == NULL || g->at_once == NULL ||
        g->hosts == NULL || !find_followers(g, f))
        status = duo_graph_wrong(g, -1, DUO_ERR_MEMORY, "out of memory");
    for (int i = 0; i < g->nodes && status == DUO_OK; i++)
        status = duo_graph_check(g, i, &g->node[i].work, &g->node[i].side, &anywhere);
    if (status == DUO_OK) status = put_in_order(g, f, missing);
    if (status == DUO_OK) {
        choose_lanes(g);
        if (!make_lanes(g, f)) status = duo_graph_wrong(g, -1, DUO_ERR_MEMORY, "out of memory");
    }
    for (int i = 0; i < g->waves; i++) g->at_once[i] = 1;
    if (status == DUO_OK && g->host_lanes > 0) share_host(g);
    free(missing);
    return status;
}

duo_status duo_graph_build(duo_graph *graph, duo_context *given)
{
    if (!duo_graph_live(graph)) return DUO_ERR_GRAPH;
    duo_context *const ctx = duo_context_of(given);
    if (ctx == NULL) return DUO_ERR_CONTEXT;
    if (graph->built) return duo_graph_wrong(graph, -1, DUO_ERR_BUILT, "it is built");
    followers f = {NULL, NULL};
    duo_resources_settle_device(&ctx->resources);
    graph->device = ctx->resources.device;
    graph->threads = ctx->resources.threads;
    const duo_status status = lay_out(graph, &f);
    free_followers(&f);
    graph->built = status == DUO_OK;
    if (!graph->built) (void)take_down(graph);
    return status;
}

/* ---- Updating ---- */

/* Are two works the same but for pointers, scalars, the value and the function? */
static bool same_shape(const duo_work *a, const duo_work *b)
{
    return a->kind == b->kind && a->math == b->math && a->layout == b->layout &&
           a->transa == b->transa && a->transb == b->transb && a->m == b->m && a->n == b->n &&
           a->k == b->k && a->lda == b->lda && a->ldb == b->ldb && a->ldc == b->ldc &&
           a->incx == b->incx && a->incy == b->incy && a->dst_pitch == b->dst_pitch &&
           a->src_pitch == b->src_pitch && a->width == b->width && a->height == b->height;
}

/* Waits for the last launch. */
static duo_status finish(duo_graph *g)
{
    duo_status status = DUO_OK;
    for (int i = 0; i < g->lanes; i++) {
        const duo_status finished = duo_event_finish(g->end[i]);
        if (status == DUO_OK && finished != DUO_ERR_LOST) status = finished;
    }
    return status == DUO_OK ? DUO_OK : duo_graph_wrong(g, -1, status, "cannot wait for it");
}

duo_status duo_graph_update(duo_graph *graph, duo_node node, const duo_work *work)
{
    duo_node_side side;
    bool anywhere;
    if (!duo_graph_live(graph)) return DUO_ERR_GRAPH;
    if (!graph->built) return duo_graph_wrong(graph, -1, DUO_ERR_BUILT, "it is not built");
    const int number = duo_graph_number(graph, node);
    if (number < 0) return duo_graph_wrong(graph, -1, DUO_ERR_NODE, "a node of another graph");
    if (work == NULL) return duo_graph_wrong(graph, number, DUO_ERR_NULL, "no work");
    if (work->size < sizeof *work)
        return duo_graph_wrong(graph, number, DUO_ERR_SIZE, "duo_work.size is too small");
    duo_graph_node *const n = &graph->node[number];
    if (!same_shape(work, &n->work))
        return duo_graph_wrong(graph, number, DUO_ERR_SHAPE, "another kind or shape");
    const duo_status status = duo_graph_check(graph, number, work, &side, &anywhere);
    if (status != DUO_OK) return status;
    if (side != n->side && !anywhere)
        return duo_graph_wrong(graph, number, DUO_ERR_SHAPE, "its operands are on another side");
    const duo_status finished = finish(graph);
    if (finished != DUO_OK) return finished;
    n->work = *work;
    return DUO_OK;
}

duo_status duo_graph_destroy(duo_graph *graph)
{
    if (graph == NULL) return DUO_OK;
    if (!duo_graph_live(graph)) return DUO_ERR_GRAPH;
    const duo_status status = take_down(graph);
    duo_graph_end(graph);
    return status;
}
