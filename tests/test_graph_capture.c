/*
 * test_graph_capture.c - captured graphs: the same calls are carried out in one memory, and
 * captured and launched in another, and both then hold the same bits; random captures against a
 * model of dependencies; and all refusals.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/child.h"
#include "support/exact.h"
#include "support/harness.h"
#include "support/sanitizers.h"

enum { PARTS = 3, EVENTS = 4 };

/* The contexts and events of a capture; the first is where it begins. */
typedef struct parts {
    duo_context *ctx[PARTS];
    duo_event *event[EVENTS];
} parts;

static parts new_parts(void)
{
    parts p;
    for (int i = 0; i < PARTS; i++) p.ctx[i] = test_context();
    for (int i = 0; i < EVENTS; i++) CHECK_STATUS(DUO_OK, duo_event_create(&p.event[i]));
    return p;
}

static void end_parts(parts *p)
{
    for (int i = 0; i < EVENTS; i++) CHECK_STATUS(DUO_OK, duo_event_destroy(p->event[i]));
    for (int i = 0; i < PARTS; i++) test_context_end(p->ctx[i]);
    if (test_on_sim()) CHECK(sim_leaks() == 0, "%d things are still alive", sim_leaks());
}

/* Context `to` goes on behind the work so far of `from`. */
static void lead(const parts *p, int from, int to, int event)
{
    CHECK_STATUS(DUO_OK, duo_event_record(p->ctx[from], p->event[event]));
    CHECK_STATUS(DUO_OK, duo_event_wait(p->ctx[to], p->event[event]));
}

static void begin(const parts *p) { CHECK_STATUS(DUO_OK, duo_graph_begin(p->ctx[0])); }

static duo_graph *end(const parts *p)
{
    duo_graph *graph = NULL;
    CHECK_STATUS(DUO_OK, duo_graph_end(p->ctx[0], &graph));
    CHECK(graph != NULL, "no graph");
    return graph;
}

/* The capture ends, and was wrong. */
static void end_unjoined(const parts *p)
{
    duo_graph *graph = (duo_graph *)&graph;
    CHECK_STATUS(DUO_ERR_CAPTURE, duo_graph_end(p->ctx[0], &graph));
    CHECK(graph == NULL, "a graph in spite of the error");
}

enum { TEXT = 16384 };

/* How many nodes and arrows there are. */
static void check_counts(duo_graph *graph, int nodes, int arrows)
{
    char text[TEXT];
    int labels = 0, found = 0;
    CHECK_STATUS(DUO_OK, duo_graph_print(graph, text, TEXT, NULL));
    for (const char *at = text; (at = strstr(at, "label")) != NULL; at++) labels++;
    for (const char *at = text; (at = strstr(at, "->")) != NULL; at++) found++;
    CHECK(labels == nodes && found == arrows, "%d nodes, %d arrows: %s", labels, found, text);
}

/* ---- The same bits as calls that are carried out ---- */

enum { HOST, DEVICE, SIDES };
enum {
    EDGE = 16,
    SIZE = EDGE * EDGE,
    ARRAYS = 8,
    COUNT = ARRAYS * SIZE,
    WIDE = 6,
    BYTES = SIZE * 4
};

/* Arrays in host memory, and as many of duo_malloc. */
typedef struct memory {
    float *block[SIDES];
} memory;

static float *array(const memory *m, int side, int i) { return m->block[side] + i * SIZE; }

/* Always the same data: small integers other than 0, and one array of large spread. */
static memory new_memory(duo_context *ctx)
{
    test_rng rng = test_rng_for("capture");
    void *device = NULL;
    CHECK_STATUS(DUO_OK, duo_malloc(ctx, COUNT * sizeof(float), &device));
    const memory m = {{new_floats(COUNT), device}};
    for (int i = 0; i < COUNT; i++)
        m.block[HOST][i] = i / SIZE == WIDE ? test_wide(&rng)
                                            : (float)(2 * test_between(&rng, 0, 1) - 1) *
                                                  (float)test_between(&rng, 1, 3);
    CHECK_STATUS(DUO_OK, duo_copy(ctx, device, m.block[HOST], COUNT * sizeof(float)));
    return m;
}

static void free_memory(duo_context *ctx, memory *m)
{
    free(m->block[HOST]);
    CHECK_STATUS(DUO_OK, duo_free(ctx, m->block[DEVICE]));
}

static void check_same(duo_context *ctx, const memory *got, const memory *expected)
{
    float *const copy[2] = {new_floats(COUNT), new_floats(COUNT)};
    const memory *const both[2] = {got, expected};
    for (int side = 0; side < SIDES; side++) {
        for (int i = 0; i < 2; i++) {
            test_fill_poison(copy[i], COUNT);
            CHECK_STATUS(DUO_OK,
                         duo_copy(ctx, copy[i], both[i]->block[side], COUNT * sizeof(float)));
        }
        int at = 0;
        while (at < COUNT && test_same(copy[0][at], copy[1][at])) at++;
        CHECK(at == COUNT, "side %d, array %d, element %d: %g, expected %g", side, at / SIZE,
              at % SIZE, (double)copy[0][at % COUNT], (double)copy[1][at % COUNT]);
    }
    for (int i = 0; i < 2; i++) free(copy[i]);
}

