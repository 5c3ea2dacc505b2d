/*
 * test_sgemm.c - every algorithm of sgemm, and duo_sgemm with operands in every residence, against
 * the oracle: shapes x transposes x layouts x leading dimensions x scalars x offsets.
 */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/sim.h"
#include "support/calls.h"
#include "support/harness.h"
#include "support/oracle.h"
#include "support/places.h"
#include "support/problems.h"
#include "support/run_algorithm.h"

/* ---- Running it ---- */

static void run_on(const duo_algorithm *algorithm, const test_problem *p, test_rng *rng)
{
    test_problem_name(p, "sgemm", algorithm->name);
    test_operands o = test_operands_make(p, rng);
    const int status = test_problem_run(algorithm, p, &o);
    if (status != DUO_DECLINED)
        test_operands_check(p, &o, test_operands_bound(&o, algorithm), status);
    test_operands_free(&o);
}

static void run_public(duo_context *ctx, const test_problem *p, const test_place place[3],
                       test_rng *rng)
{
    char where[64];
    snprintf(where, sizeof where, "%s,%s,%s", test_place_name(place[0]), test_place_name(place[1]),
             test_place_name(place[2]));
    test_problem_name(p, "sgemm", where);
    test_operands o = test_operands_make(p, rng);
    const test_array a_before = test_array_copy(&o.a), b_before = test_array_copy(&o.b);
    test_placed a = test_put(ctx, place[0], &o.a), b = test_put(ctx, place[1], &o.b);
    test_placed c = test_put(ctx, place[2], &o.c);
    const duo_status status =
        test_problem_multiply(ctx, p, &o, (float *const[]){a.address, b.address, c.address});
    test_take(ctx, &a);
    test_take(ctx, &b);
    test_take(ctx, &c);
    test_operands_check(p, &o, o.bound, status);
    CHECK(test_array_equal(&o.a, &a_before) && test_array_equal(&o.b, &b_before),
          "an input has changed");
    test_array_free(&(test_array){.block = a_before.block});
    test_array_free(&(test_array){.block = b_before.block});
    test_operands_free(&o);
}

/* ---- Problems ---- */

/* By columns, as an algorithm gets it. */
static test_problem random_problem(test_rng *rng)
{
    test_problem p = test_problem_random(rng);
    p.layout = DUO_COL_MAJOR;
    return p;
}

static const int64_t edges[] = {1,  2,  3,  7,  8,  9,  15,  16,  17,
                                31, 32, 33, 63, 64, 65, 127, 128, 129};
enum { EDGES = sizeof edges / sizeof edges[0] };

static int64_t random_edge(test_rng *rng) { return edges[test_between(rng, 0, EDGES - 1)]; }

static void algorithm_squares(void)
{
    test_rng rng = test_rng_for("sgemm squares");
    const duo_algorithm *algorithms[DUO_CANDIDATES];
    const int count = test_algorithms(DUO_SGEMM, algorithms);
    for (int r = 0; r < count; r++) {
        for (int e = 0; e < EDGES; e++) {
            for (int t = 0; t < 4; t++) {
                test_problem p = random_problem(&rng);
                p.m = p.n = p.k = edges[e];
                p.transa = t % 2 != 0 ? DUO_TRANS : DUO_NO_TRANS;
                p.transb = t / 2 != 0 ? DUO_TRANS : DUO_NO_TRANS;
                if (p.alpha == 0.0f) p.alpha = 1.5f;
                run_on(algorithms[r], &p, &rng);
            }
        }
    }
}

static void algorithm_tile_edges(void)
{
    test_rng rng = test_rng_for("sgemm tile edges");
    const duo_algorithm *algorithms[DUO_CANDIDATES];
    const int count = test_algorithms(DUO_SGEMM, algorithms);
    for (int r = 0; r < count; r++) {
        for (int i = 0; i < test_amount(60, 240, 240); i++) {
            test_problem p = random_problem(&rng);
            p.m = random_edge(&rng);
            p.n = random_edge(&rng);
            p.k = random_edge(&rng);
            run_on(algorithms[r], &p, &rng);
        }
    }
}

