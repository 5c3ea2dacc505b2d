/*
 * test_contexts.c - several contexts, and several devices, that use the same arrays: each sees what
 * the other wrote, in order.
 */
#define _GNU_SOURCE
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "gpu/backend/devices.h"
#include "sim/sim.h"
#include "support/exact.h"
#include "support/harness.h"

static void two_contexts(void)
{
    enum { N = 32, ROUNDS = 60 };
    duo_context *const writer = test_context(), *const reader = test_context();
    float *const a = new_floats(N * N), *const c = new_floats(N * N);
    float *const expected = new_floats(N * N);
    void *device = NULL;
    CHECK_STATUS(DUO_OK, duo_malloc(writer, N * N * sizeof *c, &device));
    CHECK_STATUS(DUO_OK, duo_keep(writer, c, N * N * sizeof *c));
    CHECK_STATUS(DUO_OK, duo_keep(writer, a, N * N * sizeof *a));
    if (test_on_sim()) sim_set_delay(300);
    for (int round = 0; round < ROUNDS; round++) {
        test_case("contexts/in-order/%d", round);
        fill(a, N * N, round);
        CHECK_STATUS(DUO_OK, duo_changed(reader, a, N * N * sizeof *a));
        multiply(N, a, a, expected);
        const float sum = sum_of(expected, N * N);
        /* One writes, the other reads the result; then the other way about. */
        CHECK_STATUS(DUO_OK, square(writer, N, a, a, 0.0f, c));
        check_sum(reader, c, N * N, sum);
        CHECK_STATUS(DUO_OK, square(writer, N, a, a, 0.0f, device));
        CHECK_STATUS(DUO_OK, square(reader, N, a, a, 1.0f, device));
        check_sum(writer, device, N * N, 2.0f * sum);
        /* Written while the other may still be reading. */
        CHECK_STATUS(DUO_OK, duo_ssum(reader, N * N, c, 1, (float *)device + 1));
        CHECK_STATUS(DUO_OK, square(writer, N, a, a, 1.0f, c));
        float first;
        CHECK_STATUS(DUO_OK, duo_copy(writer, &first, (float *)device + 1, sizeof first));
        CHECK(first == sum, "%g, expected %g", (double)first, (double)sum);
        CHECK_STATUS(DUO_OK, duo_fetch(reader, c, sizeof *c));
        bool right = true;
        for (int64_t i = 0; i < N * N; i++) right = right && c[i] == 2.0f * expected[i];
        CHECK(right, "wrong values");
    }
    test_case("contexts/destroy-leaves-arrays");
    CHECK_STATUS(DUO_OK, square(writer, N, a, a, 0.0f, c));
    CHECK_STATUS(DUO_OK, square(writer, N, a, a, 0.0f, device));
    CHECK_STATUS(DUO_OK, duo_destroy(writer));
    check_sum(reader, device, N * N, sum_of(expected, N * N));
    CHECK_STATUS(DUO_OK, duo_fetch(reader, c, sizeof *c));
    CHECK(same_floats(c, expected, N * N), "wrong values");
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_fetch(writer, c, sizeof *c));
    CHECK_STATUS(DUO_OK, duo_release(reader, c));
    CHECK_STATUS(DUO_OK, duo_release(reader, a));
    CHECK_STATUS(DUO_OK, duo_free(reader, device));
    if (test_on_sim()) sim_set_delay(0);
    end_without_leaks(reader);
    free(a);
    free(c);
    free(expected);
}

