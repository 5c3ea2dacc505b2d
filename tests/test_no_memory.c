/*
 * test_no_memory.c - default contexts when allocations of the library fail (dropin/no_memory.c is
 * linked in): BLAS is right all the same, in first calls, on many threads at once, and in a child.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpu/backend/devices.h"
#include "sim/sim.h"
#include "support/child.h"
#include "support/harness.h"
#include "support/known_work.h"
#include "support/sanitizers.h"

enum { THREADS = 24, EDGE = 12, PRODUCTS = 30, LARGE = 150 };

static pthread_barrier_t all_there;

/* A thread's first calls, at the same time as the other threads'. */
static void *one_thread(void *work)
{
    pthread_barrier_wait(&all_there);
    return all_four(NULL, work) ? NULL : work;
}

static int wrong_in_threads(known_work *work)
{
    pthread_t thread[THREADS];
    int wrong = 0;
    pthread_barrier_init(&all_there, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&thread[i], NULL, one_thread, work) != 0) abort();
    for (int i = 0; i < THREADS; i++) {
        void *failed;
        pthread_join(thread[i], &failed);
        wrong += failed != NULL;
    }
    return wrong;
}

/* A product that is cut along k, which takes memory. */
static int wrong_in_large(void)
{
    static float a[LARGE * LARGE], ones[LARGE * LARGE], c[LARGE * LARGE];
    for (int i = 0; i < LARGE * LARGE; i++) {
        a[i] = (float)(i % LARGE); /* the row */
        ones[i] = 1.0f;
        c[i] = -1.0f;
    }
    int wrong = duo_sgemm(NULL, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, LARGE, LARGE, LARGE,
                          1.0f, a, LARGE, ones, LARGE, 0.0f, c, LARGE) != DUO_OK;
    for (int i = 0; i < LARGE * LARGE; i++) wrong += !(c[i] == (float)LARGE * a[i]);
    return wrong;
}

static int wrong_in_batch(void)
{
    static float a[PRODUCTS * EDGE * EDGE], ones[PRODUCTS * EDGE * EDGE], c[PRODUCTS * EDGE * EDGE];
    const int64_t step = EDGE * EDGE;
    for (int i = 0; i < PRODUCTS * EDGE * EDGE; i++) {
        a[i] = (float)(i / (EDGE * EDGE));
        ones[i] = 1.0f;
        c[i] = -1.0f;
    }
    int wrong = duo_sgemm_strided_batched(NULL, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_TRANS, EDGE, EDGE,
                                          EDGE, 1.0f, a, EDGE, step, ones, EDGE, step, 0.0f, c,
                                          EDGE, step, PRODUCTS) != DUO_OK;
    for (int i = 0; i < PRODUCTS * EDGE * EDGE; i++) wrong += !(c[i] == (float)EDGE * a[i]);
    return wrong;
}

/* The same in two groups, each with matrices of its own. */
static int wrong_in_groups(void)
{
    static float a[PRODUCTS * EDGE * EDGE], ones[EDGE * EDGE], c[PRODUCTS * EDGE * EDGE];
    static const duo_transpose plainly[] = {DUO_NO_TRANS, DUO_NO_TRANS};
    static const int64_t edge[] = {EDGE, EDGE}, size[] = {PRODUCTS / 3, PRODUCTS - PRODUCTS / 3};
    static const float one[] = {1.0f, 1.0f}, zero[] = {0.0f, 0.0f};
    const float *as[PRODUCTS], *bs[PRODUCTS];
    float *cs[PRODUCTS];
    for (int i = 0; i < PRODUCTS * EDGE * EDGE; i++) {
        a[i] = (float)(i / (EDGE * EDGE));
        c[i] = -1.0f;
    }
    for (int i = 0; i < EDGE * EDGE; i++) ones[i] = 1.0f;
    for (int i = 0; i < PRODUCTS; i++) {
        as[i] = a + i * EDGE * EDGE;
        bs[i] = ones;
        cs[i] = c + i * EDGE * EDGE;
    }
    static const float zeros[] = {0.0f, 0.0f};
    int wrong = duo_sgemm_grouped(NULL, DUO_COL_MAJOR, 2, plainly, plainly, edge, edge, edge, zeros,
                                  NULL, edge, NULL, edge, zero, cs, edge, size) != DUO_OK;
    for (int i = 0; i < PRODUCTS * EDGE * EDGE; i++) wrong += !(c[i] == 0.0f);
    wrong += duo_sgemm_grouped(NULL, DUO_COL_MAJOR, 2, plainly, plainly, edge, edge, edge, one, as,
                               edge, bs, edge, zero, cs, edge, size) != DUO_OK;
    for (int i = 0; i < PRODUCTS * EDGE * EDGE; i++) wrong += !(c[i] == (float)EDGE * a[i]);
    return wrong;
}

/* ---- More threads than there are default contexts without memory ---- */

enum { MANY = 70, WITH_CONTEXT = 64 };

