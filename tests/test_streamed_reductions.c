/*
 * test_streamed_reductions.c - sums of vectors in host memory that pass through the device piece by
 * piece: the bits of the documented order, for every length of a piece. On the simulated device
 * there is room for about 1 to 8 MiB beside the vectors that are on it. On a GPU the cap is
 * DUOBLAS_DEVICE_MEMORY; the test `huge` runs only with DUOBLAS_TEST_HUGE=1, and takes 8 GB of host
 * memory.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "choice/costs.h"
#include "gpu/backend/devices.h"
#include "sim/sim.h"
#include "support/harness.h"
#include "support/places.h"
#include "support/sums.h"

enum { LEAST = DUO_LEAST_PIECE, LONGEST = 1 << 23 }; /* elements of pieces */

typedef struct problem {
    test_sum sum;
    duo_math math;
    test_place x, y, result;
    test_data data;
} problem;

static bool has_y(const problem *p) { return p->sum.operation == DUO_SDOT; }

static bool on_device(test_place place) { return place == PLACE_DEVICE || place == PLACE_KEPT; }

static test_array new_vector(int64_t n, int64_t inc, test_data data, test_rng *rng)
{
    return test_sum_vector(n, inc, test_between(rng, 0, 3), data, rng);
}

static float documented(const problem *p, const test_array *x, const test_array *y)
{
    return test_sum_documented(&p->sum, p->math, x->data, y->data);
}

static void check_side(duo_context *ctx, duo_side side)
{
    duo_decision decision = {.size = sizeof decision};
    CHECK_STATUS(DUO_OK, duo_explain_last(ctx, &decision));
    CHECK(decision.side == side, "by %s: %s", decision.algorithm, decision.note);
}

/* The call on the GPU's side and on the CPU's, with everything in its place. */
static void run_in_places(duo_context *ctx, const problem *p, test_array *x, test_array *y,
                          float want)
{
    test_array result = test_array_new(1, 1, 1, 0);
    test_placed there[3] = {test_put(ctx, p->x, x), {0}, test_put(ctx, p->result, &result)};
    if (has_y(p)) there[1] = test_put(ctx, p->y, y);
    const uint64_t before = test_on_sim() ? sim_count(SIM_LAUNCH) : 0;
    CHECK_STATUS(DUO_OK,
                 test_sum_call(ctx, &p->sum, there[0].address, there[1].address, there[2].address));
    check_side(ctx, DUO_SIDE_GPU);
    if (test_on_sim())
        CHECK(sim_count(SIM_LAUNCH) > before + 1, "%ju pieces",
              (uintmax_t)(sim_count(SIM_LAUNCH) - before));
    test_take(ctx, &there[2]);
    CHECK(test_same(result.data[0], want), "%08x, not %08x", (unsigned)test_bits(result.data[0]),
          (unsigned)test_bits(want));
    CHECK(test_array_intact(&result), "written beside the result");

    float again = test_poison();
    CHECK_STATUS(DUO_OK, duo_set_path(ctx, DUO_PATH_CPU));
    CHECK_STATUS(DUO_OK, test_sum_call(ctx, &p->sum, there[0].address, there[1].address, &again));
    check_side(ctx, DUO_SIDE_CPU);
    CHECK(test_same(again, want), "CPU: %08x, not %08x", (unsigned)test_bits(again),
          (unsigned)test_bits(want));
    CHECK_STATUS(DUO_OK, duo_set_path(ctx, DUO_PATH_GPU));
    test_take(ctx, &there[0]);
    if (has_y(p)) test_take(ctx, &there[1]);
    test_array_free(&result);
}

static void run_problem(const problem *p, uint64_t room, test_rng *rng)
{
    test_case("%s/n=%jd/inc=%jd,%jd/%s+%s/result-%s/%s/math=%d/room=%ju",
              duo_operation_name(p->sum.operation), (intmax_t)p->sum.n, (intmax_t)p->sum.incx,
              (intmax_t)p->sum.incy, test_place_name(p->x), has_y(p) ? test_place_name(p->y) : "",
              test_place_name(p->result), test_data_name(p->data), (int)p->math, (uintmax_t)room);
    test_array x = new_vector(p->sum.n, p->sum.incx, p->data, rng);
    test_array y = has_y(p) ? new_vector(p->sum.n, p->sum.incy, p->data, rng) : (test_array){0};
    const float want = documented(p, &x, &y);
    test_reset();
    if (test_on_sim())
        sim_set_memory(room + (on_device(p->x) ? x.bytes : 0) +
                       (has_y(p) && on_device(p->y) ? y.bytes : 0));
    duo_context *const ctx = test_context();
    CHECK_STATUS(DUO_OK, duo_set_math(ctx, p->math));
    run_in_places(ctx, p, &x, &y, want);
    test_context_end(ctx);
    test_array_free(&x);
    if (has_y(p)) test_array_free(&y);
}

