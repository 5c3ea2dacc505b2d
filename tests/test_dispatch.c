/*
 * test_dispatch.c - which row runs, and what is told of it, with profiles made by hand.
 *
 * The made-up machine has flat curves and round rates, so that each prediction can be worked out in
 * the head. What a process reads once, its environment, is tried in children.
 */
#define _GNU_SOURCE
#include <math.h>
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "choice/profile_in_use.h"
#include "choice/select.h"
#include "cpu/blas_library.h"
#include "cpu/sgemm_tiles.h"
#include "gpu/backend/devices.h"
#include "sim/sim.h"
#include "support/calls.h"
#include "support/child.h"
#include "support/harness.h"
#include "support/places.h"

/* ---- A machine made by hand ---- */

static duo_profile machine;

/* This row takes so long, whatever the size. */
static void row_takes(duo_algorithm_id row, double seconds)
{
    machine.curve[row] =
        (duo_curve){.count = 2, .size = {1.0, 1e12}, .seconds = {seconds, seconds}};
}

/* All rows take `cpu` or `gpu` seconds; one thread; a link of 1 GB/s pageable, 10 GB/s pinned. */
static void new_machine(double cpu, double gpu)
{
    machine = (duo_profile){.threads = 4,
                            .fork_seconds = 1000.0, /* threads never pay */
                            .cpu_bandwidth = 1e18,
                            .sgemm_efficiency = 1.0,
                            .upload_pageable = 1e9,
                            .upload_pinned = 1e10,
                            .download_pageable = 1e9,
                            .download_pinned = 1e10,
                            .copy_seconds = 1e-6,
                            .round_trip_seconds = 2e-6,
                            .query_seconds = 1e-7};
    snprintf(machine.origin, sizeof machine.origin, "made by hand");
    snprintf(machine.version, sizeof machine.version, "0.1.0");
    snprintf(machine.gpu, sizeof machine.gpu, "Simulated GPU");
#define ROW_TAKES(operation, side, maths, name) row_takes(DUO_##name, DUO_SIDE_##side ? gpu : cpu);
    DUO_ALGORITHM_LIST(ROW_TAKES)
#undef ROW_TAKES
    duo_profile_use(&machine);
}

/* A link that costs nothing. */
static void free_link(void)
{
    machine.upload_pageable = machine.upload_pinned = 1e300;
    machine.download_pageable = machine.download_pinned = 1e300;
    machine.copy_seconds = machine.round_trip_seconds = 0.0;
}

static duo_context *context_on(duo_path path)
{
    duo_context *ctx = NULL;
    CHECK_STATUS(DUO_OK, duo_create(&ctx));
    CHECK_STATUS(DUO_OK, duo_set_path(ctx, path));
    return ctx;
}

static duo_decision last(duo_context *ctx)
{
    duo_decision decision = {.size = sizeof decision};
    CHECK_STATUS(DUO_OK, duo_explain_last(ctx, &decision));
    return decision;
}

static void check_row(duo_context *ctx, const char *row)
{
    const duo_decision d = last(ctx);
    CHECK(d.algorithm != NULL && strcmp(d.algorithm, row) == 0, "row %s, expected %s (%s)",
          d.algorithm == NULL ? "none" : d.algorithm, row, d.note);
}

static void check_side(duo_context *ctx, duo_side side)
{
    const duo_decision d = last(ctx);
    CHECK(d.algorithm != NULL && d.side == side, "row %s, expected one of the %s (%s)",
          d.algorithm == NULL ? "none" : d.algorithm, side == DUO_SIDE_GPU ? "GPU" : "CPU", d.note);
}

static const duo_candidate *candidate(const duo_decision *d, const char *row)
{
    for (int i = 0; i < d->candidates; i++)
        if (strcmp(d->candidate[i].algorithm, row) == 0) return &d->candidate[i];
    return NULL;
}

static bool close_to(double x, double y) { return fabs(x - y) <= 1e-6 * fabs(y); }

/* What the candidate was predicted to take. */
static void check_predicted(const duo_decision *d, const char *row, double seconds)
{
    const duo_candidate *const c = candidate(d, row);
    CHECK(c != NULL && close_to(c->predicted_seconds, seconds), "%s: %g s, expected %g", row,
          c == NULL ? -1.0 : c->predicted_seconds, seconds);
}

/* ---- Calls on small integers, so that each result is exact ---- */

enum { N = 1 << 18, EDGE = 64, MOST_EDGE = 256 };

static float *data;
static float data_sum, data_asum, data_dot;

static void make_data(void)
{
    data = malloc(N * sizeof *data);
    if (data == NULL) abort();
    data_sum = data_asum = data_dot = 0.0f;
    for (int64_t i = 0; i < N; i++) {
        data[i] = (float)(i % 5 - 1);
        data_sum += data[i];
        data_asum += fabsf(data[i]);
        data_dot += data[i] * data[i];
    }
}

static void sum_all(duo_context *ctx, const float *x)
{
    float sum = test_poison();
    CHECK_STATUS(DUO_OK, duo_ssum(ctx, N, x, 1, &sum));
    CHECK(sum == data_sum, "sum %g, expected %g", (double)sum, (double)data_sum);
}

/* C := A * A of edge x edge matrices of ones. */
static void multiply(duo_context *ctx, int64_t edge, const float *a, float *c)
{
    CHECK_STATUS(DUO_OK, duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, edge, edge, edge,
                                   1.0f, a, edge, a, edge, 0.0f, c, edge));
}

static float ones[MOST_EDGE * MOST_EDGE], product[MOST_EDGE * MOST_EDGE];

static void multiply_ones(duo_context *ctx)
{
    for (int i = 0; i < EDGE * EDGE; i++) {
        ones[i] = 1.0f;
        product[i] = test_poison();
    }
    multiply(ctx, EDGE, ones, product);
    bool right = true;
    for (int i = 0; i < EDGE * EDGE; i++) right = right && product[i] == EDGE;
    CHECK(right, "wrong values");
}

/* ---- The cheapest row that accepts ---- */

/* The sgemm rows that serve the default math. */
static int serving_rows(void)
{
    int rows = 0;
    for (int i = 0; i < DUO_SGEMM_ALGORITHMS; i++)
        rows +=
            duo_algorithm_serves(&duo_algorithm_tables[DUO_SGEMM].algorithm[i], DUO_MATH_ACCURATE);
    return rows;
}

/* Four rows in every order of cost; the others take longer. */
static void cheapest(void)
{
    static const duo_algorithm_id rows[] = {DUO_sgemm_cpu_openblas, DUO_sgemm_cpu_plain,
                                            DUO_sgemm_gpu_naive, DUO_sgemm_gpu_tiled};
    for (int order = 0; order < 24; order++) {
        new_machine(1.0, 1.0);
        free_link();
        int rank[4] = {0, 1, 2, 3}, winner = 0;
        for (int i = 3, left = order; i > 0; left /= i + 1, i--) {
            const int j = left % (i + 1), swap = rank[i];
            rank[i] = rank[j];
            rank[j] = swap;
        }
        for (int i = 0; i < 4; i++) {
            row_takes(rows[i], 1e-3 * (1 + rank[i]));
            if (rank[i] == 0) winner = i;
        }
        test_case("cheapest/%d", order);
        duo_context *const ctx = context_on(DUO_PATH_AUTO);
        multiply_ones(ctx);
        check_row(ctx, duo_algorithm_name(rows[winner]));
        const duo_decision d = last(ctx);
        CHECK(d.candidates == serving_rows(), "%d candidates", d.candidates);
        for (int i = 0; i < 4; i++)
            check_predicted(&d, duo_algorithm_name(rows[i]), 1e-3 * (1 + rank[i]));
        CHECK(close_to(d.predicted_seconds, 1e-3), "%g s predicted", d.predicted_seconds);
        if (winner >= 2) CHECK(sim_last_algorithm() == rows[winner], "another row was launched");
        test_context_end(ctx);
    }
    duo_profile_reset();
}

