/*
 * test_threads.c - many threads at once, threads that come and go, OpenMP callers, forks.
 *
 * All data are small integers, so that sgemm is exact on every row; the reductions are held to the
 * documented order of summation by what they are: sums of integers.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <math.h>
#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "call/context.h"
#include "choice/algorithm.h"
#include "cpu/blas_library.h"
#include "sim/sim.h"
#include "support/child.h"
#include "support/data.h"
#include "support/harness.h"
#include "support/sanitizers.h"

static bool counting(void) { return test_mode_now() == MODE_SIM; }
static duo_path device_path(void) { return test_gpu_side() ? DUO_PATH_GPU : DUO_PATH_CPU; }

/* ---- Work whose result is known ---- */

enum { SHARED_FLOATS = 40000, EDGE = 48 };

typedef struct shared { /* read by every thread */
    float *x, *a;       /* a: EDGE x EDGE */
    float sum, asum, dot;
    float *square; /* a * a */
} shared;

static void make_shared(shared *s, int seed)
{
    s->x = malloc(SHARED_FLOATS * sizeof *s->x);
    s->a = malloc(EDGE * EDGE * sizeof *s->a);
    s->square = calloc(EDGE * EDGE, sizeof *s->square);
    if (s->x == NULL || s->a == NULL || s->square == NULL) abort();
    s->sum = s->asum = s->dot = 0.0f;
    for (int i = 0; i < SHARED_FLOATS; i++) {
        s->x[i] = (float)((i + seed) % 9 - 3);
        s->sum += s->x[i];
        s->asum += fabsf(s->x[i]);
        s->dot += s->x[i] * s->x[i];
    }
    for (int i = 0; i < EDGE * EDGE; i++) s->a[i] = (float)((i * 3 + seed) % 5 - 2);
    for (int j = 0; j < EDGE; j++)
        for (int p = 0; p < EDGE; p++)
            for (int i = 0; i < EDGE; i++)
                s->square[i + j * EDGE] += s->a[i + p * EDGE] * s->a[p + j * EDGE];
}

static void free_shared(shared *s)
{
    free(s->x);
    free(s->a);
    free(s->square);
}

/* One call of each operation on shared data; true if all are right. */
static bool all_four(duo_context *ctx, const shared *s)
{
    float sum = test_poison(), asum = sum, dot = sum, c[EDGE * EDGE];
    bool ok = duo_ssum(ctx, SHARED_FLOATS, s->x, 1, &sum) == DUO_OK && sum == s->sum;
    ok = duo_sasum(ctx, SHARED_FLOATS, s->x, 1, &asum) == DUO_OK && asum == s->asum && ok;
    ok = duo_sdot(ctx, SHARED_FLOATS, s->x, 1, s->x, 1, &dot) == DUO_OK && dot == s->dot && ok;
    ok = duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, EDGE, EDGE, EDGE, 1.0f, s->a,
                   EDGE, s->a, EDGE, 0.0f, c, EDGE) == DUO_OK &&
         ok;
    for (int i = 0; i < EDGE * EDGE && ok; i++) ok = c[i] == s->square[i];
    return ok;
}

/* ---- Many at once ---- */