/* Products, in either layout, and reductions in two maths, all on one side. */
static void compute(duo_context *ctx, const memory *m, int side)
{
    static const duo_math maths[] = {DUO_MATH_ACCURATE, DUO_MATH_FLOAT64};
    float *const a = array(m, side, 0), *const b = array(m, side, 1), *const c = array(m, side, 2);
    float *const wide = array(m, side, WIDE), *sum = array(m, side, 3);
    CHECK_STATUS(DUO_OK, square(ctx, EDGE, a, a, 0.0f, b));
    CHECK_STATUS(DUO_OK, duo_sgemm(ctx, DUO_ROW_MAJOR, DUO_TRANS, DUO_NO_TRANS, 3, 5, 7, 2.0f, a,
                                   EDGE, b, EDGE, 1.0f, c, EDGE + 1));
    for (int i = 0; i < 2; i++) {
        CHECK_STATUS(DUO_OK, duo_set_math(ctx, maths[i]));
        CHECK_STATUS(DUO_OK, duo_sasum(ctx, SIZE / 2, wide, 2, sum++));
        CHECK_STATUS(DUO_OK, duo_ssum(ctx, SIZE, wide, 1, sum++));
        CHECK_STATUS(DUO_OK, duo_sdot(ctx, SIZE / 2, wide, -1, wide + 1, 2, sum++));
        CHECK_STATUS(DUO_OK, duo_sdot(ctx, SIZE, c, 1, b, 1, sum++));
    }
    CHECK_STATUS(DUO_OK, duo_ssum(ctx, 0, NULL, 1, sum++)); /* writes 0 */
    CHECK_STATUS(DUO_OK, duo_set_math(ctx, DUO_MATH_ACCURATE));
}

static void copy_array(duo_context *ctx, const memory *m, int to, int i, int from, int k)
{
    CHECK_STATUS(DUO_OK, duo_copy(ctx, array(m, to, i), array(m, from, k), BYTES));
}

static void one_after_the_other(const parts *p, const memory *m)
{
    duo_context *const ctx = p->ctx[0];
    compute(ctx, m, DEVICE);
    copy_array(ctx, m, HOST, 1, DEVICE, 2);
    compute(ctx, m, HOST);
    copy_array(ctx, m, DEVICE, 5, HOST, 3);
    copy_array(ctx, m, DEVICE, 4, DEVICE, 5);
    copy_array(ctx, m, HOST, 4, HOST, 3);
}

/* Side by side, on the device and on the host. */
static void two_contexts(const parts *p, const memory *m)
{
    copy_array(p->ctx[0], m, HOST, 7, HOST, 0);
    lead(p, 0, 1, 0);
    compute(p->ctx[0], m, DEVICE);
    compute(p->ctx[1], m, HOST);
    lead(p, 1, 0, 1);
    copy_array(p->ctx[0], m, DEVICE, 4, HOST, 2);
    copy_array(p->ctx[0], m, HOST, 4, DEVICE, 2);
}

/* The third follows the second and, later, the first; one event serves twice. */
static void three_contexts(const parts *p, const memory *m)
{
    lead(p, 0, 1, 0); /* nothing came before */
    compute(p->ctx[1], m, HOST);
    lead(p, 1, 2, 0);
    compute(p->ctx[0], m, DEVICE);
    copy_array(p->ctx[2], m, HOST, 5, HOST, 2);
    lead(p, 0, 2, 1);
    copy_array(p->ctx[2], m, DEVICE, 5, HOST, 5);
    copy_array(p->ctx[1], m, HOST, 4, HOST, 3);
    lead(p, 2, 1, 2);
    copy_array(p->ctx[1], m, HOST, 7, DEVICE, 5);
    lead(p, 1, 0, 3);
    copy_array(p->ctx[0], m, DEVICE, 7, HOST, 4);
}

static void results(void)
{
    static const struct {
        const char *name;
        void (*calls)(const parts *, const memory *);
    } programs[] = {{"chain", one_after_the_other},
                    {"two-contexts", two_contexts},
                    {"three-contexts", three_contexts}};
    for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++) {
        test_case("graph_capture/results/%s", programs[i].name);
        parts p = new_parts();
        memory direct = new_memory(p.ctx[0]), captured = new_memory(p.ctx[0]);
        begin(&p);
        programs[i].calls(&p, &captured);
        duo_graph *const graph = end(&p);
        check_same(p.ctx[0], &captured, &direct); /* nothing has been done */
        CHECK_STATUS(DUO_OK, duo_graph_build(graph, p.ctx[0]));
        for (int launch = 0; launch < 3; launch++) {
            programs[i].calls(&p, &direct);
            for (int c = 0; c < PARTS; c++) CHECK_STATUS(DUO_OK, duo_synchronize(p.ctx[c]));
            CHECK_STATUS(DUO_OK, duo_graph_launch(graph, p.ctx[launch]));
            check_same(p.ctx[launch], &captured, &direct);
        }
        CHECK_STATUS(DUO_OK, duo_graph_destroy(graph));
        free_memory(p.ctx[0], &direct);
        free_memory(p.ctx[0], &captured);
        end_parts(&p);
    }
}

