/*
 * test_threads.c - many threads at once, threads that come and go, kept arrays shared by many,
 * OpenMP callers.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <math.h>
#include <omp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sim/sim.h"
#include "support/child.h"
#include "support/data.h"
#include "support/harness.h"
#include "support/known_work.h"
#include "support/sanitizers.h"

/* ---- Many at once ---- */

typedef struct worker {
    const known_work *s;
    int index, rounds;
    bool own_context;
    pthread_barrier_t *start; /* or NULL */
    int wrong;
} worker;

/* Calls of every kind on shared and private data, in the thread's own context or its default one.
 */
static void *mixed_calls(void *argument)
{
    worker *const w = argument;
    test_rng rng = {(uint64_t)w->index * 7919u + 17u};
    duo_context *ctx = NULL;
    float *const mine = malloc(3000 * sizeof *mine);
    void *device = NULL;
    if (mine == NULL) abort();
    if (w->own_context) w->wrong += duo_create(&ctx) != DUO_OK;
    if (w->start != NULL) pthread_barrier_wait(w->start);
    for (int round = 0; round < w->rounds; round++) {
        static const duo_path paths[] = {DUO_PATH_AUTO, DUO_PATH_CPU, DUO_PATH_GPU};
        w->wrong += duo_set_path(ctx, paths[test_between(&rng, 0, 2)]) != DUO_OK;
        w->wrong += !all_four(ctx, w->s);
        const int64_t n = test_between(&rng, 1, 3000);
        float expected = 0.0f, sum = test_poison();
        for (int64_t i = 0; i < n; i++) expected += mine[i] = (float)test_between(&rng, -4, 4);
        w->wrong += duo_keep(ctx, mine, (size_t)n * sizeof *mine) != DUO_OK;
        w->wrong += duo_ssum(ctx, n, mine, 1, &sum) != DUO_OK || sum != expected;
        w->wrong += duo_ssum(ctx, n, mine, 1, mine) != DUO_OK; /* into the kept array */
        w->wrong += duo_malloc(ctx, (size_t)n * sizeof *mine, &device) != DUO_OK;
        w->wrong += duo_copy(ctx, device, mine, (size_t)n * sizeof *mine) != DUO_OK;
        w->wrong += duo_ssum(ctx, 1, device, 1, &sum) != DUO_OK || sum != expected;
        w->wrong += duo_fetch(ctx, mine, 4) != DUO_OK || mine[0] != expected;
        w->wrong += duo_free(ctx, device) != DUO_OK;
        if (test_between(&rng, 0, 3) == 0) w->wrong += duo_trim(ctx) != DUO_OK;
        w->wrong += duo_release(ctx, mine) != DUO_OK;
    }
    if (w->own_context) w->wrong += duo_destroy(ctx) != DUO_OK;
    free(mine);
    return NULL;
}

/* Starts `count` threads with this body and joins them. Returns the number of errors. */
static int crowd(int count, void *(*body)(void *), worker *workers)
{
    pthread_t *const threads = calloc((size_t)count, sizeof *threads);
    pthread_attr_t attributes;
    int wrong = 0, started = 0;
    if (threads == NULL) abort();
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 512 << 10);
    for (; started < count; started++)
        if (pthread_create(&threads[started], &attributes, body, &workers[started]) != 0) break;
    CHECK(started == count, "%d of %d threads", started, count);
    for (int i = 0; i < started; i++) {
        pthread_join(threads[i], NULL);
        wrong += workers[i].wrong;
    }
    pthread_attr_destroy(&attributes);
    free(threads);
    return wrong;
}

static void mixed(void)
{
    enum { THREADS = 16 };
    static worker workers[THREADS];
    known_work s;
    make_known_work(&s, 1);
    for (int kept = 0; kept < 2; kept++) {
        test_case("mixed/%s", kept ? "shared arrays are kept" : "shared arrays are plain");
        duo_context *const ctx = test_context();
        if (kept) {
            CHECK_STATUS(DUO_OK, duo_keep(ctx, s.x, KNOWN_FLOATS * sizeof *s.x));
            CHECK_STATUS(DUO_OK, duo_keep(ctx, s.a, KNOWN_EDGE * KNOWN_EDGE * sizeof *s.a));
        }
        if (test_on_sim()) sim_set_delay(30);
        for (int i = 0; i < THREADS; i++)
            workers[i] = (worker){
                .s = &s, .index = i + kept * THREADS, .rounds = 12, .own_context = i % 2 == 0};
        const int wrong = crowd(THREADS, mixed_calls, workers);
        CHECK(wrong == 0, "%d things went wrong", wrong);
        if (test_on_sim()) sim_set_delay(0);
        if (kept) {
            CHECK_STATUS(DUO_OK, duo_release(ctx, s.x));
            CHECK_STATUS(DUO_OK, duo_release(ctx, s.a));
        }
        test_context_end(ctx);
    }
    free_known_work(&s);
}