static int64_t random_increment(const problem *p, test_rng *rng)
{
    static const int64_t increments[] = {1, 1, 1, 2, 3, -1, -3, 0};
    const int last = p->sum.operation == DUO_SDOT ? 7 : 4; /* others take only positive ones */
    return increments[test_between(rng, 0, last)];
}

/* Near a multiple of a piece's length, or anywhere. */
static int64_t random_length(int64_t piece, int64_t most_pieces, test_rng *rng)
{
    const int64_t pieces = test_between(rng, 1, most_pieces);
    if (test_between(rng, 0, 3) == 0) return pieces * piece + test_between(rng, 1, piece);
    const int64_t n = pieces * piece + test_between(rng, -2, 2) * test_between(rng, 0, 1024);
    return n > piece ? n : piece + 1;
}

static problem random_problem(test_rng *rng)
{
    problem p = {.sum = {.operation = (duo_operation)test_between(rng, DUO_SASUM, DUO_SDOT)}};
    p.math = test_between(rng, 0, 2) == 0 ? DUO_MATH_FLOAT64 : DUO_MATH_ACCURATE;
    p.sum.incx = random_increment(&p, rng);
    p.sum.incy = has_y(&p) ? random_increment(&p, rng) : 1;
    p.data = test_between(rng, 0, 1) == 0 ? DATA_WIDE : DATA_SIGNED;
    return p;
}

/* ---- On the simulated device ---- */

static void pieces(void)
{
    if (!test_on_sim()) {
        test_skip("the GPU's memory cannot be shrunk");
        return;
    }
    test_rng rng = test_rng_for("streamed pieces");
    for (int i = 0; i < 150; i++) {
        problem p = random_problem(&rng);
        /* Room for at least one vector in pieces, and for less than the whole. */
        const uint64_t room = (uint64_t)(test_between(&rng, 0, 9) == 0 ? 8 : 1) << 20;
        const int64_t piece = (int64_t)room / 16 * (LEAST / (1 << 16));
        p.sum.n = (int64_t)room / 4 + random_length(piece, 4, &rng);
        p.x = (test_place)test_between(&rng, 0, PLACES - 1);
        p.y = (test_place)test_between(&rng, 0, PLACES - 1);
        p.result = (test_place)test_between(&rng, 0, PLACES - 1);
        if (on_device(p.x) && (!has_y(&p) || on_device(p.y))) p.x = PLACE_PAGEABLE;
        /* Dispatch counts n elements of a kept array, even if they are one in memory. */
        if (p.x == PLACE_KEPT && p.sum.incx == 0) p.x = PLACE_DEVICE;
        if (p.y == PLACE_KEPT && p.sum.incy == 0) p.y = PLACE_DEVICE;
        run_problem(&p, room, &rng);
    }
}

/* Several calls in one context: the first leaves it a large workspace for x. */
static void one_context(void)
{
    if (!test_on_sim()) {
        test_skip("the GPU's memory cannot be shrunk");
        return;
    }
    test_rng rng = test_rng_for("streamed in one context");
    test_case("one-context");
    sim_set_memory(3 << 20);
    duo_context *const ctx = test_context();
    uint64_t allocations = 0;
    test_array whole = new_vector(700000, 1, DATA_SIGNED, &rng);
    float sum = test_poison();
    CHECK_STATUS(DUO_OK, duo_ssum(ctx, whole.runs, whole.data, 1, &sum));
    check_side(ctx, DUO_SIDE_GPU);
    test_array_free(&whole);
    for (int i = 0; i < 12; i++) {
        problem p = {.sum = {i % 2 == 0 ? DUO_SDOT : DUO_SSUM, 0, 1, 1}};
        p.math = DUO_MATH_ACCURATE;
        p.sum.n = 1000003 - 10 * i;
        test_array x = new_vector(p.sum.n, 1, DATA_WIDE, &rng),
                   y = new_vector(p.sum.n, 1, DATA_WIDE, &rng);
        run_in_places(ctx, &p, &x, &y, documented(&p, &x, &y));
        CHECK(sim_allocated_bytes(0) <= 3 << 20, "%ju bytes", (uintmax_t)sim_allocated_bytes(0));
        if (i == 2) allocations = sim_count(SIM_ALLOCATE);
        if (i > 2)
            CHECK(sim_count(SIM_ALLOCATE) == allocations, "allocates again: %ju",
                  (uintmax_t)sim_count(SIM_ALLOCATE));
        test_array_free(&x);
        test_array_free(&y);
    }
    test_context_end(ctx);
}

