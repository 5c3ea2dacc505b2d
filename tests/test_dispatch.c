/*
 * test_dispatch.c - which algorithm runs, with profiles made by hand (support/made_machine.h): the
 * cheapest that accepts, by the places of the operands and the context's policy.
 */
#define _GNU_SOURCE
#include <math.h>
#include <omp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "call/context.h"
#include "choice/profile_in_use.h"
#include "cpu/blas_library.h"
#include "gpu/backend/devices.h"
#include "sim/sim.h"
#include "support/harness.h"
#include "support/made_machine.h"
#include "support/places.h"

/* ---- The cheapest algorithm that accepts ---- */

/* Four algorithms in every order of cost; the others take longer. */
static void cheapest(void)
{
    static const duo_algorithm_id ids[] = {DUO_sgemm_cpu_openblas, DUO_sgemm_cpu_ffma,
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
            algorithm_takes(ids[i], 1e-3 * (1 + rank[i]));
            if (rank[i] == 0) winner = i;
        }
        test_case("cheapest/%d", order);
        duo_context *const ctx = context_on(DUO_PATH_AUTO);
        multiply_ones(ctx);
        check_algorithm(ctx, duo_algorithm_name(ids[winner]));
        const duo_decision d = last_decision(ctx);
        CHECK(d.candidates == serving_algorithms(), "%d candidates", d.candidates);
        for (int i = 0; i < 4; i++)
            if (ids[i] != DUO_sgemm_cpu_openblas || rank[i] < rank[1])
                check_predicted(&d, duo_algorithm_name(ids[i]), 1e-3 * (1 + rank[i]));
        CHECK(test_close(d.predicted_seconds, 1e-3, 1e-6), "%g s predicted", d.predicted_seconds);
        if (winner >= 2)
            CHECK(sim_last_algorithm() == ids[winner], "another algorithm was launched");
        test_context_end(ctx);
    }
    duo_profile_reset();
}

/* The inner BLAS, or the program's, is a candidate if the profile was measured with it: by a tenth,
 * if nobody has asked for it. */
static void measured_blas(void)
{
    static const struct {
        const char *name, *blas; /* NULL: the one that is there */
        double seconds;          /* our own take 1e-3 */
        bool less_threads, program, serves;
    } cases[] = {
        {"wins", NULL, 0.9e-3, false, false, true},
        {"wins-little", NULL, 0.92e-3, false, false, false},
        {"another", "OpenBLAS 0.3.99 Abacus", 0.1e-3, false, false, false},
        {"none", "none", 0.1e-3, false, false, false},
        {"more-threads-than-asked", NULL, 0.1e-3, true, false, false},
        {"program/wins-little", NULL, 0.99e-3, false, true, true},
        {"program/loses", NULL, 1.01e-3, false, true, false},
        {"program/another", "OpenBLAS 0.3.99 Abacus", 0.1e-3, false, true, false},
    };
    const duo_blas_library *const library = duo_blas_library_get();
    if (library == NULL) {
        test_skip("there is no inner BLAS");
        return;
    }
    const int own = duo_blas_library_threads(library);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (cases[i].less_threads && own == 1) continue;
        test_case("measured/%s", cases[i].name);
        new_machine(1e-3, 1.0);
        algorithm_takes(DUO_sgemm_cpu_openblas, cases[i].seconds);
        if (cases[i].blas != NULL) snprintf(machine.blas, sizeof machine.blas, "%s", cases[i].blas);
        duo_context *const ctx = context_on(DUO_PATH_CPU);
        CHECK_STATUS(DUO_OK, duo_set_threads(ctx, cases[i].less_threads ? own - 1 : own));
        if (cases[i].program)
            CHECK_STATUS(DUO_OK, duo_set_cpu_sgemm(ctx, (void (*)(void))library->sgemm));
        for (int math = 0; math < 2; math++) {
            CHECK_STATUS(DUO_OK, duo_set_math(ctx, math == 0 ? DUO_MATH_ACCURATE : DUO_MATH_IEEE));
            multiply_ones(ctx);
            check_algorithm(ctx,
                            cases[i].serves && math == 0 ? "sgemm_cpu_openblas" : "sgemm_cpu_ffma");
        }
        test_context_end(ctx);
    }
    duo_profile_reset();
}