/* The row that rounds to TF32, though by far the cheapest, runs where that was asked for alone. */
static void tf32_on_request(void)
{
    static const duo_math maths[] = {DUO_MATH_TF32, DUO_MATH_ACCURATE, DUO_MATH_IEEE,
                                     DUO_MATH_FLOAT64};
    const char *const rounds = duo_algorithm_name(DUO_sgemm_gpu_fp16x1);
    for (int i = 0; i < 8; i++) {
        const bool asked = i % 4 == 0;
        test_case("tf32/%d", i);
        new_machine(1e-3, 1e-3);
        free_link();
        row_takes(DUO_sgemm_gpu_fp16x1, 1e-6);
        duo_context *const ctx = context_on(i < 4 ? DUO_PATH_AUTO : DUO_PATH_GPU);
        CHECK_STATUS(DUO_OK, duo_set_math(ctx, maths[i % 4]));
        multiply_ones(ctx);
        const duo_decision d = last(ctx);
        CHECK(d.algorithm != NULL && (strcmp(d.algorithm, rounds) == 0) == asked, "row %s",
              d.algorithm == NULL ? "none" : d.algorithm);
        CHECK((candidate(&d, rounds) != NULL) == asked, "is it a candidate?");
        /* Whatever is more accurate than asked for may serve too. */
        CHECK(!asked || d.candidates == serving_rows() + 1, "%d candidates", d.candidates);
        row_takes(DUO_sgemm_gpu_fp16x1, 1.0);
        multiply_ones(ctx);
        const duo_decision other = last(ctx);
        CHECK(other.algorithm != NULL && strcmp(other.algorithm, rounds) != 0,
              "where it is not the cheapest");
        test_context_end(ctx);
    }
    duo_profile_reset();
}

/* ---- Where the operands are changes the choice ---- */

/* 1 MiB costs 1.05 ms pageable and 0.1 ms pinned; the CPU takes 0.5 ms, the GPU 0.01 ms. */
static void residence_of_reductions(void)
{
    static const struct {
        const char *name, *cpu, *gpu;
    } operations[] = {{"ssum", "ssum_cpu_lanes", "ssum_gpu_shuffle"},
                      {"sasum", "sasum_cpu_lanes", "sasum_gpu_shuffle"},
                      {"sdot", "sdot_cpu_lanes", "sdot_gpu_shuffle"}};
    const double bytes = 4.0 * N;
    make_data();
    new_machine(0.5e-3, 0.01e-3);
    for (int op = 0; op < 3; op++) {
        const int vectors = op == 2 ? 2 : 1;
        const float expected = op == 0 ? data_sum : op == 1 ? data_asum : data_dot;
        for (test_place place = 0; place < PLACES; place++) {
            test_case("residence/%s/%s", operations[op].name, test_place_name(place));
            duo_context *const ctx = context_on(DUO_PATH_AUTO);
            test_array x = test_array_new(1, N, 1, 0), y = test_array_new(1, N, 1, 0);
            memcpy(x.data, data, N * sizeof *data);
            memcpy(y.data, data, N * sizeof *data);
            test_placed px = test_put(ctx, place, &x), py = test_put(ctx, place, &y);
            for (int round = 0; round < 2; round++) {
                float got = test_poison();
                if (op == 0)
                    CHECK_STATUS(DUO_OK, duo_ssum(ctx, N, px.address, 1, &got));
                else if (op == 1)
                    CHECK_STATUS(DUO_OK, duo_sasum(ctx, N, px.address, 1, &got));
                else
                    CHECK_STATUS(DUO_OK, duo_sdot(ctx, N, px.address, 1, py.address, 1, &got));
                CHECK(got == expected, "%g, expected %g", (double)got, (double)expected);
            }
            const duo_decision d = last(ctx);
            const bool gpu = place != PLACE_PAGEABLE;
            check_row(ctx, gpu ? operations[op].gpu : operations[op].cpu);
            CHECK(strcmp(d.operation, operations[op].name) == 0 && d.n == N, "%s n=%jd",
                  d.operation, (intmax_t)d.n);
            const duo_residence residence = place == PLACE_PAGEABLE ? DUO_AT_PAGEABLE
                                            : place == PLACE_PINNED ? DUO_AT_PINNED
                                            : place == PLACE_DEVICE ? DUO_AT_DEVICE
                                                                    : DUO_AT_KEPT;
            CHECK(d.residence[0] == residence, "x is at %d", (int)d.residence[0]);
            CHECK(d.residence[1] == (vectors == 2 ? residence : DUO_AT_UNUSED), "y is at %d",
                  (int)d.residence[1]);
            CHECK(d.residence[2] == DUO_AT_PAGEABLE, "the result is at %d", (int)d.residence[2]);
            const double one_way = place == PLACE_PAGEABLE ? 1e-6 + bytes / 1e9
                                   : place == PLACE_PINNED ? 1e-6 + bytes / 1e10
                                                           : 0.0;
            check_predicted(&d, operations[op].gpu, 0.01e-3 + vectors * one_way + 2e-6);
            check_predicted(&d, operations[op].cpu,
                            0.5e-3 + (place == PLACE_DEVICE ? vectors * (1e-6 + bytes / 1e9) : 0));
            test_take(ctx, &px);
            test_take(ctx, &py);
            test_array_free(&x);
            test_array_free(&y);
            test_context_end(ctx);
        }
    }
    free(data);
    duo_profile_reset();
}

/* 256 KiB each: 0.263 ms a matrix. With none on the device the GPU loses, with one there it wins.
 */
static void residence_of_matrices(void)
{
    enum { E = MOST_EDGE };
    new_machine(0.7e-3, 0.01e-3);
    double before = INFINITY;
    for (int kept = 0; kept <= 3; kept++) {
        test_case("residence/sgemm/%d-kept", kept);
        duo_context *const ctx = context_on(DUO_PATH_AUTO);
        test_rng rng = test_rng_for("residence_of_matrices");
        test_array matrix[3];
        test_placed placed[3];
        for (int i = 0; i < 3; i++) {
            matrix[i] = test_array_new(E, E, E, 0);
            test_array_fill(&matrix[i], &rng, DATA_INTEGER);
            placed[i] = test_put(ctx, i < kept ? PLACE_KEPT : PLACE_PAGEABLE, &matrix[i]);
        }
        for (int round = 0; round < 2; round++)
            CHECK_STATUS(DUO_OK, duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, E, E, E,
                                           1.0f, placed[0].address, E, placed[1].address, E, 0.0f,
                                           placed[2].address, E));
        check_side(ctx, kept == 0 ? DUO_SIDE_CPU : DUO_SIDE_GPU);
        const duo_decision d = last(ctx);
        const duo_candidate *const gpu = candidate(&d, "sgemm_gpu_tiled");
        CHECK(gpu != NULL && gpu->predicted_seconds < before, "%d kept: no cheaper", kept);
        if (gpu != NULL) before = gpu->predicted_seconds;
        for (int i = 0; i < 3; i++) {
            CHECK(d.residence[i] == (i < kept ? DUO_AT_KEPT : DUO_AT_PAGEABLE), "operand %d at %d",
                  i, (int)d.residence[i]);
            test_take(ctx, &placed[i]);
            test_array_free(&matrix[i]);
        }
        test_context_end(ctx);
    }
    duo_profile_reset();
}

static void same_call_changes_side(void)
{
    make_data();
    new_machine(0.5e-3, 0.01e-3);
    duo_context *const ctx = context_on(DUO_PATH_AUTO);
    test_case("same-call/plain");
    sum_all(ctx, data);
    check_side(ctx, DUO_SIDE_CPU);
    test_case("same-call/kept");
    CHECK_STATUS(DUO_OK, duo_keep(ctx, data, N * sizeof *data));
    sum_all(ctx, data);
    sum_all(ctx, data);
    check_side(ctx, DUO_SIDE_GPU);
    test_case("same-call/changed-every-time");
    /* An array that must be sent each time is no better than a plain one. */
    int on_cpu = 0;
    for (int i = 0; i < 20; i++) {
        CHECK_STATUS(DUO_OK, duo_changed(ctx, data, N * sizeof *data));
        sum_all(ctx, data);
        on_cpu += last(ctx).side == DUO_SIDE_CPU;
    }
    CHECK(on_cpu >= 10, "only %d of 20 on the CPU", on_cpu);
    test_case("same-call/changed-once");
    /* After one change it goes back to the device once that has paid. */
    CHECK_STATUS(DUO_OK, duo_changed(ctx, data, N * sizeof *data));
    for (int i = 0; i < 10; i++) sum_all(ctx, data);
    check_side(ctx, DUO_SIDE_GPU);
    test_case("same-call/released");
    CHECK_STATUS(DUO_OK, duo_release(ctx, data));
    sum_all(ctx, data);
    check_side(ctx, DUO_SIDE_CPU);
    test_context_end(ctx);
    free(data);
    duo_profile_reset();
}

/* ---- Policy ---- */

