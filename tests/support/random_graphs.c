/* random_graphs.c - graphs of random programs (random_program.h): built of nodes or
 * captured, updated, launched and ended. */
#include <stdlib.h>

#include "gpu/backend/devices.h"
#include "support/graph_works.h"
#include "support/graph_world.h"
#include "support/random_program.h"

static choice_of any_side(actor *a, int device)
{
    return (choice_of){.graph = true, .side = (int)any(a, 0, 1), .device = device};
}

static bool any_node(actor *a, duo_work_kind kind, int device, int half, duo_work *work)
{
    choice_of from = any_side(a, device), to = any_side(a, device);
    from.half = to.half = half;
    if (kind == DUO_WORK_COPY) return any_copy(a, &from, &to, work);
    if (kind == DUO_WORK_HOST) from.side = 0;
    return any_work(a, kind, &from, work);
}

static bool writes(const duo_work *w) { return w->kind != DUO_WORK_EMPTY; }

/* Does one write an array that the other touches? */
static bool conflict(actor *a, const duo_work *x, const duo_work *y)
{
    array *xs[4], *ys[4];
    const int nx = named(a, x, xs), ny = named(a, y, ys);
    bool met = false;
    for (int i = 0; i < nx; i++)
        for (int j = 0; j < ny; j++)
            met |= xs[i] == ys[j] && ((i == 0 && writes(x)) || (j == 0 && writes(y)));
    return met;
}

static void note_uses(actor *a, graph *g)
{
    for (int i = 0; i < g->nodes; i++) {
        array *list[4];
        const int count = named(a, &g->work[i], list);
        for (int j = 0; j < count; j++) {
            bool old = false;
            for (int k = 0; k < g->used; k++) old |= g->uses[k] == list[j];
            if (old) continue;
            g->uses[g->used++] = list[j];
            list[j]->graphs++;
        }
    }
}

static bool may_lose(const graph *g)
{
    bool may = false;
    for (int i = 0; i < g->used; i++) may |= lossy(g->uses[i]);
    return may;
}

void end_graph(actor *a, graph *g)
{
    const duo_status status =
        CALL(a, duo_graph_destroy(g->graph), "graph %d: destroy", (int)(g - a->graph));
    (void)judge(a, status, MAY_LOSE | MAY_DEVICE, true, "graph_destroy");
    for (int i = 0; i < g->used; i++) g->uses[i]->graphs--;
    for (int i = 0; i < NODES; i++) free(g->user[i]);
    *g = (graph){.graph = NULL};
}

void end_graphs_of(actor *a, const array *v)
{
    for (int i = 0; i < GRAPHS; i++) {
        bool used = false;
        for (int j = 0; j < a->graph[i].used; j++) used |= a->graph[i].uses[j] == v;
        if (used) end_graph(a, &a->graph[i]);
    }
}

/* ---- Making ---- */

static void add_nodes(actor *a, graph *g, int device)
{
    const int nodes = (int)any(a, 1, NODES);
    while (g->nodes < nodes) {
        const int i = g->nodes;
        duo_node after[NODES];
        int count = 0;
        if (g->user[i] == NULL) g->user[i] = malloc(sizeof(conversion));
        if (g->user[i] == NULL) abort();
        g->work[i].user = g->user[i];
        const duo_work_kind kind = (duo_work_kind)any(a, DUO_WORK_EMPTY, DUO_WORK_HOST);
        if (!any_node(a, kind, device, 0, &g->work[i])) {
            if (one_in(a, 20)) return;
            continue;
        }
        for (int j = 0; j < i; j++)
            if (one_in(a, 12) || conflict(a, &g->work[i], &g->work[j])) after[count++] = g->node[j];
        const duo_status status =
            CALL(a, duo_graph_add(g->graph, &g->work[i], after, count, &g->node[i]),
                 "graph %d: node %d: kind %d, behind %d: %p %p", (int)(g - a->graph), i + 1,
                 (int)kind, count, g->work[i].dst, g->work[i].src);
        (void)judge(a, status, 0, false, "graph_add");
        g->nodes++;
    }
}