/* The algorithm that rounds to TF32 is by far the cheapest, but runs only on request. */
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
        algorithm_takes(DUO_sgemm_gpu_fp16x1, 1e-6);
        duo_context *const ctx = context_on(i < 4 ? DUO_PATH_AUTO : DUO_PATH_GPU);
        CHECK_STATUS(DUO_OK, duo_set_math(ctx, maths[i % 4]));
        multiply_ones(ctx);
        const duo_decision d = last_decision(ctx);
        CHECK(d.algorithm != NULL && (strcmp(d.algorithm, rounds) == 0) == asked, "algorithm %s",
              d.algorithm == NULL ? "none" : d.algorithm);
        CHECK((candidate(&d, rounds) != NULL) == asked, "is it a candidate?");
        /* Algorithms that are more accurate than the request may serve, too. */
        CHECK(!asked || d.candidates == serving_algorithms() + 1, "%d candidates", d.candidates);
        algorithm_takes(DUO_sgemm_gpu_fp16x1, 1.0);
        duo_memo_forget(
            duo_context_of(ctx)->memo); /* a profile that is in use else never changes */
        multiply_ones(ctx);
        const duo_decision other = last_decision(ctx);
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
    const double bytes = 4.0 * VECTOR;
    make_vector();
    new_machine(0.5e-3, 0.01e-3);
    for (int op = 0; op < 3; op++) {
        const int vectors = op == 2 ? 2 : 1;
        const float expected = op == 0 ? vector_sum : op == 1 ? vector_asum : vector_dot;
        for (test_place place = 0; place < PLACES; place++) {
            test_case("residence/%s/%s", operations[op].name, test_place_name(place));
            duo_context *const ctx = context_on(DUO_PATH_AUTO);
            test_array x = test_array_new(1, VECTOR, 1, 0), y = test_array_new(1, VECTOR, 1, 0);
            memcpy(x.data, vector, VECTOR * sizeof *vector);
            memcpy(y.data, vector, VECTOR * sizeof *vector);
            test_placed px = test_put(ctx, place, &x), py = test_put(ctx, place, &y);
            for (int round = 0; round < 2; round++) {
                float got = test_poison();
                if (op == 0)
                    CHECK_STATUS(DUO_OK, duo_ssum(ctx, VECTOR, px.address, 1, &got));
                else if (op == 1)
                    CHECK_STATUS(DUO_OK, duo_sasum(ctx, VECTOR, px.address, 1, &got));
                else
                    CHECK_STATUS(DUO_OK, duo_sdot(ctx, VECTOR, px.address, 1, py.address, 1, &got));
                CHECK(got == expected, "%g, expected %g", (double)got, (double)expected);
            }
            const duo_decision d = last_decision(ctx);
            const bool gpu = place != PLACE_PAGEABLE;
            check_algorithm(ctx, gpu ? operations[op].gpu : operations[op].cpu);
            CHECK(strcmp(d.operation, operations[op].name) == 0 && d.n == VECTOR, "%s n=%jd",
                  d.operation, (intmax_t)d.n);
            const duo_residence residence = place == PLACE_PAGEABLE ? DUO_AT_PAGEABLE
                                            : place == PLACE_PINNED ? DUO_AT_PINNED
                                            : place == PLACE_DEVICE ? DUO_AT_DEVICE
                                                                    : DUO_AT_KEPT;
            CHECK(d.residence[0] == residence, "x is at %d", (int)d.residence[0]);
            CHECK(d.residence[1] == (vectors == 2 ? residence : DUO_AT_UNUSED), "y is at %d",
                  (int)d.residence[1]);
            CHECK(d.residence[2] == DUO_AT_PAGEABLE, "the result is at %d", (int)d.residence[2]);
            /* The first of its four stages is packed at 1.5 GB/s before anything is sent. */
            const double staged = 1e-6 + bytes / 1e9 + bytes / 4.0 / 1.5e9;
            const double one_way = place == PLACE_PAGEABLE ? staged
                                   : place == PLACE_PINNED ? 1e-6 + bytes / 1e10
                                                           : 0.0;
            check_predicted(&d, operations[op].gpu, 0.01e-3 + vectors * one_way + 2e-6);
            check_predicted(&d, operations[op].cpu,
                            0.5e-3 + (place == PLACE_DEVICE ? vectors * staged : 0));
            test_take(ctx, &px);
            test_take(ctx, &py);
            test_array_free(&x);
            test_array_free(&y);
            test_context_end(ctx);
        }
    }
    free(vector);
    duo_profile_reset();
}