typedef struct worker {
    const shared *s;
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

/* Starts `count` threads with this body, joins them; the number of things that went wrong. */
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
    shared s;
    make_shared(&s, 1);
    for (int kept = 0; kept < 2; kept++) {
        test_case("mixed/%s", kept ? "shared arrays are kept" : "shared arrays are plain");
        duo_context *const ctx = test_context();
        if (kept) {
            CHECK_STATUS(DUO_OK, duo_keep(ctx, s.x, SHARED_FLOATS * sizeof *s.x));
            CHECK_STATUS(DUO_OK, duo_keep(ctx, s.a, EDGE * EDGE * sizeof *s.a));
        }
        if (counting()) sim_set_delay(30);
        for (int i = 0; i < THREADS; i++)
            workers[i] = (worker){
                .s = &s, .index = i + kept * THREADS, .rounds = 12, .own_context = i % 2 == 0};
        const int wrong = crowd(THREADS, mixed_calls, workers);
        CHECK(wrong == 0, "%d things went wrong", wrong);
        if (counting()) sim_set_delay(0);
        if (kept) {
            CHECK_STATUS(DUO_OK, duo_release(ctx, s.x));
            CHECK_STATUS(DUO_OK, duo_release(ctx, s.a));
        }
        test_context_end(ctx);
    }
    free_shared(&s);
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
    shared s;
    make_shared(&s, 2);
    test_case("many-callers/%d", THREADS);
    pthread_barrier_t start;
    pthread_barrier_init(&start, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        workers[i] = (worker){.s = &s, .index = i, .rounds = 2, .start = &start};
    const int wrong = crowd(THREADS, call_cpu, workers);
    CHECK(wrong == 0, "%d things went wrong", wrong);
    pthread_barrier_destroy(&start);
    free_shared(&s);
}

/* ---- Products of callers with other and other numbers of threads ---- */

/* Seconds that each of these takes: DUOBLAS_TEST_SECONDS, or a few. */
static double test_seconds(void)
{
    const char *const asked = getenv("DUOBLAS_TEST_SECONDS");
    return asked != NULL ? atof(asked) : 3.0;
}

static double now_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef void (*fortran_sgemm)(const char *, const char *, const int *, const int *, const int *,
                              const float *, const float *, const int *, const float *, const int *,
                              const float *, float *, const int *, long, long);

typedef struct multiplier {
    int edge;
    float *a, *want, *got; /* squares of a; integers */
    double until;
    /* The program's own BLAS; NULL: ours. */
    fortran_sgemm own;
    void (*set_own_threads)(int);
    int64_t calls, wrong_calls, wrong_elements;
    int failed;
} multiplier;

static multiplier new_multiplier(int edge, double until)
{
    const size_t floats = (size_t)edge * (size_t)edge;
    multiplier w = {.edge = edge,
                    .a = malloc(floats * sizeof(float)),
                    .want = calloc(floats, sizeof(float)),
                    .got = malloc(floats * sizeof(float)),
                    .until = until};
    if (w.a == NULL || w.want == NULL || w.got == NULL) abort();
    for (size_t i = 0; i < floats; i++) w.a[i] = (float)((i * 7 + i / 11) % 17) - 8.0f;
    for (int j = 0; j < edge; j++)
        for (int p = 0; p < edge; p++)
            for (int i = 0; i < edge; i++)
                w.want[i + j * edge] += w.a[i + p * edge] * w.a[p + j * edge];
    return w;
}

static void *multiply_until(void *argument)
{
    multiplier *const w = argument;
    test_rng rng = {(uint64_t)w->edge};
    const int n = w->edge;
    const float one = 1.0f, zero = 0.0f;
    duo_context *ctx = NULL;
    w->failed += duo_create(&ctx) != DUO_OK || duo_set_path(ctx, DUO_PATH_CPU) != DUO_OK;
    while (now_seconds() < w->until) {
        const int threads = (int)test_between(&rng, 1, 8);
        for (int i = 0; i < n * n; i++) w->got[i] = test_poison();
        if (w->own != NULL) {
            w->set_own_threads(threads);
            w->own("N", "N", &n, &n, &n, &one, w->a, &n, w->a, &n, &zero, w->got, &n, 1, 1);
        } else {
            w->failed += duo_set_threads(ctx, threads) != DUO_OK;
            w->failed += duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, n, n, n, 1.0f,
                                   w->a, n, w->a, n, 0.0f, w->got, n) != DUO_OK;
        }
        int64_t wrong = 0;
        for (int i = 0; i < n * n; i++) wrong += !(w->got[i] == w->want[i]);
        w->calls++;
        w->wrong_calls += wrong > 0;
        w->wrong_elements += wrong;
    }
    w->failed += duo_destroy(ctx) != DUO_OK;
    return NULL;
}

/* Four threads with sizes of their own, and the program's own products if it has a BLAS. */
static void multiply_in_threads(fortran_sgemm own, void (*set_own_threads)(int))
{
    static const int edges[] = {700, 300, 250, 200, 500};
    enum { OURS = 4, MOST = 5 };
    const int count = own != NULL ? MOST : OURS;
    multiplier workers[MOST];
    pthread_t threads[MOST];
    const double seconds = test_seconds();
    for (int i = 0; i < count; i++) workers[i] = new_multiplier(edges[i], 0.0);
    const double until = now_seconds() + seconds;
    for (int i = 0; i < count; i++) {
        workers[i].until = until;
        if (i == OURS) {
            workers[i].own = own;
            workers[i].set_own_threads = set_own_threads;
        }
        if (pthread_create(&threads[i], NULL, multiply_until, &workers[i]) != 0) abort();
    }
    int64_t calls = 0;
    for (int i = 0; i < count; i++) {
        multiplier *const w = &workers[i];
        pthread_join(threads[i], NULL);
        calls += w->calls;
        CHECK(w->failed == 0 && w->wrong_calls == 0 && w->calls > 0,
              "%d: %jd of %jd products are wrong, in %jd elements; %d statuses", w->edge,
              (intmax_t)w->wrong_calls, (intmax_t)w->calls, (intmax_t)w->wrong_elements, w->failed);
        free(w->a);
        free(w->want);
        free(w->got);
    }
    printf("    %jd products\n", (intmax_t)calls);
}

