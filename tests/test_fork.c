/*
 * test_fork.c - processes that fork: after everything was used, in the middle of calls of other
 * threads, while another thread makes its first call, while the device works.
 */
#define _GNU_SOURCE
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "call/context.h"
#include "choice/algorithm.h"
#include "cpu/blas_library.h"
#include "sim/sim.h"
#include "support/child.h"
#include "support/data.h"
#include "support/harness.h"
#include "support/known_work.h"
#include "support/sanitizers.h"

/* ---- After use ---- */

/* In a child of a process that had used everything. Returns the number of errors. */
static int live_on_as_child(duo_context *ctx, const known_work *s, float *kept, float kept_sum,
                            float *newer, void *device)
{
    float sum = test_poison();
    int wrong = 0;
    duo_decision d = {.size = sizeof d}; /* it has made no call yet */
    wrong += duo_explain_last(ctx, &d) != DUO_OK || d.operation != NULL || d.reason[0] != '\0';
    wrong += duo_explain_last(NULL, &d) != DUO_OK || d.operation != NULL || d.note[0] != '\0';
    wrong += !all_four(NULL, s);
    wrong += !all_four(ctx, s);
    wrong += duo_explain_last(ctx, &d) != DUO_OK || d.side != DUO_SIDE_CPU || d.threads != 1;
    /* An array with a current host copy serves; data only on the device are out of reach. */
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
    if (test_on_sim()) wrong += sim_violations() > 0;
    return wrong;
}

static void fork_after_use(void)
{
    if (UNDER_TSAN) {
        test_skip("the thread sanitizer does not take forks with threads");
        return;
    }
    known_work s;
    make_known_work(&s, 6);
    float kept[1000], kept_sum = 0.0f, newer[100], sum;
    for (int i = 0; i < 1000; i++) kept_sum += kept[i] = (float)(i % 3);
    for (int i = 0; i < 100; i++) newer[i] = 1.0f;
    duo_context *const ctx = test_context();
    void *device = NULL;
    CHECK_STATUS(DUO_OK, duo_set_path(NULL, test_path()));
    CHECK_STATUS(DUO_OK, duo_keep(ctx, kept, sizeof kept));
    CHECK_STATUS(DUO_OK, duo_keep(ctx, newer, sizeof newer));
    CHECK_STATUS(DUO_OK, duo_malloc(ctx, 400, &device));
    for (int round = 0; round < 5; round++) {
        test_case("fork/%d", round);
        /* Threads of OpenMP, the inner BLAS and the device are all in use before. */
        CHECK(all_four(ctx, &s) && all_four(NULL, &s), "wrong values in the parent");
        CHECK_STATUS(DUO_OK, duo_set_path(ctx, DUO_PATH_CPU));
        CHECK(all_four(ctx, &s), "wrong values in the parent");
        CHECK_STATUS(DUO_OK, duo_set_path(ctx, test_path()));
        CHECK_STATUS(DUO_OK, duo_ssum(ctx, 1000, kept, 1, &sum));
        CHECK_STATUS(DUO_OK,
                     duo_ssum(ctx, 100, newer, 1, &sum)); /* sends it; the next sum stays there */
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
    free_known_work(&s);
}

/* A queue that was opened only for transfers, before any call looked at its device. */
static void fork_after_copy(void)
{
    if (UNDER_TSAN || !test_on_sim()) {
        test_skip(UNDER_TSAN ? "the thread sanitizer does not take forks with threads"
                             : "needs the simulated device");
        return;
    }
    float x[100], sum = test_poison();
    void *device = NULL;
    for (int i = 0; i < 100; i++) x[i] = 1.0f;
    duo_context *const owner = test_context(), *const ctx = test_context();
    CHECK_STATUS(DUO_OK, duo_malloc(owner, sizeof x, &device));
    CHECK_STATUS(DUO_OK, duo_copy(ctx, device, x, sizeof x));
    fflush(stdout);
    const pid_t pid = fork();
    if (pid == 0) {
        const bool right = duo_ssum(ctx, 100, x, 1, &sum) == DUO_OK && sum == 100.0f;
        _exit(right ? sim_violations() : 100);
    }
    const int ended = test_child_wait((int)pid, 40);
    CHECK(ended == 0, "the child: %d", ended);
    CHECK_STATUS(DUO_OK, duo_free(owner, device));
    test_context_end(owner);
    test_context_end(ctx);
}

/* ---- In the middle of calls ---- */

static atomic_bool stop;

/* Large enough for several threads each: data, and results. */
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
    const known_work *s;
    const large *l;
    int index, wrong;
} storm;

