/*
 * test_graphs.c - graphs: refusals of building and updating, every kind of work on either side,
 * order within a graph and with its contexts, and the fate of a graph when its device is lost or
 * its process forks.
 */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/clock.h"
#include "support/child.h"
#include "support/exact.h"
#include "support/graph_works.h"
#include "support/graph_world.h"
#include "support/harness.h"
#include "support/sanitizers.h"

/* The graph can be built and launched now, and is ended. */
static void sound(duo_graph *graph, duo_context *ctx)
{
    CHECK_STATUS(DUO_OK, duo_graph_build(graph, ctx));
    for (int i = 0; i < 2; i++) CHECK_STATUS(DUO_OK, duo_graph_launch(graph, ctx));
    CHECK_STATUS(DUO_OK, duo_graph_destroy(graph));
}

/* Launches the graph of these works, and does them in the images. */
static void launch(const world *w, duo_graph *graph, duo_context *ctx, const duo_work *works,
                   int count)
{
    CHECK_STATUS(DUO_OK, duo_graph_launch(graph, ctx));
    for (int i = 0; i < count; i++) world_do(w, &works[i]);
}

enum { TEXT = 4096 };

static void printed(duo_graph *graph, char text[TEXT])
{
    size_t length = 0;
    CHECK_STATUS(DUO_OK, duo_graph_print(graph, text, TEXT, &length));
    CHECK(strlen(text) == length, "%zu characters, %zu announced", strlen(text), length);
}

static void check_unchanged(duo_graph *graph, const char *before)
{
    char now[TEXT];
    printed(graph, now);
    CHECK(strcmp(before, now) == 0, "a call that failed changed\n%sto\n%s", before, now);
}

/* ---- Arguments ---- */

/* It is no graph, or none any more. */
static void is_no_graph(duo_graph *none, duo_context *ctx)
{
    const duo_work work = work_of(DUO_WORK_EMPTY);
    duo_node node = 77;
    size_t length = 77;
    char text[8] = "as";
    CHECK_STATUS(DUO_ERR_GRAPH, duo_graph_add(none, &work, NULL, 0, &node));
    CHECK_STATUS(DUO_ERR_GRAPH, duo_graph_alter(none, 1, &work, NULL, 0));
    CHECK_STATUS(DUO_ERR_GRAPH, duo_graph_build(none, ctx));
    CHECK_STATUS(DUO_ERR_GRAPH, duo_graph_launch(none, ctx));
    CHECK_STATUS(DUO_ERR_GRAPH, duo_graph_update(none, 1, &work));
    CHECK_STATUS(DUO_ERR_GRAPH, duo_graph_print(none, text, sizeof text, &length));
    CHECK(node == 77 && length == 77 && strcmp(text, "as") == 0, "written in spite of the error");
    CHECK(duo_graph_detail(none) != NULL, "NULL");
}

/* Refusals of duo_graph_add and duo_graph_alter. alien: nodes of another graph. */
static void refused_nodes(duo_graph *graph, duo_node first, const duo_node alien[2])
{
    const duo_work good = work_of(DUO_WORK_EMPTY), none = {.kind = DUO_WORK_EMPTY};
    const duo_work small = {.size = sizeof(duo_work) - 1}, unknown = work_of((duo_work_kind)99);
    const duo_node after[] = {first, 0, first, alien[0], first, alien[1]};
    const struct {
        const duo_work *work;
        const duo_node *after;
        int count;
        duo_status status;
    } bad[] = {{&good, NULL, 1, DUO_ERR_NULL},      {&good, after, -2, DUO_ERR_SIZE},
               {&small, NULL, 0, DUO_ERR_SIZE},     {&none, NULL, 0, DUO_ERR_SIZE},
               {&unknown, NULL, 0, DUO_ERR_ENUM},   {&good, after, 2, DUO_ERR_NODE},
               {&good, after + 2, 2, DUO_ERR_NODE}, {&good, after + 4, 2, DUO_ERR_NODE}};
    duo_node node = 77;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const duo_work *const work = bad[i].work;
        const int count = bad[i].count;
        test_case("graphs/refused-nodes/%zu", i);
        CHECK_STATUS(bad[i].status, duo_graph_add(graph, work, bad[i].after, count, &node));
        CHECK_STATUS(bad[i].status, duo_graph_alter(graph, first, work, bad[i].after, count));
    }
    CHECK_STATUS(DUO_ERR_NULL, duo_graph_add(graph, NULL, NULL, 0, &node));
    CHECK_STATUS(DUO_ERR_SIZE, duo_graph_add(graph, &good, &first, -1, &node));
    for (int i = 1; i < 6; i += 2)
        CHECK_STATUS(DUO_ERR_NODE, duo_graph_alter(graph, after[i], &good, NULL, 0));
    CHECK(node == 77, "written in spite of the error");
}

