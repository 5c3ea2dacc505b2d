/*
 * test_declined.c - if an algorithm declines, or there is no GPU, the next cheapest runs, and a
 * note says why.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "choice/profile_in_use.h"
#include "cpu/blas_library.h"
#include "gpu/backend/devices.h"
#include "sim/sim.h"
#include "support/child.h"
#include "support/data.h"
#include "support/harness.h"
#include "support/made_machine.h"

/* ---- GPU algorithms that decline ---- */

static void declined(void)
{
    make_vector();
    new_machine(1.0, 1.0);
    free_link();
    algorithm_takes(DUO_sgemm_gpu_naive, 1e-3);
    algorithm_takes(DUO_sgemm_gpu_tiled, 2e-3);
    algorithm_takes(DUO_sgemm_cpu_openblas, 3e-3);
    algorithm_takes(DUO_sgemm_cpu_ffma, 4e-3);
    duo_context *const ctx = context_on(DUO_PATH_AUTO);
    test_case("declined/none");
    multiply_ones(ctx);
    check_algorithm(ctx, "sgemm_gpu_naive");
    CHECK(last_decision(ctx).note[0] == '\0', "note \"%s\"", last_decision(ctx).note);
    test_case("declined/first");
    sim_fail(SIM_LAUNCH, 1, DUO_ERR_DEVICE, 1);
    multiply_ones(ctx);
    check_algorithm(ctx, "sgemm_gpu_tiled");
    CHECK(last_decision(ctx).note[0] != '\0', "no note");
    CHECK(duo_error_detail(ctx)[0] != '\0', "no detail");
    test_case("declined/both");
    sim_fail(SIM_LAUNCH, 1, DUO_ERR_DEVICE, 2);
    multiply_ones(ctx);
    CHECK(last_decision(ctx).side == DUO_SIDE_CPU, "algorithm %s", last_decision(ctx).algorithm);
    CHECK(last_decision(ctx).note[0] != '\0', "no note");
    const duo_decision d = last_decision(ctx);
    CHECK(test_close(d.predicted_seconds, 3e-3, 1e-6) || strcmp(d.algorithm, "sgemm_cpu_ffma") == 0,
          "%g s", d.predicted_seconds);
    test_case("declined/reduction");
    sim_fail(SIM_LAUNCH, 1, DUO_ERR_DEVICE, 1);
    sum_all(ctx, vector);
    check_algorithm(ctx, "ssum_cpu_lanes");
    CHECK(last_decision(ctx).note[0] != '\0', "no note");
    test_case("declined/again-on-the-device");
    sum_all(ctx, vector);
    check_algorithm(ctx, "ssum_gpu_shuffle");
    CHECK(last_decision(ctx).note[0] == '\0', "note \"%s\"", last_decision(ctx).note);
    test_case("declined/on-the-gpu-path");
    CHECK_STATUS(DUO_OK, duo_set_path(ctx, DUO_PATH_GPU));
    sim_fail(SIM_LAUNCH, 1, DUO_ERR_DEVICE, 1);
    sum_all(ctx, vector);
    check_algorithm(ctx, "ssum_cpu_lanes");
    sim_fail(SIM_LAUNCH, 1, DUO_ERR_DEVICE, 1);
    multiply_ones(ctx);
    check_side(ctx, DUO_SIDE_GPU);
    test_context_end(ctx);

    test_case("declined/no-room");
    /* If not even a piece of the operands fits the device, it does not accept them. */
    sim_set_memory(1 << 17);
    duo_backend_install(sim_backend());
    duo_context *const small = context_on(DUO_PATH_GPU);
    sum_all(small, vector);
    sum_all(small, vector);
    check_algorithm(small, "ssum_cpu_lanes");
    test_context_end(small);
    free(vector);
    duo_profile_reset();
}

/* ---- A CPU algorithm that declines ---- */

enum { DEPTH = 1024 };

static duo_context *inner_context;

static void multiply_deep(duo_context *ctx)
{
    CHECK_STATUS(DUO_OK, duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, EDGE, EDGE,
                                   DEPTH, 1.0f, ones, EDGE, ones, DEPTH, 0.0f, product, EDGE));
}

/* An sgemm_ that leads back to the library: the algorithm that calls it then declines. */
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
static int report_next_algorithm(void)
{
    duo_blas_library *const library = (duo_blas_library *)(uintptr_t)duo_blas_library_get();
    if (library == NULL) return printf("no BLAS") < 0;
    duo_backend_install(sim_backend());
    for (int i = 0; i < MOST_EDGE * MOST_EDGE; i++) ones[i] = 1.0f;
    new_machine(1.0, 1e-3);
    algorithm_takes(DUO_sgemm_cpu_openblas, 1e-7); /* less than the way to the GPU */
    duo_context *const outer = context_on(DUO_PATH_AUTO);
    inner_context = context_on(DUO_PATH_AUTO);
    library->sgemm = lead_back;
    multiply_deep(outer);
    const duo_decision d = last_decision(inner_context);
    printf("algorithm=%s candidates=%d right=%d", d.algorithm, d.candidates,
           product[5] == (float)DEPTH);
    return sim_violations() != 0;
}

/* The next to run is the cheapest of all that are left, also if at first only the CPU's algorithms
 * were predicted. */
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
    snprintf(all, sizeof all, "candidates=%d ", serving_algorithms());
    CHECK(strstr(child.out, all) != NULL, "%s, not %s", child.out, all);
}

/* ---- No GPU ---- */

static void no_gpu(void)
{
    make_vector();
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
                sum_all(ctx, vector);
                check_side(ctx, DUO_SIDE_GPU);
                sim_lose(0);
            }
            sum_all(ctx, vector);
            check_side(ctx, DUO_SIDE_CPU);
            if (path == DUO_PATH_GPU)
                CHECK(last_decision(ctx).note[0] != '\0', "the note does not say why");
            float sum = 0.0f;
            CHECK_STATUS(DUO_OK, duo_ssum(ctx, 16, vector, 1, &sum));
            check_side(ctx, DUO_SIDE_CPU);
            multiply_ones(ctx);
            check_side(ctx, DUO_SIDE_CPU);
            /* Programs need one code path only. */
            void *memory = NULL, *host = NULL;
            CHECK_STATUS(DUO_OK, duo_malloc(ctx, VECTOR * sizeof *vector, &memory));
            CHECK_STATUS(DUO_OK, duo_malloc_host(ctx, 100, &host));
            CHECK_STATUS(DUO_OK, duo_copy(ctx, memory, vector, VECTOR * sizeof *vector));
            sum_all(ctx, memory);
            CHECK_STATUS(DUO_OK, duo_keep(ctx, vector, VECTOR * sizeof *vector));
            sum_all(ctx, vector);
            CHECK_STATUS(DUO_OK, duo_changed(ctx, vector, 4));
            CHECK_STATUS(DUO_OK, duo_fetch(ctx, vector, 4));
            CHECK_STATUS(DUO_OK, duo_release(ctx, vector));
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
    free(vector);
    duo_profile_reset();
}

static const test_entry tests[] = {
    {"declined", declined},
    {"declined_by_cpu", declined_by_cpu},
    {"no_gpu", no_gpu},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    (void)duo_blas_library_get(); /* a made machine is measured with it */
    if (test_child_task(argc, argv) != NULL) return report_next_algorithm();
    return test_main(argc, argv, "declined", tests);
}