/* A number of threads drawn anew for each call. DUOBLAS_TEST_SECONDS=600 goes on for so long. */
static void sgemm_threads_mixed(void)
{
    test_case("sgemm-threads-mixed");
    const duo_blas_library *const library = duo_blas_library_get();
    if (UNDER_TSAN && library != NULL && strstr(library->config, "USE_OPENMP") != NULL)
        CHECK(dlopen("libgomp.so.1", RTLD_LAZY | RTLD_NOLOAD) != NULL,
              "the inner BLAS's OpenMP is not in the process");
    multiply_in_threads(NULL, NULL);
}

/* The same beside a thread of the program that uses the same file with threads of its own. */
static void sgemm_beside_own(void)
{
    const duo_blas_library *const library = duo_blas_library_get();
    void *const handle = library != NULL ? dlopen(library->path, RTLD_NOW | RTLD_LOCAL) : NULL;
    void *const sgemm = handle != NULL ? dlsym(handle, "sgemm_") : NULL,
                *const set = handle != NULL ? dlsym(handle, "openblas_set_num_threads") : NULL;
    if (sgemm == NULL || set == NULL || UNDER_TSAN) {
        test_skip("an OpenBLAS is needed, and no thread sanitizer: its own threads are not seen");
        return;
    }
    fortran_sgemm own;
    void (*set_own_threads)(int);
    memcpy(&own, &sgemm, sizeof sgemm);
    memcpy(&set_own_threads, &set, sizeof set);
    test_case("sgemm-beside-own/%s", library->path);
    multiply_in_threads(own, set_own_threads);
}

/* ---- Threads that come and go ---- */

static void *call_device(void *argument)
{
    worker *const w = argument;
    w->wrong += duo_set_path(NULL, device_path()) != DUO_OK;
    w->wrong += !all_four(NULL, w->s);
    return NULL;
}

/* A thread that ends leaves its default context to the next one: no more than were alive at once.
 */
static void churn(void)
{
    enum { AT_ONCE = 6, BATCHES = 50 };
    static worker workers[AT_ONCE];
    shared s;
    make_shared(&s, 3);
    test_case("churn/%d", AT_ONCE * BATCHES);
    int wrong = 0;
    const uint64_t opened = sim_count(SIM_OPEN);
    const int alive = sim_leaks();
    for (int batch = 0; batch < BATCHES; batch++) {
        for (int i = 0; i < AT_ONCE; i++) workers[i] = (worker){.s = &s};
        wrong += crowd(AT_ONCE, call_device, workers);
    }
    CHECK(wrong == 0, "%d things went wrong", wrong);
    if (counting()) {
        CHECK(sim_count(SIM_OPEN) - opened <= 2 * AT_ONCE, "%ju queues were opened",
              (uintmax_t)(sim_count(SIM_OPEN) - opened));
        CHECK(sim_leaks() - alive <= 20 * AT_ONCE, "%d things are alive", sim_leaks() - alive);
    }
    free_shared(&s);
}

/* ---- Kept arrays shared by many ---- */

typedef struct reader {
    const shared *s;
    float *result; /* two floats on the device: the call does not wait */
    int wrong;
} reader;

static void *read_shared(void *argument)
{
    worker *const w = argument;
    w->wrong += duo_set_path(NULL, device_path()) != DUO_OK;
    for (int round = 0; round < w->rounds; round++) w->wrong += !all_four(NULL, w->s);
    return NULL;
}

static void kept_and_shared(void)
{
    enum { THREADS = 8, ROUNDS = 6 };
    static worker workers[THREADS];
    shared s, next;
    make_shared(&s, 10);
    duo_context *const ctx = test_context();
    CHECK_STATUS(DUO_OK, duo_keep(ctx, s.x, SHARED_FLOATS * sizeof *s.x));
    CHECK_STATUS(DUO_OK, duo_keep(ctx, s.a, EDGE * EDGE * sizeof *s.a));
    for (int round = 0; round < ROUNDS; round++) {
        test_case("kept-and-shared/%d", round);
        const uint64_t before = sim_uploaded_bytes();
        for (int i = 0; i < THREADS; i++) workers[i] = (worker){.s = &s, .rounds = 3};
        const int wrong = crowd(THREADS, read_shared, workers);
        CHECK(wrong == 0, "%d things went wrong", wrong);
        const uint64_t sent = sim_uploaded_bytes() - before;
        if (counting())
            CHECK(sent == (SHARED_FLOATS + EDGE * EDGE) * sizeof(float), "%ju bytes were sent",
                  (uintmax_t)sent);
        /* All have ended: the program may write. */
        make_shared(&next, 11 + round);
        memcpy(s.x, next.x, SHARED_FLOATS * sizeof *s.x);
        memcpy(s.a, next.a, EDGE * EDGE * sizeof *s.a);
        memcpy(s.square, next.square, EDGE * EDGE * sizeof *s.a);
        s.sum = next.sum;
        s.asum = next.asum;
        s.dot = next.dot;
        free_shared(&next);
        CHECK_STATUS(DUO_OK, duo_changed(ctx, s.x, SHARED_FLOATS * sizeof *s.x));
        CHECK_STATUS(DUO_OK, duo_changed(ctx, s.a, EDGE * EDGE * sizeof *s.a));
    }
    CHECK_STATUS(DUO_OK, duo_release(ctx, s.x));
    CHECK_STATUS(DUO_OK, duo_release(ctx, s.a));
    test_context_end(ctx);
    free_shared(&s);
}