static void algorithm_scalars(void)
{
    static const float alphas[] = {1.0f, -1.0f, 0.5f, 3.0f, 0.0f};
    static const float betas[] = {0.0f, 1.0f, -2.0f, 0.25f, 0.0f};
    test_rng rng = test_rng_for("sgemm scalars");
    const duo_algorithm *algorithms[DUO_CANDIDATES];
    const int count = test_algorithms(DUO_SGEMM, algorithms);
    for (int r = 0; r < count; r++) {
        for (int i = 0; i < 5 * 5 * 4; i++) {
            test_problem p = random_problem(&rng);
            p.m = 37, p.n = 21, p.k = i % 3 == 0 ? 0 : 19;
            p.alpha = alphas[i % 5];
            p.beta = betas[i / 5 % 5];
            p.transa = i / 25 % 2 != 0 ? DUO_TRANS : DUO_NO_TRANS;
            p.transb = i / 50 != 0 ? DUO_TRANS : DUO_NO_TRANS;
            run_on(algorithms[r], &p, &rng);
        }
    }
}

/* Only C, in several pieces, each for a thread: columns, and parts of long ones. */
static void algorithm_scales(void)
{
    static const int64_t shapes[][2] = {{211, 331}, {70001, 2}, {1, 70001}, {32768, 2}};
    test_rng rng = test_rng_for("sgemm scales");
    const duo_algorithm *algorithms[DUO_CANDIDATES];
    const int count = test_algorithms(DUO_SGEMM, algorithms);
    for (int r = 0; r < count; r++)
        for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
            for (int i = 0; i < 4; i++) {
                test_problem p = random_problem(&rng);
                p.m = shapes[s][0], p.n = shapes[s][1], p.k = i % 2 == 0 ? 0 : 3;
                p.alpha = i % 2 == 0 ? 2.0f : 0.0f;
                p.beta = i / 2 == 0 ? 0.0f : -1.75f;
                run_on(algorithms[r], &p, &rng);
            }
}

static void algorithm_odd_shapes(void)
{
    static const int64_t shapes[][3] = {
        {131, 61, 257}, {257, 131, 61},  {61, 257, 131},  {1, 1, 1},       {1, 1, 5000},
        {1, 997, 1},    {997, 1, 1},     {1, 509, 64},    {509, 1, 64},    {1, 64, 509},
        {64, 1, 509},   {300, 200, 1},   {200, 300, 2},   {5, 7, 4099},    {2, 2, 8191},
        {640, 3, 5},    {3, 640, 5},     {192, 160, 96},  {256, 256, 16},  {255, 129, 31},
        {130, 258, 66}, {131, 33, 4004}, {29, 203, 8004}, {45, 9001, 130},
    };
    test_rng rng = test_rng_for("sgemm odd shapes");
    const duo_algorithm *algorithms[DUO_CANDIDATES];
    const int count = test_algorithms(DUO_SGEMM, algorithms);
    for (int r = 0; r < count; r++) {
        for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
            for (int t = 0; t < 4; t++) {
                test_problem p = random_problem(&rng);
                p.m = shapes[s][0], p.n = shapes[s][1], p.k = shapes[s][2];
                p.transa = t % 2 != 0 ? DUO_TRANS : DUO_NO_TRANS;
                p.transb = t / 2 != 0 ? DUO_TRANS : DUO_NO_TRANS;
                if (p.alpha == 0.0f) p.alpha = -0.75f;
                run_on(algorithms[r], &p, &rng);
            }
        }
    }
}

/* The gap that makes the leading dimension for `rows` a multiple of 4, or not. */
static int64_t gap_of(int64_t rows, bool multiple) { return (4 - rows % 4) % 4 + !multiple; }