/* A kept array with its copy on one device is used on another. */
static void two_devices(void)
{
    enum { N = 40 };
    if (!test_on_sim()) {
        test_skip("needs two devices");
        return;
    }
    sim_set_devices(2);
    duo_backend_install(sim_backend());
    duo_context *const first = test_context(), *const second = test_context();
    CHECK_STATUS(DUO_OK, duo_set_device(second, 1));
    CHECK_STATUS(DUO_ERR_DEVICE, duo_set_device(second, 2));
    float *const a = new_floats(N * N), *const c = new_floats(N * N);
    float *const expected = new_floats(N * N);
    void *device = NULL;
    fill(a, N * N, 1);
    multiply(N, a, a, expected);
    const float sum = sum_of(expected, N * N);
    CHECK_STATUS(DUO_OK, duo_keep(first, c, N * N * sizeof *c));
    CHECK_STATUS(DUO_OK, duo_malloc(first, N * N * sizeof *c, &device));
    sim_set_delay(200);
    for (int round = 0; round < 10; round++) {
        test_case("devices/%d", round);
        duo_context *const one = round % 2 == 0 ? first : second;
        duo_context *const other = round % 2 == 0 ? second : first;
        CHECK_STATUS(DUO_OK, square(one, N, a, a, 0.0f, c));
        check_sum(other, c, N * N, sum);
        CHECK_STATUS(DUO_OK, square(other, N, a, a, 1.0f, c));
        check_sum(one, c, N * N, 2.0f * sum);
        CHECK_STATUS(DUO_OK, square(one, N, a, a, 0.0f, device));
        CHECK_STATUS(DUO_OK, square(other, N, a, a, 2.0f, device));
        check_sum(one, device, N * N, 3.0f * sum);
        check_sum(other, device, N * N, 3.0f * sum);
        CHECK_STATUS(DUO_OK, duo_ssum(one, N * N, expected, 1, device));
        check_sum(other, device, 1, sum);
    }
    CHECK_STATUS(DUO_OK, duo_set_device(first, 1)); /* its work is done before it moves */
    CHECK_STATUS(DUO_OK, square(first, N, a, a, 0.0f, c));
    CHECK_STATUS(DUO_OK, duo_set_device(first, 0));
    check_sum(first, c, N * N, sum);
    sim_set_delay(0);
    CHECK_STATUS(DUO_OK, duo_release(second, c));
    CHECK_STATUS(DUO_OK, duo_free(second, device));
    CHECK(same_floats(c, expected, N * N), "wrong values");
    CHECK_STATUS(DUO_OK, duo_destroy(first));
    end_without_leaks(second);
    free(a);
    free(c);
    free(expected);
}

/* Every queue of a context has the context's priority: its own, and the queues of streamed
 * products. */
static void priorities(void)
{
    enum { N = 96 };
    static const duo_priority order[] = {DUO_PRIORITY_HIGH, DUO_PRIORITY_NORMAL};
    duo_context *const ctx = test_context();
    float *const a = new_floats(N * N), *const c = new_floats(N * N);
    float *const expected = new_floats(N * N);
    void *device = NULL;
    fill(a, N * N, 1);
    multiply(N, a, a, expected);
    CHECK_STATUS(DUO_OK, duo_malloc(ctx, N * N * sizeof *c, &device));
    for (int i = 0; i < 2; i++) {
        test_case("contexts/priority/%s", order[i] == DUO_PRIORITY_HIGH ? "high" : "normal");
        /* Work is under way when the priority changes. */
        CHECK_STATUS(DUO_OK, square(ctx, N, a, a, 0.0f, device));
        CHECK_STATUS(DUO_OK, duo_set_priority(ctx, order[i]));
        if (test_on_sim())
            CHECK(sim_queues(0, order[i]) + sim_queues(0, order[1 - i]) == 0, "still open");
        check_sum(ctx, device, N * N, sum_of(expected, N * N));
        CHECK_STATUS(DUO_OK, square(ctx, N, a, a, 0.0f, c));
        CHECK(same_floats(c, expected, N * N), "wrong values");
        if (test_on_sim())
            CHECK(sim_queues(0, order[i]) >= 3 && sim_queues(0, order[1 - i]) == 0,
                  "%d queues have it, %d have not", sim_queues(0, order[i]),
                  sim_queues(0, order[1 - i]));
        CHECK_STATUS(DUO_OK, duo_set_priority(ctx, order[i])); /* no change: nothing is closed */
        if (test_on_sim()) CHECK(sim_queues(0, order[i]) >= 3, "closed");
    }
    CHECK_STATUS(DUO_OK, duo_free(ctx, device));
    end_without_leaks(ctx);
    free(a);
    free(c);
    free(expected);
}