/* Reads without waiting: the call returns when it is queued. */
static void *read_without_waiting(void *argument)
{
    reader *const r = argument;
    duo_context *ctx = NULL;
    r->wrong += duo_set_path(ctx, device_path()) != DUO_OK;
    r->wrong += duo_ssum(ctx, SHARED_FLOATS, r->s->x, 1, r->result) != DUO_OK;
    r->wrong += duo_sasum(ctx, SHARED_FLOATS, r->s->x, 1, r->result + 1) != DUO_OK;
    return NULL;
}

/* What readers have queued comes before what is written after they returned. */
static void write_after_readers(void)
{
    enum { THREADS = 4, ROUNDS = 40 };
    shared s;
    make_shared(&s, 20);
    duo_context *const ctx = test_context();
    reader readers[THREADS];
    void *results = NULL;
    float got[THREADS][256] = {{0.0f}};
    CHECK_STATUS(DUO_OK, duo_malloc(ctx, sizeof got, &results));
    CHECK_STATUS(DUO_OK, duo_copy(ctx, results, got, sizeof got));
    CHECK_STATUS(DUO_OK, duo_keep(ctx, s.x, SHARED_FLOATS * sizeof *s.x));
    if (counting()) sim_set_delay(400);
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
        for (int i = 0; i < SHARED_FLOATS; i++) {
            s.x[i] = (float)((i + round) % 7 - 2);
            s.sum += s.x[i];
            s.asum += fabsf(s.x[i]);
        }
        CHECK_STATUS(DUO_OK, duo_changed(ctx, s.x, SHARED_FLOATS * sizeof *s.x));
        CHECK_STATUS(DUO_OK, duo_ssum(ctx, SHARED_FLOATS, s.x, 1, &sum));
        CHECK(sum == s.sum, "%g, expected %g", (double)sum, (double)s.sum);
        CHECK_STATUS(DUO_OK, duo_copy(ctx, got, results, sizeof got));
        for (int i = 0; i < THREADS; i++)
            CHECK(got[i][0] == sum_before && got[i][1] == asum_before,
                  "reader %d got %g and %g, expected %g and %g", i, (double)got[i][0],
                  (double)got[i][1], (double)sum_before, (double)asum_before);
    }
    if (counting()) sim_set_delay(0);
    CHECK_STATUS(DUO_OK, duo_release(ctx, s.x));
    CHECK_STATUS(DUO_OK, duo_free(ctx, results));
    test_context_end(ctx);
    free_shared(&s);
}

