/* graph_order.c - waves, phases and parts (graph_steps.h). */

#include <math.h>
#include <stdlib.h>

#include "choice/select.h"
#include "graph/graph_steps.h"

/* ---- Followers ---- */

void duo_followers_free(duo_followers *f)
{
    free(f->first);
    free(f->node);
}

bool duo_followers_find(const duo_graph *g, duo_followers *f)
{
    size_t edges = 0;
    for (int i = 0; i < g->nodes; i++) edges += (size_t)g->node[i].afters;
    *f = (duo_followers){calloc((size_t)g->nodes + 2, sizeof *f->first),
                         malloc((edges + 1) * sizeof *f->node)};
    if (f->first == NULL || f->node == NULL) return false;
    for (int i = 0; i < g->nodes; i++)
        for (int a = 0; a < g->node[i].afters; a++) f->first[g->node[i].after[a] + 2]++;
    for (int i = 2; i <= g->nodes + 1; i++) f->first[i] += f->first[i - 1];
    for (int i = 0; i < g->nodes; i++) /* first[x + 1] ends where first[x + 2] began */
        for (int a = 0; a < g->node[i].afters; a++)
            f->node[f->first[g->node[i].after[a] + 1]++] = i;
    return true;
}

/* ---- Waves ---- */

/* Finds a node of a cycle: begins at a node that was never reached, and goes back along nodes that
 * were not reached either. */
static int node_of_cycle(const duo_graph *g, const int *missing)
{
    int node = 0;
    while (missing[node] == 0) node++;
    for (int step = 0; step < g->nodes; step++) /* after this many steps it is in the cycle */
        for (int a = 0; a < g->node[node].afters; a++)
            if (missing[g->node[node].after[a]] > 0) {
                node = g->node[node].after[a];
                break;
            }
    return node;
}

/*
 * Puts each node behind the nodes that it depends on, and finds its wave. An empty node is work of
 * the device if a node that it depends on is. missing[i]: the number of nodes that node i still
 * waits for.
 */
static duo_status find_waves(duo_graph *g, const duo_followers *f, int *missing)
{
    int count = 0;
    for (int i = 0; i < g->nodes; i++) {
        missing[i] = g->node[i].afters;
        if (missing[i] == 0) g->order[count++] = i;
    }
    for (int begin = 0, wave = 0; begin < count; wave++) {
        const int end = count;
        for (int at = begin; at < end; at++) {
            duo_graph_node *const n = &g->node[g->order[at]];
            n->wave = wave;
            if (n->work.kind == DUO_WORK_EMPTY) n->side = DUO_NODE_HOST;
            for (int a = 0; a < n->afters && n->work.kind == DUO_WORK_EMPTY; a++)
                if (g->node[n->after[a]].side == DUO_NODE_QUEUED) n->side = DUO_NODE_QUEUED;
            for (int k = f->first[g->order[at]]; k < f->first[g->order[at] + 1]; k++)
                if (--missing[f->node[k]] == 0) g->order[count++] = f->node[k];
        }
        begin = end;
    }
    if (count == g->nodes) return DUO_OK;
    return duo_graph_wrong(g, node_of_cycle(g, missing), DUO_ERR_CYCLE,
                           "depends on itself, by way of others or not");
}

/* ---- Phases and parts ---- */

static void find_phases(duo_graph *g)
{
    for (int at = 0; at < g->nodes; at++) {
        duo_graph_node *const n = &g->node[g->order[at]];
        n->phase = 0;
        n->early = false;
        for (int a = 0; a < n->afters; a++) {
            const duo_graph_node *const before = &g->node[n->after[a]];
            const bool next = n->side == DUO_NODE_QUEUED && before->side != DUO_NODE_QUEUED;
            const int phase = before->phase + (next ? 1 : 0);
            if (phase > n->phase) n->phase = phase;
        }
    }
    for (int at = g->nodes - 1; at >= 0; at--) {
        const duo_graph_node *const n = &g->node[g->order[at]];
        for (int a = 0; a < n->afters; a++) {
            duo_graph_node *const before = &g->node[n->after[a]];
            if (before->side != DUO_NODE_QUEUED) continue;
            before->early |= n->side != DUO_NODE_QUEUED || (n->early && n->phase == before->phase);
        }
    }
}

enum { EARLY, LATE, THREAD };

static int group_of(const duo_graph_node *n)
{
    return n->side != DUO_NODE_QUEUED ? THREAD : n->early ? EARLY : LATE;
}

/* The order of two nodes in a launch; 0: together. */
static int compare(const duo_graph_node *x, const duo_graph_node *y)
{
    if (x->phase != y->phase) return x->phase < y->phase ? -1 : 1;
    if (group_of(x) != group_of(y)) return group_of(x) < group_of(y) ? -1 : 1;
    return x->wave < y->wave ? -1 : x->wave > y->wave;
}