/* Few columns or rows of C: on an H100 every tile of sgemm_gpu_skinny except the 128 x 32 along k,
 * X copied by 16 bytes or not, k in one range and in several. */
static void algorithm_thin(void)
{
    static const int64_t thin[] = {1, 2, 3, 4, 6, 8, 13, 23, 27, 41, 48};
    static const int64_t rows_and_k[][2] = {{300, 1100}, {70, 2000},  {130, 5000}, {12000, 37},
                                            {4000, 100}, {60000, 20}, {300, 5000}};
    enum { THIN = sizeof thin / sizeof thin[0], SIZES = sizeof rows_and_k / sizeof rows_and_k[0] };
    const int step = test_mode_now() == MODE_GPU ? 1 : 7;
    test_rng rng = test_rng_for("sgemm thin");
    const duo_algorithm *algorithms[DUO_CANDIDATES];
    const int count = test_algorithms(DUO_SGEMM, algorithms);
    for (int r = 0; r < count; r++) {
        for (int i = 0; i < THIN * 16; i += step) { /* layouts, sides, alignments */
            const int64_t columns = thin[i / 16];
            const int64_t *const size = rows_and_k[(2 * i + i / 16 * 4) % SIZES];
            const bool swapped = i & 4, wide = i & 8;
            test_problem p = random_problem(&rng);
            p.m = swapped ? columns : size[0];
            p.n = swapped ? size[0] : columns;
            p.k = size[1];
            p.transa = i & 1 ? DUO_TRANS : DUO_NO_TRANS;
            p.transb = i & 2 ? DUO_TRANS : DUO_NO_TRANS;
            p.extra_a = gap_of(p.transa == DUO_TRANS ? p.k : p.m, wide);
            p.extra_b = gap_of(p.transb == DUO_TRANS ? p.n : p.k, wide);
            p.offset = wide ? 0 : 1;
            if (p.alpha == 0.0f) p.alpha = 1.25f;
            run_on(algorithms[r], &p, &rng);
        }
    }
}

static void algorithm_random(void)
{
    test_rng rng = test_rng_for("sgemm random");
    const duo_algorithm *algorithms[DUO_CANDIDATES];
    const int count = test_algorithms(DUO_SGEMM, algorithms);
    for (int r = 0; r < count; r++) {
        for (int i = 0; i < test_amount(300, 2000, 2000); i++) {
            test_problem p = random_problem(&rng);
            p.m = test_between(&rng, 1, 40);
            p.n = test_between(&rng, 1, 40);
            p.k = test_between(&rng, 0, 40);
            run_on(algorithms[r], &p, &rng);
        }
    }
}

/* CPU algorithms with several threads, and every algorithm twice: the same bits. */
static void algorithm_same_bits(void)
{
    test_rng rng = test_rng_for("sgemm same bits");
    const duo_algorithm *algorithms[DUO_CANDIDATES];
    const int count = test_algorithms(DUO_SGEMM, algorithms);
    for (int r = 0; r < count; r++) {
        for (int i = 0; i < 30; i++) {
            test_problem p = random_problem(&rng);
            p.m = test_between(&rng, 1, 150);
            p.n = test_between(&rng, 1, 150);
            p.k = test_between(&rng, 1, 150);
            p.alpha = 1.25f;
            test_problem_name(&p, "sgemm", algorithms[r]->name);
            test_operands o = test_operands_make(&p, &rng);
            duo_call call = test_problem_call(&p, &o);
            call.threads = 1 + i % 3;
            test_array before = test_array_copy(&o.c);
            const int status = test_algorithm_accepts(algorithms[r], &call)
                                   ? test_run_algorithm(algorithms[r], &call, p.offset, false)
                                   : (int)DUO_DECLINED;
            if (status != DUO_DECLINED)
                test_operands_check(&p, &o, test_operands_bound(&o, algorithms[r]), status);
            /* Four runs with packed operands: A, B, both or none is packed. */
            for (int run = 1; run < 4 && status != DUO_DECLINED; run++) {
                test_array other = test_array_copy(&before);
                call.operand[DUO_C].address = other.data;
                CHECK_STATUS(DUO_OK, test_run_algorithm(algorithms[r], &call, p.offset, false));
                CHECK(test_array_equal(&o.c, &other), "two runs differ");
                test_array_free(&other);
            }
            test_array_free(&before);
            test_operands_free(&o);
        }
    }
}