static void paths(void)
{
    make_data();
    for (int cheaper = 0; cheaper < 2; cheaper++) {
        new_machine(cheaper == 0 ? 1e-5 : 1.0, cheaper == 0 ? 1.0 : 1e-5);
        for (duo_path path = DUO_PATH_AUTO; path <= DUO_PATH_GPU; path++) {
            test_case("path/%d/%s-cheaper", (int)path, cheaper == 0 ? "cpu" : "gpu");
            duo_context *const ctx = context_on(path);
            const duo_side side = path == DUO_PATH_AUTO
                                      ? (cheaper == 0 ? DUO_SIDE_CPU : DUO_SIDE_GPU)
                                  : path == DUO_PATH_CPU ? DUO_SIDE_CPU
                                                         : DUO_SIDE_GPU;
            sum_all(ctx, data);
            check_side(ctx, side);
            multiply_ones(ctx);
            check_side(ctx, side);
            float four[4] = {1, 2, 3, 4}, sum;
            CHECK_STATUS(DUO_OK, duo_ssum(ctx, 4, four, 1, &sum));
            CHECK(sum == 10.0f, "%g", (double)sum);
            check_side(ctx, side);
            test_context_end(ctx);
        }
    }
    free(data);
    duo_profile_reset();
}

/* Four threads make the CPU the faster side. */
static void threads_count(void)
{
    make_data();
    new_machine(1e-3, 0.3e-3);
    free_link();
    machine.fork_seconds = 1e-6;
    machine.fork_seconds_per_thread = 1e-7;
    duo_context *const ctx = context_on(DUO_PATH_AUTO);
    for (int round = 0; round < 2; round++) {
        test_case("threads/1/%d", round);
        CHECK_STATUS(DUO_OK, duo_set_threads(ctx, 1));
        sum_all(ctx, data);
        check_side(ctx, DUO_SIDE_GPU);
        multiply_ones(ctx);
        check_side(ctx, DUO_SIDE_GPU);
        duo_decision d = last(ctx);
        check_predicted(&d, "sgemm_cpu_plain", 1e-3);
        test_case("threads/4/%d", round);
        CHECK_STATUS(DUO_OK, duo_set_threads(ctx, 4));
        sum_all(ctx, data);
        check_side(ctx, DUO_SIDE_CPU);
        d = last(ctx);
        CHECK(d.threads == 4, "%d threads", d.threads);
        check_predicted(&d, "ssum_cpu_lanes", 0.25e-3 + 1.4e-6);
        CHECK(candidate(&d, "ssum_gpu_shuffle") != NULL &&
                  candidate(&d, "ssum_gpu_shuffle")->threads == 0,
              "threads on the GPU");
        multiply_ones(ctx);
        check_side(ctx, DUO_SIDE_CPU);
        d = last(ctx);
        const duo_candidate *const plain = candidate(&d, "sgemm_cpu_plain");
        CHECK(plain != NULL && plain->threads == 2, "a C of two tiles is not for two threads");
        check_predicted(&d, "sgemm_cpu_plain", 0.5e-3 + 1.2e-6);
        const duo_candidate *const openblas = candidate(&d, "sgemm_cpu_openblas");
        if (openblas != NULL && openblas->accepts) {
            CHECK(d.threads == openblas->threads, "%d threads", d.threads);
            if (openblas->threads == 4) check_predicted(&d, "sgemm_cpu_openblas", 0.25e-3 + 1.4e-6);
        }
    }
    /* On data in memory all threads are twice as fast as one, so nowhere more. */
    test_case("threads/memory");
    const duo_curve *const serial = &machine.curve[DUO_ssum_cpu_lanes];
    machine.cpu_bandwidth = 2.0 * 4.0 * serial->size[1] / serial->seconds[1];
    CHECK_STATUS(DUO_OK, duo_set_path(ctx, DUO_PATH_CPU));
    sum_all(ctx, data);
    duo_decision d = last(ctx);
    CHECK(d.threads == 4, "%d threads", d.threads);
    check_predicted(&d, "ssum_cpu_lanes", 0.5e-3 + 1.4e-6);
    machine.cpu_bandwidth = 1.0;
    sum_all(ctx, data);
    CHECK(last(ctx).threads == 1, "%d threads", last(ctx).threads);
    test_case("threads/many");
    machine.cpu_bandwidth = 1e18;
    /* More threads than pay are not used. */
    machine.fork_seconds_per_thread = 1e-3;
    CHECK_STATUS(DUO_OK, duo_set_threads(ctx, 64));
    CHECK_STATUS(DUO_OK, duo_set_path(ctx, DUO_PATH_CPU));
    sum_all(ctx, data);
    CHECK(last(ctx).threads == 1, "%d threads", last(ctx).threads);
    CHECK_STATUS(DUO_ERR_SIZE, duo_set_threads(ctx, -1));
    CHECK_STATUS(DUO_OK, duo_set_threads(ctx, 0));
    sum_all(ctx, data);
    test_context_end(ctx);
    free(data);
    duo_profile_reset();
}

/* Called inside the caller's parallel region a call uses one thread. */
static void parallel_region(void)
{
    make_data();
    new_machine(1e-3, 1.0);
    machine.fork_seconds = 0.0;
    test_case("parallel-region");
    int wrong = 0, entered = 0;
#pragma omp parallel num_threads(4) reduction(+ : wrong, entered)
    {
        duo_decision d = {.size = sizeof d};
        float sum = 0.0f;
        wrong += duo_set_path(NULL, DUO_PATH_CPU) != DUO_OK;
        wrong += duo_ssum(NULL, N, data, 1, &sum) != DUO_OK || sum != data_sum;
        wrong += duo_explain_last(NULL, &d) != DUO_OK;
        entered += omp_in_parallel();
        if (omp_in_parallel()) wrong += d.threads != 1;
        float c[EDGE * EDGE], a[EDGE * EDGE];
        for (int i = 0; i < EDGE * EDGE; i++) a[i] = 1.0f;
        wrong += duo_sgemm(NULL, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, EDGE, EDGE, EDGE, 1.0f,
                           a, EDGE, a, EDGE, 0.0f, c, EDGE) != DUO_OK;
        wrong += duo_explain_last(NULL, &d) != DUO_OK;
        if (omp_in_parallel()) wrong += d.threads != 1;
        wrong += c[0] != (float)EDGE || c[EDGE * EDGE - 1] != (float)EDGE;
    }
    CHECK(wrong == 0, "%d things are wrong", wrong);
    if (entered == 0) test_skip("OpenMP gave one thread only");
    CHECK_STATUS(DUO_OK, duo_set_path(NULL, DUO_PATH_AUTO));
    free(data);
    duo_profile_reset();
}

/* Tiny calls take a short cut: it must notice every setter. */
static void tiny_calls(void)
{
    float x[16], sum;
    for (int i = 0; i < 16; i++) x[i] = (float)i;
    new_machine(1e-8, 1.0);
    duo_context *const ctx = context_on(DUO_PATH_AUTO);
    for (int round = 0; round < 3; round++) {
        test_case("tiny/cpu/%d", round);
        CHECK_STATUS(DUO_OK, duo_set_path(ctx, DUO_PATH_AUTO));
        sum = test_poison();
        CHECK_STATUS(DUO_OK, duo_ssum(ctx, 16, x, 1, &sum));
        CHECK(sum == 120.0f, "%g", (double)sum);
        check_row(ctx, "ssum_cpu_lanes");
        const duo_decision d = last(ctx);
        CHECK(d.n == 16 && d.threads == 1 && d.candidates == 2, "n=%jd threads=%d candidates=%d",
              (intmax_t)d.n, d.threads, d.candidates);
        CHECK(d.residence[0] == DUO_AT_PAGEABLE && d.residence[2] == DUO_AT_PAGEABLE, "residence");
        check_predicted(&d, "ssum_cpu_lanes", 1e-8);
        CHECK(!(d.seconds >= 0.0), "clocks ran: %g", d.seconds);
        test_case("tiny/gpu/%d", round);
        CHECK_STATUS(DUO_OK, duo_set_path(ctx, DUO_PATH_GPU));
        sum = test_poison();
        CHECK_STATUS(DUO_OK, duo_ssum(ctx, 16, x, 1, &sum));
        CHECK(sum == 120.0f, "%g", (double)sum);
        check_row(ctx, "ssum_gpu_shuffle");
        CHECK_STATUS(DUO_OK, duo_sdot(ctx, 16, x, 1, x, 1, &sum));
        check_row(ctx, "sdot_gpu_shuffle");
        test_case("tiny/kept/%d", round);
        /* A kept operand is no plain one: it may be newer on the device. */
        CHECK_STATUS(DUO_OK, duo_keep(ctx, x, sizeof x));
        CHECK_STATUS(DUO_OK, duo_ssum(ctx, 8, x, 1, x + 12)); /* 28 stays on the device */
        CHECK_STATUS(DUO_OK, duo_set_path(ctx, DUO_PATH_CPU));
        CHECK_STATUS(DUO_OK, duo_ssum(ctx, 2, x + 12, 1, &sum));
        CHECK(sum == 41.0f, "%g", (double)sum);
        CHECK_STATUS(DUO_OK, duo_release(ctx, x));
        CHECK(x[12] == 28.0f, "%g", (double)x[12]);
        x[12] = 12.0f;
    }
    test_case("tiny/math");
    CHECK_STATUS(DUO_OK, duo_set_math(ctx, DUO_MATH_IEEE));
    multiply_ones(ctx);
    CHECK_STATUS(DUO_OK, duo_set_math(ctx, DUO_MATH_TF32));
    multiply_ones(ctx);
    CHECK_STATUS(DUO_OK, duo_set_math(ctx, DUO_MATH_ACCURATE));
    test_context_end(ctx);
    duo_profile_reset();
}