/* A context may move from thread to thread, one at a time. */
static void *use_context(void *argument)
{
    duo_context *const ctx = argument;
    shared s;
    make_shared(&s, 4);
    const bool ok = all_four(ctx, &s);
    free_shared(&s);
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
    shared s;
    make_shared(&s, 5);
    test_case("openmp/null-contexts");
    int wrong = 0;
#pragma omp parallel for num_threads(4) schedule(dynamic) reduction(+ : wrong)
    for (int i = 0; i < 60; i++) {
        wrong += duo_set_path(NULL, i % 2 == 0 ? device_path() : DUO_PATH_AUTO) != DUO_OK;
        wrong += !all_four(NULL, &s);
    }
    CHECK(wrong == 0, "%d calls are wrong", wrong);

    test_case("openmp/own-contexts");
#pragma omp parallel num_threads(4) reduction(+ : wrong)
    {
        duo_context *ctx = NULL;
        wrong += duo_create(&ctx) != DUO_OK;
        wrong += duo_set_path(ctx, device_path()) != DUO_OK;
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
    free_shared(&s);
}

/* ---- Forks ---- */

/* In a child of a process that had used everything: the number of what went wrong. */
static int live_on_as_child(duo_context *ctx, const shared *s, float *kept, float kept_sum,
                            float *newer, void *device)
{
    float sum = test_poison();
    int wrong = 0;
    wrong += !all_four(NULL, s);
    wrong += !all_four(ctx, s);
    duo_decision d = {.size = sizeof d};
    wrong += duo_explain_last(ctx, &d) != DUO_OK || d.side != DUO_SIDE_CPU || d.threads != 1;
    /* An array whose host copy is current serves; what only the device has is out of reach. */
    wrong += duo_ssum(ctx, 1000, kept, 1, &sum) != DUO_OK || sum != kept_sum;
    if (test_gpu_side()) {
        wrong += duo_ssum(ctx, 100, newer, 1, &sum) != DUO_ERR_LOST;
        wrong += duo_ssum(ctx, 100, device, 1, &sum) != DUO_ERR_LOST;
        wrong += duo_fetch(ctx, newer, 4) != DUO_ERR_LOST;
        wrong += duo_copy(ctx, &sum, device, sizeof sum) != DUO_ERR_LOST;
        wrong += duo_release(ctx, newer) != DUO_ERR_LOST;
    }
    duo_context *fresh = NULL;
    wrong += duo_create(&fresh) != DUO_OK;
    wrong += duo_set_path(fresh, DUO_PATH_GPU) != DUO_OK;
    wrong += !all_four(fresh, s);
    void *memory = NULL, *host = NULL;
    wrong += duo_malloc(fresh, 4000, &memory) != DUO_OK;
    wrong += duo_malloc_host(fresh, 4000, &host) != DUO_OK;
    wrong += duo_copy(fresh, memory, kept, 4000) != DUO_OK;
    wrong += duo_ssum(fresh, 1000, memory, 1, &sum) != DUO_OK || sum != kept_sum;
    wrong += duo_free(fresh, memory) != DUO_OK || duo_free_host(fresh, host) != DUO_OK;
    wrong += duo_keep(fresh, s->x, 100) != DUO_OK || duo_release(fresh, s->x) != DUO_OK;
    wrong += duo_warm_up(fresh) != DUO_OK || duo_trim(fresh) != DUO_OK;
    wrong += duo_destroy(fresh) != DUO_OK;
    wrong += duo_release(ctx, kept) != DUO_OK || duo_free(ctx, device) != DUO_OK;
    wrong += duo_synchronize(ctx) != DUO_OK || duo_destroy(ctx) != DUO_OK;
    if (counting()) wrong += sim_violations() > 0;
    return wrong;
}

static void fork_after_use(void)
{
    if (UNDER_TSAN) {
        test_skip("the thread sanitizer does not take forks with threads");
        return;
    }
    shared s;
    make_shared(&s, 6);
    float kept[1000], kept_sum = 0.0f, newer[100], sum;
    for (int i = 0; i < 1000; i++) kept_sum += kept[i] = (float)(i % 3);
    for (int i = 0; i < 100; i++) newer[i] = 1.0f;
    duo_context *const ctx = test_context();
    void *device = NULL;
    CHECK_STATUS(DUO_OK, duo_set_path(NULL, device_path()));
    CHECK_STATUS(DUO_OK, duo_keep(ctx, kept, sizeof kept));
    CHECK_STATUS(DUO_OK, duo_keep(ctx, newer, sizeof newer));
    CHECK_STATUS(DUO_OK, duo_malloc(ctx, 400, &device));
    for (int round = 0; round < 5; round++) {
        test_case("fork/%d", round);
        /* Threads of OpenMP, the inner BLAS and the device are all in use before. */
        CHECK(all_four(ctx, &s) && all_four(NULL, &s), "wrong values in the parent");
        CHECK_STATUS(DUO_OK, duo_set_path(ctx, DUO_PATH_CPU));
        CHECK(all_four(ctx, &s), "wrong values in the parent");
        CHECK_STATUS(DUO_OK, duo_set_path(ctx, device_path()));
        CHECK_STATUS(DUO_OK, duo_ssum(ctx, 1000, kept, 1, &sum));
        CHECK_STATUS(DUO_OK,
                     duo_ssum(ctx, 100, newer, 1, &sum)); /* sends it, so what is next stays */
        CHECK_STATUS(DUO_OK, duo_ssum(ctx, 10, kept, 1, newer + 50));
        fflush(stdout);
        const pid_t pid = fork();
        if (pid == 0) {
            int wrong = live_on_as_child(ctx, &s, kept, kept_sum, newer, device);
            if (round == 4) { /* and its child in turn */
                const pid_t grandchild = fork();
                if (grandchild == 0) _exit(all_four(NULL, &s) ? 0 : 1);
                wrong += test_child_wait((int)grandchild, 20) != 0;
            }
            _exit(wrong > 100 ? 100 : wrong);
        }
        const int ended = test_child_wait((int)pid, 40);
        CHECK(ended == 0, "the child: %d (%s)", ended,
              ended == -2   ? "hung"
              : ended == -1 ? "was killed"
                            : "things went wrong");
        test_case("fork/parent-goes-on/%d", round);
        CHECK(all_four(ctx, &s) && all_four(NULL, &s), "wrong values in the parent");
        CHECK_STATUS(DUO_OK, duo_ssum(ctx, 1000, kept, 1, &sum));
        CHECK(sum == kept_sum, "%g", (double)sum);
        CHECK_STATUS(DUO_OK, duo_fetch(ctx, newer, sizeof newer));
        CHECK(newer[50] == 9.0f && newer[51] == 1.0f, "%g", (double)newer[50]);
    }
    CHECK_STATUS(DUO_OK, duo_release(ctx, kept));
    CHECK_STATUS(DUO_OK, duo_release(ctx, newer));
    CHECK_STATUS(DUO_OK, duo_free(ctx, device));
    CHECK_STATUS(DUO_OK, duo_set_path(NULL, DUO_PATH_AUTO));
    test_context_end(ctx);
    free_shared(&s);
}

static atomic_bool stop;

/* Large enough for several threads each: data, and what comes out. */
enum { LONG_FLOATS = 1 << 20, LONG_EDGE = 200 };

typedef struct large {
    float *x, *a;
    float sum, asum, dot;
    float *square;
} large;

static void make_large(large *l)
{
    l->x = malloc(LONG_FLOATS * sizeof *l->x);
    l->a = malloc(LONG_EDGE * LONG_EDGE * sizeof *l->a);
    l->square = calloc(LONG_EDGE * LONG_EDGE, sizeof *l->square);
    if (l->x == NULL || l->a == NULL || l->square == NULL) abort();
    l->sum = l->asum = l->dot = 0.0f;
    for (int i = 0; i < LONG_FLOATS; i++) {
        l->x[i] = (float)(i % 5 - 2);
        l->sum += l->x[i];
        l->asum += fabsf(l->x[i]);
        l->dot += l->x[i] * l->x[i];
    }
    for (int i = 0; i < LONG_EDGE * LONG_EDGE; i++) l->a[i] = (float)(i * 3 % 7 - 3);
    for (int j = 0; j < LONG_EDGE; j++)
        for (int p = 0; p < LONG_EDGE; p++)
            for (int i = 0; i < LONG_EDGE; i++)
                l->square[i + j * LONG_EDGE] += l->a[i + p * LONG_EDGE] * l->a[p + j * LONG_EDGE];
}

static void free_large(large *l)
{
    free(l->x);
    free(l->a);
    free(l->square);
}

static bool all_four_large(duo_context *ctx, const large *l)
{
    float sum = test_poison(), asum = sum, dot = sum;
    float *const c = malloc(LONG_EDGE * LONG_EDGE * sizeof *c);
    if (c == NULL) abort();
    for (int i = 0; i < LONG_EDGE * LONG_EDGE; i++) c[i] = test_poison();
    bool ok = duo_ssum(ctx, LONG_FLOATS, l->x, 1, &sum) == DUO_OK && sum == l->sum;
    ok = duo_sasum(ctx, LONG_FLOATS, l->x, 1, &asum) == DUO_OK && asum == l->asum && ok;
    ok = duo_sdot(ctx, LONG_FLOATS, l->x, 1, l->x, 1, &dot) == DUO_OK && dot == l->dot && ok;
    ok = duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, LONG_EDGE, LONG_EDGE, LONG_EDGE,
                   1.0f, l->a, LONG_EDGE, l->a, LONG_EDGE, 0.0f, c, LONG_EDGE) == DUO_OK &&
         ok;
    for (int i = 0; i < LONG_EDGE * LONG_EDGE && ok; i++) ok = c[i] == l->square[i];
    free(c);
    return ok;
}