static void arguments(void)
{
    const duo_work good = work_of(DUO_WORK_EMPTY), none = {.kind = DUO_WORK_EMPTY};
    duo_node node = 77, alien[3];
    size_t length = 77;
    char text[TEXT];
    duo_context *const ctx = test_context();
    CHECK_STATUS(DUO_ERR_NULL, duo_graph_create(NULL));
    CHECK_STATUS(DUO_OK, duo_graph_destroy(NULL));
    is_no_graph(NULL, ctx);
    duo_graph *graph = graph_new();
    CHECK(duo_graph_detail(graph) != NULL, "NULL");
    sound(graph, ctx); /* without nodes it does nothing */
    is_no_graph(graph, ctx);
    CHECK_STATUS(DUO_ERR_GRAPH, duo_graph_destroy(graph));

    duo_graph *const other = graph_new();
    graph = graph_new();
    for (int i = 0; i < 3; i++) alien[i] = graph_add(other, NULL, alien, i);
    const duo_node first = graph_add(graph, NULL, NULL, 0);
    CHECK_STATUS(DUO_OK, duo_graph_add(graph, &good, &first, 1, NULL));
    printed(graph, text);
    refused_nodes(graph, first, (const duo_node[]){alien[0], alien[2]});
    test_case("graphs/not-built");
    CHECK_STATUS(DUO_ERR_BUILT, duo_graph_launch(graph, ctx));
    CHECK_STATUS(DUO_ERR_BUILT, duo_graph_update(graph, first, &good));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_graph_build(graph, test_dead_context()));
    CHECK_STATUS(DUO_ERR_NULL, duo_graph_print(graph, NULL, 10, &length));
    CHECK_STATUS(DUO_OK, duo_graph_alter(graph, first, NULL, NULL, -1));
    check_unchanged(graph, text);
    test_case("graphs/built");
    CHECK_STATUS(DUO_OK, duo_graph_build(graph, ctx));
    printed(graph, text);
    CHECK_STATUS(DUO_ERR_BUILT, duo_graph_build(graph, ctx));
    CHECK_STATUS(DUO_ERR_BUILT, duo_graph_add(graph, &good, NULL, 0, &node));
    CHECK_STATUS(DUO_ERR_BUILT, duo_graph_alter(graph, first, &good, NULL, 0));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_graph_launch(graph, test_dead_context()));
    CHECK_STATUS(DUO_ERR_NODE, duo_graph_update(graph, 0, &good));
    CHECK_STATUS(DUO_ERR_NODE, duo_graph_update(graph, alien[2], &good));
    CHECK_STATUS(DUO_ERR_SIZE, duo_graph_update(graph, first, &none));
    CHECK(node == 77 && length == 77, "written in spite of the error");
    check_unchanged(graph, text);
    CHECK_STATUS(DUO_OK, duo_graph_launch(graph, ctx));
    CHECK_STATUS(DUO_OK, duo_graph_destroy(graph));
    CHECK_STATUS(DUO_OK, duo_graph_destroy(other));
    end_without_leaks(ctx);
}

/* ---- Refusals of building ---- */

/* Cycles of some nodes, between one that they follow and one that follows them. */
static void cycles(void)
{
    duo_context *const ctx = test_context();
    for (int count = 1; count <= 60; count = count == 1 ? 2 : count * 30) {
        test_case("graphs/cycle/%d", count);
        duo_graph *const graph = graph_new();
        duo_node node[64] = {graph_add(graph, NULL, NULL, 0)};
        for (int i = 1; i <= count + 1; i++) node[i] = graph_add(graph, NULL, &node[i - 1], 1);
        CHECK_STATUS(DUO_OK, duo_graph_alter(graph, node[1], NULL, &node[count], 1));
        for (int i = 0; i < 2; i++) CHECK_STATUS(DUO_ERR_CYCLE, duo_graph_build(graph, ctx));
        test_contains(duo_graph_detail(graph), "node ");
        CHECK_STATUS(DUO_ERR_BUILT, duo_graph_launch(graph, ctx));
        CHECK_STATUS(DUO_OK, duo_graph_alter(graph, node[1], NULL, &node[0], 1));
        sound(graph, ctx);
    }
    end_without_leaks(ctx);
}

/* A change of one field of a sample, and its status. */
typedef struct change {
    duo_work_kind kind;
    size_t offset, bytes; /* of the field */
    int64_t value;
    duo_status status;
} change;

#define OF(kind, f, value, said)                                                                   \
    {                                                                                              \
        DUO_WORK_##kind, offsetof(duo_work, f), sizeof((duo_work){0}.f), value, DUO_ERR_##said     \
    }