/* ---- Rows that decline ---- */

static void declined(void)
{
    make_data();
    new_machine(1.0, 1.0);
    free_link();
    row_takes(DUO_sgemm_gpu_naive, 1e-3);
    row_takes(DUO_sgemm_gpu_tiled, 2e-3);
    row_takes(DUO_sgemm_cpu_openblas, 3e-3);
    row_takes(DUO_sgemm_cpu_plain, 4e-3);
    duo_context *const ctx = context_on(DUO_PATH_AUTO);
    test_case("declined/none");
    multiply_ones(ctx);
    check_row(ctx, "sgemm_gpu_naive");
    CHECK(last(ctx).note[0] == '\0', "note \"%s\"", last(ctx).note);
    test_case("declined/first");
    sim_fail(SIM_LAUNCH, 1, DUO_ERR_DEVICE, 1);
    multiply_ones(ctx);
    check_row(ctx, "sgemm_gpu_tiled");
    CHECK(last(ctx).note[0] != '\0', "no note");
    CHECK(duo_error_detail(ctx)[0] != '\0', "no detail");
    test_case("declined/both");
    sim_fail(SIM_LAUNCH, 1, DUO_ERR_DEVICE, 2);
    multiply_ones(ctx);
    CHECK(last(ctx).side == DUO_SIDE_CPU, "row %s", last(ctx).algorithm);
    CHECK(last(ctx).note[0] != '\0', "no note");
    const duo_decision d = last(ctx);
    CHECK(close_to(d.predicted_seconds, 3e-3) || strcmp(d.algorithm, "sgemm_cpu_plain") == 0,
          "%g s", d.predicted_seconds);
    test_case("declined/reduction");
    sim_fail(SIM_LAUNCH, 1, DUO_ERR_DEVICE, 1);
    sum_all(ctx, data);
    check_row(ctx, "ssum_cpu_lanes");
    CHECK(last(ctx).note[0] != '\0', "no note");
    test_case("declined/again-on-the-device");
    sum_all(ctx, data);
    check_row(ctx, "ssum_gpu_shuffle");
    CHECK(last(ctx).note[0] == '\0', "note \"%s\"", last(ctx).note);
    test_case("declined/on-the-gpu-path");
    CHECK_STATUS(DUO_OK, duo_set_path(ctx, DUO_PATH_GPU));
    sim_fail(SIM_LAUNCH, 1, DUO_ERR_DEVICE, 1);
    sum_all(ctx, data);
    check_row(ctx, "ssum_cpu_lanes");
    sim_fail(SIM_LAUNCH, 1, DUO_ERR_DEVICE, 1);
    multiply_ones(ctx);
    check_side(ctx, DUO_SIDE_GPU);
    test_context_end(ctx);

    test_case("declined/no-room");
    /* Operands that do not fit the device are not even accepted there. */
    sim_set_memory(1 << 19);
    duo_backend_install(sim_backend());
    duo_context *const small = context_on(DUO_PATH_GPU);
    sum_all(small, data);
    sum_all(small, data);
    check_row(small, "ssum_cpu_lanes");
    test_context_end(small);
    free(data);
    duo_profile_reset();
}

/* ---- A CPU row that declines ---- */

enum { DEPTH = 1024 };

static duo_context *inner_context;

static void multiply_deep(duo_context *ctx)
{
    CHECK_STATUS(DUO_OK, duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, EDGE, EDGE,
                                   DEPTH, 1.0f, ones, EDGE, ones, DEPTH, 0.0f, product, EDGE));
}

/* An sgemm_ that leads back to the library: the row that calls it then declines. */
static void lead_back(const char *transa, const char *transb, const int64_t *m, const int64_t *n,
                      const int64_t *k, const float *alpha, const float *a, const int64_t *lda,
                      const float *b, const int64_t *ldb, const float *beta, float *c,
                      const int64_t *ldc, long transa_length, long transb_length)
{
    (void)transa, (void)transb, (void)m, (void)n, (void)k, (void)alpha, (void)a, (void)lda, (void)b;
    (void)ldb, (void)beta, (void)c, (void)ldc, (void)transa_length, (void)transb_length;
    multiply_deep(inner_context);
}

/* In a process of its own, for the inner BLAS is given up there. */
static int report_next_row(void)
{
    duo_blas_library *const library = (duo_blas_library *)(uintptr_t)duo_blas_library_get();
    if (library == NULL) return printf("no BLAS") < 0;
    duo_backend_install(sim_backend());
    for (int i = 0; i < MOST_EDGE * MOST_EDGE; i++) ones[i] = 1.0f;
    new_machine(1.0, 1e-3);
    row_takes(DUO_sgemm_cpu_openblas, 1e-7); /* less than the way to the GPU */
    duo_context *const outer = context_on(DUO_PATH_AUTO);
    inner_context = context_on(DUO_PATH_AUTO);
    library->sgemm = lead_back;
    (void)duo_set_threads(outer, 1); /* one thread at a time may use the inner context */
    multiply_deep(outer);
    const duo_decision d = last(inner_context);
    printf("algorithm=%s candidates=%d right=%d", d.algorithm, d.candidates,
           product[5] == (float)DEPTH);
    return sim_violations() != 0;
}

/* The next is the cheapest of all, also where the CPU's rows alone had been predicted. */
static void declined_by_cpu(void)
{
    static test_child child;
    test_case("declined/by-the-cpu");
    test_child_run("next", (const char *const[]){NULL}, 60, &child);
    CHECK(child.exit_status == 0, "exit %d: %.200s", child.exit_status, child.err);
    if (strcmp(child.out, "no BLAS") == 0) {
        test_skip("no BLAS library is installed");
        return;
    }
    CHECK(strstr(child.out, "algorithm=sgemm_gpu") != NULL && strstr(child.out, "right=1") != NULL,
          "%s", child.out);
    char all[40];
    snprintf(all, sizeof all, "candidates=%d ", serving_rows());
    CHECK(strstr(child.out, all) != NULL, "%s, not %s", child.out, all);
}

/* ---- No GPU ---- */

static void no_gpu(void)
{
    make_data();
    new_machine(1.0, 1e-5);
    for (int how = 0; how < 3; how++) {
        test_case("no-gpu/%s", how == 0 ? "none" : how == 1 ? "count-fails" : "lost");
        sim_reset();
        if (how == 0) sim_set_devices(0);
        duo_backend_install(sim_backend());
        if (how == 1) sim_fail(SIM_COUNT, 1, DUO_ERR_DEVICE, -1);
        for (duo_path path = DUO_PATH_AUTO; path <= DUO_PATH_GPU; path++) {
            duo_context *const ctx = context_on(path);
            if (how == 2 && path == DUO_PATH_AUTO) {
                sum_all(ctx, data);
                check_side(ctx, DUO_SIDE_GPU);
                sim_lose(0);
            }
            sum_all(ctx, data);
            check_side(ctx, DUO_SIDE_CPU);
            if (path == DUO_PATH_GPU) CHECK(last(ctx).note[0] != '\0', "the note does not say why");
            float sum = 0.0f;
            CHECK_STATUS(DUO_OK, duo_ssum(ctx, 16, data, 1, &sum));
            check_side(ctx, DUO_SIDE_CPU);
            multiply_ones(ctx);
            check_side(ctx, DUO_SIDE_CPU);
            /* Programs need one code path only. */
            void *memory = NULL, *host = NULL;
            CHECK_STATUS(DUO_OK, duo_malloc(ctx, N * sizeof *data, &memory));
            CHECK_STATUS(DUO_OK, duo_malloc_host(ctx, 100, &host));
            CHECK_STATUS(DUO_OK, duo_copy(ctx, memory, data, N * sizeof *data));
            sum_all(ctx, memory);
            CHECK_STATUS(DUO_OK, duo_keep(ctx, data, N * sizeof *data));
            sum_all(ctx, data);
            CHECK_STATUS(DUO_OK, duo_changed(ctx, data, 4));
            CHECK_STATUS(DUO_OK, duo_fetch(ctx, data, 4));
            CHECK_STATUS(DUO_OK, duo_release(ctx, data));
            CHECK_STATUS(DUO_OK, duo_free(ctx, memory));
            CHECK_STATUS(DUO_OK, duo_free_host(ctx, host));
            CHECK_STATUS(DUO_OK, duo_warm_up(ctx));
            CHECK_STATUS(DUO_OK, duo_trim(ctx));
            if (path == DUO_PATH_GPU) {
                CHECK_STATUS(DUO_ERR_DEVICE, duo_adopt(ctx, ones, 4));
                CHECK_STATUS(DUO_ERR_DEVICE, duo_set_stream(ctx, &sum));
            }
            const duo_status status = duo_destroy(ctx);
            CHECK(status == DUO_OK || (how == 2 && status == DUO_ERR_LOST), "%d", (int)status);
        }
        int count = -1;
        CHECK_STATUS(DUO_OK, duo_device_count(&count));
        if (how < 2) CHECK(count == 0, "%d devices", count);
    }
    sim_reset();
    duo_backend_install(sim_backend());
    free(data);
    duo_profile_reset();
}