/* 256 KiB each: 0.263 ms a matrix. With none on the device the GPU loses, with one there it wins.
 */
static void residence_of_matrices(void)
{
    enum { E = MOST_EDGE };
    new_machine(1e-3, 0.01e-3);
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
        const duo_decision d = last_decision(ctx);
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
    make_vector();
    new_machine(0.5e-3, 0.01e-3);
    duo_context *const ctx = context_on(DUO_PATH_AUTO);
    test_case("same-call/plain");
    sum_all(ctx, vector);
    check_side(ctx, DUO_SIDE_CPU);
    test_case("same-call/kept");
    CHECK_STATUS(DUO_OK, duo_keep(ctx, vector, VECTOR * sizeof *vector));
    sum_all(ctx, vector);
    sum_all(ctx, vector);
    check_side(ctx, DUO_SIDE_GPU);
    test_case("same-call/changed-every-time");
    /* An array that must be sent each time is no better on the device than a plain one. */
    int on_cpu = 0;
    for (int i = 0; i < 20; i++) {
        CHECK_STATUS(DUO_OK, duo_changed(ctx, vector, VECTOR * sizeof *vector));
        sum_all(ctx, vector);
        on_cpu += last_decision(ctx).side == DUO_SIDE_CPU;
    }
    CHECK(on_cpu >= 10, "only %d of 20 on the CPU", on_cpu);
    test_case("same-call/changed-once");
    /* After one change it goes back to the device once that has paid. */
    CHECK_STATUS(DUO_OK, duo_changed(ctx, vector, VECTOR * sizeof *vector));
    for (int i = 0; i < 10; i++) sum_all(ctx, vector);
    check_side(ctx, DUO_SIDE_GPU);
    test_case("same-call/released");
    CHECK_STATUS(DUO_OK, duo_release(ctx, vector));
    sum_all(ctx, vector);
    check_side(ctx, DUO_SIDE_CPU);
    test_context_end(ctx);
    free(vector);
    duo_profile_reset();
}

/* An evicted array is sent again once calls have lost as much time: here sending takes 1 ms, and
 * each call on the CPU loses 0.5 ms. */
static void sent_again_when_it_pays(void)
{
    enum { VECTOR_BYTES = 4 * VECTOR };
    sim_set_memory(VECTOR_BYTES * 3 / 2);
    duo_backend_install(sim_backend());
    make_vector();
    new_machine(0.5e-3, 0.01e-3);
    float *const other = malloc(VECTOR_BYTES);
    if (other == NULL) abort();
    memcpy(other, vector, VECTOR_BYTES);
    duo_context *const ctx = context_on(DUO_PATH_AUTO);
    test_case("evicted/sent-again");
    CHECK_STATUS(DUO_OK, duo_keep(ctx, vector, VECTOR_BYTES));
    sum_all(ctx, vector);
    check_side(ctx, DUO_SIDE_GPU);
    CHECK_STATUS(DUO_OK, duo_keep(ctx, other, VECTOR_BYTES));
    sum_all(ctx, other);
    check_side(ctx, DUO_SIDE_GPU);
    static const duo_side sides[] = {DUO_SIDE_CPU, DUO_SIDE_CPU, DUO_SIDE_GPU, DUO_SIDE_GPU};
    for (int i = 0; i < 4; i++) {
        sum_all(ctx, vector);
        check_side(ctx, sides[i]);
    }
    CHECK_STATUS(DUO_OK, duo_release(ctx, vector));
    CHECK_STATUS(DUO_OK, duo_release(ctx, other));
    test_context_end(ctx);
    free(vector);
    free(other);
    duo_profile_reset();
}

/* ---- Policy ---- */