/* The graph of a capture is a graph: nodes are altered and added before it is built, and updated
 * after. */
static void altered(void)
{
    float x[10], sum[3] = {0.0f, 0.0f, 0.0f}, copied[2] = {0.0f, 0.0f};
    duo_node node[4];
    parts p = new_parts();
    fill(x, 10, 1);
    begin(&p);
    CHECK_STATUS(DUO_OK, duo_ssum(p.ctx[0], 10, x, 1, &sum[0]));
    CHECK_STATUS(DUO_OK, duo_ssum(p.ctx[0], 9, x, 1, &sum[1]));
    CHECK_STATUS(DUO_OK, duo_copy(p.ctx[0], copied, sum, sizeof copied));
    duo_graph *const graph = end(&p);
    for (int i = 0; i < 3; i++) CHECK_STATUS(DUO_OK, duo_graph_node_at(graph, i + 1, &node[i]));
    node[3] = 0;
    CHECK_STATUS(DUO_ERR_NODE, duo_graph_node_at(graph, 0, &node[3]));
    CHECK_STATUS(DUO_ERR_NODE, duo_graph_node_at(graph, 4, &node[3]));
    CHECK_STATUS(DUO_ERR_NODE, duo_graph_node_at(graph, (INT64_C(1) << 32) + 1, &node[3]));
    CHECK_STATUS(DUO_ERR_NULL, duo_graph_node_at(graph, 1, NULL));
    CHECK_STATUS(DUO_ERR_GRAPH, duo_graph_node_at(NULL, 1, &node[3]));
    CHECK(node[3] == 0, "written in spite of the error");
    duo_work work = {
        .size = sizeof work, .kind = DUO_WORK_SSUM, .n = 8, .x = x, .incx = 1, .result = &sum[1]};
    CHECK_STATUS(DUO_OK, duo_graph_alter(graph, node[1], &work, NULL, 0));
    CHECK_STATUS(DUO_OK, duo_graph_alter(graph, node[2], NULL, node, 2));
    work.result = &sum[2];
    CHECK_STATUS(DUO_OK, duo_graph_add(graph, &work, &node[2], 1, &node[3]));
    check_counts(graph, 4, 3);
    CHECK_STATUS(DUO_OK, duo_graph_build(graph, p.ctx[0]));
    CHECK_STATUS(DUO_OK, duo_graph_launch(graph, p.ctx[0]));
    CHECK(copied[0] == sum_of(x, 10) && copied[1] == sum_of(x, 8) && sum[2] == copied[1],
          "%g, %g, %g", (double)copied[0], (double)copied[1], (double)sum[2]);
    work.x = x + 1;
    CHECK_STATUS(DUO_OK, duo_graph_update(graph, node[3], &work));
    CHECK_STATUS(DUO_OK, duo_graph_launch(graph, p.ctx[0]));
    CHECK(sum[2] == sum_of(x + 1, 8), "%g after the update", (double)sum[2]);
    CHECK_STATUS(DUO_OK, duo_graph_destroy(graph));
    end_parts(&p);
}

/* ---- Dependencies ---- */

/* A model: sets of nodes are bits. */
enum { NODES = 40 };

typedef struct model {
    uint64_t tail[PARTS], event[EVENTS], after[NODES];
    bool member[PARTS], recorded[EVENTS];
    int nodes;
} model;

static bool all_followed(const model *o)
{
    uint64_t reached = o->tail[0];
    for (int i = o->nodes - 1; i >= 0; i--)
        if (reached >> i & 1) reached |= o->after[i];
    return reached == (UINT64_C(1) << o->nodes) - 1;
}

static void step(const parts *p, model *o, test_rng *rng, const float *x, float *sum)
{
    const int c = (int)test_between(rng, 0, PARTS - 1), e = (int)test_between(rng, 0, EVENTS - 1);
    const int what = (int)test_between(rng, 0, 3);
    if (what == 0) {
        const bool may = o->recorded[e] || !o->member[c];
        CHECK_STATUS(may ? DUO_OK : DUO_ERR_CAPTURE, duo_event_wait(p->ctx[c], p->event[e]));
        if (!o->recorded[e]) return;
        o->tail[c] = (o->member[c] ? o->tail[c] : 0) | o->event[e];
        o->member[c] = true;
    } else if (what == 1 && o->member[c]) {
        CHECK_STATUS(DUO_OK, duo_event_record(p->ctx[c], p->event[e]));
        o->event[e] = o->tail[c];
        o->recorded[e] = true;
    } else if (what > 1 && o->member[c]) {
        CHECK_STATUS(DUO_OK, duo_ssum(p->ctx[c], o->nodes + 1, x, 1, sum)); /* n is its number */
        o->after[o->nodes] = o->tail[c];
        o->tail[c] = UINT64_C(1) << o->nodes++;
    }
}

