/*
 * test_order.c - a product in DUO_MATH_IEEE has the documented order of summation wherever the
 * library computes it: operands in any place, streamed, in slabs of k where memory is short, on two
 * devices, after a failure in the middle, in batches, graphs and captures, with prepared factors.
 * Every element is compared with a plain loop.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call/context.h"
#include "data/plan.h"
#include "sim/sim.h"
#include "support/calls.h"
#include "support/harness.h"
#include "support/places.h"
#include "support/problems.h"

static int compared, slabs_met, blocks_met, failures_met;

/* The nth call of that kind to the device fails in the next check; 0: none. */
static struct {
    sim_kind kind;
    int nth;
} failing;

/* Was the last product cut in slabs of k, or in blocks? */
static void count_plan(duo_context *ctx)
{
    const duo_plan *const plan = &duo_context_of(ctx)->resources.plan;
    bool cut = false;
    if (!plan->ran || plan->count == 0) return;
    for (int i = 0; i < plan->count; i++)
        cut |= plan->step[i].kind == DUO_STEP_MULTIPLY && !plan->step[i].starts;
    slabs_met += cut;
    blocks_met += !plan->held;
}

/* One product by the public function; `places` for A, B and C. */
static void check(duo_context *ctx, const test_problem *p, const test_place places[3],
                  test_rng *rng)
{
    test_operands o = test_operands_make(p, rng);
    if (test_between(rng, 0, 3) == 0) test_operands_spoil(&o, rng);
    test_array expected = test_operands_in_order(p, &o);
    test_array *const arrays[] = {&o.a, &o.b, &o.c};
    test_placed there[3];
    for (int i = 0; i < 3; i++) there[i] = test_put(ctx, places[i], arrays[i]);
    const uint64_t before = failing.nth > 0 ? sim_count(failing.kind) : 0;
    if (failing.nth > 0) sim_fail(failing.kind, failing.nth, DUO_ERR_DEVICE, 2);
    CHECK_STATUS(DUO_OK, test_problem_multiply(ctx, p, &o,
                                               (float *const[]){there[0].address, there[1].address,
                                                                there[2].address}));
    if (failing.nth > 0) {
        failures_met += sim_count(failing.kind) - before >= (uint64_t)failing.nth;
        sim_fail(failing.kind, 0, DUO_OK, 0);
        failing.nth = 0;
    }
    count_plan(ctx);
    for (int i = 2; i >= 0; i--) test_take(ctx, &there[i]);
    CHECK(test_array_equal(&o.c, &expected), "other bits");
    compared++;
    test_array_free(&expected);
    test_operands_free(&o);
}

static duo_context *context(void)
{
    duo_context *const ctx = test_context();
    CHECK_STATUS(DUO_OK, duo_set_math(ctx, DUO_MATH_IEEE));
    return ctx;
}

/* The same on simulated devices. */
static duo_context *context_on(int devices)
{
    sim_reset();
    sim_set_devices(devices);
    duo_context *const ctx = context();
    if (devices > 1) CHECK_STATUS(DUO_OK, duo_set_devices(ctx, (const int[]){0, 1, 2}, devices));
    CHECK_STATUS(DUO_OK, duo_set_path(ctx, DUO_PATH_GPU));
    return ctx;
}

/* Sizes of every kind: vectors, few elements, few columns and rows, several segments. */
static test_problem of_kind(test_rng *rng, int kind)
{
    const int64_t few = test_between(rng, 2, 9), some = test_between(rng, 1, 80);
    const int64_t deep = test_between(rng, 1, 2500);
    switch (kind % 7) {
    case 0:
        return test_problem_ordered(rng, some, test_between(rng, 1, 60), deep);
    case 1:
        return test_problem_ordered(rng, some, 1, deep);
    case 2:
        return test_problem_ordered(rng, 1, some, deep);
    case 3:
        return test_problem_ordered(rng, few, few / 2, deep);
    case 4:
        return test_problem_ordered(rng, 3 * some, few, deep / 2);
    case 5:
        return test_problem_ordered(rng, few, 3 * some, deep / 2);
    default:
        return test_problem_ordered(rng, 2 * some, some, test_between(rng, 1, 40));
    }
}

