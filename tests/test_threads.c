/* test_threads.c - many callers at once, threads that come and go, OpenMP callers, forks. */
#define _GNU_SOURCE
#include <omp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"
#include "reference_order.h"

enum { LENGTH = 70000, EDGE = 40, CALLERS = 16, ROUNDS = 20 };

static float data[LENGTH], kept[LENGTH];
static float expected_sum, expected_dot, kept_sum;

static duo_path side(void) { return test_gpu_side() ? DUO_PATH_GPU : DUO_PATH_CPU; }

static void make_data(void)
{
    test_rng rng = test_rng_for("threads");
    for (int i = 0; i < LENGTH; i++) {
        data[i] = (float)(2.0 * test_unit(&rng) - 1.0);
        kept[i] = (float)test_unit(&rng);
    }
    expected_sum = reference_order(DUO_SSUM, LENGTH, data, 1, NULL, 0);
    expected_dot = reference_order(DUO_SDOT, LENGTH / 2, data, 2, data + 1, 1);
    kept_sum = reference_order(DUO_SASUM, LENGTH, kept, 1, NULL, 0);
}

/* Every operation a few times; small integers make sgemm exact. ctx may be NULL. */
static void call_all(duo_context *ctx, int rounds)
{
    float a[EDGE * EDGE], b[EDGE * EDGE], c[EDGE * EDGE];
    for (int i = 0; i < EDGE * EDGE; i++) {
        a[i] = (float)(i % 5 - 2);
        b[i] = i / EDGE == i % EDGE ? 2.0f : 0.0f;
    }
    for (int round = 0; round < rounds; round++) {
        float sum = test_poison(), dot = test_poison(), absolute = test_poison();
        CHECK_STATUS(DUO_OK, duo_ssum(ctx, LENGTH, data, 1, &sum));
        CHECK(sum == expected_sum, "%a, expected %a", (double)sum, (double)expected_sum);
        CHECK_STATUS(DUO_OK, duo_sdot(ctx, LENGTH / 2, data, 2, data + 1, 1, &dot));
        CHECK(dot == expected_dot, "%a, expected %a", (double)dot, (double)expected_dot);
        CHECK_STATUS(DUO_OK, duo_sasum(ctx, LENGTH, kept, 1, &absolute));
        CHECK(absolute == kept_sum, "%a, expected %a", (double)absolute, (double)kept_sum);
        memset(c, 0xff, sizeof c);
        CHECK_STATUS(DUO_OK, duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_TRANS, EDGE, EDGE,
                                       EDGE, 1.0f, a, EDGE, b, EDGE, 0.0f, c, EDGE));
        bool right = true;
        for (int i = 0; i < EDGE * EDGE; i++) right &= c[i] == 2.0f * a[i];
        CHECK(right, "a wrong product");
    }
}

static void *default_caller(void *unused)
{
    (void)unused;
    test_case("threads/default-context");
    CHECK_STATUS(DUO_OK, duo_set_path(NULL, side()));
    call_all(NULL, ROUNDS);
    CHECK_STATUS(DUO_OK, duo_synchronize(NULL));
    return NULL;
}

static void *own_caller(void *unused)
{
    (void)unused;
    test_case("threads/own-context");
    duo_context *const ctx = test_context();
    call_all(ctx, ROUNDS);
    test_context_end(ctx);
    return NULL;
}

static void *short_caller(void *unused)
{
    (void)unused;
    float sum = test_poison();
    CHECK_STATUS(DUO_OK, duo_ssum(NULL, 1000, data, 1, &sum));
    CHECK(sum == reference_order(DUO_SSUM, 1000, data, 1, NULL, 0), "%g", (double)sum);
    return NULL;
}

static void run_callers(int count, void *(*first)(void *), void *(*second)(void *))
{
    pthread_t thread[CALLERS];
    for (int i = 0; i < count; i++)
        CHECK(pthread_create(&thread[i], NULL, i % 2 == 0 ? first : second, NULL) == 0, "thread");
    for (int i = 0; i < count; i++) pthread_join(thread[i], NULL);
}

static void at_once(void)
{
    make_data();
    run_callers(CALLERS, default_caller, own_caller);
}

/* A kept array that all of them read; the first use sends it. */
static void shared_array(void)
{
    make_data();
    test_case("threads/shared-kept-array");
    CHECK_STATUS(DUO_OK, duo_keep(NULL, kept, sizeof kept));
    run_callers(CALLERS, own_caller, default_caller);
    CHECK_STATUS(DUO_OK, duo_release(NULL, kept));
}

static void churn(void)
{
    make_data();
    test_case("threads/churn");
    for (int i = 0; i < 300; i += 4) run_callers(4, short_caller, short_caller);
}

static void openmp_callers(void)
{
    make_data();
    test_case("threads/openmp");
    int more = 0;
#pragma omp parallel num_threads(4) reduction(+ : more)
    {
        duo_context *const ctx = test_context();
        CHECK_STATUS(DUO_OK, duo_set_path(ctx, DUO_PATH_CPU));
        call_all(ctx, 3);
        duo_decision d = {.size = sizeof d};
        CHECK_STATUS(DUO_OK, duo_explain_last(ctx, &d));
        more += d.threads != 1;
        test_context_end(ctx);
    }
    CHECK(more == 0, "%d calls in a parallel region used more than one thread", more);
}

/* The child computes on the CPU and ends; the parent goes on. */
static void forks(void)
{
    make_data();
    test_case("threads/fork");
    CHECK_STATUS(DUO_OK, duo_set_path(NULL, side()));
    call_all(NULL, 1);
    const pid_t child = fork();
    if (child == 0) {
        float sum = 0.0f, dot = 0.0f;
        alarm(20);
        const bool right = duo_ssum(NULL, LENGTH, data, 1, &sum) == DUO_OK && sum == expected_sum &&
                           duo_sdot(NULL, LENGTH / 2, data, 2, data + 1, 1, &dot) == DUO_OK &&
                           dot == expected_dot;
        duo_decision d = {.size = sizeof d};
        const bool cpu = duo_explain_last(NULL, &d) == DUO_OK && d.side == DUO_SIDE_CPU;
        _exit(right && cpu && d.threads == 1 ? 0 : 1);
    }
    CHECK(child > 0, "fork");
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child, "waitpid");
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with %#x", status);
    call_all(NULL, 1);
}

static const test_entry tests[] = {
    {"at_once", at_once}, {"shared_array", shared_array},
    {"churn", churn},     {"openmp", openmp_callers},
    {"forks", forks},     {NULL, NULL},
};

int main(int argc, char **argv) { return test_main(argc, argv, "threads", tests); }