static void join_all(const parts *p, model *o)
{
    for (int c = 1; c < PARTS; c++) {
        if (!o->member[c]) continue;
        lead(p, c, 0, 0);
        o->tail[0] |= o->tail[c];
    }
}

/* Checks that the graph as text equals the model's. */
static void check_model(duo_graph *graph, const model *o)
{
    char text[TEXT], line[64];
    int arrows = 0;
    CHECK_STATUS(DUO_OK, duo_graph_print(graph, text, TEXT, NULL));
    for (int i = 0; i < o->nodes; i++) {
        (void)snprintf(line, sizeof line, "n%d [label=\"%d: ssum %d\"]", i + 1, i + 1, i + 1);
        test_contains(text, line);
        for (int a = 0; a < i; a++) {
            if ((o->after[i] >> a & 1) == 0) continue;
            (void)snprintf(line, sizeof line, "n%d -> n%d;", a + 1, i + 1);
            test_contains(text, line);
            arrows++;
        }
    }
    check_counts(graph, o->nodes, arrows);
}

static void random_captures(void)
{
    enum { ROUNDS = 200 };
    float x[NODES], sum = test_poison();
    test_rng rng = test_rng_for("graph_capture/random");
    parts p = new_parts();
    int joined = 0;
    fill(x, NODES, 1);
    for (int round = 0; round < ROUNDS; round++) {
        model o = {.member = {true}};
        test_case("graph_capture/random/%d", round);
        const int steps = (int)test_between(&rng, 0, 2 * NODES);
        begin(&p);
        for (int i = 0; i < steps && o.nodes < NODES; i++) step(&p, &o, &rng, x, &sum);
        if (round % 2 != 0) join_all(&p, &o);
        if (!all_followed(&o)) {
            end_unjoined(&p);
            continue;
        }
        duo_graph *const graph = end(&p);
        check_model(graph, &o);
        joined++;
        CHECK_STATUS(DUO_OK, duo_graph_destroy(graph));
    }
    CHECK(joined >= ROUNDS / 2 && joined < ROUNDS, "%d of them are joined", joined);
    CHECK(test_is_poison(sum), "a call was carried out");
    end_parts(&p);
}

/* ---- What is refused ---- */

static void end_refuses(duo_context *ctx, duo_status status)
{
    duo_graph *graph = (duo_graph *)&graph;
    CHECK_STATUS(status, duo_graph_end(ctx, &graph));
    CHECK(graph == NULL, "not NULL");
}

/* In a context that takes part, while `graph` is not built and `other` is. */
static void refused_in(duo_context *ctx, duo_graph *graph, duo_graph *other, duo_event *captured,
                       duo_event *outside)
{
    int done = -1;
    CHECK_STATUS(DUO_ERR_CAPTURE, duo_graph_begin(ctx));
    CHECK_STATUS(DUO_ERR_CAPTURE, duo_graph_build(graph, ctx));
    CHECK_STATUS(DUO_ERR_CAPTURE, duo_graph_launch(other, ctx));
    CHECK_STATUS(DUO_ERR_CAPTURE, duo_synchronize(ctx));
    CHECK_STATUS(DUO_ERR_CAPTURE, duo_set_device(ctx, 0));
    CHECK_STATUS(DUO_ERR_CAPTURE, duo_set_devices(ctx, NULL, 0));
    CHECK_STATUS(DUO_ERR_CAPTURE, duo_set_stream(ctx, NULL));
    CHECK_STATUS(DUO_ERR_CAPTURE, duo_event_synchronize(captured));
    CHECK_STATUS(DUO_ERR_CAPTURE, duo_event_query(captured, &done));
    CHECK(done == -1, "written in spite of the error");
    CHECK_STATUS(DUO_ERR_CAPTURE, duo_event_wait(ctx, outside));
    CHECK_STATUS(DUO_ERR_CAPTURE, duo_event_wait(NULL, captured));
    CHECK_STATUS(DUO_OK, duo_event_synchronize(outside));
    /* Arguments come first. */
    CHECK_STATUS(DUO_ERR_SIZE, duo_set_devices(ctx, NULL, -1));
    CHECK_STATUS(DUO_ERR_GRAPH, duo_graph_build(NULL, ctx));
    CHECK_STATUS(DUO_ERR_EVENT, duo_event_wait(ctx, NULL));
    CHECK_STATUS(DUO_ERR_EVENT, duo_event_record(ctx, NULL));
    CHECK_STATUS(DUO_ERR_NULL, duo_event_query(captured, NULL));
}

