/*
 * test_decisions.c - a batch, a call in parts and a single call are decided in one place: each is
 * decided once, earns credit, teaches its context, explains itself and leaves one line in the log.
 */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "call/context.h"
#include "choice/profile_in_use.h"
#include "cpu/blas_library.h"
#include "data/remembered.h"
#include "sim/sim.h"
#include "support/harness.h"
#include "support/learner.h"

enum { EDGE_OF_ONE = 32, SIZE = EDGE_OF_ONE * EDGE_OF_ONE, COUNT = 64, ALL = SIZE * COUNT };
static float a[ALL], b[ALL], c[ALL];

static void batch(duo_context *ctx)
{
    CHECK_STATUS(DUO_OK, duo_sgemm_strided_batched(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS,
                                                   EDGE_OF_ONE, EDGE_OF_ONE, EDGE_OF_ONE, 1.0f, a,
                                                   EDGE_OF_ONE, SIZE, b, EDGE_OF_ONE, SIZE, 0.0f, c,
                                                   EDGE_OF_ONE, SIZE, COUNT));
}

/* ---- Credit ---- */

/* A kept array that is changed once is sent again after some calls to which this would be a
 * gain. */
static void batches_earn_credit(void)
{
    test_case("credit/batch");
    new_machine(2e-6, 1e-6);
    machine.fork_seconds = 0.0;
    duo_context *const ctx = context_on(DUO_PATH_AUTO);
    CHECK_STATUS(DUO_OK, duo_set_threads(ctx, 1));
    CHECK_STATUS(DUO_OK, duo_keep(ctx, a, sizeof a));
    CHECK_STATUS(DUO_OK, duo_keep(ctx, b, sizeof b));
    CHECK_STATUS(DUO_OK, duo_keep(ctx, c, sizeof c));
    for (int i = 0; i < 3; i++) batch(ctx);
    check_side(ctx, DUO_SIDE_GPU);
    CHECK_STATUS(DUO_OK, duo_changed(ctx, a, sizeof a));
    int on_gpu = 0;
    for (int i = 0; i < 20; i++) {
        batch(ctx);
        on_gpu += last_decision(ctx).side == DUO_SIDE_GPU;
    }
    /* Sending takes 262 us. The CPU loses 127 us each time that the array is not sent. */
    CHECK(on_gpu == 17, "%d of 20 on the GPU", on_gpu);
    CHECK_STATUS(DUO_OK, duo_release(ctx, a));
    CHECK_STATUS(DUO_OK, duo_release(ctx, b));
    CHECK_STATUS(DUO_OK, duo_release(ctx, c));
    test_context_end(ctx);
}

/* Products that go one by one are parts of the batch: only the batch earns credit. */
static void parts_earn_nothing(void)
{
    test_case("credit/parts");
    new_machine(2e-6, 1e-6);
    free_link();
    machine.upload_pageable = 1e8;
    duo_context *const ctx = context_on(DUO_PATH_AUTO);
    CHECK_STATUS(DUO_OK, duo_set_math(ctx, DUO_MATH_FLOAT64));
    CHECK_STATUS(DUO_OK, duo_keep(ctx, a, sizeof a));
    CHECK_STATUS(DUO_OK, duo_keep(ctx, b, sizeof b));
    CHECK_STATUS(DUO_OK, duo_keep(ctx, c, sizeof c));
    batch(ctx);
    check_side(ctx, DUO_SIDE_GPU);
    CHECK_STATUS(DUO_OK, duo_changed(ctx, a, sizeof a));
    /* Sending takes 4.4 ms, and each batch loses 64 us without it. */
    int calls = 0;
    do {
        batch(ctx);
    } while (last_decision(ctx).side == DUO_SIDE_CPU && ++calls < 100);
    CHECK(calls == 68, "sent after %d batches", calls);
    CHECK_STATUS(DUO_OK, duo_release(ctx, a));
    CHECK_STATUS(DUO_OK, duo_release(ctx, b));
    CHECK_STATUS(DUO_OK, duo_release(ctx, c));
    test_context_end(ctx);
}

/* ---- Learning ---- */