/* ---- Explaining ---- */

/* A decision is told as it was made, whatever was set since. */
static void explain_after_another_policy(void)
{
    new_machine(1e-7, 1e-3);
    float r;
    for (int change = 0; change < 3; change++) {
        duo_context *const ctx = context_on(DUO_PATH_AUTO);
        CHECK_STATUS(DUO_OK, duo_set_threads(ctx, 1));
        CHECK_STATUS(DUO_OK, duo_ssum(ctx, N / 2, data, 2, &r));
        const char *const changes[] = {"path", "math", "threads"};
        test_case("explain/another-%s-since", changes[change]);
        if (change == 0) CHECK_STATUS(DUO_OK, duo_set_path(ctx, DUO_PATH_CPU));
        if (change == 1) CHECK_STATUS(DUO_OK, duo_set_math(ctx, DUO_MATH_FLOAT64));
        if (change == 2) CHECK_STATUS(DUO_OK, duo_set_threads(ctx, 64));
        const duo_decision d = last(ctx);
        const duo_candidate *const ran = d.algorithm == NULL ? NULL : candidate(&d, d.algorithm);
        const duo_candidate *const other = candidate(&d, "ssum_gpu_shuffle");
        CHECK(ran != NULL && ran->accepts && ran->threads == d.threads &&
                  ran->predicted_seconds == d.predicted_seconds,
              "%s is no candidate as it ran", d.algorithm == NULL ? "nothing" : d.algorithm);
        CHECK(other != NULL && other->accepts, "the GPU is out of the question");
        test_context_end(ctx);
    }
}

static void explain(void)
{
    make_data();
    new_machine(1e-3, 1e-5);
    duo_context *const ctx = context_on(DUO_PATH_AUTO);
    test_case("explain/no-call-yet");
    duo_decision d = last(ctx);
    CHECK(d.operation == NULL && d.algorithm == NULL && d.candidates == 0, "there was a call?");
    CHECK_STATUS(DUO_ERR_NULL, duo_explain_last(ctx, NULL));
    d.size = sizeof d - 1;
    CHECK_STATUS(DUO_ERR_SIZE, duo_explain_last(ctx, &d));
    d.size = 0;
    CHECK_STATUS(DUO_ERR_SIZE, duo_explain_last(ctx, &d));

    test_case("explain/sgemm");
    float c[40 * 20];
    for (duo_layout layout = DUO_ROW_MAJOR; layout <= DUO_COL_MAJOR; layout++) {
        const int64_t ldc = layout == DUO_COL_MAJOR ? 40 : 20;
        CHECK_STATUS(DUO_OK, duo_sgemm(ctx, layout, DUO_NO_TRANS, DUO_TRANS, 40, 20, 30, 1.0f, data,
                                       64, data, 64, 0.0f, c, ldc));
        d = last(ctx);
        CHECK(d.size == sizeof d, "size");
        CHECK(d.operation != NULL && strcmp(d.operation, "sgemm") == 0, "operation");
        CHECK(d.m == 40 && d.n == 20 && d.k == 30, "%jd %jd %jd", (intmax_t)d.m, (intmax_t)d.n,
              (intmax_t)d.k);
        CHECK(d.candidates == serving_rows(), "%d candidates", d.candidates);
        bool found = false;
        for (int i = 0; i < d.candidates; i++) {
            const duo_candidate *const one = &d.candidate[i];
            CHECK(one->algorithm != NULL && one->predicted_seconds > 0.0, "candidate %d", i);
            CHECK((one->side == DUO_SIDE_GPU) == (one->threads == 0), "%s: %d threads",
                  one->algorithm, one->threads);
            found = found || (d.algorithm != NULL && strcmp(d.algorithm, one->algorithm) == 0 &&
                              one->side == d.side && one->accepts != 0);
        }
        CHECK(found, "the row that ran is no candidate");
    }
    test_case("explain/operands-that-are-not-read");
    CHECK_STATUS(DUO_OK, duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, 20, 20, 20, 0.0f,
                                   NULL, 20, NULL, 20, 0.0f, c, 20));
    d = last(ctx);
    CHECK(d.residence[0] == DUO_AT_UNUSED && d.residence[1] == DUO_AT_UNUSED, "%d %d",
          (int)d.residence[0], (int)d.residence[1]);
    CHECK(d.residence[2] == DUO_AT_PAGEABLE, "%d", (int)d.residence[2]);

    test_case("explain/quick-return");
    CHECK_STATUS(DUO_OK, duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, 0, 20, 30, 1.0f,
                                   NULL, 1, NULL, 30, 0.0f, NULL, 1));
    d = last(ctx);
    CHECK(d.algorithm == NULL && strcmp(d.operation, "sgemm") == 0 && d.m == 0 && d.n == 20 &&
              d.k == 30,
          "row %s", d.algorithm == NULL ? "none" : d.algorithm);
    float r = 5.0f;
    CHECK_STATUS(DUO_OK, duo_sdot(ctx, 0, NULL, 1, NULL, 1, &r));
    d = last(ctx);
    CHECK(d.algorithm == NULL && strcmp(d.operation, "sdot") == 0 && r == 0.0f, "row %s, %g",
          d.algorithm == NULL ? "none" : d.algorithm, (double)r);

    test_case("explain/an-error-is-no-call");
    sum_all(ctx, data);
    CHECK_STATUS(DUO_ERR_NULL, duo_ssum(ctx, 5, NULL, 1, &r));
    d = last(ctx);
    CHECK(d.operation != NULL && strcmp(d.operation, "ssum") == 0 && d.n == N, "it was forgotten");
    test_context_end(ctx);
    explain_after_another_policy();

    test_case("explain/dead-context");
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_explain_last(ctx, &d));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_ssum(ctx, N, data, 1, &r));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_set_path(ctx, DUO_PATH_CPU));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_destroy(ctx));
    free(data);
    duo_profile_reset();
}

/* ---- The verbose line ---- */

typedef struct journal {
    int lines;
    char text[2048], event[2048]; /* the last */
} journal;

static void write_journal(void *user, const char *line)
{
    journal *const j = user;
    j->lines++;
    const bool event = strstr(line, "event:") != NULL;
    snprintf(event ? j->event : j->text, sizeof j->text, "%s", line);
}

static void check_contains(const char *line, const char *what)
{
    CHECK(strstr(line, what) != NULL, "no \"%s\" in \"%.300s\"", what, line);
}

