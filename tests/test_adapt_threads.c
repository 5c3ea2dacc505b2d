/*
 * test_adapt_threads.c - learning from calls in threads of one process, and not in its child.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <unistd.h>

#include "call/adapt.h"
#include "choice/learned.h"
#include "host/clock.h"
#include "support/child.h"
#include "support/data.h"
#include "support/harness.h"
#include "support/learner.h"
#include "support/sanitizers.h"

static int begins_anew(void)
{
    duo_ratios ratios;
    duo_learned_ratios(0, &machine, &ratios);
    return ratios.work[DUO_ssum_gpu_shuffle][duo_length_of(0.25e-3)] == 1.0f ? 0 : 1;
}

static void forks(void)
{
    test_case("fork");
    duo_context *const ctx = machine_that_takes(0.5e-3, 0.25e-3, 0.5e-3, 1e-3);
    (void)sums_on(ctx, DUO_SIDE_GPU, 12);
    CHECK(begins_anew() == 1, "nothing was learned");
    if (UNDER_TSAN) {
        test_skip("the thread sanitizer does not take forks with threads");
    } else {
        const pid_t child = fork();
        if (child == 0) _exit(begins_anew());
        CHECK(test_child_wait(child, 60) == 0, "the child knows what its parent has learned");
    }
    test_case("another-profile");
    static duo_profile other;
    other = machine;
    duo_ratios ratios;
    duo_learned_ratios(0, &other, &ratios);
    CHECK(begins_anew() == 0, "it was learned of another profile");
    learner_end(ctx);
}

static void *learn(void *user)
{
    duo_context *ctx = NULL;
    int *const wrong = user;
    *wrong += duo_create(&ctx) != DUO_OK;
    *wrong += duo_set_adapt(ctx, 1) != DUO_OK;
    for (int i = 0; i < 200; i++) {
        float sum = test_poison();
        *wrong += duo_ssum(ctx, VECTOR, vector, 1, &sum) != DUO_OK;
        *wrong += sum != vector_sum;
    }
    *wrong += duo_destroy(ctx) != DUO_OK;
    return NULL;
}

static void threads(void)
{
    enum { THREADS = 2 };
    test_case("threads");
    duo_context *const ctx = machine_that_takes(0.5e-3, 0.45e-3, 0.0, 0.0);
    duo_adapt_clock = duo_now_seconds; /* each thread's own calls */
    pthread_t thread[THREADS];
    int wrong[THREADS] = {0};
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&thread[i], NULL, learn, &wrong[i]) == 0, "no thread");
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        CHECK(wrong[i] == 0, "%d wrong", wrong[i]);
    }
    duo_ratios ratios;
    duo_learned_ratios(0, &machine, &ratios);
    for (int i = 0; i < DUO_ALGORITHMS * DUO_LENGTHS; i++) {
        const float ratio = ratios.work[i / DUO_LENGTHS][i % DUO_LENGTHS];
        CHECK(ratio >= 1.0f / 16.0f && ratio <= 16.0f, "ratio %g", (double)ratio);
    }
    learner_end(ctx);
}

int main(int argc, char **argv)
{
    static const test_entry tests[] = {
        {"forks", forks},
        {"threads", threads},
        {NULL, NULL},
    };
    return test_main(argc, argv, "adapt_threads", tests);
}