static void learn(const char *name, double cpu, double gpu, double real_cpu, double real_gpu)
{
    duo_context *const ctx = machine_that_takes(cpu / COUNT, gpu, real_cpu, real_gpu);
    machine.fork_seconds = 0.0;
    CHECK_STATUS(DUO_OK, duo_set_threads(ctx, 1));
    test_case("learning/%s", name);
    for (int i = 0; i < 40; i++) batch(ctx);
    CHECK(clock_reads == 80, "the clock was read %d times", clock_reads);
    int right = 0;
    for (int i = 0; i < 40; i++) {
        batch(ctx);
        right += last_decision(ctx).side == (real_cpu < real_gpu ? DUO_SIDE_CPU : DUO_SIDE_GPU);
    }
    CHECK(right >= 37, "%d of 40 on the faster side", right);
    learner_end(ctx);
}

/* A profile that is wrong is corrected by batches as by other calls. */
static void batches_are_learned_from(void)
{
    learn("launch-is-slow", 0.5e-3, 0.2e-3, 0.5e-3, 0.8e-3);
    learn("team-is-slow", 0.2e-3, 0.5e-3, 0.8e-3, 0.5e-3);
    learn("as-predicted", 0.2e-3, 0.3e-3, 0.2e-3, 0.3e-3);
}

/* ---- Explanation ---- */

typedef struct lines {
    int count;
    char last[1024];
} lines;

static void take_line(void *user, const char *line)
{
    lines *const l = user;
    if (strncmp(line, "duoblas: sgemm ", 15) != 0) return; /* an event */
    l->count++;
    (void)snprintf(l->last, sizeof l->last, "%s", line);
}

/* The words about a batch are about all its products together. */
static void batches_explain_themselves(void)
{
    static const struct {
        const char *name, *algorithm, *route;
        duo_path path;
        double one, seconds; /* of a product on the CPU; predicted for the batch */
    } ways[] = {{"team", "sgemm_cpu_ffma", "team", DUO_PATH_CPU, 1e-5, COUNT * 1e-5},
                {"launch", "sgemm_gpu_ffma", "batch", DUO_PATH_GPU, 1e-5, 1e-4},
                {"without-gpu", "sgemm_cpu_ffma", "team", DUO_PATH_GPU, 1e-5, COUNT * 1e-5}};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        test_case("explain/%s", ways[i].name);
        lines l = {0};
        test_reset();
        if (strcmp(ways[i].name, "without-gpu") == 0) sim_set_devices(0);
        new_machine(ways[i].one, 1e-4);
        free_link();
        machine.fork_seconds = 0.0;
        algorithm_takes(DUO_sgemm_cpu_openblas, 1.0);
        duo_context *const ctx = context_on(ways[i].path);
        CHECK_STATUS(DUO_OK, duo_set_threads(ctx, 1));
        CHECK_STATUS(DUO_OK, duo_set_log(ctx, take_line, &l));
        batch(ctx);
        const duo_decision d = last_decision(ctx);
        const duo_candidate *const ran = candidate(&d, ways[i].algorithm);
        check_algorithm(ctx, ways[i].algorithm);
        CHECK(d.count == COUNT, "%jd products", (intmax_t)d.count);
        CHECK(d.ran >= 0 && ran == &d.candidate[d.ran] &&
                  strcmp(d.route[d.ran], ways[i].route) == 0,
              "another route");
        /* A little more, where matrices are packed. */
        CHECK(fabs(d.predicted_seconds - ways[i].seconds) < 1e-6, "%g s", d.predicted_seconds);
        CHECK(d.predicted_seconds == ran->predicted_seconds, "%g s", d.predicted_seconds);
        CHECK(d.seconds >= 0.0, "it was not measured");
        test_contains(d.reason, " for 64 products");
        CHECK(l.count == 1, "%d lines", l.count);
        test_contains(l.last, " count=64 ");
        test_context_end(ctx);
    }
}