/* The status for a node that is added; SHAPE: for an update. */
static const change changes[] = {
    OF(SGEMM, math, 17, ENUM),     OF(SGEMM, layout, 0, ENUM),     OF(SGEMM, transa, 0, ENUM),
    OF(SGEMM, transb, 110, ENUM),  OF(SASUM, math, 17, ENUM),      OF(SSUM, math, -1, ENUM),
    OF(SDOT, math, 17, ENUM),      OF(SGEMM, m, -1, SIZE),         OF(SGEMM, n, -1, SIZE),
    OF(SGEMM, k, -1, SIZE),        OF(SSUM, n, INT64_MAX, SIZE),   OF(SDOT, incy, INT64_MAX, SIZE),
    OF(COPY, dst_pitch, 23, SIZE), OF(COPY, src_pitch, 23, SIZE),  OF(SET, dst_pitch, 0, SIZE),
    OF(SGEMM, lda, 9, LD),         OF(SGEMM, ldb, 9, LD),          OF(SGEMM, ldc, 9, LD),
    OF(SGEMM, a, 0, NULL),         OF(SGEMM, b, 0, NULL),          OF(SGEMM, c, 0, NULL),
    OF(SASUM, x, 0, NULL),         OF(SSUM, result, 0, NULL),      OF(SDOT, y, 0, NULL),
    OF(COPY, dst, 0, NULL),        OF(COPY, src, 0, NULL),         OF(SET, dst, 0, NULL),
    OF(HOST, function, 0, NULL),   OF(SGEMM, math, 1, SHAPE),      OF(SGEMM, layout, 101, SHAPE),
    OF(SGEMM, transa, 112, SHAPE), OF(SGEMM, transb, 112, SHAPE),  OF(SGEMM, m, 9, SHAPE),
    OF(SGEMM, n, 9, SHAPE),        OF(SGEMM, k, 9, SHAPE),         OF(SGEMM, lda, 19, SHAPE),
    OF(SGEMM, ldb, 19, SHAPE),     OF(SGEMM, ldc, 19, SHAPE),      OF(SASUM, math, 3, SHAPE),
    OF(SASUM, n, 99, SHAPE),       OF(SSUM, incx, 1, SHAPE),       OF(SDOT, incx, 1, SHAPE),
    OF(SDOT, incy, 2, SHAPE),      OF(COPY, dst_pitch, 44, SHAPE), OF(COPY, src_pitch, 44, SHAPE),
    OF(COPY, width, 20, SHAPE),    OF(COPY, height, 2, SHAPE),     OF(SET, dst_pitch, 44, SHAPE),
    OF(SET, width, 20, SHAPE),     OF(SET, height, 2, SHAPE)};
enum { CHANGES = sizeof changes / sizeof changes[0] };

static duo_work changed(const change *how, const float *in, float *out)
{
    duo_work v = work_sample(how->kind, in, out);
    const int32_t narrow = (int32_t)how->value;
    memcpy((char *)&v + how->offset,
           how->bytes == sizeof narrow ? (const void *)&narrow : &how->value, how->bytes);
    return v;
}

/* The third node of a graph is this one. It is refused, and another takes its place. */
static void third_node(const world *w, const duo_work *bad, duo_status status)
{
    const duo_work good =
        work_sample(DUO_WORK_SASUM, world_array(w, HOST, 4), world_array(w, HOST, 6));
    duo_graph *const graph = graph_new();
    duo_node node[3] = {graph_add(graph, NULL, NULL, 0)};
    for (int i = 1; i < 3; i++) node[i] = graph_add(graph, i == 2 ? bad : &good, node, i);
    (void)graph_add(graph, NULL, &node[2], 1);
    CHECK_STATUS(status, duo_graph_build(graph, w->ctx));
    test_contains(duo_graph_detail(graph), "node 3");
    CHECK_STATUS(DUO_ERR_BUILT, duo_graph_launch(graph, w->ctx));
    CHECK_STATUS(DUO_OK, duo_graph_alter(graph, node[2], &good, NULL, -1));
    sound(graph, w->ctx);
}

static void refused(void)
{
    world w = world_begin("graphs/refused", 400);
    for (int i = 0; i < 2 * CHANGES; i++) {
        const change *const how = &changes[i / 2];
        if (how->status == DUO_ERR_SHAPE) continue;
        test_case("graphs/refused/%d, side %d", i / 2, i % 2);
        const duo_work bad = changed(how, world_array(&w, i % 2, 4), world_array(&w, i % 2, 6));
        third_node(&w, &bad, how->status);
    }
    world_end(&w);
}