/* A vector that runs over a kept array with its newer copy on the device. */
static void over_kept(void)
{
    enum { EDGE = 8, FROM = 1000 };
    test_rng rng = test_rng_for("streamed over kept");
    const problem p = {.sum = {DUO_SSUM, LONGEST + 1, 1, 1}};
    test_case("over-kept");
    test_array x = new_vector(p.sum.n, 1, DATA_SIGNED, &rng), none = {0};
    float *const c = x.data + FROM, a[EDGE * EDGE], sum = test_poison();
    for (int i = 0; i < EDGE * EDGE; i++) a[i] = (float)i;
    duo_context *const ctx = test_context();
    CHECK_STATUS(DUO_OK, duo_keep(ctx, c, EDGE * EDGE * sizeof *c));
    CHECK_STATUS(DUO_OK, duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, EDGE, EDGE, EDGE,
                                   1.0f, a, EDGE, a, EDGE, 0.0f, c, EDGE));
    CHECK_STATUS(DUO_OK, duo_ssum(ctx, p.sum.n, x.data, 1, &sum));
    check_side(ctx, DUO_SIDE_GPU);
    CHECK_STATUS(DUO_OK, duo_release(ctx, c));
    CHECK(c[0] >= 1.0f, "no product: %g", (double)c[0]);
    CHECK(test_same(sum, documented(&p, &x, &none)), "%08x", (unsigned)test_bits(sum));
    test_context_end(ctx);
    test_array_free(&x);
}

/* The result belongs into a kept array with a current copy on the device; the nth copy
 * or launch fails. */
static void into_kept(void)
{
    enum { EDGE = 8 };
    static const sim_kind kinds[] = {SIM_COPY, SIM_LAUNCH};
    test_rng rng = test_rng_for("streamed into kept");
    const problem p = {.sum = {DUO_SSUM, LONGEST + 1, 1, 1}};
    test_array x = new_vector(p.sum.n, 1, DATA_SIGNED, &rng), none = {0};
    const float want = documented(&p, &x, &none);
    float a[EDGE * EDGE], c[EDGE * EDGE], right[EDGE * EDGE];
    for (int i = 0; i < EDGE * EDGE; i++) a[i] = (float)(i % 5);
    for (int kind = 0; kind < (test_on_sim() ? 2 : 1); kind++)
        for (int nth = 0; nth < (test_on_sim() ? 4 : 1); nth++) {
            test_case("into-kept/%d/%d", kind, nth);
            test_reset();
            duo_context *const ctx = test_context();
            for (int i = 0; i < EDGE * EDGE; i++) c[i] = test_poison();
            CHECK_STATUS(DUO_OK, duo_keep(ctx, c, sizeof c));
            CHECK_STATUS(DUO_OK, duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, EDGE,
                                           EDGE, EDGE, 1.0f, a, EDGE, a, EDGE, 0.0f, c, EDGE));
            CHECK_STATUS(DUO_OK, duo_fetch(ctx, c, sizeof c));
            memcpy(right, c, sizeof c);
            sim_fail(kinds[kind], nth, DUO_ERR_DEVICE, 1);
            const duo_status status = duo_ssum(ctx, p.sum.n, x.data, 1, &c[3]);
            sim_fail(kinds[kind], 0, DUO_OK, 0);
            CHECK(status == DUO_OK || (nth > 0 && status == DUO_ERR_DEVICE), "%d", (int)status);
            CHECK_STATUS(DUO_OK, duo_release(ctx, c));
            if (status == DUO_OK) right[3] = want;
            CHECK(memcmp(c, right, sizeof c) == 0, "%s: wrong elements", duo_status_string(status));
            test_context_end(ctx);
        }
    test_array_free(&x);
}

/* Blocks and pieces that overflow only in float32, NaN, sums of -0, and pieces that cancel each
 * other only in pairs: (2^53 + 1) + (1 - 2^53) is 1 in float64, from left to right it is 0. */