static void places(void)
{
    test_rng rng = test_rng_for("order/places");
    duo_context *const ctx = context();
    for (int i = 0; i < test_amount(60, 200, 6000); i++) {
        const test_problem p = of_kind(&rng, i);
        test_place at[3];
        for (int q = 0; q < 3; q++) at[q] = (test_place)test_between(&rng, 0, PLACES - 1);
        CHECK_STATUS(DUO_OK, duo_set_path(ctx, (duo_path)(i % 3)));
        test_problem_name(&p, "order", test_place_name(at[2]));
        check(ctx, &p, at, &rng);
    }
    test_context_end(ctx);
    printf("%d products\n", compared);
}

/* Some products of one shape; `at` are their operands. */
enum { MOST = 5 };
typedef void multiply_several(duo_context *ctx, const test_problem *p, const test_operands o[MOST],
                              float *const at[3][MOST], int64_t count);

static void one_by_one(duo_context *ctx, const test_problem *p, const test_operands o[MOST],
                       float *const at[3][MOST], int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        CHECK_STATUS(DUO_OK, test_problem_multiply(ctx, p, &o[i],
                                                   (float *const[]){at[0][i], at[1][i], at[2][i]}));
}

static void batch(duo_context *ctx, const test_problem *p, const test_operands o[MOST],
                  float *const at[3][MOST], int64_t count)
{
    CHECK_STATUS(DUO_OK, duo_sgemm_batched(ctx, p->layout, p->transa, p->transb, p->m, p->n, p->k,
                                           p->alpha, (const float *const *)at[0], o->a.ld,
                                           (const float *const *)at[1], o->b.ld, p->beta, at[2],
                                           o->c.ld, count));
}

static void launch(duo_graph *g)
{
    CHECK_STATUS(DUO_OK, duo_graph_build(g, NULL));
    CHECK_STATUS(DUO_OK, duo_graph_launch(g, NULL));
    CHECK_STATUS(DUO_OK, duo_graph_destroy(g));
}

static void graph(duo_context *ctx, const test_problem *p, const test_operands o[MOST],
                  float *const at[3][MOST], int64_t count)
{
    duo_graph *g = NULL;
    (void)ctx;
    CHECK_STATUS(DUO_OK, duo_graph_create(&g));
    for (int64_t i = 0; i < count; i++)
        CHECK_STATUS(DUO_OK, duo_graph_add(g,
                                           &(duo_work){.size = sizeof(duo_work),
                                                       .kind = DUO_WORK_SGEMM,
                                                       .math = DUO_MATH_IEEE,
                                                       .layout = p->layout,
                                                       .transa = p->transa,
                                                       .transb = p->transb,
                                                       .m = p->m,
                                                       .n = p->n,
                                                       .k = p->k,
                                                       .alpha = p->alpha,
                                                       .beta = p->beta,
                                                       .a = at[0][i],
                                                       .b = at[1][i],
                                                       .c = at[2][i],
                                                       .lda = o->a.ld,
                                                       .ldb = o->b.ld,
                                                       .ldc = o->c.ld},
                                           NULL, 0, NULL));
    launch(g);
}

static void capture(duo_context *ctx, const test_problem *p, const test_operands o[MOST],
                    float *const at[3][MOST], int64_t count)
{
    duo_graph *g = NULL;
    CHECK_STATUS(DUO_OK, duo_graph_begin(ctx));
    one_by_one(ctx, p, o, at, count);
    CHECK_STATUS(DUO_OK, duo_graph_end(ctx, &g));
    launch(g);
}

/* A is packed ahead. */
static void prepared(duo_context *ctx, const test_problem *p, const test_operands o[MOST],
                     float *const at[3][MOST], int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        const test_array *const a = &o[i].a;
        const size_t floats = (size_t)((a->runs - 1) * a->ld + a->length);
        CHECK_STATUS(DUO_OK, duo_prepare(ctx, at[0][i], floats * sizeof(float)));
    }
    one_by_one(ctx, p, o, at, count);
}