/* Operands that would have to be copied first, or that are not there. */
static void hidden(void)
{
    if (!test_gpu_side()) return;
    world w = world_begin("graphs/hidden", 400);
    duo_work bad;
    for (int i = 0; i < 12; i++) { /* three operands on two sides in all ways, but all on one */
        const int dot = i % 2, mix = i / 2 + 1;
        test_case("graphs/hidden/%s/%d", dot ? "sdot" : "sgemm", mix);
        bad = work_sample(dot ? DUO_WORK_SDOT : DUO_WORK_SGEMM, world_array(&w, mix & 1, 4),
                          world_array(&w, mix >> 2, 6));
        *(dot ? &bad.y : &bad.b) = world_array(&w, mix >> 1 & 1, 5);
        third_node(&w, &bad, DUO_ERR_HIDDEN);
    }
    float *const kept = new_floats(400);
    fill(kept, 400, 1);
    CHECK_STATUS(DUO_OK, duo_keep(w.ctx, kept, 400 * sizeof *kept));
    for (int i = 0; i < 4; i++) {
        test_case("graphs/hidden/kept/%d", i);
        bad = i < 2 ? work_sample(DUO_WORK_SASUM, kept, world_array(&w, i, 6))
                    : work_sample(DUO_WORK_SGEMM, world_array(&w, i - 2, 4), kept);
        third_node(&w, &bad, DUO_ERR_HIDDEN);
    }
    test_case("graphs/hidden/behind-the-end");
    bad = work_reduction(DUO_WORK_SSUM, 401, world_array(&w, DEVICE, ARRAYS - 1),
                         world_array(&w, DEVICE, 3));
    third_node(&w, &bad, DUO_ERR_RANGE);
    bad = work_copying(world_array(&w, HOST, 1), world_array(&w, DEVICE, ARRAYS - 1),
                       400 * sizeof(float) + 1);
    third_node(&w, &bad, DUO_ERR_RANGE);
    CHECK_STATUS(DUO_OK, duo_release(w.ctx, kept));
    free(kept);
    world_end(&w);
}

/* Sums that are not exact have the bits of plain calls, in every math. */
static void bits(void)
{
    enum { COUNT = 6000 };
    world w = world_begin("graphs/bits", COUNT);
    for (int side = 0; side < SIDES; side++)
        test_fill(&w.rng, DATA_WIDE, w.image[side] + 6 * COUNT, 2 * COUNT);
    world_send(&w);
    for (int i = 0; i < 24; i++) {
        const float *const x = world_array(&w, i / 12, 6), *const y = world_array(&w, i / 12, 7);
        duo_work v = work_reduction((duo_work_kind)(DUO_WORK_SASUM + i % 3), COUNT - i, x,
                                    world_array(&w, i / 12, 8));
        v.math = (duo_math)(i / 3 % 4);
        if (v.kind == DUO_WORK_SDOT) v.y = y;
        test_case("graphs/bits/side %d/kind %d/math %d", i / 12, (int)v.kind, (int)v.math);
        float right = 0.0f, got = test_poison();
        CHECK_STATUS(DUO_OK, duo_set_math(w.ctx, v.math));
        CHECK_STATUS(DUO_OK, v.kind == DUO_WORK_SASUM  ? duo_sasum(w.ctx, v.n, x, 1, &right)
                             : v.kind == DUO_WORK_SSUM ? duo_ssum(w.ctx, v.n, x, 1, &right)
                                                       : duo_sdot(w.ctx, v.n, x, 1, y, 1, &right));
        CHECK_STATUS(DUO_OK, duo_set_math(w.ctx, DUO_MATH_ACCURATE)); /* the node's own counts */
        duo_graph *const graph = graph_built(w.ctx, &v, 1, false, NULL);
        CHECK_STATUS(DUO_OK, duo_graph_launch(graph, w.ctx));
        CHECK_STATUS(DUO_OK, duo_copy(w.ctx, &got, v.result, sizeof got));
        CHECK(test_same(got, right), "%a, expected %a", (double)got, (double)right);
        CHECK_STATUS(DUO_OK, duo_graph_destroy(graph));
    }
    world_end(&w);
}

/* ---- Order ---- */

/* One function; then side by side three, and a sum of the data of another; then one. All is done
 * when the launch returns. */
static void fork_join(void)
{
    enum { COUNT = 256 };
    float x[COUNT], y[COUNT], right[COUNT], sum = 0.0f;
    atomic_int taken;
    branch b[5];
    conversion made = {x, y, 0, COUNT}, again = {x, right, 0, COUNT};
    duo_node node[7];
    duo_context *const ctx = test_context();
    duo_graph *const graph = graph_new();
    const duo_work works[7] = {
        work_calling(work_take_rank, &b[0]), work_calling(work_take_rank, &b[1]),
        work_calling(work_take_rank, &b[2]), work_calling(work_take_rank, &b[3]),
        work_calling(world_convert, &made),  work_reduction(DUO_WORK_SSUM, COUNT, y, &sum),
        work_calling(work_take_rank, &b[4])};
    for (int i = 0; i < 7; i++) {
        const duo_node *const after = i < 5 ? node : i == 5 ? &node[4] : &node[1];
        node[i] = graph_add(graph, &works[i], after, i == 0 ? 0 : i < 6 ? 1 : 5);
    }
    CHECK_STATUS(DUO_OK, duo_graph_build(graph, ctx));
    for (int round = 0; round < 50; round++) {
        test_case("graphs/fork-join/%d", round);
        fill(x, COUNT, round);
        world_convert(&again);
        test_fill_poison(y, COUNT);
        sum = test_poison();
        atomic_store(&taken, 0);
        for (int i = 0; i < 5; i++) b[i] = (branch){&taken, -1};
        CHECK_STATUS(DUO_OK, duo_graph_launch(graph, ctx));
        CHECK(same_floats(y, right, COUNT), "wrong values");
        CHECK(sum == sum_of(right, COUNT), "sum %g", (double)sum);
        CHECK(b[0].rank == 0 && b[4].rank == 4, "ranks %d and %d", b[0].rank, b[4].rank);
        for (int i = 1; i < 4; i++) CHECK(b[i].rank > 0 && b[i].rank < 4, "rank %d", b[i].rank);
    }
    CHECK_STATUS(DUO_OK, duo_graph_destroy(graph));
    end_without_leaks(ctx);
}

