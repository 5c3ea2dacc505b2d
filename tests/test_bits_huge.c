/*
 * test_bits_huge.c - the reductions bit by bit where 32-bit counts end: n = 2^31 + 5, and others
 * of more than one wave of the CPU's units, against the literal order of summation.
 *
 * Runs only with DUOBLAS_TEST_HUGE=1: it takes 8.6 GB of host memory (in `gpu` mode as much of the
 * device's) and a few minutes. y of the dot product is x from its second element on, so that one
 * array serves.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cpu/lanes.h"
#include "gpu/backend/devices.h"
#include "support/algorithm_order.h"
#include "support/calls.h"
#include "support/data.h"
#include "support/harness.h"
#include "support/run_algorithm.h"

enum { EXIT_SKIPPED = 77 };
static const int64_t kFloats = (INT64_C(1) << 31) + 6;

/* Lengths and increments; a dot product's y has the increment of x negated in the last one. */
static const struct problem {
    int64_t n, inc;
} problems[] = {
    {(INT64_C(1) << 28) + 3 * 65536 + 5, 1},
    {(INT64_C(1) << 31) + 5, 1},
    {(INT64_C(1) << 30) + 1, 2},
};
enum { PROBLEMS = sizeof problems / sizeof problems[0], REVERSED = PROBLEMS - 1 };

static float *host, *there;
static duo_context *ctx;
static duo_queue *queue;
static uint64_t *pinned_result;

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Uniform in [-1, 1), by position, so that threads may fill it in any order. */
static void fill_host(void)
{
    const uint64_t seed = test_rng_for("bits huge").state;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < kFloats; i++) {
        test_rng rng = {seed + (uint64_t)i * 0x9e3779b97f4a7c15u};
        host[i] = (float)(test_random(&rng) >> 40) * 0x1p-23f - 1.0f;
    }
}

static bool open_there(void)
{
    const size_t bytes = (size_t)kFloats * sizeof *host;
    host = malloc(bytes);
    if (!CHECK(host != NULL, "no memory for %zu bytes", bytes)) return false;
    fill_host();
    ctx = test_context();
    there = host;
    if (!test_gpu_side()) return true;
    void *device = NULL, *pinned = NULL;
    CHECK_STATUS(DUO_OK, duo_malloc(ctx, bytes, &device));
    CHECK_STATUS(DUO_OK, duo_copy(ctx, device, host, bytes));
    CHECK_STATUS(DUO_OK, duo_synchronize(ctx));
    CHECK_STATUS(DUO_OK, duo_backend_current()->open(0, NULL, DUO_PRIORITY_NORMAL, &queue));
    CHECK_STATUS(DUO_OK, duo_backend_current()->pin(0, sizeof *pinned_result, &pinned));
    there = device;
    pinned_result = pinned;
    return there != NULL && pinned_result != NULL;
}

static void close_there(void)
{
    if (test_gpu_side()) {
        CHECK_STATUS(DUO_OK, duo_backend_current()->close(queue));
        CHECK_STATUS(DUO_OK, duo_backend_current()->unpin(pinned_result));
        CHECK_STATUS(DUO_OK, duo_free(ctx, there));
    }
    test_context_end(ctx);
    free(host);
}

static void say(const char *runner, int threads, double began, float got)
{
    printf("      %-20s %d  %08x  %6.2f s\n", runner, threads, (unsigned)test_bits(got),
           seconds_now() - began);
}

static void compare(const char *runner, int threads, double began, float got, float want)
{
    say(runner, threads, began, got);
    CHECK(test_same(got, want), "%s, %d threads: %08x, not %08x", runner, threads,
          (unsigned)test_bits(got), (unsigned)test_bits(want));
}

static void by_api(const duo_call *call, const float *y, int64_t incy, float want)
{
    const float *const x = there;
    const int64_t incx = call->operand[DUO_X].ld;
    float result = test_poison();
    const double began = seconds_now();
    const duo_status status =
        call->operation == DUO_SASUM  ? duo_sasum(ctx, call->n, x, incx, &result)
        : call->operation == DUO_SSUM ? duo_ssum(ctx, call->n, x, incx, &result)
                                      : duo_sdot(ctx, call->n, x, incx, y, incy, &result);
    CHECK_STATUS(DUO_OK, status);
    compare("API", 0, began, result, want);
}