static void verbose_line(void)
{
    make_data();
    new_machine(0.5e-3, 0.25e-3);
    machine.upload_pageable = machine.download_pageable = 1e15;
    machine.copy_seconds = machine.round_trip_seconds = 0.0;
    row_takes(DUO_sgemm_gpu_naive, 0.125e-3);
    journal j = {0};
    duo_context *const ctx = context_on(DUO_PATH_AUTO);
    CHECK_STATUS(DUO_OK, duo_set_log(ctx, write_journal, &j));
    test_case("verbose/reduction");
    sum_all(ctx, data);
    CHECK(j.lines == 1, "%d lines", j.lines);
    CHECK(strchr(j.text, '\n') == NULL, "a newline in the line");
    check_contains(j.text, "ssum");
    check_contains(j.text, "262144");
    check_contains(j.text, "pageable");
    check_contains(j.text, "side=gpu");
    check_contains(j.text, "algorithm=ssum_gpu_shuffle");
    check_contains(j.text, "ssum_cpu_lanes=");
    check_contains(j.text, "500.00us");
    check_contains(j.text, "250.00us");
    check_contains(j.text, "took=");
    CHECK(last(ctx).seconds > 0.0 && last(ctx).seconds < 60.0, "%g s", last(ctx).seconds);

    test_case("verbose/sgemm");
    CHECK_STATUS(DUO_OK, duo_keep(ctx, ones, sizeof ones));
    multiply_ones(ctx);
    CHECK(j.lines == 2, "%d lines", j.lines);
    check_contains(j.text, "sgemm");
    check_contains(j.text, "m=64");
    check_contains(j.text, "n=64");
    check_contains(j.text, "k=64");
    check_contains(j.text, "algorithm=sgemm_gpu_naive");
    check_contains(j.text, "side=gpu");
    check_contains(j.text, "125.00us");
    check_contains(j.text, "c=pageable");
    multiply(ctx, EDGE, ones, product);
    check_contains(j.text, "a=kept");
    CHECK_STATUS(DUO_OK, duo_release(ctx, ones));

    test_case("verbose/side=cpu");
    CHECK_STATUS(DUO_OK, duo_set_path(ctx, DUO_PATH_CPU));
    sum_all(ctx, data);
    check_contains(j.text, "side=cpu");
    check_contains(j.text, "algorithm=ssum_cpu_lanes");
    check_contains(j.text, "ssum_gpu_shuffle=");
    test_case("verbose/tiny");
    const int before = j.lines;
    float r;
    CHECK_STATUS(DUO_OK, duo_sasum(ctx, 3, data, 1, &r));
    CHECK(j.lines == before + 1, "%d lines", j.lines - before);
    check_contains(j.text, "sasum");
    check_contains(j.text, "n=3");

    test_case("verbose/event");
    CHECK_STATUS(DUO_OK, duo_set_path(ctx, DUO_PATH_AUTO));
    sim_fail(SIM_LAUNCH, 1, DUO_ERR_DEVICE, 1);
    const int calls = j.lines;
    sum_all(ctx, data);
    CHECK(j.lines == calls + 2, "%d lines of an event and a call", j.lines - calls);
    check_contains(j.event, "duoblas: event: GPU 0: launch: ");
    check_contains(j.text, "side=cpu");
    check_contains(j.text, "note=");

    test_case("verbose/off");
    CHECK_STATUS(DUO_OK, duo_set_log(ctx, NULL, NULL));
    const int at = j.lines;
    char text[4096];
    test_capture_begin();
    sum_all(ctx, data);
    CHECK_STATUS(DUO_OK, duo_ssum(ctx, 3, data, 1, &r));
    test_capture_end(text, sizeof text);
    CHECK(text[0] == '\0', "it printed \"%.300s\"", text);
    CHECK(j.lines == at, "it still logs");
    test_context_end(ctx);
    free(data);
    duo_profile_reset();
}

/* ---- NULL contexts: each thread has its own ---- */

typedef struct own {
    duo_path path;
    int64_t n;
    pthread_barrier_t *together;
    bool right;
} own;

static void *use_own(void *argument)
{
    own *const o = argument;
    float sum = 0.0f;
    duo_decision d = {.size = sizeof d};
    o->right = duo_set_path(NULL, o->path) == DUO_OK;
    o->right = duo_ssum(NULL, o->n, data, 1, &sum) == DUO_OK && o->right;
    pthread_barrier_wait(o->together);
    o->right = duo_explain_last(NULL, &d) == DUO_OK && o->right;
    o->right = o->right && d.n == o->n &&
               d.side == (o->path == DUO_PATH_GPU ? DUO_SIDE_GPU : DUO_SIDE_CPU);
    pthread_barrier_wait(o->together);
    return NULL;
}

static void null_contexts(void)
{
    make_data();
    new_machine(1e-3, 1e-3);
    test_case("null-context/each-thread-has-its-own");
    pthread_barrier_t together;
    pthread_barrier_init(&together, NULL, 2);
    own owns[2] = {{DUO_PATH_CPU, 1000, &together, false}, {DUO_PATH_GPU, 2000, &together, false}};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, use_own, &owns[i]);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    CHECK(owns[0].right && owns[1].right, "%d %d", owns[0].right, owns[1].right);
    pthread_barrier_destroy(&together);
    test_case("null-context/policy-does-not-outlive-its-thread");
    /* The context of an ended thread may serve another, but not its settings. */
    pthread_barrier_init(&together, NULL, 1);
    for (int i = 0; i < 4; i++) {
        own one = {i % 2 == 0 ? DUO_PATH_GPU : DUO_PATH_CPU, 3000, &together, false};
        pthread_t thread;
        pthread_create(&thread, NULL, use_own, &one);
        pthread_join(thread, NULL);
        CHECK(one.right, "round %d", i);
    }
    pthread_barrier_destroy(&together);
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_destroy((duo_context *)(void *)ones));
    free(data);
    duo_profile_reset();
}

/* ---- Prepared operands ---- */

/* What a row saves by them grows with each, and only rows that split save any. */
static void prepared_operands(void)
{
    const duo_profile *const profile = duo_profile_built_in("h200");
    const duo_conditions conditions = {.profile = profile,
                                       .threads = 1,
                                       .gpu = true,
                                       .capability = 90,
                                       .device_memory_bytes = 1e12};
    static const int64_t sizes[][3] = {
        {4096, 4096, 4096}, {512, 4096, 4096}, {4096, 128, 64}, {1000, 999, 65}};
    float x;
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        double seconds[4][DUO_CANDIDATES];
        duo_choice choice[DUO_CANDIDATES];
        int count = 0;
        for (unsigned which = 0; which < 4; which++) {
            duo_call call =
                test_sgemm_call(false, false, sizes[s][0], sizes[s][1], sizes[s][2], 1.0f, &x,
                                sizes[s][0], &x, sizes[s][2], 0.0f, &x, sizes[s][0]);
            for (int i = 0; i < DUO_OPERANDS; i++) {
                call.operand[i].residence = DUO_AT_DEVICE;
                call.operand[i].on_device = true;
                call.operand[i].prepared = (which >> i & 1) != 0;
            }
            count = duo_predict(&call, &conditions, choice);
            for (int i = 0; i < count; i++) seconds[which][i] = choice[i].seconds;
        }
        for (int i = 0; i < count; i++) {
            const char *const name = choice[i].algorithm->name;
            const bool splits =
                strcmp(name, "sgemm_gpu_fp16x3") == 0 || strcmp(name, "sgemm_gpu_bf16x6") == 0;
            test_case("prepared/%jdx%jdx%jd/%s", (intmax_t)sizes[s][0], (intmax_t)sizes[s][1],
                      (intmax_t)sizes[s][2], name);
            if (!choice[i].accepts || choice[i].algorithm->side == DUO_SIDE_CPU) continue;
            if (splits)
                CHECK(seconds[1][i] < seconds[0][i] && seconds[2][i] < seconds[0][i] &&
                          seconds[3][i] <= seconds[1][i] && seconds[3][i] <= seconds[2][i] &&
                          seconds[3][i] >= 0.5 * seconds[0][i],
                      "%g, with A %g, B %g, both %g", seconds[0][i], seconds[1][i], seconds[2][i],
                      seconds[3][i]);
            else
                CHECK(seconds[3][i] == seconds[0][i], "%g, prepared %g", seconds[0][i],
                      seconds[3][i]);
        }
    }
}

/* ---- The environment, in children ---- */

static int report_environment(void)
{
    sim_reset();
    sim_set_devices(2);
    duo_backend_install(sim_backend());
    make_data();
    new_machine(1e-3, 2e-3);
    free_link();
    row_takes(DUO_sdot_gpu_shuffle, 1e-9);
    float sum = 0.0f, dot = 0.0f;
    duo_context *ctx = NULL;
    duo_decision first = {.size = sizeof first}, second = first, third = first;
    bool ok = duo_create(&ctx) == DUO_OK;
    ok = ok && duo_ssum(ctx, N, data, 1, &sum) == DUO_OK && sum == data_sum;
    ok = ok && duo_explain_last(ctx, &first) == DUO_OK;
    ok = ok && duo_sdot(NULL, N, data, 1, data, 1, &dot) == DUO_OK && dot == data_dot;
    ok = ok && duo_explain_last(NULL, &second) == DUO_OK;
    printf("ssum=%s sdot=%s device0=%d device1=%d ", first.side == DUO_SIDE_GPU ? "gpu" : "cpu",
           second.side == DUO_SIDE_GPU ? "gpu" : "cpu", sim_allocated_bytes(0) > 0,
           sim_allocated_bytes(1) > 0);
    ok = ok && duo_ssum(ctx, 4, data, 1, &sum) == DUO_OK && sum == 2.0f;
    for (int i = 0; i < EDGE * EDGE; i++) ones[i] = 1.0f;
    ok = ok && duo_set_path(ctx, DUO_PATH_CPU) == DUO_OK;
    ok = ok && duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, EDGE, EDGE, EDGE, 1.0f,
                         ones, EDGE, ones, EDGE, 0.0f, product, EDGE) == DUO_OK;
    ok = ok && product[0] == (float)EDGE && product[EDGE * EDGE - 1] == (float)EDGE;
    ok = ok && duo_explain_last(ctx, &third) == DUO_OK;
    printf("tf32=%d", candidate(&third, "sgemm_gpu_fp16x1") != NULL);
    ok = ok && duo_destroy(ctx) == DUO_OK && sim_violations() == 0;
    free(data);
    return ok ? 0 : 1;
}