/* Many nodes side by side; and as many in a chain of copies. */
static void many(void)
{
    enum { MANY = 300 };
    static duo_work works[MANY];
    world w = world_begin("graphs/many", 10 * MANY);
    for (int i = 0; i < 4; i++) {
        const int side = i % 2;
        const bool chain = i / 2 == 1;
        test_case("graphs/many/%s/side %d", chain ? "chain" : "wide", side);
        for (int j = 0; j < MANY; j++) {
            const float *const in = world_array(&w, side, 4) + 10 * (int64_t)j;
            float *const out = world_array(&w, side, 6) + j;
            works[j] = chain ? work_copying(out + 1, out, sizeof *out)
                             : work_reduction((duo_work_kind)(DUO_WORK_SASUM + j % 3), 10, in, out);
        }
        duo_graph *const graph = graph_built(w.ctx, works, MANY, chain, NULL);
        for (int round = 0; round < 3; round++) {
            world_draw(&w);
            world_send(&w);
            launch(&w, graph, w.ctx, works, MANY);
            world_check(&w);
        }
        CHECK_STATUS(DUO_OK, duo_graph_destroy(graph));
    }
    world_end(&w);
}

/* On the device: a product, a graph that reads it, by way of the host too, and a product of the
 * graph's results. */
static void contexts(void)
{
    enum { EDGE = 8, SIZE = EDGE * EDGE };
    duo_context *const builder = test_context(), *const other = test_context();
    world w = world_begin("graphs/contexts", SIZE);
    float *d[6], *const h[] = {world_array(&w, HOST, 6), world_array(&w, HOST, 7)};
    for (int i = 0; i < 6; i++) d[i] = world_array(&w, DEVICE, 4 + i);
    conversion c = {h[0], h[1], 1, SIZE};
    const duo_work before = work_product(EDGE, d[0], d[0], 0.0f, d[1]);
    const duo_work behind_it = work_product(EDGE, d[3], d[0], 0.0f, d[1]);
    const duo_work works[] = {
        work_product(EDGE, d[1], d[0], 0.0f, d[2]), work_product(EDGE, d[2], d[0], 1.0f, d[3]),
        work_copying(h[0], d[2], SIZE * sizeof *c.to), work_calling(world_convert, &c),
        work_copying(d[4], h[1], SIZE * sizeof *c.to)};
    duo_graph *const graph = graph_built(builder, works, 5, true, NULL);
    test_context_end(builder); /* the graph owns its parts of the context */
    for (int round = 0; round < 20; round++) {
        test_case("graphs/contexts/%d", round);
        world_draw(&w);
        world_send(&w);
        if (test_on_sim()) sim_set_delay(200);
        CHECK_STATUS(DUO_OK, square(w.ctx, EDGE, d[0], d[0], 0.0f, d[1]));
        world_do(&w, &before);
        launch(&w, graph, w.ctx, works, 5);
        if (round % 2 == 0) launch(&w, graph, w.ctx, works, 5); /* in a row */
        if (round % 3 != 0) launch(&w, graph, other, works, 5); /* in another context */
        CHECK_STATUS(DUO_OK, square(round % 3 == 1 ? other : w.ctx, EDGE, d[3], d[0], 0.0f, d[1]));
        world_do(&w, &behind_it);
        world_check(&w);
        if (test_on_sim()) sim_set_delay(0);
    }
    CHECK_STATUS(DUO_OK, duo_graph_destroy(graph));
    test_context_end(other);
    world_end(&w);
}

static void note_clock(void *user) { *(uint64_t *)user = sim_clock_host(); }

/* The nth operation of this kind, in the order of queueing; none: as if at the beginning of
 * time. */
static sim_operation logged(sim_operation_kind kind, int nth)
{
    const sim_operation *log;
    const size_t count = sim_log(&log);
    for (size_t i = 0; i < count; i++)
        if (log[i].kind == kind && nth-- == 0) return log[i];
    CHECK(false, "it did not run");
    return (sim_operation){.kind = kind};
}