static void refused(void)
{
    float x[10], sum = 0.0f, own = 0.0f;
    parts p = new_parts();
    duo_context *const origin = p.ctx[0], *const joined = p.ctx[1], *const other = p.ctx[2];
    duo_graph *graph = NULL, *built = NULL;
    fill(x, 10, 1);
    CHECK_STATUS(DUO_ERR_NULL, duo_graph_begin(NULL));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_graph_begin(test_dead_context()));
    CHECK_STATUS(DUO_ERR_NULL, duo_graph_end(origin, NULL));
    end_refuses(NULL, DUO_ERR_CAPTURE);
    end_refuses(test_dead_context(), DUO_ERR_CONTEXT);
    end_refuses(origin, DUO_ERR_CAPTURE);
    CHECK_STATUS(DUO_OK, duo_graph_create(&graph));
    CHECK_STATUS(DUO_OK, duo_graph_create(&built));
    CHECK_STATUS(DUO_OK, duo_graph_build(built, other));

    begin(&p);
    CHECK_STATUS(DUO_OK, duo_ssum(origin, 10, x, 1, &sum));
    lead(&p, 0, 1, 0);
    for (int i = 0; i < 2; i++) {
        test_case("graph_capture/refused/%s", i == 0 ? "origin" : "joined");
        refused_in(p.ctx[i], graph, built, p.event[0], p.event[1]);
    }
    end_refuses(joined, DUO_ERR_CAPTURE);
    end_refuses(other, DUO_ERR_CAPTURE);
    CHECK_STATUS(DUO_ERR_NULL, duo_graph_end(origin, NULL));
    /* Others are not concerned, but by its events. */
    CHECK_STATUS(DUO_OK, duo_graph_build(graph, other));
    CHECK_STATUS(DUO_OK, duo_graph_launch(graph, other));
    CHECK_STATUS(DUO_OK, duo_ssum(other, 10, x, 1, &own));
    CHECK(own == sum_of(x, 10), "%g", (double)own);
    CHECK_STATUS(DUO_OK, duo_graph_begin(other));
    CHECK_STATUS(DUO_ERR_CAPTURE, duo_event_wait(other, p.event[0]));
    CHECK_STATUS(DUO_OK, duo_event_record(other, p.event[1]));
    CHECK_STATUS(DUO_ERR_CAPTURE, duo_event_wait(joined, p.event[1]));
    CHECK_STATUS(DUO_OK, duo_graph_destroy(graph));
    CHECK_STATUS(DUO_OK, duo_graph_end(other, &graph));
    check_counts(graph, 0, 0);
    CHECK_STATUS(DUO_OK, duo_graph_destroy(graph));
    /* All this did not harm it. */
    CHECK_STATUS(DUO_OK, duo_ssum(joined, 10, x, 1, &own));
    lead(&p, 1, 0, 2);
    graph = end(&p);
    check_counts(graph, 2, 1);
    CHECK(sum == 0.0f, "carried out");
    CHECK_STATUS(DUO_OK, duo_graph_build(graph, origin));
    CHECK_STATUS(DUO_OK, duo_graph_launch(graph, joined));
    CHECK(sum == sum_of(x, 10), "%g", (double)sum);
    CHECK_STATUS(DUO_OK, duo_graph_destroy(graph));
    CHECK_STATUS(DUO_OK, duo_graph_destroy(built));
    end_parts(&p);
}

/* Bad arguments have the call's status and make no node. Neither does a call that touches
 * nothing. */