static int count_lines(const char *text, const char *beginning)
{
    int lines = 0;
    for (const char *at = text; *at != '\0';) {
        lines += strncmp(at, beginning, strlen(beginning)) == 0;
        at += strcspn(at, "\n");
        at += *at == '\n';
    }
    return lines;
}

/* Runs the child; its report must contain `expected` and it must print so many lines. */
static void check_environment(const char *setting, const char *expected, int lines)
{
    test_child child;
    test_case("environment/%s", setting);
    test_child_run("environment", (const char *const[]){setting, NULL}, 60, &child);
    CHECK(child.exit_status == 0, "exit %d: %.200s %.200s", child.exit_status, child.out,
          child.err);
    check_contains(child.out, expected);
    const int warnings = count_lines(child.err, "duoblas: event: inner BLAS: ");
    CHECK(count_lines(child.err, "") - warnings == lines &&
              count_lines(child.err, "duoblas: s") == lines,
          "%d lines: %.400s", count_lines(child.err, ""), child.err);
}

/* An inner BLAS that was asked for in vain is told of once, before the line of the first call. */
static void warnings(void)
{
    static const char *const verbose[] = {"DUOBLAS_VERBOSE=0", "DUOBLAS_VERBOSE=1",
                                          "DUOBLAS_VERBOSE=2"};
    if (duo_blas_library_get() == NULL) {
        test_skip("there is no inner BLAS");
        return;
    }
    for (int i = 0; i < 3; i++) {
        test_child child;
        test_case("warnings/%s", verbose[i]);
        const char *const settings[] = {verbose[i], "DUOBLAS_CPU_BLAS=/nonexistent/libblas.so",
                                        NULL};
        test_child_run("environment", settings, 60, &child);
        static const char warning[] =
            "duoblas: event: inner BLAS: WARNING: DUOBLAS_CPU_BLAS is ignored: /nonexistent";
        CHECK(child.exit_status == 0, "exit %d", child.exit_status);
        CHECK(count_lines(child.err, warning) == (i > 0), "%.400s", child.err);
        if (i > 0) CHECK(strncmp(child.err, warning, strlen(warning)) == 0, "%.400s", child.err);
    }
}

static void environment(void)
{
    check_environment("DUOBLAS_PATH", "ssum=cpu sdot=gpu device0=1 device1=0", 0);
    check_environment("DUOBLAS_PATH=auto", "ssum=cpu sdot=gpu", 0);
    check_environment("DUOBLAS_PATH=cpu", "ssum=cpu sdot=cpu device0=0", 0);
    check_environment("DUOBLAS_PATH=gpu", "ssum=gpu sdot=gpu", 0);
    check_environment("DUOBLAS_PATH=GPU", "ssum=cpu sdot=gpu", 0);
    check_environment("DUOBLAS_PATH=banana", "ssum=cpu sdot=gpu", 0);
    check_environment("DUOBLAS_PATH=", "ssum=cpu sdot=gpu", 0);
    check_environment("DUOBLAS_VERBOSE=0", "ssum=cpu sdot=gpu", 0);
    check_environment("DUOBLAS_VERBOSE=1", "ssum=cpu sdot=gpu", 4);
    check_environment("DUOBLAS_VERBOSE=2", "ssum=cpu sdot=gpu", 4);
    check_environment("DUOBLAS_VERBOSE=9", "ssum=cpu sdot=gpu", 0);
    check_environment("DUOBLAS_VERBOSE=yes", "ssum=cpu sdot=gpu", 0);
    check_environment("DUOBLAS_DEVICE=1", "ssum=cpu sdot=gpu device0=0 device1=1", 0);
    check_environment("DUOBLAS_DEVICE=0x1", "device0=1 device1=0", 0);
    check_environment("DUOBLAS_DEVICE=7", "ssum=cpu sdot=cpu device0=0 device1=0", 0);
    check_environment("DUOBLAS_DEVICE=-1", "ssum=cpu sdot=gpu", 0);
    check_environment("DUOBLAS_MATH=ieee", "ssum=cpu sdot=gpu", 0);
    check_environment("DUOBLAS_MATH=tf32", "ssum=cpu sdot=gpu device0=1 device1=0 tf32=1", 0);
    check_environment("DUOBLAS_MATH=exact", "ssum=cpu sdot=gpu device0=1 device1=0 tf32=0", 0);
    check_environment("DUOBLAS_DEVICE_MEMORY=1000", "ssum=cpu sdot=cpu device0=0", 0);
    check_environment("DUOBLAS_DEVICE_MEMORY=1K", "ssum=cpu sdot=cpu device0=0", 0);
    check_environment("DUOBLAS_DEVICE_MEMORY=1G", "ssum=cpu sdot=gpu", 0);
    check_environment("DUOBLAS_DEVICE_MEMORY=1KB", "ssum=cpu sdot=gpu", 0);
    check_environment("DUOBLAS_DEVICE_MEMORY=1T", "ssum=cpu sdot=gpu", 0);
    check_environment("DUOBLAS_DEVICE_MEMORY=18446744073709551615G", "ssum=cpu sdot=gpu", 0);
    check_environment("DUOBLAS_DEVICE=0K", "ssum=cpu sdot=gpu device0=1 device1=0", 0);
    check_environment("DUOBLAS_DEVICE_MEMORY=much", "ssum=cpu sdot=gpu", 0);
    check_environment("DUOBLAS_DEVICE_MEMORY=99999999999999999999999", "ssum=cpu sdot=gpu", 0);
    check_environment("DUOBLAS_CPU_BLAS=/nonexistent/libblas.so", "ssum=cpu sdot=gpu", 0);
    check_environment("DUOBLAS_CPU_BLAS=libc.so.6", "ssum=cpu sdot=gpu", 0);
    check_environment("DUOBLAS_PROFILE=/dev/null", "ssum=cpu sdot=gpu", 0);
}

/* ---- What sgemm costs on the CPU, by the shape ---- */

/* The row's cost for m x n x k, A and B without gaps, on at most so many threads. */
static double cpu_cost(duo_algorithm_id id, const duo_profile *profile, int64_t m, int64_t n,
                       int64_t k, int most, int *threads)
{
    float x = 0.0f;
    const duo_call call = test_sgemm_call(false, false, m, n, k, 1.0f, &x, m, &x, k, 0.0f, &x, m);
    const duo_conditions conditions = {.profile = profile, .path = DUO_PATH_CPU, .threads = most};
    for (int i = 0; i < DUO_SGEMM_ALGORITHMS; i++)
        if (duo_algorithm_tables[DUO_SGEMM].algorithm[i].id == id)
            return duo_algorithm_tables[DUO_SGEMM].algorithm[i].cost(&call, &conditions, threads);
    return -1.0;
}