/* Order where no data ask for it, by the clock of the simulated device: behind a product of the
 * context, and before its copy, a graph of a product, which takes long, a copy, and a function or
 * another copy. Each has memory of its own, as calls on the same memory of duo_malloc follow each
 * other anyhow. */
static void clocks(void)
{
    enum { EDGE = 64, APART, CHAIN, JOIN, SHAPES };
    float from[EDGE * EDGE];
    if (!test_on_sim()) return;
    duo_context *const ctx = test_context();
    void *d[6];
    fill(from, EDGE * EDGE, 1);
    for (int i = 0; i < 6; i++) CHECK_STATUS(DUO_OK, duo_malloc(ctx, sizeof from, &d[i]));
    CHECK_STATUS(DUO_OK, duo_copy(ctx, d[0], from, sizeof from));
    sim_set_rates(55000, 55000, 390000, 10); /* a product takes 52 ms */
    for (int shape = APART; shape < SHAPES; shape++) {
        test_case("graphs/clocks/%d", shape - APART);
        uint64_t called = UINT64_MAX;
        const duo_work works[] = {work_product(EDGE, d[0], d[0], 0.0f, d[1]),
                                  work_copying(d[2], from, sizeof from),
                                  shape == JOIN ? work_copying(d[5], from, sizeof from)
                                                : work_calling(note_clock, &called)};
        duo_graph *const graph = graph_new();
        duo_node node[3];
        for (int i = 0; i < 3; i++)
            node[i] = graph_add(graph, &works[i], node,
                                shape == CHAIN || (shape == JOIN && i == 2) ? i : 0);
        CHECK_STATUS(DUO_OK, duo_graph_build(graph, ctx));
        CHECK_STATUS(DUO_OK, duo_synchronize(ctx));
        sim_log_reset();
        CHECK_STATUS(DUO_OK, square(ctx, EDGE, d[0], d[0], 0.0f, d[3]));
        CHECK_STATUS(DUO_OK, duo_graph_launch(graph, ctx));
        CHECK_STATUS(DUO_OK, duo_copy(ctx, d[4], from, sizeof from));
        const uint64_t before = logged(SIM_COMPUTE, 0).end, slow = logged(SIM_COMPUTE, 1).end;
        const uint64_t up = logged(SIM_UP, 0).start, next = logged(SIM_UP, 1).start;
        CHECK(up >= before && called >= before, "does not follow the context");
        CHECK(logged(SIM_UP, shape == JOIN ? 2 : 1).start >= slow, "the context does not follow");
        CHECK((up >= slow) == (shape == CHAIN), "the copy, at %ju", (uintmax_t)up);
        CHECK((called >= slow) == (shape != APART), "the function, at %ju", (uintmax_t)called);
        CHECK(next >= slow, "the second copy, at %ju", (uintmax_t)next);
        CHECK_STATUS(DUO_OK, duo_graph_destroy(graph));
    }
    for (int i = 0; i < 6; i++) CHECK_STATUS(DUO_OK, duo_free(ctx, d[i]));
    end_without_leaks(ctx);
}

/* A node that depends on two branches begins behind the longer one, though it goes on in the lane
 * of the other, and their memory is not its own. */
static void joins(void)
{
    enum { EDGE = 64, SHORT = 8 };
    float from[EDGE * EDGE];
    if (!test_on_sim()) return;
    duo_context *const ctx = test_context();
    void *d[4];
    duo_node before[2];
    fill(from, EDGE * EDGE, 1);
    for (int i = 0; i < 4; i++) CHECK_STATUS(DUO_OK, duo_malloc(ctx, sizeof from, &d[i]));
    for (int i = 0; i < 2; i++) CHECK_STATUS(DUO_OK, duo_copy(ctx, d[i], from, sizeof from));
    sim_set_rates(55000, 55000, 390000, 10);
    duo_graph *const graph = graph_new();
    const duo_work works[] = {work_product(SHORT, d[0], d[0], 0.0f, (float *)d[0] + SHORT * SHORT),
                              work_product(EDGE, d[1], d[1], 0.0f, d[2]),
                              work_copying(d[3], from, sizeof from)};
    CHECK_STATUS(DUO_OK, duo_graph_add(graph, &works[0], NULL, 0, &before[0]));
    CHECK_STATUS(DUO_OK, duo_graph_add(graph, &works[1], NULL, 0, &before[1]));
    CHECK_STATUS(DUO_OK, duo_graph_add(graph, &works[2], before, 2, NULL));
    CHECK_STATUS(DUO_OK, duo_graph_build(graph, ctx));
    sim_log_reset();
    CHECK_STATUS(DUO_OK, duo_graph_launch(graph, ctx));
    const sim_operation first = logged(SIM_COMPUTE, 0), second = logged(SIM_COMPUTE, 1);
    const sim_operation up = logged(SIM_UP, 0);
    CHECK(up.start >= first.end && up.start >= second.end, "the copy begins at %ju, before %ju",
          (uintmax_t)up.start, (uintmax_t)second.end);
    CHECK_STATUS(DUO_OK, duo_graph_destroy(graph));
    for (int i = 0; i < 4; i++) CHECK_STATUS(DUO_OK, duo_free(ctx, d[i]));
    end_without_leaks(ctx);
}