static void bad_calls(void)
{
    float x[16], c[16], *const none = NULL;
    parts p = new_parts();
    duo_context *const ctx = p.ctx[0];
    const duo_layout col = DUO_COL_MAJOR;
    const duo_transpose n = DUO_NO_TRANS;
    fill(x, 16, 1);
    for (int captured = 0; captured < 2; captured++) {
        test_case("graph_capture/bad-calls/%d", captured);
        if (captured) begin(&p);
        CHECK_STATUS(DUO_ERR_ENUM,
                     duo_sgemm(ctx, (duo_layout)7, n, n, 4, 4, 4, 1.0f, x, 4, x, 4, 0.0f, c, 4));
        CHECK_STATUS(DUO_ERR_SIZE,
                     duo_sgemm(ctx, col, n, n, -1, 4, 4, 1.0f, x, 4, x, 4, 0.0f, c, 4));
        CHECK_STATUS(DUO_ERR_LD, duo_sgemm(ctx, col, n, n, 4, 4, 4, 1.0f, x, 3, x, 4, 0.0f, c, 4));
        CHECK_STATUS(DUO_ERR_NULL,
                     duo_sgemm(ctx, col, n, n, 4, 4, 4, 1.0f, x, 4, none, 4, 0.0f, c, 4));
        CHECK_STATUS(DUO_ERR_NULL, duo_ssum(ctx, 4, none, 1, c));
        CHECK_STATUS(DUO_ERR_NULL, duo_sasum(ctx, 4, x, 1, none));
        CHECK_STATUS(DUO_ERR_SIZE, duo_sdot(ctx, INT64_MAX, x, 2, x, 1, c));
        CHECK_STATUS(DUO_ERR_NULL, duo_copy(ctx, none, x, 4));
        CHECK_STATUS(DUO_ERR_SIZE, duo_copy(ctx, c, x, SIZE_MAX));
        CHECK_STATUS(DUO_ERR_ENUM, duo_set_math(ctx, (duo_math)7));
        CHECK_STATUS(DUO_OK, duo_copy(ctx, none, none, 0));
        CHECK_STATUS(DUO_OK, duo_sgemm(ctx, col, n, n, 0, 4, 4, 1.0f, x, 4, x, 4, 0.0f, c, 4));
        CHECK_STATUS(DUO_OK, duo_sgemm(ctx, col, n, n, 4, 4, 0, 1.0f, x, 4, x, 4, 1.0f, c, 4));
    }
    duo_graph *graph = end(&p);
    check_counts(graph, 0, 0);
    CHECK_STATUS(DUO_OK, duo_graph_build(graph, ctx));
    CHECK_STATUS(DUO_OK, duo_graph_launch(graph, ctx));
    CHECK_STATUS(DUO_OK, duo_graph_destroy(graph));
    /* The build sees the places of operands. */
    CHECK_STATUS(DUO_OK, duo_keep(ctx, x, sizeof x));
    begin(&p);
    CHECK_STATUS(DUO_OK, duo_ssum(ctx, 16, x, 1, c));
    graph = end(&p);
    CHECK_STATUS(DUO_ERR_HIDDEN, duo_graph_build(graph, ctx));
    CHECK_STATUS(DUO_OK, duo_graph_destroy(graph));
    CHECK_STATUS(DUO_OK, duo_release(ctx, x));
    end_parts(&p);
}

static int never(void *user, const duo_decision *decision, int chosen)
{
    (void)user, (void)decision;
    CHECK(false, "a captured call is decided");
    return chosen;
}

static void ignore(void *user, const char *line) { (void)user, (void)line; }

/* The context goes on capturing after any setting, also one for tiny calls; and memory comes at
 * once. */
static void meanwhile(void)
{
    float x[10], kept[10], sum = 0.0f, y = 0.0f;
    void *device = NULL, *pinned = NULL;
    parts p = new_parts();
    duo_context *const ctx = p.ctx[0];
    fill(x, 10, 1);
    fill(kept, 10, 1);
    begin(&p);
    CHECK_STATUS(DUO_OK, duo_set_path(ctx, DUO_PATH_CPU));
    CHECK_STATUS(DUO_OK, duo_sasum(ctx, 10, x, 1, &sum));
    CHECK_STATUS(DUO_OK, duo_set_threads(ctx, 1));
    CHECK_STATUS(DUO_OK, duo_sdot(ctx, 10, x, 1, x, 1, &sum));
    CHECK_STATUS(DUO_OK, duo_set_adapt(ctx, 1));
    CHECK_STATUS(DUO_OK, duo_set_decide(ctx, never, NULL));
    CHECK_STATUS(DUO_OK, duo_ssum(ctx, 10, x, 1, &sum));
    CHECK_STATUS(DUO_OK, duo_set_decide(ctx, NULL, NULL));
    CHECK_STATUS(DUO_OK, duo_set_log(ctx, ignore, NULL));
    CHECK_STATUS(DUO_OK, duo_set_log(ctx, NULL, NULL));
    CHECK_STATUS(DUO_OK, square(ctx, 1, x, x, 0.0f, &y));
    CHECK_STATUS(DUO_OK, duo_set_path(ctx, test_path()));
    CHECK_STATUS(DUO_OK, duo_malloc(ctx, sizeof x, &device));
    CHECK_STATUS(DUO_OK, duo_malloc_host(ctx, sizeof x, &pinned));
    CHECK_STATUS(DUO_OK, duo_warm_up(ctx));
    CHECK_STATUS(DUO_OK, duo_keep(ctx, kept, sizeof kept));
    CHECK_STATUS(DUO_OK, duo_prepare(ctx, kept, sizeof kept));
    CHECK_STATUS(DUO_OK, duo_changed(ctx, kept, sizeof kept));
    CHECK_STATUS(DUO_OK, duo_fetch(ctx, kept, sizeof kept));
    CHECK_STATUS(DUO_OK, duo_release(ctx, kept));
    CHECK_STATUS(DUO_OK, duo_trim(ctx));
    CHECK(sum == 0.0f && y == 0.0f, "a call was carried out: %g, %g", (double)sum, (double)y);
    duo_graph *const graph = end(&p);
    check_counts(graph, 4, 3);
    CHECK_STATUS(DUO_OK, duo_graph_build(graph, ctx));
    CHECK_STATUS(DUO_OK, duo_graph_launch(graph, ctx));
    CHECK(sum == sum_of(x, 10) && y == x[0] * x[0], "%g, %g", (double)sum, (double)y);
    /* The context makes its calls again, tiny ones too. */
    check_sum(ctx, x, 10, sum_of(x, 10));
    CHECK_STATUS(DUO_OK, duo_graph_destroy(graph));
    CHECK_STATUS(DUO_OK, duo_free(ctx, device));
    CHECK_STATUS(DUO_OK, duo_free_host(ctx, pinned));
    end_parts(&p);
}