typedef struct storm {
    const shared *s;
    const large *l;
    int index, wrong;
} storm;

static const duo_math maths[] = {DUO_MATH_ACCURATE, DUO_MATH_FLOAT64, DUO_MATH_IEEE, DUO_MATH_TF32};

/* Every operation in every math; half of the threads on the device, if there is one, half large. */
static void *busy(void *argument)
{
    storm *const w = argument;
    w->wrong += duo_set_path(NULL, w->index % 4 == 0 ? device_path() : DUO_PATH_CPU) != DUO_OK;
    w->wrong += duo_set_threads(NULL, w->index % 2 == 0 ? 0 : 3) != DUO_OK;
    float mine[500];
    for (int i = 0; i < 500; i++) mine[i] = 1.0f;
    for (int round = w->index; !atomic_load(&stop); round++) {
        w->wrong += duo_set_math(NULL, maths[round % 4]) != DUO_OK;
        w->wrong += w->index % 2 == 0 ? !all_four(NULL, w->s) : !all_four_large(NULL, w->l);
        w->wrong += duo_keep(NULL, mine, sizeof mine) != DUO_OK;
        float sum;
        w->wrong += duo_ssum(NULL, 500, mine, 1, &sum) != DUO_OK || sum != 500.0f;
        w->wrong += duo_release(NULL, mine) != DUO_OK;
    }
    return NULL;
}

/* All of it in a child; the number of what went wrong. */
static int live_in_a_storm(const shared *s, const large *l)
{
    int wrong = 0;
    for (int math = 0; math < 4; math++) {
        wrong += duo_set_math(NULL, maths[math]) != DUO_OK;
        wrong += !all_four(NULL, s) + !all_four_large(NULL, l);
    }
    wrong += duo_keep(NULL, s->x, 400) != DUO_OK;
    wrong += !all_four(NULL, s);
    wrong += duo_release(NULL, s->x) != DUO_OK;
    void *memory = NULL;
    wrong += duo_malloc(NULL, 100, &memory) != DUO_OK || duo_free(NULL, memory) != DUO_OK;
    duo_context *ctx = NULL;
    wrong += duo_create(&ctx) != DUO_OK || duo_destroy(ctx) != DUO_OK;
    return wrong;
}