static void special_values(void)
{
    test_rng rng = test_rng_for("streamed special values");
    const int64_t n = test_on_sim() ? 5 * LEAST + 77 : 2 * LONGEST + 77;
    static const char *const names[] = {"overflow", "infinite", "nan",
                                        "opposite", "zeros",    "pairs"};
    for (int i = 0; i < 6; i++) {
        const problem p = {.sum = {DUO_SSUM, n, 1, 1}};
        test_array x = new_vector(n, 1, DATA_SIGNED, &rng);
        if (i == 0) /* no block is infinite in float64, and the pieces cancel each other */
            for (int64_t j = 0; j < n; j++) x.data[j] = j < n / 2 ? 3e38f : -3e38f;
        if (i == 1) x.data[n - 1] = INFINITY;
        if (i == 2) x.data[n / 2] = NAN;
        if (i == 3) {
            x.data[0] = INFINITY;
            x.data[n - 1] = -INFINITY;
        }
        if (i >= 4)
            for (int64_t j = 0; j < n; j++) x.data[j] = -0.0f;
        if (i == 5) {
            x.data[0] = 0x1p53f;
            x.data[LEAST] = x.data[2 * LEAST] = 1.0f;
            x.data[3 * LEAST] = -0x1p53f;
        }
        test_case("special/%s", names[i]);
        test_reset();
        if (test_on_sim()) sim_set_memory(1 << 20);
        duo_context *const ctx = test_context();
        test_array none = {0};
        run_in_places(ctx, &p, &x, &none, documented(&p, &x, &none));
        test_context_end(ctx);
        test_array_free(&x);
    }
}

/* ---- At full length ---- */

/* Beyond the longest piece a vector is sent in pieces even where there is room for all of it. */
static void beyond_longest(void)
{
    test_rng rng = test_rng_for("streamed beyond the longest");
    const int cases = test_on_sim() ? 3 : 24;
    for (int i = 0; i < cases; i++) {
        problem p = random_problem(&rng);
        p.sum.n = random_length(LONGEST, 2, &rng);
        p.x = test_between(&rng, 0, 1) == 0 ? PLACE_PINNED : PLACE_PAGEABLE;
        p.y = (test_place)test_between(&rng, 0, PLACES - 1);
        p.result = (test_place)test_between(&rng, 0, PLACES - 1);
        p.sum.incx = p.sum.incx > 2 ? 2 : p.sum.incx;
        p.sum.incy = p.sum.incy > 2 ? 2 : p.sum.incy;
        const double bytes = 4.0 * (double)p.sum.n * fabs((double)p.sum.incy);
        if (on_device(p.y) && bytes + (2 << 20) > duo_device_room(0)) p.y = PLACE_PAGEABLE;
        if (p.y == PLACE_KEPT && p.sum.incy == 0) p.y = PLACE_DEVICE; /* see above */
        run_problem(&p, (uint64_t)1 << 30, &rng);
    }
}

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* 2 10^9 elements, on the GPU and on the CPU: the same bits. */
static void huge(void)
{
    const int64_t n = 2000000000;
    if (getenv("DUOBLAS_TEST_HUGE") == NULL) {
        test_skip("it takes 8 GB; DUOBLAS_TEST_HUGE=1 runs it");
        return;
    }
    float *const x = malloc((size_t)n * sizeof *x);
    if (!CHECK(x != NULL, "no memory")) return;
    const uint64_t seed = test_rng_for("streamed huge").state;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; i++) {
        test_rng rng = {seed + (uint64_t)i * 0x9e3779b97f4a7c15u};
        x[i] = (float)(test_random(&rng) >> 40) * 0x1p-23f - 1.0f;
    }
    test_case("huge");
    duo_context *const ctx = test_context();
    float sum[2] = {test_poison(), test_poison()};
    for (int i = 0; i < 4; i++) { /* the first GPU call also pins stages; two by the CPU */
        const bool cpu = i >= 2;
        const double began = seconds_now();
        CHECK_STATUS(DUO_OK, duo_set_path(ctx, cpu ? DUO_PATH_CPU : DUO_PATH_GPU));
        CHECK_STATUS(DUO_OK, duo_ssum(ctx, n, x, 1, &sum[cpu]));
        printf("      ssum n = %jd on the %s: %08x, %.3f s\n", (intmax_t)n, cpu ? "CPU" : "GPU",
               (unsigned)test_bits(sum[cpu]), seconds_now() - began);
        check_side(ctx, cpu ? DUO_SIDE_CPU : DUO_SIDE_GPU);
    }
    CHECK(test_same(sum[0], sum[1]), "GPU %08x, CPU %08x", (unsigned)test_bits(sum[0]),
          (unsigned)test_bits(sum[1]));
    test_context_end(ctx);
    free(x);
}

int main(int argc, char **argv)
{
    static const test_entry tests[] = {
        {"pieces", pieces},
        {"one_context", one_context},
        {"over_kept", over_kept},
        {"into_kept", into_kept},
        {"special_values", special_values},
        {"beyond_longest", beyond_longest},
        {"huge", huge},
        {NULL, NULL},
    };
    return test_main(argc, argv, "streamed_reductions", tests);
}