/* ---- Captures that do not come to a good end ---- */

/* All that took part make their calls again, and its events count as reached. */
static void check_released(const parts *p)
{
    float x[10];
    int done = 0;
    fill(x, 10, 1);
    for (int i = 0; i < PARTS; i++) check_sum(p->ctx[i], x, 10, sum_of(x, 10));
    for (int i = 0; i < EVENTS; i++) {
        CHECK_STATUS(DUO_OK, duo_event_wait(p->ctx[0], p->event[i]));
        CHECK_STATUS(DUO_OK, duo_event_synchronize(p->event[i]));
        CHECK_STATUS(DUO_OK, duo_event_query(p->event[i], &done));
        CHECK(done == 1, "not reached");
    }
}

static void unjoined(void)
{
    float x[10], sum = 0.0f;
    parts p = new_parts();
    fill(x, 10, 1);
    for (int stage = 0; stage < 4; stage++) {
        test_case("graph_capture/unjoined/%d", stage);
        begin(&p);
        lead(&p, 0, 1, 0);
        CHECK_STATUS(DUO_OK, duo_ssum(p.ctx[0], 10, x, 1, &sum));
        CHECK_STATUS(DUO_OK, duo_sasum(p.ctx[1], 10, x, 1, &sum));
        if (stage > 0) CHECK_STATUS(DUO_OK, duo_event_record(p.ctx[1], p.event[1]));
        if (stage > 1) CHECK_STATUS(DUO_OK, duo_event_wait(p.ctx[0], p.event[1]));
        if (stage == 2) CHECK_STATUS(DUO_OK, duo_sdot(p.ctx[1], 10, x, 1, x, 1, &sum));
        if (stage == 3) { /* one that has nothing to join */
            lead(&p, 1, 2, 2);
            CHECK_STATUS(DUO_OK, duo_graph_destroy(end(&p)));
        } else {
            end_unjoined(&p);
            test_contains(duo_error_detail(p.ctx[0]),
                          stage == 2 ? "node 3 (sdot)" : "node 2 (sasum)");
        }
        check_released(&p);
    }
    CHECK(sum == 0.0f, "carried out");
    end_parts(&p);
}

/* A context that took part ends: its nodes stay. The origin ends: the capture ends, too. */
static void contexts_end(void)
{
    float x[10], sum[2] = {0.0f, 0.0f};
    fill(x, 10, 1);
    for (int which = 0; which < 3; which++) {
        test_case("graph_capture/contexts-end/%d", which);
        parts p = new_parts();
        duo_graph *graph = NULL;
        begin(&p);
        lead(&p, 0, 1, 0);
        lead(&p, 0, 2, 0);
        CHECK_STATUS(DUO_OK, duo_ssum(p.ctx[0], 10, x, 1, &sum[0]));
        CHECK_STATUS(DUO_OK, duo_ssum(p.ctx[1], 10, x, 1, &sum[1]));
        CHECK_STATUS(DUO_OK, duo_event_record(p.ctx[1], p.event[1]));
        CHECK_STATUS(DUO_OK, duo_destroy(p.ctx[which]));
        p.ctx[which] = test_context();
        if (which > 0) {
            CHECK_STATUS(DUO_OK, duo_event_wait(p.ctx[0], p.event[1]));
            graph = end(&p);
            check_counts(graph, 2, 0);
            CHECK_STATUS(DUO_OK, duo_graph_destroy(graph));
        }
        end_refuses(p.ctx[0], DUO_ERR_CAPTURE);
        check_released(&p);
        end_parts(&p);
    }
    CHECK(sum[0] == 0.0f && sum[1] == 0.0f, "carried out");
}

/* Events end or are recorded elsewhere in the middle of a capture. */
static void events_end(void)
{
    float x[10], sum[2] = {0.0f, 0.0f};
    parts p = new_parts();
    fill(x, 10, 1);
    begin(&p);
    CHECK_STATUS(DUO_OK, duo_ssum(p.ctx[0], 10, x, 1, &sum[0]));
    lead(&p, 0, 1, 0);
    CHECK_STATUS(DUO_OK, duo_event_destroy(p.event[0]));
    CHECK_STATUS(DUO_OK, duo_event_create(&p.event[0]));
    CHECK_STATUS(DUO_ERR_CAPTURE, duo_event_wait(p.ctx[0], p.event[0]));
    CHECK_STATUS(DUO_OK, duo_event_record(p.ctx[0], p.event[1]));
    CHECK_STATUS(DUO_OK, duo_event_record(p.ctx[2], p.event[1])); /* which takes no part */
    CHECK_STATUS(DUO_OK, duo_event_synchronize(p.event[1]));
    CHECK_STATUS(DUO_ERR_CAPTURE, duo_event_wait(p.ctx[0], p.event[1]));
    CHECK_STATUS(DUO_OK, duo_ssum(p.ctx[1], 10, x, 1, &sum[1]));
    lead(&p, 1, 0, 1);
    duo_graph *const graph = end(&p);
    check_counts(graph, 2, 1);
    CHECK_STATUS(DUO_OK, duo_graph_destroy(graph));
    check_released(&p);
    end_parts(&p);
}