/* Zeros are not skipped: 0 * Inf and 0 * NaN are NaN, and Inf comes through where nothing meets
 * it. */
static void algorithm_special_values(void)
{
    static const float special[] = {INFINITY, -INFINITY, NAN};
    test_rng rng = test_rng_for("sgemm special");
    const duo_algorithm *algorithms[DUO_CANDIDATES];
    const int count = test_algorithms(DUO_SGEMM, algorithms);
    for (int r = 0; r < count; r++) {
        for (int i = 0; i < 96; i++) {
            test_problem p = random_problem(&rng);
            p.m = test_between(&rng, 1, 70);
            p.n = test_between(&rng, 1, 70);
            p.k = test_between(&rng, 1, 40);
            p.alpha = i % 2 == 0 ? 1.0f : -2.0f;
            p.data = DATA_SIGNED;
            test_problem_name(&p, "sgemm", algorithms[r]->name);
            test_operands o = test_operands_make(&p, &rng);
            test_array *const zeros = i % 3 == 0 ? &o.b : &o.a; /* all of it, or all but one */
            for (int64_t j = 0; i % 3 < 2 && j < zeros->runs; j++)
                memset(zeros->data + j * zeros->ld, 0, (size_t)zeros->length * sizeof(float));
            o.a.data[test_between(&rng, 0, o.a.runs - 1) * o.a.ld +
                     test_between(&rng, 0, o.a.length - 1)] = special[i % 3];
            if (i % 4 == 0)
                o.b.data[test_between(&rng, 0, o.b.runs - 1) * o.b.ld +
                         test_between(&rng, 0, o.b.length - 1)] = special[i / 4 % 3];
            if (p.beta != 0.0f && i % 5 == 0) o.c_before.data[0] = o.c.data[0] = special[i / 5 % 3];
            test_operands_expect(&p, &o);
            const int status = test_problem_run(algorithms[r], &p, &o);
            if (status != DUO_DECLINED)
                test_operands_check(&p, &o, test_operands_bound(&o, algorithms[r]), status);
            test_operands_free(&o);
        }
    }
}

/* ---- The public function ---- */

static void public_residences(void)
{
    test_rng rng = test_rng_for("sgemm residences");
    duo_context *ctx = test_context();
    if (test_on_sim()) sim_set_delay(40); /* forgotten waits show */
    for (int i = 0; i < PLACES * PLACES * PLACES; i++) {
        const test_place place[3] = {(test_place)(i % PLACES), (test_place)(i / PLACES % PLACES),
                                     (test_place)(i / PLACES / PLACES)};
        for (int t = 0; t < 8; t++) {
            test_problem p = test_problem_random(&rng);
            p.layout = t / 4 != 0 ? DUO_ROW_MAJOR : DUO_COL_MAJOR;
            p.transa = t % 2 != 0 ? DUO_TRANS : DUO_NO_TRANS;
            p.transb = t / 2 % 2 != 0 ? DUO_TRANS : DUO_NO_TRANS;
            p.m = 33, p.n = 17, p.k = 29;
            run_public(ctx, &p, place, &rng);
        }
    }
    test_context_end(ctx);
}