static void *use_default(void *priority)
{
    float x[512], sum = 0.0f;
    for (int i = 0; i < 512; i++) x[i] = 1.0f;
    CHECK_STATUS(DUO_OK, duo_set_path(NULL, test_path()));
    if (priority != NULL) CHECK_STATUS(DUO_OK, duo_set_priority(NULL, DUO_PRIORITY_HIGH));
    CHECK_STATUS(DUO_OK, duo_ssum(NULL, 512, x, 1, &sum));
    CHECK(sum == 512.0f, "sum %g", (double)sum);
    return NULL;
}

/* A thread does not inherit the priority of the one that had its default context before. */
static void default_priority(void)
{
    pthread_t thread;
    int high = 0;
    for (int i = 0; i < 2; i++) {
        CHECK(pthread_create(&thread, NULL, use_default, i == 0 ? &high : NULL) == 0, "no thread");
        pthread_join(thread, NULL);
        if (!test_on_sim()) continue;
        CHECK(sim_queues(0, DUO_PRIORITY_HIGH) == (i == 0), "the wrong priority");
        CHECK(sim_queues(0, DUO_PRIORITY_NORMAL) == (i == 1), "the wrong priority");
    }
}

/* A thread that ends leaves its default context to the next one, which meets none of its
 * settings. */
static void *set_and_end(void *change)
{
    static int stream;
    float x[3] = {1.0f, 2.0f, 3.0f}, sum = 0.0f;
    const int what = *(const int *)change;
    CHECK_STATUS(DUO_OK, duo_set_path(NULL, DUO_PATH_GPU));
    if (what == 0) CHECK_STATUS(DUO_OK, duo_set_device(NULL, 1));
    if (what == 1) CHECK_STATUS(DUO_OK, duo_set_stream(NULL, &stream));
    if (what == 2) CHECK_STATUS(DUO_OK, duo_set_priority(NULL, DUO_PRIORITY_HIGH));
    CHECK_STATUS(DUO_OK, duo_ssum(NULL, 3, x, 1, &sum));
    CHECK(sum == 6.0f, "%g", (double)sum);
    return NULL;
}

static void *begin_anew(void *unused)
{
    float x[3] = {1.0f, 2.0f, 3.0f}, sum = 0.0f;
    duo_decision d = {.size = sizeof d};
    (void)unused;
    CHECK_STATUS(DUO_OK, duo_ssum(NULL, 3, x, 1, &sum));
    CHECK_STATUS(DUO_OK, duo_explain_last(NULL, &d));
    CHECK(d.side == DUO_SIDE_CPU, "the path has stayed");
    const uint64_t opened = sim_count(SIM_OPEN);
    CHECK_STATUS(DUO_OK, duo_set_path(NULL, DUO_PATH_GPU));
    CHECK_STATUS(DUO_OK, duo_ssum(NULL, 3, x, 1, &sum));
    CHECK(sum == 6.0f && sim_count(SIM_OPEN) == opened + 1, "%g by the other thread's queue",
          (double)sum);
    CHECK(sim_queues(0, DUO_PRIORITY_HIGH) == 0, "a queue of high priority");
    return NULL;
}

static void default_contexts_are_renewed(void)
{
    if (!test_on_sim()) {
        test_skip("needs the simulated device");
        return;
    }
    sim_set_devices(2);
    duo_backend_install(sim_backend());
    for (int what = 0; what < 3; what++) {
        pthread_t thread;
        test_case("contexts/renewed/%d", what);
        if (pthread_create(&thread, NULL, set_and_end, &what) != 0) abort();
        pthread_join(thread, NULL);
        if (pthread_create(&thread, NULL, begin_anew, NULL) != 0) abort();
        pthread_join(thread, NULL);
    }
    CHECK(sim_violations() == 0, "%d violations", sim_violations());
}

static const test_entry tests[] = {
    {"two_contexts", two_contexts},
    {"two_devices", two_devices},
    {"priorities", priorities},
    {"default_priority", default_priority},
    {"default_contexts_are_renewed", default_contexts_are_renewed}, /* one stays open */
    {NULL, NULL},
};

int main(int argc, char **argv) { return test_main(argc, argv, "contexts", tests); }