static void paths(void)
{
    make_vector();
    for (int cheaper = 0; cheaper < 2; cheaper++) {
        new_machine(cheaper == 0 ? 1e-5 : 1.0, cheaper == 0 ? 1.0 : 1e-5);
        for (duo_path path = DUO_PATH_AUTO; path <= DUO_PATH_GPU; path++) {
            test_case("path/%d/%s-cheaper", (int)path, cheaper == 0 ? "cpu" : "gpu");
            duo_context *const ctx = context_on(path);
            const duo_side side = path == DUO_PATH_AUTO
                                      ? (cheaper == 0 ? DUO_SIDE_CPU : DUO_SIDE_GPU)
                                  : path == DUO_PATH_CPU ? DUO_SIDE_CPU
                                                         : DUO_SIDE_GPU;
            sum_all(ctx, vector);
            check_side(ctx, side);
            multiply_ones(ctx);
            check_side(ctx, side);
            float sum; /* so few that it may be tiny, not so few that it always is */
            CHECK_STATUS(DUO_OK, duo_ssum(ctx, 2000, vector, 1, &sum));
            check_side(ctx, side);
            test_context_end(ctx);
        }
    }
    free(vector);
    duo_profile_reset();
}

/* Four threads make the CPU the faster side. */
static void threads_count(void)
{
    make_vector();
    new_machine(1e-3, 0.3e-3);
    free_link();
    machine.fork_seconds = 1e-6;
    machine.fork_seconds_per_thread = 1e-7;
    duo_context *const ctx = context_on(DUO_PATH_AUTO);
    for (int round = 0; round < 2; round++) {
        test_case("threads/1/%d", round);
        CHECK_STATUS(DUO_OK, duo_set_threads(ctx, 1));
        sum_all(ctx, vector);
        check_side(ctx, DUO_SIDE_GPU);
        multiply_ones(ctx);
        check_side(ctx, DUO_SIDE_GPU);
        duo_decision d = last_decision(ctx);
        check_predicted(&d, "sgemm_cpu_ffma", 1e-3);
        test_case("threads/4/%d", round);
        CHECK_STATUS(DUO_OK, duo_set_threads(ctx, 4));
        sum_all(ctx, vector);
        check_side(ctx, DUO_SIDE_CPU);
        d = last_decision(ctx);
        CHECK(d.threads == 4, "%d threads", d.threads);
        check_predicted(&d, "ssum_cpu_lanes", 0.25e-3 + 1.4e-6);
        CHECK(candidate(&d, "ssum_gpu_shuffle") != NULL &&
                  candidate(&d, "ssum_gpu_shuffle")->threads == 0,
              "threads on the GPU");
        multiply_ones(ctx);
        check_side(ctx, DUO_SIDE_CPU);
        d = last_decision(ctx);
        const duo_candidate *const ffma = candidate(&d, "sgemm_cpu_ffma");
        CHECK(ffma != NULL && ffma->threads == 4, "work for four threads is for others");
        check_predicted(&d, "sgemm_cpu_ffma", 0.25e-3 + 1.4e-6);
        const duo_candidate *const openblas = candidate(&d, "sgemm_cpu_openblas");
        if (openblas != NULL && openblas->accepts) {
            CHECK(d.threads == openblas->threads, "%d threads", d.threads);
            if (openblas->threads == 4) check_predicted(&d, "sgemm_cpu_openblas", 0.25e-3 + 1.4e-6);
        }
    }
    /* For a vector in memory all threads are only twice as fast as one. */
    test_case("threads/memory");
    const duo_curve *const serial = &machine.curve[DUO_ssum_cpu_lanes];
    machine.cpu_bandwidth = 2.0 * 4.0 * serial->size[1] / serial->seconds[1];
    CHECK_STATUS(DUO_OK, duo_set_path(ctx, DUO_PATH_CPU));
    sum_all(ctx, vector);
    duo_decision d = last_decision(ctx);
    CHECK(d.threads == 4, "%d threads", d.threads);
    check_predicted(&d, "ssum_cpu_lanes", 0.5e-3 + 1.4e-6);
    machine.cpu_bandwidth = 1.0;
    duo_memo_forget(duo_context_of(ctx)->memo);
    sum_all(ctx, vector);
    CHECK(last_decision(ctx).threads == 1, "%d threads", last_decision(ctx).threads);
    test_case("threads/many");
    machine.cpu_bandwidth = 1e18;
    /* More threads than pay are not used. */
    machine.fork_seconds_per_thread = 1e-3;
    duo_memo_forget(duo_context_of(ctx)->memo);
    CHECK_STATUS(DUO_OK, duo_set_threads(ctx, 64));
    CHECK_STATUS(DUO_OK, duo_set_path(ctx, DUO_PATH_CPU));
    sum_all(ctx, vector);
    CHECK(last_decision(ctx).threads == 1, "%d threads", last_decision(ctx).threads);
    CHECK_STATUS(DUO_ERR_SIZE, duo_set_threads(ctx, -1));
    CHECK_STATUS(DUO_OK, duo_set_threads(ctx, 0));
    sum_all(ctx, vector);
    test_context_end(ctx);
    free(vector);
    duo_profile_reset();
}