/* The operands are on `device`, the device of the context that builds the graph. */
static void calls_in(actor *a, graph *g, context *c, int device, int half, int count)
{
    for (int i = 0; i < count && g->nodes < NODES; i++) {
        duo_work *const v = &g->work[g->nodes];
        v->user = NULL;
        const duo_work_kind kind = (duo_work_kind)any(a, DUO_WORK_SGEMM, DUO_WORK_COPY);
        if (!any_node(a, kind, device, half, v)) continue;
        v->math = kind == DUO_WORK_COPY ? DUO_MATH_ACCURATE : c->math;
        if (kind == DUO_WORK_COPY) v->height = 1, v->dst_pitch = v->src_pitch = 0;
        if (kind != DUO_WORK_SDOT) v->incy = 0;
        (void)judge(a, perform(a, c, v), 0, false, "a captured call");
        g->nodes++;
    }
}

static void join(actor *a, context *from, context *to, event *e)
{
    const int number = (int)(e - a->event);
    (void)judge(a,
                CALL(a, duo_event_record(from->ctx, e->event), "event %d: record in context %d",
                     number, (int)(from - a->context)),
                0, false, "captured event_record");
    (void)judge(a,
                CALL(a, duo_event_wait(to->ctx, e->event), "event %d: context %d waits", number,
                     (int)(to - a->context)),
                0, false, "captured event_wait");
    e->of = NULL;
}

/* Names nodes by their numbers, if it can: calls that would touch nothing make no node. */
static void name_nodes(actor *a, graph *g)
{
    duo_node beyond;
    bool all = true;
    for (int i = 0; i < g->nodes && all; i++)
        all = CALL(a, duo_graph_node_at(g->graph, i + 1, &g->node[i]), "node_at") == DUO_OK;
    const duo_status more = CALL(a, duo_graph_node_at(g->graph, g->nodes + 1, &beyond), "node_at");
    if (more != DUO_ERR_NODE) wrong(a, "a captured graph has too many nodes");
    for (int i = 0; i < g->nodes && !all; i++) g->node[i] = 0;
}

static void capture(actor *a, graph *g, context *c)
{
    context *const b = any_context(a);
    const bool aside = b != c && b->ctx != NULL && a->event[0].event != NULL;
    (void)judge(a, CALL(a, duo_graph_begin(c->ctx), "context %d: begin", (int)(c - a->context)), 0,
                false, "graph_begin");
    calls_in(a, g, c, c->device, 0, (int)any(a, 0, 3));
    if (aside) {
        join(a, c, b, &a->event[0]);
        calls_in(a, g, c, c->device, 1, (int)any(a, 0, 3));
        calls_in(a, g, b, c->device, 2, (int)any(a, 0, 3));
        calls_in(a, g, c, c->device, 1, (int)any(a, 0, 2));
        join(a, b, c, &a->event[0]);
    }
    calls_in(a, g, c, c->device, 0, (int)any(a, 0, 3));
    (void)judge(a,
                CALL(a, duo_graph_end(c->ctx, &g->graph), "context %d: end", (int)(c - a->context)),
                0, false, "graph_end");
    if (g->graph != NULL) name_nodes(a, g);
}

static void make_graph(actor *a, graph *g)
{
    context *const c = any_context(a);
    *g = (graph){.graph = NULL};
    if (c->ctx != NULL && one_in(a, 3)) {
        capture(a, g, c);
    } else {
        (void)judge(a,
                    CALL(a, duo_graph_create(&g->graph), "graph %d: create", (int)(g - a->graph)),
                    0, false, "graph_create");
        if (g->graph != NULL) add_nodes(a, g, c->device);
    }
    if (stopped(a)) return;
    note_uses(a, g);
    const duo_status status =
        CALL(a, duo_graph_build(g->graph, c->ctx), "graph %d: build, context %d",
             (int)(g - a->graph), (int)(c - a->context));
    if (status == DUO_OK) return;
    /* Another device has taken the place of the one that was lost. */
    if (status != DUO_ERR_HIDDEN || !any_lost())
        (void)judge(a, status, MAY_LOSE, may_lose(g), "graph_build");
    end_graph(a, g);
}

/* ---- Updating ---- */

/* Another place in the same array for an operand of that span. */
static void *slide(actor *a, const void *address, int64_t span)
{
    const array *const v = array_around(a, address);
    return v != NULL && span > 0 ? v->x + any(a, 0, v->count - span) : (void *)(uintptr_t)address;
}

static int64_t run_floats(const duo_work *w, size_t pitch)
{
    return (int64_t)(((w->height - 1) * pitch + w->width) / sizeof(float));
}