/* ---- Updates ---- */

static void updates_on(world *w, int side)
{
    atomic_int calls = 0;
    branch b = {&calls, -1};
    duo_work works[KINDS];
    duo_node node[KINDS];
    for (int i = 0; i < KINDS; i++)
        works[i] =
            work_sample((duo_work_kind)i, world_array(w, side, 4), world_array(w, side, 6 + i));
    duo_graph *const graph = graph_built(w->ctx, works, KINDS, false, node);
    for (int i = 0; i < KINDS; i++) {
        works[i] = work_sample((duo_work_kind)i, world_array(w, side, 5),
                               world_array(w, side, 6 + (i + 3) % KINDS));
        if (i == DUO_WORK_HOST) works[i] = work_calling(work_take_rank, &b);
        CHECK_STATUS(DUO_OK, duo_graph_update(graph, node[i], &works[i]));
    }
    /* A refused update changes nothing: all updates that follow write elsewhere. */
    for (int i = 0; i < CHANGES + KINDS; i++) {
        const change *const how = &changes[i < CHANGES ? i : 0];
        duo_work v = work_sample((duo_work_kind)(i % KINDS), world_array(w, side, 4),
                                 world_array(w, side, 2));
        test_case("graphs/update/%d, side %d", i, side);
        if (i >= CHANGES) { /* of another kind */
            CHECK_STATUS(DUO_ERR_SHAPE, duo_graph_update(graph, node[(i + 1) % KINDS], &v));
        } else if (how->status == DUO_ERR_SHAPE || how->status == DUO_ERR_NULL) {
            const char number[] = {'n', 'o', 'd', 'e', ' ', (char)('1' + how->kind), '\0'};
            v = changed(how, world_array(w, side, 4), world_array(w, side, 2));
            CHECK_STATUS(how->status, duo_graph_update(graph, node[how->kind], &v));
            test_contains(duo_graph_detail(graph), number);
        }
    }
    const duo_work half =
        work_sample(DUO_WORK_SSUM, world_array(w, side, 4), world_array(w, 1 - side, 2));
    if (test_gpu_side())
        CHECK(duo_graph_update(graph, node[DUO_WORK_SSUM], &half) < 0, "operands on two sides");
    world_draw(w);
    world_send(w);
    launch(w, graph, w->ctx, works, KINDS);
    world_check(w);
    CHECK(atomic_load(&calls) == 1, "%d calls", atomic_load(&calls));
    CHECK_STATUS(DUO_OK, duo_graph_destroy(graph));
}

static void updates(void)
{
    world w = world_begin("graphs/updates", 400);
    for (int side = 0; side < SIDES; side++) updates_on(&w, side);
    world_end(&w);
}

/* ---- As text ---- */

static int times(const char *text, const char *what)
{
    int count = 0;
    while ((text = strstr(text, what)) != NULL) count++, text += strlen(what);
    return count;
}

static void check_text(duo_graph *graph, int nodes, int arrows)
{
    char whole[TEXT], part[TEXT];
    printed(graph, whole);
    const size_t length = strlen(whole);
    test_contains(whole, "digraph");
    CHECK(times(whole, "->") == arrows, "%d arrows, expected %d", times(whole, "->"), arrows);
    CHECK(times(whole, "\n") >= nodes, "%d lines of %d nodes", times(whole, "\n"), nodes);
    for (size_t size = 0; size <= length + 2 && size < TEXT; size++) {
        size_t told = 0;
        memset(part, '#', TEXT);
        CHECK_STATUS(DUO_OK, duo_graph_print(graph, size > 0 ? part : NULL, size, &told));
        const size_t kept = strnlen(part, size);
        CHECK(told == length && part[size] == '#', "%zu of %zu told of %zu", told, length, size);
        CHECK(size == 0 || (kept < size && strncmp(part, whole, kept) == 0), "with %zu", size);
        CHECK(size <= length || kept == length, "cut at %zu with room for %zu", kept, size);
    }
}

static void print(void)
{
    world w = world_begin("graphs/print", 400);
    duo_graph *const graph = graph_new();
    check_text(graph, 0, 0);
    const duo_work sum =
        work_sample(DUO_WORK_SSUM, world_array(&w, HOST, 4), world_array(&w, HOST, 6));
    duo_node node[4] = {graph_add(graph, NULL, NULL, 0)};
    node[1] = graph_add(graph, &sum, node, 1);
    node[2] = graph_add(graph, NULL, (const duo_node[]){node[0], node[1], node[0]}, 3);
    node[3] = graph_add(graph, &sum, &node[1], 2);
    check_text(graph, 4, 5);
    CHECK_STATUS(DUO_OK, duo_graph_alter(graph, node[3], NULL, &node[2], 1));
    check_text(graph, 4, 4);
    CHECK_STATUS(DUO_OK, duo_graph_build(graph, w.ctx));
    check_text(graph, 4, 4);
    CHECK_STATUS(DUO_OK, duo_graph_destroy(graph));
    world_end(&w);
}