static void check_several(duo_context *ctx, const test_problem *p, const test_place places[3],
                          test_rng *rng, multiply_several *multiply)
{
    test_operands o[MOST];
    test_array expected[MOST];
    test_placed there[3][MOST];
    float *at[3][MOST];
    const int64_t count = test_between(rng, 1, MOST);
    for (int64_t i = 0; i < count; i++) {
        o[i] = test_operands_make(p, rng);
        expected[i] = test_operands_in_order(p, &o[i]);
        test_array *const arrays[] = {&o[i].a, &o[i].b, &o[i].c};
        for (int q = 0; q < 3; q++) {
            there[q][i] = test_put(ctx, places[q], arrays[q]);
            at[q][i] = there[q][i].address;
        }
    }
    multiply(ctx, p, o, at, count);
    for (int64_t i = 0; i < count; i++) {
        for (int q = 2; q >= 0; q--) test_take(ctx, &there[q][i]);
        CHECK(test_array_equal(&o[i].c, &expected[i]), "other bits");
        compared++;
        test_array_free(&expected[i]);
        test_operands_free(&o[i]);
    }
}

static void several(const char *name, multiply_several *multiply)
{
    test_rng rng = test_rng_for(name);
    duo_context *const ctx = context();
    const test_place there = test_mode_now() == MODE_CPU ? PLACE_PAGEABLE : PLACE_DEVICE;
    for (int i = 0; i < test_amount(40, 120, 4000); i++) {
        test_problem p = of_kind(&rng, i);
        test_place at[3] = {there, there, there};
        if (i % 9 == 4) p.alpha = 0.0f;                  /* C is only scaled, or becomes +0 */
        if (i % 9 == 8 && multiply != prepared) p.k = 0; /* an A to be prepared */
        for (int q = 0; q < 3 && multiply == batch; q++)
            at[q] = (test_place)test_between(&rng, 0, PLACES - 1);
        if (multiply == prepared && (i % 2 == 0 || there == PLACE_PAGEABLE)) at[0] = PLACE_KEPT;
        CHECK_STATUS(DUO_OK, duo_set_path(ctx, i % 2 == 0 ? test_path() : DUO_PATH_AUTO));
        test_problem_name(&p, name, test_place_name(at[2]));
        check_several(ctx, &p, at, &rng, multiply);
    }
    test_context_end(ctx);
}

static void batches(void) { several("order/batches", batch); }
static void graphs(void) { several("order/graphs", graph); }
static void captures(void) { several("order/captures", capture); }
static void prepared_factors(void) { several("order/prepared", prepared); }

/* Where the device's memory is short, products are streamed in blocks, and never in slabs of k. */
static void short_memory(void)
{
    test_rng rng = test_rng_for("order/memory");
    if (!test_on_sim()) {
        test_skip("needs a device whose memory can be cut");
        return;
    }
    for (int i = 0; i < test_amount(8, 14, 1000); i++) {
        duo_context *const ctx = context_on(1);
        const bool deep = i % 2 == 0;
        const int64_t most = deep ? 60 : 700;
        const test_problem p = test_problem_ordered(
            &rng, test_between(&rng, most / 3, most), test_between(&rng, most / 3, most),
            deep ? test_between(&rng, 15000, 25000) : test_between(&rng, 300, 600));
        const test_place at[3] = {PLACE_PAGEABLE, i % 3 == 0 ? PLACE_PINNED : PLACE_PAGEABLE,
                                  i % 4 < 2 ? PLACE_DEVICE : PLACE_PAGEABLE};
        test_problem_name(&p, "order/memory", test_place_name(at[2]));
        sim_set_memory(
            (uint64_t)test_between(&rng, deep ? 5 << 19 : 2 << 20, deep ? 5 << 20 : 3 << 20));
        check(ctx, &p, at, &rng);
        test_context_end(ctx);
    }
    CHECK(slabs_met == 0, "%d products were cut in slabs of k", slabs_met);
    CHECK(blocks_met > 0, "no product was cut in blocks");
}