/*
 * A fork while other threads are in the middle of calls: no lock may stay taken in the child.
 * DUOBLAS_TEST_FORKS=10000 makes so many forks.
 */
static void fork_while_busy(void)
{
    enum { THREADS = 6 };
    if (UNDER_SANITIZER) {
        test_skip("in a child the sanitizers' own locks may be taken, those of malloc");
        return;
    }
    const char *const asked = getenv("DUOBLAS_TEST_FORKS");
    const int forks = asked != NULL ? atoi(asked) : 50;
    shared s;
    large l;
    make_shared(&s, 7);
    make_large(&l);
    storm workers[THREADS];
    pthread_t threads[THREADS];
    atomic_store(&stop, false);
    CHECK(all_four(NULL, &s), "wrong values");
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (storm){.s = &s, .l = &l, .index = i};
        if (pthread_create(&threads[i], NULL, busy, &workers[i]) != 0) abort();
    }
    test_rng rng = test_rng_for("forks");
    for (int i = 0; i < forks; i++) {
        test_case("fork-while-busy/%d", i);
        usleep((useconds_t)test_between(&rng, 0, 2000));
        fflush(stdout);
        const pid_t pid = fork();
        if (pid == 0) _exit(live_in_a_storm(&s, &l));
        const int ended = test_child_wait((int)pid, 60);
        if (!CHECK(ended == 0, "the child: %d (%s)", ended,
                   ended == -2   ? "hung"
                   : ended == -1 ? "was killed"
                                 : "things went wrong"))
            break;
    }
    atomic_store(&stop, true);
    int wrong = 0;
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        wrong += workers[i].wrong;
    }
    CHECK(wrong == 0, "%d things went wrong in the parent", wrong);
    free_large(&l);
    free_shared(&s);
}

/* ---- A fork that meets another thread's first call: in fresh processes ---- */

static void *first_call(void *argument)
{
    const shared *const s = argument;
    (void)duo_set_path(NULL, DUO_PATH_CPU);
    return all_four(NULL, s) ? argument : NULL;
}

/* TEST_DELAY_US after another thread began its first call. */
static int fork_at_first_call(void)
{
    const char *const delay = getenv("TEST_DELAY_US");
    shared s;
    make_shared(&s, 12);
    pthread_t thread;
    void *result = NULL;
    if (pthread_create(&thread, NULL, first_call, &s) != 0) return 3;
    if (delay != NULL && atoi(delay) > 0) usleep((useconds_t)atoi(delay));
    const pid_t pid = fork();
    if (pid == 0) _exit(all_four(NULL, &s) ? 0 : 1);
    const int ended = test_child_wait((int)pid, 10);
    pthread_join(thread, &result);
    free_shared(&s);
    return ended == 0 && result != NULL ? 0 : ended == -2 ? 2 : 1;
}

static void fork_meets_first_call(void)
{
    static const char *const delays[] = {"0",    "50",   "200",   "500",   "1000",
                                         "2000", "5000", "10000", "20000", "30000"};
    if (UNDER_SANITIZER) {
        test_skip("in a child the sanitizers' own locks may be taken, those of malloc");
        return;
    }
    for (int i = 0; i < 20; i++) {
        char delay[64];
        snprintf(delay, sizeof delay, "TEST_DELAY_US=%s", delays[i % 10]);
        test_case("fork-meets-first-call/%s us", delays[i % 10]);
        test_child child;
        test_child_run("fork_at_first_call", (const char *const[]){delay, NULL}, 60, &child);
        CHECK(child.exit_status == 0, "%s: exit %d, \"%.200s\"",
              child.exit_status == 2 ? "the child hung" : "wrong", child.exit_status, child.err);
    }
}

static void *fetch(void *kept)
{
    return duo_fetch(NULL, kept, sizeof(float)) == DUO_OK ? kept : NULL;
}