/* Called inside the caller's parallel region a call uses one thread. */
static void parallel_region(void)
{
    make_vector();
    new_machine(1e-3, 1.0);
    machine.fork_seconds = 0.0;
    test_case("parallel-region");
    int wrong = 0, entered = 0;
#pragma omp parallel num_threads(4) reduction(+ : wrong, entered)
    {
        duo_decision d = {.size = sizeof d};
        float sum = 0.0f;
        wrong += duo_set_path(NULL, DUO_PATH_CPU) != DUO_OK;
        wrong += duo_ssum(NULL, VECTOR, vector, 1, &sum) != DUO_OK || sum != vector_sum;
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
    free(vector);
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
        check_algorithm(ctx, "ssum_cpu_lanes");
        const duo_decision d = last_decision(ctx);
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
        check_algorithm(ctx, "ssum_gpu_shuffle");
        CHECK_STATUS(DUO_OK, duo_sdot(ctx, 16, x, 1, x, 1, &sum));
        check_algorithm(ctx, "sdot_gpu_shuffle");
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

/* Is a product of ones tiny? */
static bool is_tiny(duo_context *ctx, int64_t m, int64_t n, int64_t k)
{
    float *const x = malloc((size_t)(m * k + k * n) * sizeof(float));
    float *const c = malloc((size_t)(m * n) * sizeof(float));
    for (int64_t i = 0; i < m * k + k * n; i++) x[i] = 1.0f;
    CHECK_STATUS(DUO_OK, duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, m, n, k, 1.0f, x,
                                   m, x + m * k, k, 0.0f, c, m));
    CHECK(c[0] == (float)k && c[m * n - 1] == (float)k, "%g", (double)c[0]);
    free(x);
    free(c);
    return ctx->last.tiny;
}

/* Is a batch of cubes tiny? */
static bool is_tiny_batch(duo_context *ctx, int64_t n, int64_t count)
{
    const int64_t all = n * n * count;
    float *const x = calloc((size_t)(3 * all), sizeof *x);
    CHECK_STATUS(DUO_OK, duo_sgemm_strided_batched(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS,
                                                   n, n, n, 1.0f, x, n, n * n, x + all, n, n * n,
                                                   0.0f, x + 2 * all, n, n * n, count));
    free(x);
    return ctx->last.tiny;
}

/* A tiny batch takes a short cut, too. What it is about is known nevertheless. */
static void tiny_batches(void)
{
    enum { FOUR = 4, PRODUCTS = 10, EACH = FOUR * FOUR };
    float a[PRODUCTS * EACH], b[PRODUCTS * EACH], c[PRODUCTS * EACH];
    const float *list_a[PRODUCTS], *list_b[PRODUCTS];
    float *list_c[PRODUCTS];
    for (int i = 0; i < PRODUCTS * EACH; i++) a[i] = b[i] = (float)(i / EACH + 1);
    for (int i = 0; i < PRODUCTS; i++) {
        list_a[i] = a + i * EACH;
        list_b[i] = b + i * EACH;
        list_c[i] = c + (PRODUCTS - 1 - i) * EACH;
    }
    new_machine(1e-8, 1.0);
    machine.fork_seconds = 1e-6;
    duo_context *const ctx = duo_context_of(context_on(DUO_PATH_AUTO));
    for (int lists = 0; lists < 2; lists++) {
        test_case("tiny/batches/%d", lists);
        for (int i = 0; i < PRODUCTS * EACH; i++) c[i] = test_poison();
        CHECK_STATUS(DUO_OK,
                     lists ? duo_sgemm_batched(ctx, DUO_ROW_MAJOR, DUO_NO_TRANS, DUO_TRANS, FOUR,
                                               FOUR, FOUR, 1.0f, list_a, FOUR, list_b, FOUR, 0.0f,
                                               list_c, FOUR, PRODUCTS)
                           : duo_sgemm_strided_batched(ctx, DUO_ROW_MAJOR, DUO_NO_TRANS, DUO_TRANS,
                                                       FOUR, FOUR, FOUR, 1.0f, a, FOUR, EACH, b,
                                                       FOUR, EACH, 0.0f, c, FOUR, EACH, PRODUCTS));
        CHECK(ctx->last.tiny, "it was predicted");
        for (int i = 0; i < PRODUCTS; i++) {
            const float one = (float)((i + 1) * (i + 1) * FOUR);
            const float *const got = lists ? list_c[i] : c + i * EACH;
            CHECK(got[0] == one && got[EACH - 1] == one, "product %d: %g", i, (double)got[0]);
        }
        check_algorithm(ctx, "sgemm_cpu_ffma");
        const duo_decision d = last_decision(ctx);
        CHECK(d.count == PRODUCTS && d.m == FOUR && d.threads == 1, "count=%jd", (intmax_t)d.count);
        CHECK(d.residence[0] == DUO_AT_PAGEABLE && d.ran >= 0, "residence, or what ran");
        CHECK(!(d.seconds >= 0.0), "clocks ran: %g", d.seconds);
        multiply_ones(ctx);
        CHECK(last_decision(ctx).count == 1, "a product counts as a batch");
    }
    test_case("tiny/batches/large");
    CHECK(is_tiny_batch(ctx, 32, 8), "as much as 64^3 was predicted");
    CHECK(!is_tiny_batch(ctx, 32, 9), "more than 64^3 was not");
    CHECK(!is_tiny_batch(ctx, 4, 1000), "one with much memory was not");
    CHECK_STATUS(DUO_OK, duo_keep(ctx, c, sizeof c));
    CHECK_STATUS(DUO_OK, duo_sgemm_strided_batched(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS,
                                                   FOUR, FOUR, FOUR, 1.0f, a, FOUR, EACH, b, FOUR,
                                                   EACH, 0.0f, c, FOUR, EACH, PRODUCTS));
    CHECK(!ctx->last.tiny, "a kept array counts as plain memory");
    CHECK_STATUS(DUO_OK, duo_release(ctx, c));
    test_context_end(ctx);
    duo_profile_reset();
}

/* Products of any shape are tiny if they cost no more than a cube that is. */
static void tiny_shapes(void)
{
    new_machine(1e-3, 1.0);
    machine.fork_seconds = 0.0; /* then more threads pay as soon as there are pieces */
    duo_context *const ctx = duo_context_of(context_on(DUO_PATH_CPU));
    CHECK_STATUS(DUO_OK, duo_set_threads(ctx, 8));
    test_case("tiny/shapes");
    CHECK(is_tiny(ctx, 20, 20, 20), "a small cube was predicted");
    CHECK(!is_tiny(ctx, 100, 100, 100), "a cube for many threads was not");
    CHECK(is_tiny(ctx, 300, 2, 3) && is_tiny(ctx, 3, 300, 2) && is_tiny(ctx, 2, 3, 1000),
          "a flat one was predicted");
    CHECK(!is_tiny(ctx, 200, 200, 1), "one with much memory was not");
    CHECK(!is_tiny(ctx, 2000, 10, 10), "one with much work was not");
    test_context_end(ctx);
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
    o->right = duo_ssum(NULL, o->n, vector, 1, &sum) == DUO_OK && o->right;
    pthread_barrier_wait(o->together);
    o->right = duo_explain_last(NULL, &d) == DUO_OK && o->right;
    o->right = o->right && d.n == o->n &&
               d.side == (o->path == DUO_PATH_GPU ? DUO_SIDE_GPU : DUO_SIDE_CPU);
    pthread_barrier_wait(o->together);
    return NULL;
}

static void null_contexts(void)
{
    make_vector();
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
    free(vector);
    duo_profile_reset();
}

static const test_entry tests[] = {
    {"cheapest", cheapest},
    {"measured_blas", measured_blas},
    {"tf32_on_request", tf32_on_request},
    {"residence_of_reductions", residence_of_reductions},
    {"residence_of_matrices", residence_of_matrices},
    {"same_call_changes_side", same_call_changes_side},
    {"sent_again_when_it_pays", sent_again_when_it_pays},
    {"paths", paths},
    {"threads_count", threads_count},
    {"parallel_region", parallel_region},
    {"tiny_calls", tiny_calls},
    {"tiny_shapes", tiny_shapes},
    {"tiny_batches", tiny_batches},
    {"null_contexts", null_contexts},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    (void)duo_blas_library_get(); /* a made machine is measured with it */
    return test_main(argc, argv, "dispatch", tests);
}
