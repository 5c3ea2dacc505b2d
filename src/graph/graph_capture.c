/*
 * graph_capture.c - duo_graph_begin and duo_graph_end: the calls between them are the nodes of a
 * graph (call/capture.h).
 *
 * Each context that takes part has a tail: the nodes that its next node depends on. A new node
 * becomes the whole tail. An event holds a copy of its context's tail; a context that waits for the
 * event adds that copy to its own tail. Nodes depend only on earlier ones, so there are no cycles.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call/capture.h"
#include "graph/graph.h"

/* A context that takes part in a capture. */
typedef struct member {
    duo_capture functions; /* first: pointers to it are cast to member */
    duo_context *ctx;
    struct member *origin; /* the member of duo_graph_begin; perhaps this one */
    struct member *next;   /* of all members, the origin first */
    duo_graph *graph;      /* the origin's */
    duo_node *tail;        /* has room for one more node */
    int tails;
} member;

static member *member_of(const duo_context *ctx) { return (member *)ctx->policy.capture; }

/* These nodes, with room for one more; or NULL: out of memory. */
static duo_node *copy_of(const duo_node *node, int nodes)
{
    duo_node *const copy = malloc(((size_t)nodes + 1) * sizeof *copy);
    if (copy != NULL && nodes > 0) memcpy(copy, node, (size_t)nodes * sizeof *copy);
    return copy;
}

/* ---- Captured calls ---- */

static duo_status add(duo_context *ctx, const duo_work *work)
{
    member *const m = member_of(ctx);
    duo_node node;
    const duo_status status = duo_graph_add(m->origin->graph, work, m->tail, m->tails, &node);
    if (status != DUO_OK) return status;
    m->tail[0] = node;
    m->tails = 1;
    return DUO_OK;
}

static duo_status record(duo_context *ctx, duo_event *event)
{
    const member *const m = member_of(ctx);
    duo_node *const tail = copy_of(m->tail, m->tails);
    if (tail == NULL) return DUO_ERR_MEMORY;
    duo_event_set_captured(event, &m->origin->functions, tail, m->tails);
    return DUO_OK;
}

static bool in_tail(const member *m, duo_node node)
{
    for (int i = 0; i < m->tails; i++)
        if (m->tail[i] == node) return true;
    return false;
}

/* Adds these nodes to the tail. */
static duo_status follow(member *m, const duo_node *node, int nodes)
{
    duo_node *const grown = realloc(m->tail, (size_t)(m->tails + nodes + 1) * sizeof *grown);
    if (grown == NULL) return DUO_ERR_MEMORY;
    m->tail = grown;
    for (int i = 0; i < nodes; i++)
        if (!in_tail(m, node[i])) m->tail[m->tails++] = node[i];
    return DUO_OK;
}

/* ---- The members ---- */

static duo_status enter(duo_context *ctx, member *origin, const duo_node *tail, int tails);

static duo_status wait_for(duo_context *ctx, duo_event *event)
{
    member *const origin = (member *)duo_event_capture(event), *const m = member_of(ctx);
    if (origin == NULL || (m != NULL && m->origin != origin)) return DUO_ERR_CAPTURE;
    if (m != NULL) return follow(m, event->node, event->nodes);
    /* The default context is never captured: the program makes BLAS calls there, and wants their
     * results at once. */
    if (ctx == duo_context_default) return DUO_ERR_CAPTURE;
    return enter(ctx, origin, event->node, event->nodes);
}

static void free_member(member *m)
{
    m->ctx->policy.capture = NULL;
    duo_policy_changed(&m->ctx->policy, &m->ctx->resources);
    free(m->tail);
    free(m);
}

/* The capture is over. */
static void release(member *origin)
{
    duo_event_end_capture(&origin->functions);
    for (member *m = origin, *next; m != NULL; m = next) {
        next = m->next;
        free_member(m);
    }
}

/* A context ends: without the origin there is no graph. */
static void leave(duo_context *ctx)
{
    member *const m = member_of(ctx);
    if (m == m->origin) {
        duo_graph_unmake(m->graph);
        release(m);
        return;
    }
    member *before = m->origin;
    while (before->next != m) before = before->next;
    before->next = m->next;
    free_member(m);
}

/* The context takes part from now on; origin NULL: a capture begins with it. */
static duo_status enter(duo_context *ctx, member *origin, const duo_node *tail, int tails)
{
    member *const m = calloc(1, sizeof *m);
    duo_node *const copy = copy_of(tail, tails);
    if (m == NULL || copy == NULL) {
        free(m);
        free(copy);
        return DUO_ERR_MEMORY;
    }
    *m = (member){.functions = {add, record, wait_for, leave},
                  .ctx = ctx,
                  .origin = origin != NULL ? origin : m,
                  .tail = copy,
                  .tails = tails};
    if (origin != NULL) {
        m->next = origin->next;
        origin->next = m;
    }
    ctx->policy.capture = &m->functions;
    duo_policy_changed(&ctx->policy, &ctx->resources);
    return DUO_OK;
}

/* ---- Beginning and ending ---- */

duo_status duo_graph_begin(duo_context *given)
{
    if (given == NULL) return DUO_ERR_NULL;
    duo_context *const ctx = duo_context_of(given);
    if (ctx == NULL) return DUO_ERR_CONTEXT;
    if (duo_context_captured(ctx)) return DUO_ERR_CAPTURE;
    duo_graph *const graph = duo_graph_make();
    if (graph == NULL) return DUO_ERR_MEMORY;
    const duo_status status = enter(ctx, NULL, NULL, 0);
    if (status == DUO_OK)
        member_of(ctx)->graph = graph;
    else
        duo_graph_unmake(graph);
    return status;
}

/* Does the origin follow all nodes? Each node must be in its tail, or another node must depend on
 * it. */
static duo_status check_joined(member *origin)
{
    const duo_graph *const g = origin->graph;
    bool *const followed = calloc((size_t)g->nodes + 1, sizeof *followed);
    if (followed == NULL) return DUO_ERR_MEMORY;
    for (int i = 0; i < origin->tails; i++) followed[duo_graph_number(g, origin->tail[i])] = true;
    for (int i = 0; i < g->nodes; i++)
        for (int a = 0; a < g->node[i].afters; a++) followed[g->node[i].after[a]] = true;
    int node = 0;
    while (node < g->nodes && followed[node]) node++;
    free(followed);
    if (node == g->nodes) return DUO_OK;
    duo_report *const report = &origin->ctx->resources.report;
    (void)snprintf(report->detail, sizeof report->detail,
                   "node %d (%s), captured in another context, is not joined by an event", node + 1,
                   duo_graph_kind(g->node[node].work.kind));
    return DUO_ERR_CAPTURE;
}

duo_status duo_graph_end(duo_context *given, duo_graph **graph)
{
    if (graph == NULL) return DUO_ERR_NULL;
    *graph = NULL;
    const duo_context *const ctx = given != NULL ? duo_context_of(given) : NULL;
    if (given != NULL && ctx == NULL) return DUO_ERR_CONTEXT;
    member *const m = ctx != NULL ? member_of(ctx) : NULL;
    if (m == NULL || m != m->origin) return DUO_ERR_CAPTURE;
    const duo_status status = check_joined(m);
    if (status == DUO_OK)
        *graph = duo_handle_give(&m->graph->handled);
    else
        duo_graph_unmake(m->graph);
    release(m);
    return status;
}