/* Products one after the other are one call, too. */
static void one_by_one(void)
{
    for (duo_path path = DUO_PATH_CPU; path <= DUO_PATH_GPU; path++) {
        test_case("one-by-one/%d", (int)path);
        lines l = {0};
        new_machine(1e-5, 1e-4);
        free_link();
        duo_context *const ctx = context_on(path);
        CHECK_STATUS(DUO_OK,
                     duo_set_math(ctx, DUO_MATH_FLOAT64)); /* no team's threads: forks cost */
        CHECK_STATUS(DUO_OK, duo_set_log(ctx, take_line, &l));
        batch(ctx);
        const duo_decision d = last_decision(ctx);
        CHECK(d.ran >= 0 && strcmp(d.route[d.ran], "one-by-one") == 0, "another route");
        CHECK(d.predicted_seconds > COUNT * 1e-5, "predicted %g s", d.predicted_seconds);
        CHECK(l.count == 1, "%d lines", l.count);
        test_context_end(ctx);
    }
}

/* A prediction that is remembered is of this batch, and not of another one of the same shape. */
static void other_batches(void)
{
    test_case("remembered");
    new_machine(1e-5, 1e-4);
    machine.fork_seconds = 0.0;
    duo_context *const ctx = context_on(DUO_PATH_CPU);
    CHECK_STATUS(DUO_OK, duo_set_threads(ctx, 1));
    for (int64_t count = 2; count < COUNT; count += DUO_MEMOS) { /* all have the same place */
        CHECK_STATUS(DUO_OK, duo_sgemm_strided_batched(
                                 ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, EDGE_OF_ONE,
                                 EDGE_OF_ONE, EDGE_OF_ONE, 1.0f, a, EDGE_OF_ONE, SIZE, b,
                                 EDGE_OF_ONE, SIZE, 0.0f, c, EDGE_OF_ONE, SIZE, count));
        const duo_decision d = last_decision(ctx);
        CHECK(fabs(d.predicted_seconds - 1e-5 * (double)count) < 1e-9, "%jd: %g s", (intmax_t)count,
              d.predicted_seconds);
    }
    test_context_end(ctx);
}

/* A tiny product in a batch takes no call of its own: less time than the curve's smallest size. */
static void tiny_products(void)
{
    enum { TINY = 4, PRODUCTS = 64 };
    test_case("tiny");
    new_machine(1e-6, 1e-4);
    machine.fork_seconds = 0.0;
    duo_context *const ctx = context_on(DUO_PATH_CPU);
    CHECK_STATUS(DUO_OK, duo_set_threads(ctx, 1));
    CHECK_STATUS(DUO_OK,
                 duo_sgemm_strided_batched(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, TINY,
                                           TINY, TINY, 1.0f, a, TINY, TINY * TINY, b, TINY,
                                           TINY * TINY, 0.0f, c, TINY, TINY * TINY, PRODUCTS));
    /* A sixteenth of the time of 16^3, and 3 ns for each. */
    const double each = last_decision(ctx).predicted_seconds / PRODUCTS;
    CHECK(each > 60e-9 && each < 70e-9, "%g s for each", each);
    test_context_end(ctx);
}

/* ---- The program's say ---- */

typedef struct program {
    const char *wants;
    int asked;
    int64_t count;
} program;

static int decide(void *user, const duo_decision *decision, int chosen)
{
    program *const p = user;
    p->asked++;
    p->count = decision->count;
    for (int i = 0; i < decision->candidates; i++)
        if (strcmp(decision->candidate[i].algorithm, p->wants) == 0) return i;
    return chosen;
}

static void batches_ask_once(void)
{
    static const char *const wants[] = {"sgemm_gpu_naive", "sgemm_gpu_tiled", "sgemm_cpu_ffma"};
    new_machine(1e-4, 1e-6);
    free_link();
    machine.fork_seconds = 0.0;
    for (size_t i = 0; i < sizeof wants / sizeof *wants; i++) {
        test_case("decide/%s", wants[i]);
        program p = {.wants = wants[i]};
        duo_context *const ctx = context_on(DUO_PATH_AUTO);
        CHECK_STATUS(DUO_OK, duo_set_decide(ctx, decide, &p));
        batch(ctx);
        CHECK(p.asked == 1 && p.count == COUNT, "asked %d times, of %jd products", p.asked,
              (intmax_t)p.count);
        check_algorithm(ctx, wants[i]);
        test_contains(last_decision(ctx).reason, "chosen by the program: ");
        test_context_end(ctx);
    }
}