static void public_random(void)
{
    test_rng rng = test_rng_for("sgemm public random");
    duo_context *ctx = test_context();
    for (int i = 0; i < test_amount(200, 1200, 1200); i++) {
        const int64_t most = i % 20 == 0 ? 150 : 36;
        test_problem p = test_problem_random(&rng);
        p.m = test_between(&rng, 0, most);
        p.n = test_between(&rng, 0, most);
        p.k = test_between(&rng, 0, most);
        const bool anywhere = i % 2 == 0;
        const test_place place[3] = {
            anywhere ? (test_place)test_between(&rng, 0, PLACES - 1) : PLACE_PAGEABLE,
            anywhere ? (test_place)test_between(&rng, 0, PLACES - 1) : PLACE_PAGEABLE,
            anywhere ? (test_place)test_between(&rng, 0, PLACES - 1) : PLACE_PAGEABLE};
        run_public(ctx, &p, place, &rng);
    }
    test_context_end(ctx);
}

/* More than all the staging memory holds at once, with gaps: A, then C, in every place. */
static void public_large(void)
{
    test_rng rng = test_rng_for("sgemm large");
    duo_context *ctx = test_context();
    for (int i = 0; i < 2 * PLACES; i++) {
        const test_place place[3] = {(test_place)(i / 2), PLACE_PAGEABLE, (test_place)(i / 2)};
        test_problem p = {.layout = i % 3 == 0 ? DUO_ROW_MAJOR : DUO_COL_MAJOR,
                          .transa = DUO_NO_TRANS,
                          .transb = DUO_TRANS,
                          .m = 2311,
                          .n = i % 2 == 0 ? 2 : 2053,
                          .k = i % 2 == 0 ? 2053 : 2,
                          .alpha = 1.0f,
                          .beta = 1.0f,
                          .extra_a = 3,
                          .extra_c = 5,
                          .data = DATA_INTEGER};
        run_public(ctx, &p, place, &rng);
    }
    test_context_end(ctx);
}

/* The same matrix as both operands, in every place. */
static void public_same_operand(void)
{
    test_rng rng = test_rng_for("sgemm same operand");
    duo_context *ctx = test_context();
    for (int place = 0; place < PLACES; place++) {
        test_problem p = {.layout = DUO_COL_MAJOR,
                          .transa = DUO_TRANS,
                          .transb = DUO_NO_TRANS,
                          .m = 23,
                          .n = 23,
                          .k = 41,
                          .alpha = 1.0f,
                          .data = DATA_INTEGER};
        test_problem_name(&p, "sgemm", test_place_name((test_place)place));
        test_operands o = test_operands_make(&p, &rng);
        memcpy(o.b.data, o.a.data, o.a.bytes);
        test_operands_expect(&p, &o);
        test_placed a = test_put(ctx, (test_place)place, &o.a);
        test_placed c = test_put(ctx, (test_place)place, &o.c);
        const duo_status status =
            test_problem_multiply(ctx, &p, &o, (float *const[]){a.address, a.address, c.address});
        test_take(ctx, &a);
        test_take(ctx, &c);
        test_operands_check(&p, &o, o.bound, status);
        test_operands_free(&o);
    }
    test_context_end(ctx);
}

int main(int argc, char **argv)
{
    static const test_entry tests[] = {
        {"algorithm_squares", algorithm_squares},
        {"algorithm_tile_edges", algorithm_tile_edges},
        {"algorithm_scalars", algorithm_scalars},
        {"algorithm_scales", algorithm_scales},
        {"algorithm_odd_shapes", algorithm_odd_shapes},
        {"algorithm_thin", algorithm_thin},
        {"algorithm_random", algorithm_random},
        {"algorithm_same_bits", algorithm_same_bits},
        {"algorithm_special_values", algorithm_special_values},
        {"public_residences", public_residences},
        {"public_random", public_random},
        {"public_large", public_large},
        {"public_same_operand", public_same_operand},
        {NULL, NULL},
    };
    return test_main(argc, argv, "sgemm", tests);
}