/* ---- Many callers at the same time, on the CPU ---- */

static void *call_cpu(void *argument)
{
    worker *const w = argument;
    w->wrong += duo_set_path(NULL, DUO_PATH_CPU) != DUO_OK;
    if (w->start != NULL) pthread_barrier_wait(w->start);
    for (int round = 0; round < w->rounds; round++) w->wrong += !all_four(NULL, w->s);
    return NULL;
}

static void many_callers(void)
{
    enum { THREADS = 300 };
    static worker workers[THREADS];
    known_work s;
    make_known_work(&s, 2);
    test_case("many-callers/%d", THREADS);
    pthread_barrier_t start;
    pthread_barrier_init(&start, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        workers[i] = (worker){.s = &s, .index = i, .rounds = 2, .start = &start};
    const int wrong = crowd(THREADS, call_cpu, workers);
    CHECK(wrong == 0, "%d things went wrong", wrong);
    pthread_barrier_destroy(&start);
    free_known_work(&s);
}

/* ---- Threads that come and go ---- */

static void *call_device(void *argument)
{
    worker *const w = argument;
    w->wrong += duo_set_path(NULL, test_path()) != DUO_OK;
    w->wrong += !all_four(NULL, w->s);
    return NULL;
}

/* A thread that ends leaves its default context to the next one: there are as many as threads at
 * once, at most twice as many. Each opens a queue for every direction of a streamed product. */
static void churn(void)
{
    enum { AT_ONCE = 6, BATCHES = 50 };
    static worker workers[AT_ONCE];
    known_work s;
    make_known_work(&s, 3);
    test_case("churn/%d", AT_ONCE * BATCHES);
    int wrong = 0;
    const uint64_t opened = sim_count(SIM_OPEN);
    const int alive = sim_leaks();
    for (int batch = 0; batch < BATCHES; batch++) {
        for (int i = 0; i < AT_ONCE; i++) workers[i] = (worker){.s = &s};
        wrong += crowd(AT_ONCE, call_device, workers);
    }
    CHECK(wrong == 0, "%d things went wrong", wrong);
    if (test_on_sim()) {
        CHECK(sim_count(SIM_OPEN) - opened <= 2 * 3 * AT_ONCE, "%ju queues were opened",
              (uintmax_t)(sim_count(SIM_OPEN) - opened));
        CHECK(sim_leaks() - alive <= 20 * AT_ONCE, "%d things are alive", sim_leaks() - alive);
    }
    free_known_work(&s);
}

/* ---- Kept arrays shared by many ---- */

typedef struct reader {
    const known_work *s;
    float *result; /* two floats on the device: the call does not wait */
    int wrong;
} reader;

static void *read_shared(void *argument)
{
    worker *const w = argument;
    w->wrong += duo_set_path(NULL, test_path()) != DUO_OK;
    for (int round = 0; round < w->rounds; round++) w->wrong += !all_four(NULL, w->s);
    return NULL;
}

static void kept_and_shared(void)
{
    enum { THREADS = 8, ROUNDS = 6 };
    static worker workers[THREADS];
    known_work s, next;
    make_known_work(&s, 10);
    duo_context *const ctx = test_context();
    CHECK_STATUS(DUO_OK, duo_keep(ctx, s.x, KNOWN_FLOATS * sizeof *s.x));
    CHECK_STATUS(DUO_OK, duo_keep(ctx, s.a, KNOWN_EDGE * KNOWN_EDGE * sizeof *s.a));
    for (int round = 0; round < ROUNDS; round++) {
        test_case("kept-and-shared/%d", round);
        const uint64_t before = sim_uploaded_bytes();
        for (int i = 0; i < THREADS; i++) workers[i] = (worker){.s = &s, .rounds = 3};
        const int wrong = crowd(THREADS, read_shared, workers);
        CHECK(wrong == 0, "%d things went wrong", wrong);
        const uint64_t sent = sim_uploaded_bytes() - before;
        if (test_on_sim())
            CHECK(sent == (KNOWN_FLOATS + KNOWN_EDGE * KNOWN_EDGE) * sizeof(float),
                  "%ju bytes were sent", (uintmax_t)sent);
        /* All have ended: the program may write. */
        make_known_work(&next, 11 + round);
        memcpy(s.x, next.x, KNOWN_FLOATS * sizeof *s.x);
        memcpy(s.a, next.a, KNOWN_EDGE * KNOWN_EDGE * sizeof *s.a);
        memcpy(s.square, next.square, KNOWN_EDGE * KNOWN_EDGE * sizeof *s.a);
        s.sum = next.sum;
        s.asum = next.asum;
        s.dot = next.dot;
        free_known_work(&next);
        CHECK_STATUS(DUO_OK, duo_changed(ctx, s.x, KNOWN_FLOATS * sizeof *s.x));
        CHECK_STATUS(DUO_OK, duo_changed(ctx, s.a, KNOWN_EDGE * KNOWN_EDGE * sizeof *s.a));
    }
    CHECK_STATUS(DUO_OK, duo_release(ctx, s.x));
    CHECK_STATUS(DUO_OK, duo_release(ctx, s.a));
    test_context_end(ctx);
    free_known_work(&s);
}

/* Reads without waiting: the call returns when it is queued. */
static void *read_without_waiting(void *argument)
{
    reader *const r = argument;
    duo_context *ctx = NULL;
    r->wrong += duo_set_path(ctx, test_path()) != DUO_OK;
    r->wrong += duo_ssum(ctx, KNOWN_FLOATS, r->s->x, 1, r->result) != DUO_OK;
    r->wrong += duo_sasum(ctx, KNOWN_FLOATS, r->s->x, 1, r->result + 1) != DUO_OK;
    return NULL;
}

/* The readers' queued work comes before data written after they returned. */
static void write_after_readers(void)
{
    enum { THREADS = 4, ROUNDS = 40 };
    known_work s;
    make_known_work(&s, 20);
    duo_context *const ctx = test_context();
    reader readers[THREADS];
    void *results = NULL;
    float got[THREADS][256] = {{0.0f}};
    CHECK_STATUS(DUO_OK, duo_malloc(ctx, sizeof got, &results));
    CHECK_STATUS(DUO_OK, duo_copy(ctx, results, got, sizeof got));
    CHECK_STATUS(DUO_OK, duo_keep(ctx, s.x, KNOWN_FLOATS * sizeof *s.x));
    if (test_on_sim()) sim_set_delay(400);
    for (int round = 0; round < ROUNDS; round++) {
        test_case("write-after-readers/%d", round);
        pthread_t threads[THREADS];
        float sum = test_poison();
        int wrong = 0;
        for (int i = 0; i < THREADS; i++) {
            readers[i] = (reader){.s = &s, .result = (float *)results + 256 * i};
            if (pthread_create(&threads[i], NULL, read_without_waiting, &readers[i]) != 0) abort();
        }
        for (int i = 0; i < THREADS; i++) {
            pthread_join(threads[i], NULL);
            wrong += readers[i].wrong;
        }
        CHECK(wrong == 0, "%d things went wrong", wrong);
        const float sum_before = s.sum, asum_before = s.asum;
        s.sum = s.asum = 0.0f;
        for (int i = 0; i < KNOWN_FLOATS; i++) {
            s.x[i] = (float)((i + round) % 7 - 2);
            s.sum += s.x[i];
            s.asum += fabsf(s.x[i]);
        }
        CHECK_STATUS(DUO_OK, duo_changed(ctx, s.x, KNOWN_FLOATS * sizeof *s.x));
        CHECK_STATUS(DUO_OK, duo_ssum(ctx, KNOWN_FLOATS, s.x, 1, &sum));
        CHECK(sum == s.sum, "%g, expected %g", (double)sum, (double)s.sum);
        CHECK_STATUS(DUO_OK, duo_copy(ctx, got, results, sizeof got));
        for (int i = 0; i < THREADS; i++)
            CHECK(got[i][0] == sum_before && got[i][1] == asum_before,
                  "reader %d got %g and %g, expected %g and %g", i, (double)got[i][0],
                  (double)got[i][1], (double)sum_before, (double)asum_before);
    }
    if (test_on_sim()) sim_set_delay(0);
    CHECK_STATUS(DUO_OK, duo_release(ctx, s.x));
    CHECK_STATUS(DUO_OK, duo_free(ctx, results));
    test_context_end(ctx);
    free_known_work(&s);
}

/* A context may move from thread to thread, one at a time. */
static void *use_context(void *argument)
{
    duo_context *const ctx = argument;
    known_work s;
    make_known_work(&s, 4);
    const bool ok = all_four(ctx, &s);
    free_known_work(&s);
    return ok ? ctx : NULL;
}

static void context_moves(void)
{
    duo_context *const ctx = test_context();
    for (int i = 0; i < 10; i++) {
        test_case("context-moves/%d", i);
        pthread_t thread;
        void *result = NULL;
        if (pthread_create(&thread, NULL, use_context, ctx) != 0) abort();
        pthread_join(thread, &result);
        CHECK(result == ctx, "wrong values");
    }
    test_context_end(ctx);
}

/* ---- OpenMP callers ---- */

static void openmp_caller(void)
{
    known_work s;
    make_known_work(&s, 5);
    test_case("openmp/null-contexts");
    int wrong = 0;
#pragma omp parallel for num_threads(4) schedule(dynamic) reduction(+ : wrong)
    for (int i = 0; i < 60; i++) {
        wrong += duo_set_path(NULL, i % 2 == 0 ? test_path() : DUO_PATH_AUTO) != DUO_OK;
        wrong += !all_four(NULL, &s);
    }
    CHECK(wrong == 0, "%d calls are wrong", wrong);

    test_case("openmp/own-contexts");
#pragma omp parallel num_threads(4) reduction(+ : wrong)
    {
        duo_context *ctx = NULL;
        wrong += duo_create(&ctx) != DUO_OK;
        wrong += duo_set_path(ctx, test_path()) != DUO_OK;
#pragma omp for
        for (int i = 0; i < 24; i++) wrong += !all_four(ctx, &s);
        wrong += duo_destroy(ctx) != DUO_OK;
    }
    CHECK(wrong == 0, "%d calls are wrong", wrong);

    test_case("openmp/result-of-each-in-one-array");
    float results[64];
#pragma omp parallel for num_threads(4)
    for (int i = 0; i < 64; i++) (void)duo_ssum(NULL, 600 * (i + 1), s.x, 1, &results[i]);
    float expected = 0.0f;
    for (int i = 0, at = 0; i < 64; i++) {
        for (; at < 600 * (i + 1); at++) expected += s.x[at];
        CHECK(results[i] == expected, "%d: %g, expected %g", i, (double)results[i],
              (double)expected);
    }
    CHECK_STATUS(DUO_OK, duo_set_path(NULL, DUO_PATH_AUTO));

    test_case("openmp/caller's-number-of-threads");
    const int before = omp_get_max_threads();
    omp_set_num_threads(3);
    CHECK_STATUS(DUO_OK, duo_set_path(NULL, DUO_PATH_CPU));
    for (int threads = 1; threads <= 2; threads++) {
        CHECK_STATUS(DUO_OK, duo_set_threads(NULL, threads));
        CHECK(all_four(NULL, &s), "wrong with %d threads", threads);
        CHECK(omp_get_max_threads() == 3, "%d threads, and 3 were set", omp_get_max_threads());
    }
    omp_set_num_threads(before);
    CHECK_STATUS(DUO_OK, duo_set_threads(NULL, 0));
    CHECK_STATUS(DUO_OK, duo_set_path(NULL, DUO_PATH_AUTO));
    free_known_work(&s);
}

/* ---- No keys left ---- */

/* Keys that the test made. Others belong to libraries, such as OpenMP's. */
static bool our_key[PTHREAD_KEYS_MAX];

static void *sum_in_a_thread(void *values)
{
    const void **const before = values;
    float x[64], sum = 0.0f;
    for (int i = 0; i < 64; i++) x[i] = 1.0f;
    omp_set_num_threads(omp_get_max_threads()); /* the inner BLAS will; OpenMP has a key for that */
    for (int i = 0; i < PTHREAD_KEYS_MAX; i++) before[i] = pthread_getspecific((pthread_key_t)i);
    const bool good = duo_ssum(NULL, 64, x, 1, &sum) == DUO_OK && sum == 64.0f;
    bool same = true;
    for (int i = 0; i < PTHREAD_KEYS_MAX; i++)
        same = same && (!our_key[i] || before[i] == pthread_getspecific((pthread_key_t)i));
    return good && same ? values : NULL;
}

/* In a process of its own; its first call finds every key in use. Returns the number of errors. */
static int use_every_key(void)
{
    static const void *before[PTHREAD_KEYS_MAX];
    pthread_key_t key;
    int wrong = 0;
    while (pthread_key_create(&key, NULL) == 0) our_key[key] = true;
    for (int i = 0; i < 3; i++) {
        pthread_t thread;
        void *good = NULL;
        if (pthread_create(&thread, NULL, sum_in_a_thread, before) != 0) return -1;
        pthread_join(thread, &good);
        wrong += good == NULL;
    }
    return wrong;
}

/* Default contexts work without a key, and do not touch the keys of others. */
static void no_keys_left(void)
{
    if (UNDER_TSAN) {
        test_skip("LLVM's OpenMP ends a process that has no key for it");
        return;
    }
    static const char *const settings[] = {NULL};
    static test_child child;
    test_case("threads/no-keys-left");
    test_child_run("keys", settings, 20, &child);
    CHECK(child.exit_status == 0, "status %d: %s", child.exit_status, child.err);
}

static const test_entry tests[] = {
    {"mixed", mixed},
    {"many_callers", many_callers},
    {"churn", churn},
    {"kept_and_shared", kept_and_shared},
    {"write_after_readers", write_after_readers},
    {"context_moves", context_moves},
    {"openmp_caller", openmp_caller},
    {"no_keys_left", no_keys_left},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    if (test_child_task(argc, argv) != NULL) return use_every_key();
    return test_main(argc, argv, "threads", tests);
}