static void shapes_on_the_cpu(void)
{
    static const char *const names[] = {"h100", "h200", "generic"};
    const duo_profile *const generic = duo_profile_built_in("generic");
    int threads;
    for (int i = 0; i < 3; i++) {
        const duo_profile *const p = duo_profile_built_in(names[i]);
        for (int row = 0; row < 2; row++) {
            const duo_algorithm_id id = row == 0 ? DUO_sgemm_cpu_openblas : DUO_sgemm_cpu_plain;
            const duo_curve *const curve = &p->curve[id];
            test_case("shapes/cubes-are-the-curve/%s/%s", names[i], duo_algorithm_name(id));
            for (int j = 0; j < curve->count; j++) {
                const int64_t edge = (int64_t)curve->size[j];
                const double ratio =
                    cpu_cost(id, p, edge, edge, edge, 1, &threads) / curve->seconds[j];
                CHECK(ratio > 0.999 && ratio < 1.1, "edge %d: %g times", (int)edge, ratio);
            }
        }
    }

    /* A tile of the plain row works on 64 rows, however few there are, and is for one thread. */
    test_case("shapes/plain/1x1x1000000");
    const double dot = cpu_cost(DUO_sgemm_cpu_plain, generic, 1, 1, 1000000, 16, &threads);
    CHECK(dot > 4e-3 && dot < 0.1 && threads == 1, "%g s on %d threads", dot, threads);
    test_case("shapes/plain/tiles");
    new_machine(1e-3, 1.0);
    machine.fork_seconds = 0.0;
    CHECK(close_to(cpu_cost(DUO_sgemm_cpu_plain, &machine, 64, 32, 1000, 4, &threads), 1e-3) &&
              threads == 1,
          "%d threads for a tile", threads);
    CHECK(
        close_to(cpu_cost(DUO_sgemm_cpu_plain, &machine, 192, 32, 1000, 2, &threads), 2e-3 / 3.0) &&
            threads == 2,
        "three tiles in two rounds, %d threads", threads);

    /* As many threads as pieces, and in whole rounds. */
    test_case("shapes/openblas/pieces");
    const duo_blas_library *const library = duo_blas_library_get();
    if (library == NULL || library->threads == DUO_BLAS_ITS_OWN)
        test_skip("the inner BLAS does not get pieces");
    else
        for (int64_t n = 1; n <= 4096; n += n / 7 + 1) {
            const duo_tiles t = duo_sgemm_tiles(96, n, 96);
            const double pieces = (double)(t.down * t.across * t.parts);
            const double most = pieces < 10.0 ? pieces : 10.0, rounds = ceil(pieces / most);
            const double seconds =
                cpu_cost(DUO_sgemm_cpu_openblas, &machine, 96, n, 96, 10, &threads);
            CHECK(threads == (int)most && seconds >= 0.999e-3 * rounds / pieces,
                  "n = %d: %g pieces, %d threads, %g s", (int)n, pieces, threads, seconds);
        }

    /* A thin product takes the time to move its operands. */
    for (int64_t k = 1; k <= 4; k++) {
        test_case("shapes/openblas/1000x1000x%d", (int)k);
        const double one = cpu_cost(DUO_sgemm_cpu_openblas, generic, 1000, 1000, k, 1, &threads);
        CHECK(one > 60e-6 && one < 300e-6, "%g s on one thread", one);
        const double many = cpu_cost(DUO_sgemm_cpu_openblas, generic, 1000, 1000, k, 16, &threads);
        CHECK(many > 30e-6 && many <= one, "%g s on %d threads", many, threads);
    }
    test_case("shapes/openblas/16x4096x4096");
    const double wide = cpu_cost(DUO_sgemm_cpu_openblas, generic, 16, 4096, 4096, 1, &threads);
    CHECK(wide > 8e-3 && wide < 16e-3, "%g s", wide);

    /* With C on the device its way home and back is not all that the CPU would take. */
    test_case("shapes/kept");
    float x = 0.0f;
    duo_call call =
        test_sgemm_call(false, false, 1000, 1000, 1, 1.0f, &x, 1000, &x, 1, 0.0f, &x, 1000);
    for (int i = 0; i < DUO_OPERANDS; i++) {
        call.operand[i].residence = i == DUO_C ? DUO_AT_KEPT : DUO_AT_PAGEABLE;
        call.operand[i].on_host = true;
        call.operand[i].on_device = i == DUO_C;
    }
    duo_choice choice[DUO_CANDIDATES];
    const duo_conditions conditions = {.profile = generic,
                                       .math = DUO_MATH_ACCURATE,
                                       .threads = 2,
                                       .gpu = true,
                                       .device_memory_bytes = 8e10};
    const int count = duo_predict(&call, &conditions, choice);
    const int best = duo_select(choice, count, &conditions);
    CHECK(choice[best].algorithm->side == DUO_SIDE_GPU, "%s, %g s", choice[best].algorithm->name,
          choice[best].seconds);
    duo_profile_reset();
}

/* ---- What a prediction costs is never nonsense ---- */

static void predictions_are_sane(void)
{
    static const char *const names[] = {"h100", "h200", "generic"};
    enum { TRIALS = 2000 };
    int shorts = 0;
    test_rng rng = test_rng_for("predictions_are_sane");
    for (int trial = 0; trial < TRIALS; trial++) {
        const duo_profile *const profile = duo_profile_built_in(names[trial % 3]);
        const bool float64 = trial % 5 == 0;
        const duo_conditions conditions = {.profile = profile,
                                           .math = float64 ? DUO_MATH_FLOAT64 : DUO_MATH_ACCURATE,
                                           .threads = (int)test_between(&rng, 1, 300),
                                           .gpu = test_random(&rng) % 4 != 0,
                                           .device_memory_bytes = 8e10};
        if (trial % 100 == 0) test_case("predictions/%d..", trial);
        duo_call call;
        float x;
        if (trial % 3 == 0) {
            const int64_t m = 1 + (int64_t)pow(2.0, 15.0 * test_unit(&rng));
            const int64_t n = 1 + (int64_t)pow(2.0, 15.0 * test_unit(&rng));
            const int64_t k = (int64_t)pow(2.0, 15.0 * test_unit(&rng)) - 1;
            call = test_sgemm_call(false, false, m, n, k, 1.0f, &x, m, &x, k + 1, 0.0f, &x, m);
        } else {
            const duo_operation op = (duo_operation)(DUO_SASUM + test_random(&rng) % 3);
            const int64_t n = 1 + (int64_t)pow(2.0, 33.0 * test_unit(&rng));
            call = test_reduce_call(op, n, &x, test_between(&rng, 1, 40), &x,
                                    test_between(&rng, -3, 40), &x);
        }
        for (int i = 0; i < DUO_OPERANDS; i++) {
            const duo_residence at =
                (duo_residence)test_between(&rng, DUO_AT_PAGEABLE, DUO_AT_DEVICE);
            call.operand[i].residence = at;
            call.operand[i].on_device = at == DUO_AT_KEPT || at == DUO_AT_DEVICE;
            call.operand[i].on_host = at != DUO_AT_DEVICE;
        }
        duo_choice choice[DUO_CANDIDATES];
        const int count = duo_predict(&call, &conditions, choice);
        const int best = duo_select(choice, count, &conditions);
        CHECK(best >= 0 && choice[best].accepts, "no row takes it");
        for (int i = 0; i < count; i++) {
            const double seconds = choice[i].seconds;
            CHECK(choice[i].accepts ? seconds > 0.0 && isfinite(seconds) : isinf(seconds) != 0,
                  "%s: %g s", choice[i].algorithm->name, seconds);
            CHECK(choice[i].threads >= 0 && choice[i].threads <= conditions.threads,
                  "%s: %d threads", choice[i].algorithm->name, choice[i].threads);
            if (choice[i].accepts && best >= 0)
                CHECK(choice[best].seconds <= seconds, "%s is cheaper", choice[i].algorithm->name);
            CHECK(duo_algorithm_serves(choice[i].algorithm, conditions.math), "another math");
            if (!conditions.gpu)
                CHECK(choice[i].algorithm->side == DUO_SIDE_CPU || !choice[i].accepts, "no GPU");
        }
        /* Where the CPU's rows alone are predicted, the whole prediction chooses the same. */
        duo_choice alone[DUO_CANDIDATES];
        const int few = duo_predict_cpu(&call, &conditions, alone);
        if (few == 0 || best < 0) continue;
        const duo_choice *const chosen = &alone[duo_select(alone, few, &conditions)];
        CHECK(chosen->algorithm == choice[best].algorithm &&
                  chosen->threads == choice[best].threads &&
                  chosen->seconds == choice[best].seconds,
              "%s alone, %s of all", chosen->algorithm->name, choice[best].algorithm->name);
        shorts++;
    }
    test_case("predictions/cpu-alone");
    CHECK(shorts > TRIALS / 20 && shorts < TRIALS * 19 / 20, "%d of %d", shorts, TRIALS);
}

static const test_entry tests[] = {
    {"cheapest", cheapest},
    {"tf32_on_request", tf32_on_request},
    {"residence_of_reductions", residence_of_reductions},
    {"residence_of_matrices", residence_of_matrices},
    {"same_call_changes_side", same_call_changes_side},
    {"paths", paths},
    {"threads_count", threads_count},
    {"parallel_region", parallel_region},
    {"tiny_calls", tiny_calls},
    {"declined", declined},
    {"declined_by_cpu", declined_by_cpu},
    {"no_gpu", no_gpu},
    {"explain", explain},
    {"verbose_line", verbose_line},
    {"null_contexts", null_contexts},
    {"prepared_operands", prepared_operands},
    {"environment", environment},
    {"warnings", warnings},
    {"shapes_on_the_cpu", shapes_on_the_cpu},
    {"predictions_are_sane", predictions_are_sane},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    const char *const task = test_child_task(argc, argv);
    if (task != NULL) return strcmp(task, "next") == 0 ? report_next_row() : report_environment();
    return test_main(argc, argv, "dispatch", tests);
}