/* ---- What goes wrong ---- */

/* A graph in host memory does not miss the device. If a graph has data there, work that depends on
 * them is not done. */
static void device_is_lost(void)
{
    if (!test_on_sim()) return;
    world w = world_begin("graphs/lost", 400);
    atomic_int calls = 0;
    branch b = {&calls, 0};
    duo_graph *graph[SIDES];
    duo_work works[2] = {work_of(DUO_WORK_EMPTY), work_calling(work_take_rank, &b)};
    for (int side = DEVICE; side >= HOST; side--) {
        works[0] = work_sample(DUO_WORK_SGEMM, world_array(&w, side, 4), world_array(&w, side, 6));
        graph[side] = graph_built(w.ctx, works, 2, true, NULL);
    }
    sim_lose(0);
    for (int i = 1; i < 3; i++) {
        CHECK_STATUS(DUO_ERR_LOST, duo_graph_launch(graph[DEVICE], w.ctx));
        test_contains(duo_graph_detail(graph[DEVICE]), "node 1");
        CHECK(atomic_load(&calls) == i - 1, "what depends on lost data was done");
        launch(&w, graph[HOST], w.ctx, works, 1);
        CHECK(atomic_load(&calls) == i, "%d calls", atomic_load(&calls));
        CHECK(same_floats(works[0].c, world_image(&w, works[0].c), w.length), "wrong values");
    }
    CHECK_STATUS(DUO_OK, duo_graph_destroy(graph[HOST]));
    duo_status ended = duo_graph_destroy(graph[DEVICE]);
    CHECK(ended == DUO_OK || ended == DUO_ERR_LOST, "%d", (int)ended);
    CHECK_STATUS(DUO_ERR_GRAPH, duo_graph_destroy(graph[DEVICE]));
    world_free(&w);
    ended = duo_destroy(w.ctx);
    CHECK(ended == DUO_OK || ended == DUO_ERR_LOST, "%d", (int)ended);
}

/* ---- Processes ---- */

/* A new graph, in this context: is its work done? */
static bool works_in(duo_context *ctx)
{
    float x[10], sum = 0.0f, copied = test_poison();
    fill(x, 10, 1);
    const duo_work works[] = {work_reduction(DUO_WORK_SSUM, 10, x, &sum),
                              work_copying(&copied, &sum, sizeof sum)};
    duo_graph *const graph = graph_built(ctx, works, 2, true, NULL);
    const duo_status launched = duo_graph_launch(graph, ctx);
    return duo_graph_destroy(graph) == DUO_OK && launched == DUO_OK && copied == sum_of(x, 10);
}

/* A child can end its parent's graph, and has its own. */
static void after_a_fork(void)
{
    if (UNDER_TSAN) return; /* it does not take forks with threads */
    world w = world_begin("graphs/fork", 400);
    const duo_work v =
        work_sample(DUO_WORK_SGEMM, world_array(&w, DEVICE, 4), world_array(&w, DEVICE, 6));
    duo_graph *const graph = graph_built(w.ctx, &v, 1, false, NULL);
    launch(&w, graph, w.ctx, &v, 1);
    const pid_t child = fork();
    if (child == 0) {
        const duo_status ended = duo_graph_destroy(graph);
        const bool good = (ended == DUO_OK || ended == DUO_ERR_LOST) &&
                          duo_graph_destroy(graph) == DUO_ERR_GRAPH && works_in(NULL);
        _exit(good ? 0 : 1);
    }
    CHECK(test_child_wait((int)child, 30) == 0, "the child's graphs are wrong");
    launch(&w, graph, w.ctx, &v, 1);
    world_check(&w);
    CHECK_STATUS(DUO_OK, duo_graph_destroy(graph));
    world_end(&w);
}

/* As in the header: in the thread's own context. That may keep its device open, so that this test
 * is the last one. */
static void default_context(void) { CHECK(works_in(NULL), "wrong"); }

int main(int argc, char **argv)
{
    static const test_entry tests[] = {{"arguments", arguments},
                                       {"cycles", cycles},
                                       {"refused", refused},
                                       {"hidden", hidden},
                                       {"bits", bits},
                                       {"fork_join", fork_join},
                                       {"many", many},
                                       {"contexts", contexts},
                                       {"clocks", clocks},
                                       {"joins", joins},
                                       {"updates", updates},
                                       {"print", print},
                                       {"device_is_lost", device_is_lost},
                                       {"after_a_fork", after_a_fork},
                                       {"default_context", default_context},
                                       {NULL, NULL}};
    return test_main(argc, argv, "graphs", tests);
}