static void by_cpu_algorithm(const duo_algorithm *algorithm, duo_call *call, float want)
{
    static const int teams[] = {1, 2, 5};
    for (int c = 0; duo_lanes_clone(c) != NULL; c++) {
        for (int t = 0; t < 3; t++) {
            float result = test_poison();
            const double began = seconds_now();
            duo_lanes_set(duo_lanes_clone(c));
            call->threads = teams[t];
            call->operand[DUO_RESULT].address = &result;
            CHECK_STATUS(DUO_OK, algorithm->run(call));
            compare(duo_lanes_clone(c)->name, teams[t], began, result, want);
        }
    }
    duo_lanes_set(NULL);
}

static void by_gpu_algorithm(const duo_algorithm *algorithm, const duo_call *call, float want)
{
    static const uint32_t ticket = 7;
    const double began = seconds_now();
    *pinned_result = 0;
    CHECK_STATUS(DUO_OK,
                 duo_backend_current()->launch(queue, algorithm->id, call, pinned_result, ticket));
    CHECK_STATUS(DUO_OK, duo_backend_current()->finish(queue));
    CHECK(*pinned_result >> 32 == ticket, "ticket and result %#jx", (uintmax_t)*pinned_result);
    const uint32_t bits = (uint32_t)*pinned_result;
    float result;
    memcpy(&result, &bits, sizeof result);
    compare(algorithm->name, 0, began, result, want);
}

static void run_problem(const duo_algorithm *algorithm, duo_operation operation, int i)
{
    const int64_t n = problems[i].n, incx = problems[i].inc, incy = i == REVERSED ? -incx : incx;
    /* Behind x by one, reversed in the same memory: its first address is the array's. */
    const int64_t y = i == REVERSED ? 0 : 1;
    test_case("%s/n=%jd/inc=%jd,%jd", algorithm->name, (intmax_t)n, (intmax_t)incx, (intmax_t)incy);
    const algorithm_order *const reference = order_of_algorithm(algorithm);
    if (!CHECK(reference != NULL, "%s has no literal order to compare with", algorithm->name))
        return;

    const double began = seconds_now();
    const duo_call here = test_reduce_call(operation, n, host, incx, host + y, incy, NULL);
    const float want = reference->order(operation, n, here.operand[DUO_X].address, incx,
                                        here.operand[DUO_Y].address, incy);
    printf("    %s, n = %jd, increment %jd\n", algorithm->name, (intmax_t)n, (intmax_t)incx);
    say("literal order", 1, began, want);

    duo_call call = test_reduce_call(operation, n, there, incx, there + y, incy, NULL);
    if (test_gpu_side())
        by_gpu_algorithm(algorithm, &call, want);
    else
        by_cpu_algorithm(algorithm, &call, want);
    CHECK_STATUS(DUO_OK, duo_set_math(ctx, reference->math));
    by_api(&call, there + y, incy, want);
}

static void huge(void)
{
    if (!open_there()) return;
    for (int operation = DUO_SASUM; operation <= DUO_SDOT; operation++) {
        const duo_algorithm *algorithms[DUO_CANDIDATES];
        const int found = test_algorithms((duo_operation)operation, algorithms);
        for (int r = 0; r < found; r++)
            for (int i = 0; i < PROBLEMS; i++)
                run_problem(algorithms[r], (duo_operation)operation, i);
    }
    close_there();
}

int main(int argc, char **argv)
{
    static const test_entry tests[] = {{"huge", huge}, {NULL, NULL}};
    if (getenv("DUOBLAS_TEST_HUGE") == NULL) {
        printf("SKIPPED: it takes 8.6 GB and minutes; DUOBLAS_TEST_HUGE=1 runs it\n");
        return EXIT_SKIPPED;
    }
    return test_main(argc, argv, "bits_huge", tests);
}