typedef struct place {
    const duo_graph_node *node;
    int number;
} place;

static int compare_places(const void *x, const void *y)
{
    const place *const a = x, *const b = y;
    const int order = compare(a->node, b->node);
    return order != 0 ? order : a->number < b->number ? -1 : a->number > b->number;
}

static bool sort(duo_graph *g)
{
    place *const places = malloc(((size_t)g->nodes + 1) * sizeof *places);
    if (places == NULL) return false;
    for (int i = 0; i < g->nodes; i++) places[i] = (place){&g->node[i], i};
    qsort(places, (size_t)g->nodes, sizeof *places, compare_places);
    for (int i = 0; i < g->nodes; i++) g->order[i] = places[i].number;
    free(places);
    return true;
}

/* Do two neighbours in the order belong to one part? */
static bool together(const duo_graph_node *x, const duo_graph_node *y)
{
    return x->phase == y->phase && group_of(x) == group_of(y) &&
           (x->side == DUO_NODE_QUEUED || x->wave == y->wave);
}

static void cut(duo_graph *g)
{
    g->parts = 0;
    for (int at = 0; at < g->nodes; at++) {
        duo_graph_node *const n = &g->node[g->order[at]];
        if (at == 0 || !together(&g->node[g->order[at - 1]], n))
            g->part[g->parts++] = (duo_graph_part){
                .queued = n->side == DUO_NODE_QUEUED, .from = at, .to = at, .at_once = 1};
        g->part[g->parts - 1].to++;
        n->part = g->parts - 1;
    }
}

duo_status duo_graph_put_in_order(duo_graph *g, const duo_followers *followers, int *missing)
{
    const duo_status status = find_waves(g, followers, missing);
    if (status != DUO_OK) return status;
    find_phases(g);
    if (!sort(g)) return duo_graph_wrong(g, -1, DUO_ERR_MEMORY, "out of memory");
    cut(g);
    return DUO_OK;
}

/* ---- How many side by side ---- */

/* Bytes/s of copies and settings; and assumed seconds of a function of the program, which are worth
 * a thread of its own. */
static const double kBytesRate = 1e10, kFunction = 1e-4;

/* Seconds to give nodes to several threads; and a factor: operations of several threads take longer
 * side by side by this. On 16 threads of an H100's host three products of 192^3 took 1.2 times as
 * long side by side as one after the other (predicted: 0.5), and three of 96^3 0.75 times
 * (predicted: 0.44). */
static const double kShare = 1.2e-6, kBeside = 2.0;

static double operation_seconds(const duo_graph *graph, const duo_work *work, int at_once)
{
    duo_context *const ctx = graph->host;
    const int threads = duo_graph_threads(graph, at_once);
    duo_call call;
    duo_choice choice[DUO_CANDIDATES];
    if (duo_graph_describe(work, &call) != DUO_OK) return 0.0;
    const int needed = work->kind == DUO_WORK_SGEMM ? DUO_C : DUO_X;
    if (!duo_operand_touched(&call.operand[needed])) return 0.0; /* a quick return */
    for (int i = 0; i < DUO_OPERANDS; i++) {
        duo_operand *const o = &call.operand[i];
        o->on_host = duo_operand_touched(o);
        o->residence = o->on_host ? DUO_AT_PAGEABLE : DUO_AT_UNUSED;
    }
    duo_policy policy = ctx->policy;
    policy.math = work->math;
    duo_conditions conditions = duo_policy_conditions(&policy, &ctx->resources);
    if (conditions.threads > threads) conditions.threads = threads;
    const int count = duo_predict(&call, &conditions, choice);
    const int best = duo_select(choice, count, &conditions);
    if (best < 0) return 0.0;
    return choice[best].seconds * (at_once > 1 && choice[best].threads > 1 ? kBeside : 1.0);
}

/* Seconds of one node, if `at_once` are done side by side. */
static double seconds_of(const duo_graph *graph, const duo_work *work, int at_once)
{
    switch (work->kind) {
    case DUO_WORK_EMPTY:
        return 0.0;
    case DUO_WORK_HOST:
        return kFunction;
    case DUO_WORK_COPY:
    case DUO_WORK_SET:
        return (double)work->width * (double)work->height / kBytesRate;
    default:
        return operation_seconds(graph, work, at_once);
    }
}

int duo_graph_at_once(const duo_graph *graph, const int *node, int nodes, int most)
{
    double alone = 0.0, together = 0.0, longest = 0.0;
    for (int i = 0; i < nodes; i++) {
        const duo_work *const work = &graph->node[node[i]].work;
        const double seconds = seconds_of(graph, work, most);
        alone += seconds_of(graph, work, 1);
        together += seconds;
        longest = fmax(longest, seconds);
    }
    /* If nodes are alike, the last round may not be full. */
    const double rounds = ceil((double)nodes / most) * together / nodes;
    return fmax(longest, rounds) + kShare < alone ? most : 1;
}