static const duo_math maths[] = {DUO_MATH_ACCURATE, DUO_MATH_FLOAT64, DUO_MATH_IEEE, DUO_MATH_TF32};

/* Every operation in every math; half of the threads on the device, if there is one, half large. */
static void *busy(void *argument)
{
    storm *const w = argument;
    w->wrong += duo_set_path(NULL, w->index % 4 == 0 ? test_path() : DUO_PATH_CPU) != DUO_OK;
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

/* All of it in a child. Returns the number of errors. */
static int live_in_a_storm(const known_work *s, const large *l)
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
 * DUOBLAS_TEST_FORKS=10000 makes 10000 forks.
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
    known_work s;
    large l;
    make_known_work(&s, 7);
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
    free_known_work(&s);
}

/* ---- A fork that meets another thread's first call: in fresh processes ---- */

static void *first_call(void *argument)
{
    const known_work *const s = argument;
    (void)duo_set_path(NULL, DUO_PATH_CPU);
    return all_four(NULL, s) ? argument : NULL;
}

/* TEST_DELAY_US after another thread began its first call. */
static int fork_at_first_call(void)
{
    const char *const delay = getenv("TEST_DELAY_US");
    known_work s;
    make_known_work(&s, 12);
    pthread_t thread;
    void *result = NULL;
    if (pthread_create(&thread, NULL, first_call, &s) != 0) return 3;
    if (delay != NULL && atoi(delay) > 0) usleep((useconds_t)atoi(delay));
    const pid_t pid = fork();
    if (pid == 0) _exit(all_four(NULL, &s) ? 0 : 1);
    const int ended = test_child_wait((int)pid, 10);
    pthread_join(thread, &result);
    free_known_work(&s);
    if (ended != 0) fprintf(stderr, "the child ended with %d", ended);
    if (result == NULL) fprintf(stderr, "the parent's values are wrong");
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

/* ---- While the device works, and with the inner BLAS ---- */

static void *fetch(void *kept)
{
    return duo_fetch(NULL, kept, sizeof(float)) == DUO_OK ? kept : NULL;
}

/* A fork does not wait until a device has done its work, though another thread holds a lock all
 * that time. */
static void fork_while_device_works(void)
{
    if (!test_on_sim() || UNDER_TSAN) {
        test_skip("a device that can be held up is needed, and no thread sanitizer");
        return;
    }
    test_case("fork-while-device-works");
    known_work s;
    make_known_work(&s, 8);
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
    free_known_work(&s);
}

/* The algorithm that serves the context's sgemm, or "wrong". */
static const char *algorithm_of_sgemm(duo_context *ctx, const known_work *s)
{
    duo_decision d = {.size = sizeof d};
    return all_four(ctx, s) && duo_explain_last(ctx, &d) == DUO_OK ? d.algorithm : "wrong";
}

/* A child does without the inner BLAS: a thread may have been inside it at the fork, so that its
 * locks stay taken for ever. */
static void fork_with_blas(void)
{
    if (duo_blas_library_get() == NULL || UNDER_TSAN) {
        test_skip("a CPU BLAS is needed, and no thread sanitizer");
        return;
    }
    known_work s;
    make_known_work(&s, 9);
    duo_context *const ctx = test_context();
    CHECK_STATUS(DUO_OK, duo_set_path(ctx, DUO_PATH_CPU));
    test_case("fork-with-blas");
    fflush(stdout);
    const pid_t pid = fork();
    if (pid == 0) {
        const bool given_up = duo_blas_library_get() == NULL;
        const bool ours = strcmp(algorithm_of_sgemm(ctx, &s), "sgemm_cpu_ffma") == 0;
        _exit(given_up && ours ? 0 : 1);
    }
    const int ended = test_child_wait((int)pid, 20);
    CHECK(ended == 0, "the child: %d", ended);
    CHECK(duo_blas_library_get() != NULL && all_four(ctx, &s), "the parent cannot go on");
    test_context_end(ctx);
    free_known_work(&s);
}

static const test_entry tests[] = {
    {"fork_after_use", fork_after_use},
    {"fork_after_copy", fork_after_copy},
    {"fork_while_busy", fork_while_busy},
    {"fork_meets_first_call", fork_meets_first_call},
    {"fork_while_device_works", fork_while_device_works},
    {"fork_with_blas", fork_with_blas},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    if (test_child_task(argc, argv) != NULL) return fork_at_first_call();
    return test_main(argc, argv, "fork", tests);
}