static void update(actor *a, graph *g)
{
    const int i = (int)any(a, 0, NODES - 1);
    if (i >= g->nodes || g->node[i] == 0) return;
    duo_work v = g->work[i];
    if (v.kind == DUO_WORK_SGEMM) {
        v.alpha = (float)any(a, -1, 2);
        v.beta = (float)any(a, -1, 1);
    } else if (work_reduces(v.kind)) {
        v.result = slide(a, v.result, 1);
        v.x = slide(a, v.x, v.n > 0 && v.incx != 0 ? (v.n - 1) * llabs(v.incx) + 1 : 0);
    } else if (v.kind == DUO_WORK_SET) {
        v.dst = slide(a, v.dst, run_floats(&v, v.width));
    } else if (v.kind == DUO_WORK_COPY && array_around(a, v.dst) != array_around(a, v.src)) {
        v.dst = slide(a, v.dst, run_floats(&v, v.dst_pitch));
        v.src = slide(a, v.src, run_floats(&v, v.src_pitch));
    }
    const duo_status status = CALL(a, duo_graph_update(g->graph, g->node[i], &v),
                                   "graph %d: update node %d", (int)(g - a->graph), i + 1);
    if (judge(a, status, MAY_LOSE, may_lose(g), "graph_update")) g->work[i] = v;
}

/* ---- Launching ---- */

static bool imagine_graph(actor *a, const graph *g)
{
    bool good = true;
    for (int i = 0; i < g->used; i++) stash(g->uses[i]);
    for (int i = 0; i < g->nodes && good; i++) good = imagine(a, &g->work[i]);
    return good;
}

/* Pinned memory that copies on the device read has to stay as it is until they are done. */
static bool reads_pinned(actor *a, const graph *g)
{
    bool reads = false;
    for (int i = 0; i < g->nodes; i++) {
        const array *const src = g->work[i].src != NULL ? array_around(a, g->work[i].src) : NULL;
        reads |= src != NULL && src->place == PINNED;
    }
    return reads;
}

static bool is_output(actor *a, const graph *g, const array *v)
{
    bool output = false;
    for (int i = 0; i < g->nodes; i++) {
        array *list[4];
        output |= named(a, &g->work[i], list) > 0 && writes(&g->work[i]) && list[0] == v;
    }
    return output;
}

static void after_failure(actor *a, graph *g, context *c, duo_status status)
{
    const graph was = *g;
    bool output[INVOLVED];
    for (int i = 0; i < g->used; i++) output[i] = is_output(a, g, g->uses[i]);
    synchronize(a, c);
    if (status != DUO_ERR_LOST || one_in(a, 2)) end_graph(a, g); /* waits for running launches */
    for (int i = 0; i < was.used && !stopped(a); i++) {
        unstash(was.uses[i]);
        if (output[i])
            refill(a, was.uses[i]);
        else
            look(a, was.uses[i]);
    }
}

static void launch(actor *a, graph *g)
{
    context *const c = any_context(a);
    const int number = (int)(g - a->graph);
    if (g->used > 0 && one_in(a, 2)) refill(a, g->uses[any(a, 0, g->used - 1)]);
    if (g->graph == NULL || stopped(a)) return;
    const bool good = imagine_graph(a, g);
    if (!good) { /* the numbers have grown too large */
        for (int i = 0; i < g->used; i++) unstash(g->uses[i]);
        for (int i = 0; i < g->used && g->graph != NULL; i++) refill(a, g->uses[i]);
        return;
    }
    const duo_status status = CALL(a, duo_graph_launch(g->graph, c->ctx),
                                   "graph %d: launch in context %d", number, (int)(c - a->context));
    if (status != DUO_OK) note(a, "graph %d: %s", number, duo_graph_detail(g->graph));
    if (!judge(a, status, MAY_LOSE | MAY_FAIL, may_lose(g), "graph_launch")) {
        after_failure(a, g, c, status);
        return;
    }
    for (int i = 0; i < g->used; i++) /* results in host memory are there */
        if (!on_device(g->uses[i])) look(a, g->uses[i]);
    if (reads_pinned(a, g)) synchronize(a, c);
}

void do_graph(actor *a)
{
    graph *const g = &a->graph[any(a, 0, GRAPHS - 1)];
    if (g->graph == NULL)
        make_graph(a, g);
    else if (one_in(a, 8))
        end_graph(a, g);
    else if (one_in(a, 4))
        update(a, g);
    else
        launch(a, g);
}