/* ---- Predictions that are kept ---- */

/* Many calls of one m share the places of a context's memory: each is predicted as by a new
 * context. */
static void sizes_take_turns(void)
{
    new_machine(1e-4, 1e-4);
    machine.upload_pageable = 2e9;
    duo_context *const ctx = context_on(DUO_PATH_AUTO);
    static float factor[40 * 100], output[40 * 100];
    for (int round = 0; round < 2; round++)
        for (int64_t n = 20; n <= 100; n++)
            for (int64_t k = 30; k <= 40; k += 5) {
                duo_decision d[2] = {{.size = sizeof d[0]}, {.size = sizeof d[1]}};
                test_case("sizes/%jd/%jd", (intmax_t)n, (intmax_t)k);
                for (int fresh = 0; fresh < 2; fresh++) {
                    duo_context *const by = fresh ? context_on(DUO_PATH_AUTO) : ctx;
                    CHECK_STATUS(DUO_OK,
                                 duo_sgemm(by, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, 40, n, k,
                                           1.0f, factor, 40, factor, k, 0.0f, output, 40));
                    CHECK_STATUS(DUO_OK, duo_explain_last(by, &d[fresh]));
                    if (fresh) test_context_end(by);
                }
                CHECK(d[0].n == n && d[0].k == k && d[0].algorithm == d[1].algorithm, "%s, %s",
                      d[0].algorithm, d[1].algorithm);
                CHECK(d[0].predicted_seconds == d[1].predicted_seconds, "%g s, alone %g s",
                      d[0].predicted_seconds, d[1].predicted_seconds);
            }
    test_context_end(ctx);
}

/* If the GPU is faster even for the shortest vectors, no call is tiny beyond the first limit. */
static void no_limit(void)
{
    test_case("tiny/the GPU is faster");
    new_machine(1.0, 1e-9);
    free_link();
    machine.round_trip_seconds = 0.0;
    static float x[2048];
    float sum = 0.0f;
    for (int i = 0; i < 2048; i++) x[i] = 1.0f;
    duo_context *const ctx = context_on(DUO_PATH_AUTO);
    CHECK_STATUS(DUO_OK, duo_ssum(ctx, 2048, x, 1, &sum));
    CHECK(sum == 2048.0f, "%g", (double)sum);
    check_side(ctx, DUO_SIDE_GPU);
    CHECK_STATUS(DUO_OK, duo_ssum(ctx, 1024, x, 1, &sum));
    check_side(ctx, DUO_SIDE_CPU);
    test_context_end(ctx);
}

/* ---- duo_warm_up ---- */

/* It is no call of the program. */
static void warm_up_is_no_call(void)
{
    lines l = {0};
    program p = {.wants = ""};
    duo_context *const ctx = context_on(DUO_PATH_AUTO);
    CHECK_STATUS(DUO_OK, duo_set_decide(ctx, decide, &p));
    CHECK_STATUS(DUO_OK, duo_set_log(ctx, take_line, &l));
    test_case("warm-up/first");
    CHECK_STATUS(DUO_OK, duo_warm_up(ctx));
    CHECK(last_decision(ctx).operation == NULL, "a call is explained");
    CHECK(p.asked == 0, "the program was asked");
    CHECK(l.count == 0, "%d lines: %s", l.count, l.last);
    test_case("warm-up/later");
    batch(ctx);
    CHECK_STATUS(DUO_OK, duo_warm_up(ctx));
    CHECK(p.asked == 1 && l.count == 1, "asked %d times, %d lines", p.asked, l.count);
    CHECK(last_decision(ctx).count == COUNT, "another call is explained");
    test_context_end(ctx);
}

/* A factor in plain memory that comes again: a product on the CPU, which the GPU would do faster
 * with the factor there, brings it nearer to being sent. */