/* A fork does not wait until a device has done its work, though a lock is held all that time. */
static void fork_while_device_works(void)
{
    if (!counting() || UNDER_TSAN) {
        test_skip("a device that can be held up is needed, and no thread sanitizer");
        return;
    }
    test_case("fork-while-device-works");
    shared s;
    make_shared(&s, 8);
    float kept[64], sum;
    for (int i = 0; i < 64; i++) kept[i] = 1.0f;
    duo_context *const ctx = test_context();
    CHECK_STATUS(DUO_OK, duo_keep(ctx, kept, sizeof kept));
    CHECK_STATUS(DUO_OK, duo_ssum(ctx, 64, kept, 1, &sum));
    CHECK_STATUS(DUO_OK, duo_ssum(ctx, 64, kept, 1, kept));
    CHECK_STATUS(DUO_OK, duo_synchronize(ctx));
    sim_hold(true);
    const uint64_t copies = sim_count(SIM_COPY);
    pthread_t thread;
    if (pthread_create(&thread, NULL, fetch, kept) != 0) abort();
    while (sim_count(SIM_COPY) == copies) usleep(1000);
    usleep(20000); /* now it waits for that copy */
    fflush(stdout);
    const pid_t pid = fork();
    if (pid == 0) {
        int wrong = !all_four(NULL, &s) || !all_four(ctx, &s);
        wrong += duo_fetch(ctx, kept, sizeof kept) != DUO_ERR_LOST;
        wrong += duo_release(ctx, kept) != DUO_ERR_LOST;
        wrong += duo_keep(ctx, kept, sizeof kept) != DUO_OK;
        _exit(wrong);
    }
    const int ended = test_child_wait((int)pid, 20);
    CHECK(ended == 0, "the child: %d", ended);
    sim_hold(false);
    void *result = NULL;
    pthread_join(thread, &result);
    CHECK(result == kept && kept[0] == 64.0f, "%g", (double)kept[0]);
    CHECK_STATUS(DUO_OK, duo_release(ctx, kept));
    test_context_end(ctx);
    free_shared(&s);
}

/* The row that serves the context's sgemm, or "wrong". */
static const char *row_of_sgemm(duo_context *ctx, const shared *s)
{
    duo_decision d = {.size = sizeof d};
    return all_four(ctx, s) && duo_explain_last(ctx, &d) == DUO_OK ? d.algorithm : "wrong";
}

/*
 * Another thread's being inside the inner BLAS at a fork cannot be brought about at will, so its
 * mark is set by hand: the child then must do without, as locks in there may be taken for ever.
 */
static void fork_inside_blas(void)
{
    if (duo_blas_library_get() == NULL || UNDER_TSAN) {
        test_skip("a CPU BLAS is needed, and no thread sanitizer");
        return;
    }
    shared s;
    make_shared(&s, 9);
    duo_context *const ctx = test_context(), *const other = test_context();
    CHECK_STATUS(DUO_OK, duo_set_path(ctx, DUO_PATH_CPU));
    const bool serves = strcmp(row_of_sgemm(ctx, &s), "sgemm_cpu_openblas") == 0;
    for (int i = 0; i < DUO_SGEMM_ALGORITHMS; i++) {
        const duo_algorithm *const row = &duo_algorithm_tables[DUO_SGEMM].algorithm[i];
        if (row->side != DUO_SIDE_CPU) continue;
        const bool inside = row->id != DUO_sgemm_cpu_plain;
        test_case("fork-inside-blas/%s", row->name);
        other->running = row;
        fflush(stdout);
        const pid_t pid = fork();
        if (pid == 0) {
            const bool abandoned = duo_blas_library_get() == NULL;
            const bool plain = strcmp(row_of_sgemm(ctx, &s), "sgemm_cpu_plain") == 0;
            const bool float64 = duo_set_math(ctx, DUO_MATH_FLOAT64) == DUO_OK && all_four(ctx, &s);
            _exit(abandoned == inside && plain == (inside || !serves) && float64 ? 0 : 1);
        }
        const int ended = test_child_wait((int)pid, 20);
        CHECK(ended == 0, "the child: %d", ended);
        other->running = NULL;
        CHECK(duo_blas_library_get() != NULL && all_four(ctx, &s), "the parent cannot go on");
    }
    test_context_end(ctx);
    test_context_end(other);
    free_shared(&s);
}

/* ---- No keys left ---- */

/* The others are of libraries, as OpenMP's, that keep something of theirs for each thread. */
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

/* In a process of its own, whose first call finds every key in use: the number of what went wrong. */
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

/* Default contexts work without a key, and leave those of others alone. */
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
    {"sgemm_threads_mixed", sgemm_threads_mixed},
    {"sgemm_beside_own", sgemm_beside_own},
    {"churn", churn},
    {"kept_and_shared", kept_and_shared},
    {"write_after_readers", write_after_readers},
    {"context_moves", context_moves},
    {"openmp_caller", openmp_caller},
    {"fork_after_use", fork_after_use},
    {"fork_while_busy", fork_while_busy},
    {"fork_meets_first_call", fork_meets_first_call},
    {"fork_while_device_works", fork_while_device_works},
    {"fork_inside_blas", fork_inside_blas},
    {"no_keys_left", no_keys_left},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    const char *const task = test_child_task(argc, argv);
    if (task != NULL) return strcmp(task, "keys") == 0 ? use_every_key() : fork_at_first_call();
    return test_main(argc, argv, "threads", tests);
}