/* Does every operation say that there is no memory, and write nothing? */
static bool all_refused(void)
{
    float x[4] = {1.0f, 2.0f, 3.0f, 4.0f}, result = -1.0f;
    const float *list[1] = {x};
    float *out[1] = {&result};
    const duo_transpose plain = DUO_NO_TRANS;
    const int64_t one = 1;
    const float factor = 1.0f, none = 0.0f;
    bool refused = duo_sasum(NULL, 4, x, 1, &result) == DUO_ERR_MEMORY &&
                   duo_ssum(NULL, 4, x, 1, &result) == DUO_ERR_MEMORY &&
                   duo_sdot(NULL, 4, x, 1, x, 1, &result) == DUO_ERR_MEMORY;
    refused &= duo_sgemm(NULL, DUO_COL_MAJOR, plain, plain, 1, 1, 1, 1.0f, x, 1, x, 1, 0.0f,
                         &result, 1) == DUO_ERR_MEMORY;
    refused &= duo_sgemm_strided_batched(NULL, DUO_COL_MAJOR, plain, plain, 1, 1, 1, 1.0f, x, 1, 1,
                                         x, 1, 1, 0.0f, &result, 1, 1, 1) == DUO_ERR_MEMORY;
    refused &= duo_sgemm_batched(NULL, DUO_COL_MAJOR, plain, plain, 1, 1, 1, 1.0f, list, 1, list, 1,
                                 0.0f, out, 1, 1) == DUO_ERR_MEMORY;
    refused &= duo_sgemm_grouped(NULL, DUO_COL_MAJOR, 1, &plain, &plain, &one, &one, &one, &factor,
                                 list, &one, list, &one, &none, out, &one, &one) == DUO_ERR_MEMORY;
    return refused && result == -1.0f;
}

/* Has this thread a context, and is its sum right, or is everything refused? */
static void *one_of_many(void *served)
{
    const float x[4] = {1.0f, 2.0f, 3.0f, 4.0f};
    float sum = -1.0f;
    const duo_status status = duo_ssum(NULL, 4, x, 1, &sum);
    *(bool *)served = status == DUO_OK;
    const bool good = status == DUO_OK ? sum == 10.0f : all_refused();
    pthread_barrier_wait(&all_there); /* none ends before all have called */
    return good ? NULL : served;
}

static int wrong_in_many_threads(void)
{
    pthread_t thread[MANY];
    bool served[MANY];
    int wrong = 0, contexts = 0;
    pthread_barrier_init(&all_there, NULL, MANY);
    for (int i = 0; i < MANY; i++)
        if (pthread_create(&thread[i], NULL, one_of_many, &served[i]) != 0) abort();
    for (int i = 0; i < MANY; i++) {
        void *failed;
        pthread_join(thread[i], &failed);
        wrong += failed != NULL;
        contexts += served[i];
    }
    return wrong + (contexts != WITH_CONTEXT);
}

/* In a fresh process. */
static int calls_without_memory(const char *task)
{
    if (strcmp(task, "sim") == 0) {
        sim_reset();
        duo_backend_install(sim_backend());
    }
    known_work work;
    if (strcmp(task, "many") == 0) return wrong_in_many_threads();
    make_known_work(&work, 6);
    int wrong = wrong_in_groups() + !all_four(NULL, &work) + wrong_in_large() + wrong_in_batch();
    wrong += wrong_in_threads(&work) + wrong_in_threads(&work);
    const pid_t child = fork();
    if (child == 0) _exit(!all_four(NULL, &work) || wrong_in_large());
    wrong += child < 0 || test_child_wait(child, 60) != 0;
    if (strcmp(task, "sim") == 0) wrong += sim_violations();
    free_known_work(&work);
    return wrong > 99 ? 99 : wrong;
}

static void every_call_is_right(void)
{
    static const char *const maths[] = {"accurate", "float64"};
    if (UNDER_SANITIZER) {
        test_skip("a sanitizer has allocations of its own");
        return;
    }
    const int most = test_on_sim() ? 4 : 12;
    for (int math = 0; math < 2; math++)
        for (int number = 1; number <= most; number++)
            for (int later = 0; later < 2; later++) {
                char failing[32], setting[32];
                test_child child;
                test_case("no_memory/%s/n=%d%s", maths[math], number, later ? "..." : "");
                snprintf(failing, sizeof failing, "NO_MEMORY=%d%s", number, later ? "-" : "");
                snprintf(setting, sizeof setting, "DUOBLAS_MATH=%s", maths[math]);
                test_child_run(test_on_sim() ? "sim" : "cpu",
                               (const char *const[]){
                                   failing, setting,
                                   test_on_sim() ? "DUOBLAS_PATH=gpu" : "DUOBLAS_PATH=cpu", NULL},
                               120, &child);
                CHECK(child.exit_status == 0, "exit status %d", child.exit_status);
                CHECK(child.err[0] == '\0', "it says \"%s\"", child.err);
            }
}

static void too_many_threads(void)
{
    test_child child;
    if (UNDER_SANITIZER) {
        test_skip("a sanitizer has allocations of its own");
        return;
    }
    test_case("no_memory/too many threads");
    test_child_run("many", (const char *const[]){"NO_MEMORY=1-", "DUOBLAS_PATH=cpu", NULL}, 120,
                   &child);
    CHECK(child.exit_status == 0, "exit status %d", child.exit_status);
}

int main(int argc, char **argv)
{
    static const test_entry tests[] = {
        {"every_call_is_right", every_call_is_right},
        {"too_many_threads", too_many_threads},
        {NULL, NULL},
    };
    const char *const task = test_child_task(argc, argv);
    if (task != NULL) return calls_without_memory(task);
    return test_main(argc, argv, "no_memory", tests);
}