static void remembered_earn_credit(void)
{
    enum { ROWS = 256, COLUMNS = 8, CALLS = 8 };
    static float factor[ROWS * ROWS], other[ROWS * COLUMNS], result[ROWS * COLUMNS];
    const size_t least = duo_remembered_least;
    duo_remembered_least = sizeof factor;
    for (int remembers = 0; remembers < 2; remembers++) {
        int on_cpu = 0, on_gpu = 0, remembered = 0;
        test_case("credit/remembered/%d", remembers);
        new_machine(200e-6, 0.0); /* to send the factor takes 262 us */
        duo_context *const ctx = context_on(DUO_PATH_AUTO);
        if (remembers) CHECK_STATUS(DUO_OK, duo_set_remember(ctx, DUO_REMEMBER_BYTES));
        for (int call = 0; call < CALLS; call++) {
            CHECK_STATUS(DUO_OK,
                         duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, ROWS, COLUMNS,
                                   ROWS, 1.0f, factor, ROWS, other, ROWS, 0.0f, result, ROWS));
            const duo_decision d = last_decision(ctx);
            if (d.residence[0] == DUO_AT_REMEMBERED)
                remembered++;
            else if (d.side == DUO_SIDE_GPU)
                on_gpu++;
            else
                on_cpu++;
        }
        CHECK(remembers ? on_cpu >= 2 && on_cpu <= 4 : on_cpu == CALLS, "%d on the CPU", on_cpu);
        CHECK(on_gpu == remembers && remembered == remembers * (CALLS - 1 - on_cpu),
              "%d sent, %d remembered", on_gpu, remembered);
        CHECK_STATUS(DUO_OK, duo_trim(ctx));
        test_context_end(ctx);
    }
    duo_remembered_least = least;
}

/* Products of arrays that are too small to stay earn nothing; of one array that is both factors, A
 * alone stays, and B is a part of it. */
static void one_array_earns_credit(void)
{
    enum { ROWS = 256, CALLS = 12 };
    static float factor[ROWS * ROWS], result[ROWS * ROWS];
    const size_t least = duo_remembered_least;
    for (int large = 0; large < 2; large++) {
        int remembered = 0;
        test_case("credit/one array/%s", large ? "large" : "small");
        duo_remembered_least = sizeof factor + !large;
        new_machine(1e-3, 0.0);
        duo_context *const ctx = context_on(DUO_PATH_AUTO);
        CHECK_STATUS(DUO_OK, duo_set_remember(ctx, DUO_REMEMBER_BYTES));
        CHECK_STATUS(DUO_OK, duo_warm_up(ctx));
        for (int call = 0; call < CALLS; call++) {
            CHECK_STATUS(DUO_OK,
                         duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, ROWS, ROWS, ROWS,
                                   1.0f, factor, ROWS, factor, ROWS, 0.0f, result, ROWS));
            const duo_decision d = last_decision(ctx);
            CHECK((d.residence[0] == DUO_AT_REMEMBERED) == (d.residence[1] == DUO_AT_REMEMBERED),
                  "A at %d, B at %d", (int)d.residence[0], (int)d.residence[1]);
            remembered += d.residence[0] == DUO_AT_REMEMBERED;
        }
        CHECK((remembered > 0) == large, "%d remembered", remembered);
        CHECK_STATUS(DUO_OK, duo_trim(ctx));
        test_context_end(ctx);
    }
    duo_remembered_least = least;
}

int main(int argc, char **argv)
{
    (void)duo_blas_library_get(); /* a made machine is measured with it */
    static const test_entry tests[] = {{"batches_earn_credit", batches_earn_credit},
                                       {"remembered_earn_credit", remembered_earn_credit},
                                       {"one_array_earns_credit", one_array_earns_credit},
                                       {"parts_earn_nothing", parts_earn_nothing},
                                       {"batches_are_learned_from", batches_are_learned_from},
                                       {"batches_explain_themselves", batches_explain_themselves},
                                       {"one_by_one", one_by_one},
                                       {"other_batches", other_batches},
                                       {"tiny_products", tiny_products},
                                       {"batches_ask_once", batches_ask_once},
                                       {"sizes_take_turns", sizes_take_turns},
                                       {"no_limit", no_limit},
                                       {"warm_up_is_no_call", warm_up_is_no_call},
                                       {NULL, NULL}};
    return test_main(argc, argv, "decisions", tests);
}