/* ---- Several threads, and processes ---- */

/* Captures and launches; returns NULL if the sum is right. */
static void *capture_sum(void *argument)
{
    const parts *const p = argument;
    float x[10], sum = test_poison(), copied = test_poison();
    duo_graph *graph = NULL;
    fill(x, 10, 1);
    bool good = duo_graph_begin(p->ctx[0]) == DUO_OK &&
                duo_ssum(p->ctx[0], 10, x, 1, &sum) == DUO_OK &&
                duo_event_record(p->ctx[0], p->event[0]) == DUO_OK &&
                duo_event_wait(p->ctx[1], p->event[0]) == DUO_OK &&
                duo_copy(p->ctx[1], &copied, &sum, sizeof sum) == DUO_OK &&
                duo_event_record(p->ctx[1], p->event[1]) == DUO_OK &&
                duo_event_wait(p->ctx[0], p->event[1]) == DUO_OK &&
                duo_graph_end(p->ctx[0], &graph) == DUO_OK && test_is_poison(copied);
    good = good && duo_graph_build(graph, p->ctx[0]) == DUO_OK &&
           duo_graph_launch(graph, p->ctx[0]) == DUO_OK && copied == sum_of(x, 10);
    return duo_graph_destroy(graph) == DUO_OK && good ? NULL : argument;
}

static void threads(void)
{
    enum { THREADS = 3, ROUNDS = 20 };
    for (int round = 0; round < ROUNDS; round++) {
        parts p[THREADS];
        pthread_t thread[THREADS];
        for (int i = 0; i < THREADS; i++) {
            p[i] = new_parts();
            CHECK(pthread_create(&thread[i], NULL, capture_sum, &p[i]) == 0, "no thread");
        }
        for (int i = 0; i < THREADS; i++) {
            void *wrong = &p;
            pthread_join(thread[i], &wrong);
            CHECK(wrong == NULL, "thread %d of round %d", i, round);
        }
        for (int i = 0; i < THREADS; i++) {
            for (int e = 0; e < EVENTS; e++) CHECK_STATUS(DUO_OK, duo_event_destroy(p[i].event[e]));
            for (int c = 0; c < PARTS; c++) test_context_end(p[i].ctx[c]);
        }
    }
    if (test_on_sim()) CHECK(sim_leaks() == 0, "%d things are still alive", sim_leaks());
}

/* A child goes on with the capture; so does its parent. */
static void after_a_fork(void)
{
    if (UNDER_TSAN) return; /* it does not take forks with threads */
    float x[10], sum = test_poison();
    parts p = new_parts();
    duo_graph *graph = NULL;
    fill(x, 10, 1);
    begin(&p);
    lead(&p, 0, 1, 0);
    CHECK_STATUS(DUO_OK, duo_ssum(p.ctx[1], 10, x, 1, &sum));
    CHECK_STATUS(DUO_OK, duo_event_record(p.ctx[1], p.event[1]));
    const pid_t child = fork();
    if (child == 0) {
        const bool good = duo_event_wait(p.ctx[0], p.event[1]) == DUO_OK &&
                          duo_graph_end(p.ctx[0], &graph) == DUO_OK &&
                          duo_graph_build(graph, p.ctx[0]) == DUO_OK &&
                          duo_graph_launch(graph, p.ctx[0]) == DUO_OK && sum == sum_of(x, 10) &&
                          duo_graph_destroy(graph) == DUO_OK && capture_sum(&p) == NULL;
        _exit(good ? 0 : 1);
    }
    CHECK(test_child_wait((int)child, 30) == 0, "the child's capture is wrong");
    CHECK_STATUS(DUO_OK, duo_event_wait(p.ctx[0], p.event[1]));
    graph = end(&p);
    check_counts(graph, 1, 0);
    CHECK(test_is_poison(sum), "carried out");
    CHECK_STATUS(DUO_OK, duo_graph_destroy(graph));
    end_parts(&p);
}

int main(int argc, char **argv)
{
    static const test_entry tests[] = {{"results", results},
                                       {"altered", altered},
                                       {"random_captures", random_captures},
                                       {"refused", refused},
                                       {"bad_calls", bad_calls},
                                       {"meanwhile", meanwhile},
                                       {"unjoined", unjoined},
                                       {"contexts_end", contexts_end},
                                       {"events_end", events_end},
                                       {"threads", threads},
                                       {"after_a_fork", after_a_fork},
                                       {NULL, NULL}};
    return test_main(argc, argv, "graph_capture", tests);
}