/* The nth call of a kind fails: what is left is computed elsewhere. */
static void failures(void)
{
    static const sim_kind kinds[] = {SIM_COPY, SIM_LAUNCH, SIM_WAIT, SIM_ALLOCATE, SIM_AFTER};
    test_rng rng = test_rng_for("order/failures");
    if (!test_on_sim()) {
        test_skip("needs a device that can be told to fail");
        return;
    }
    for (int i = 0; i < test_amount(15, 60, 3000); i++) {
        duo_context *const ctx = context_on(1);
        const test_problem p =
            test_problem_ordered(&rng, test_between(&rng, 300, 1500), test_between(&rng, 2, 60),
                                 test_between(&rng, 100, 600));
        const test_place at[3] = {PLACE_PAGEABLE, PLACE_PAGEABLE,
                                  i % 4 == 1 ? PLACE_DEVICE : PLACE_PAGEABLE};
        test_problem_name(&p, "order/failures", test_place_name(at[2]));
        if (i % 8 == 3) sim_set_memory((uint64_t)test_between(&rng, 2 << 20, 8 << 20));
        failing.kind = kinds[i % 5];
        failing.nth = (int)test_between(&rng, 1, 5);
        check(ctx, &p, at, &rng);
        test_context_end(ctx);
    }
    printf("%d of the calls failed\n", failures_met);
    CHECK(failures_met > 0, "no call failed");
}

/* C comes home in pieces of columns. The nth copy fails, for every n, and what is left is a product
 * of its own: of few columns, or of a part of one. */
static void pieces(void)
{
    test_rng rng = test_rng_for("order/pieces");
    if (!test_on_sim()) {
        test_skip("needs a device that can be told to fail");
        return;
    }
    test_problem p = test_problem_ordered(&rng, 1500000, 4, 9);
    p.layout = DUO_COL_MAJOR;
    p.beta = 1.0f;
    test_operands o = test_operands_make(&p, &rng);
    test_array expected = test_operands_in_order(&p, &o);
    bool reached = true;
    for (int nth = 1; reached; nth++) {
        duo_context *const ctx = context_on(1);
        test_case("order/pieces/%d", nth);
        memcpy(o.c.data, o.c_before.data, (size_t)(p.n * o.c.ld) * sizeof(float));
        const uint64_t before = sim_count(SIM_COPY);
        sim_fail(SIM_COPY, nth, DUO_ERR_DEVICE, 2);
        CHECK_STATUS(DUO_OK, test_problem_multiply(ctx, &p, &o, NULL));
        sim_fail(SIM_COPY, 0, DUO_OK, 0);
        reached = sim_count(SIM_COPY) - before >= (uint64_t)nth;
        CHECK(test_array_equal(&o.c, &expected), "other bits");
        test_context_end(ctx);
    }
    test_array_free(&expected);
    test_operands_free(&o);
}

static void devices(void)
{
    test_rng rng = test_rng_for("order/devices");
    if (!test_on_sim()) {
        test_skip("needs several devices");
        return;
    }
    for (int i = 0; i < test_amount(3, 8, 400); i++) {
        duo_context *const ctx = context_on(3);
        const test_problem p =
            test_problem_ordered(&rng, test_between(&rng, 1, 100), test_between(&rng, 600, 1300),
                                 test_between(&rng, 10, 600));
        test_problem_name(&p, "order/devices", "");
        check(ctx, &p, (const test_place[]){PLACE_PAGEABLE, PLACE_PAGEABLE, PLACE_PAGEABLE}, &rng);
        test_context_end(ctx);
    }
}

static const test_entry tests[] = {{"places", places},
                                   {"batches", batches},
                                   {"graphs", graphs},
                                   {"captures", captures},
                                   {"prepared_factors", prepared_factors},
                                   {"short_memory", short_memory},
                                   {"failures", failures},
                                   {"pieces", pieces},
                                   {"devices", devices},
                                   {NULL, NULL}};

int main(int argc, char **argv) { return test_main(argc, argv, "order", tests); }
