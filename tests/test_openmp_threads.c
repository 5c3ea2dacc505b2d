/*
 * test_openmp_threads.c - the program's OpenMP threads as helpers: they come where they wait, and
 * only there; results are right wherever they come, end, or are late.
 *
 * Each test is a process of its own with two OpenMP threads. They wait actively, so that they are
 * met on a crowded machine, too.
 */
#define _GNU_SOURCE
#include <fenv.h>
#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "duoblas.h"
#include "host/openmp_threads.h"
#include "host/team.h"
#include "support/child.h"
#include "support/data.h"
#include "support/harness.h"
#include "support/sanitizers.h"

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* A parallel loop of the program: afterwards its threads wait for the next one. */
static void loop(void)
{
    static atomic_int sum;
#pragma omp parallel for schedule(static)
    for (int i = 0; i < 1000; i++) atomic_fetch_add_explicit(&sum, i, memory_order_relaxed);
}

/* Does the library find waiting threads within this time? */
static bool meets(double ms)
{
    const double until = now_ms() + ms;
    do {
        loop();
        if (duo_openmp_threads_wait(2)) return true;
    } while (now_ms() < until);
    return false;
}

static void count_piece(void *job, int64_t piece) { ((unsigned char *)job)[piece]++; }

static bool each_piece_once(int64_t pieces)
{
    unsigned char done[256] = {0};
    duo_team_run(count_piece, done, pieces, 2);
    bool right = done[pieces] == 0;
    for (int64_t i = 0; i < pieces; i++) right = done[i] == 1 && right;
    return right;
}

/* ---- The tasks of children: each says "yes" or what is wrong ---- */

#define SAY_UNLESS(condition, what)                                                                \
    if (!(condition)) {                                                                            \
        printf("%s", what);                                                                        \
        return 1;                                                                                  \
    }

static int pieces_in_regions(void)
{
    const double until = now_ms() + 40000.0;
    int64_t pieces = 2;
    while (duo_openmp_threads_regions() < 20 && now_ms() < until) {
        loop();
        SAY_UNLESS(each_piece_once(pieces), "a piece was not done once");
        pieces = pieces % 200 + 1 + (pieces % 200 == 0);
    }
    SAY_UNLESS(duo_openmp_threads_regions() >= 20, "there were few regions");
    return 0;
}

enum { LONG = 16 };

/* The first piece of the second run waits for all others. */
static void wait_for_others(void *job, int64_t piece)
{
    atomic_int *const began = job;
    const double start = now_ms(), most = piece == LONG / 2 ? 5000.0 : 0.1;
    atomic_fetch_add(began, 1);
    while (now_ms() - start < most && (piece != LONG / 2 || atomic_load(began) < LONG)) continue;
    if (piece == LONG / 2 && atomic_load(began) < LONG) atomic_fetch_add(began, 1000);
}

/* A member takes pieces of other runs, if runs are long. */
static int long_runs_are_shared(void)
{
    const double until = now_ms() + 40000.0;
    while (duo_openmp_threads_regions() < 5 && now_ms() < until) {
        atomic_int began = 0;
        loop();
        duo_team_run(wait_for_others, &began, LONG, 2);
        SAY_UNLESS(atomic_load(&began) == LONG, "others did not take the pieces");
    }
    SAY_UNLESS(duo_openmp_threads_regions() >= 5, "there were few regions");
    return 0;
}

typedef struct modes {
    pid_t caller;
    atomic_int wrong, by_others;
} modes;

/* 1: it rounds upward; -1: downward; 0: to nearest. */
static int rounding(void)
{
    volatile float one = 1.0f, tiny = 1e-10f;
    volatile float more = one + tiny, less = one - tiny;
    return more > one ? 1 : less < one ? -1 : 0;
}

static void look_at_mode(void *job, int64_t piece)
{
    modes *const m = job;
    (void)piece;
    if (rounding() != 1) atomic_fetch_add(&m->wrong, 1);
    if (gettid() != m->caller) atomic_fetch_add(&m->by_others, 1);
    fesetround(FE_DOWNWARD); /* no piece sees the mode that another one left behind */
    if (gettid() == m->caller) fesetround(FE_UPWARD);
}

/* A piece has the caller's floating-point mode, and OpenMP's thread has its own again after it. */
static int modes_in_regions(void)
{
    modes m = {.caller = gettid()};
    const double until = now_ms() + 40000.0;
    int changed = 0;
    while (atomic_load(&m.by_others) < 1 && now_ms() < until) {
        if (!meets(1000.0)) continue;
        const long before = duo_openmp_threads_regions();
        modes one = {.caller = m.caller};
        fesetround(FE_UPWARD);
        duo_team_run(look_at_mode, &one, 2, 2);
        fesetround(FE_TONEAREST);
        if (duo_openmp_threads_regions() == before) continue; /* a helper of ours did it */
        atomic_fetch_add(&m.wrong, atomic_load(&one.wrong));
        atomic_fetch_add(&m.by_others, atomic_load(&one.by_others));
#pragma omp parallel reduction(+ : changed)
        changed += rounding() != 0;
    }
    SAY_UNLESS(atomic_load(&m.by_others) >= 1, "others did no piece");
    SAY_UNLESS(atomic_load(&m.wrong) == 0, "a piece had another mode");
    SAY_UNLESS(changed == 0, "OpenMP's thread has another mode");
    return 0;
}

/* An operation has the same bits in a region and on one thread. */
static int bits_in_regions(void)
{
    enum { N = 1 << 18, EDGE = 200 };
    static float x[N], a[EDGE * EDGE], c[2][EDGE * EDGE];
    float sum[2];
    test_rng rng = test_rng_for("bits in regions");
    for (int i = 0; i < N; i++) x[i] = (float)test_unit(&rng);
    for (int i = 0; i < EDGE * EDGE; i++) a[i] = (float)test_unit(&rng);
    bool ok = duo_set_path(NULL, DUO_PATH_CPU) == DUO_OK;
    for (int i = 0; i < 100; i++) {
        loop();
        const int threads = i == 0 ? 1 : 2, to = i > 0;
        ok = duo_set_threads(NULL, threads) == DUO_OK && ok;
        ok = duo_ssum(NULL, N, x, 1, &sum[to]) == DUO_OK && ok;
        ok = duo_sgemm(NULL, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_TRANS, EDGE, EDGE, EDGE, 1.0f, a,
                       EDGE, a, EDGE, 0.0f, c[to], EDGE) == DUO_OK &&
             ok;
        SAY_UNLESS(ok && memcmp(&sum[0], &sum[to], sizeof sum[0]) == 0, "another sum");
        SAY_UNLESS(memcmp(c[0], c[to], sizeof c[0]) == 0, "another product");
    }
    SAY_UNLESS(duo_openmp_threads_regions() > 0, "there was no region");
    return 0;
}

static void *ask(void *answer)
{
    *(bool *)answer = duo_openmp_threads_wait(2);
    return NULL;
}

/* Nobody is asked to help but by the first thread, outside of regions, for as many as there are. */
static int only_where_they_wait(void)
{
    pthread_t thread;
    bool elsewhere = false, inside = false;
    SAY_UNLESS(meets(40000.0), "no threads were met");
    SAY_UNLESS(!duo_openmp_threads_wait(3), "three of two");
#pragma omp parallel
    {
#pragma omp master
        inside = duo_openmp_threads_wait(2);
    }
    SAY_UNLESS(!inside, "inside a region");
    if (pthread_create(&thread, NULL, ask, &elsewhere) != 0) return 1;
    pthread_join(thread, NULL);
    SAY_UNLESS(!elsewhere, "on another thread");
    omp_set_num_threads(1);
    SAY_UNLESS(!duo_openmp_threads_wait(1), "with one thread");
    omp_set_num_threads(2);
    omp_set_dynamic(1);
    SAY_UNLESS(!duo_openmp_threads_wait(2), "with a size that OpenMP chooses");
    omp_set_dynamic(0);
    SAY_UNLESS(meets(40000.0), "not met again");
    return 0;
}

static int threads_now(void)
{
    struct stat tasks;
    return stat("/proc/self/task", &tasks) == 0 ? (int)tasks.st_nlink - 2 : 0;
}

/* The program's loops have more threads than a region of ours. With more than there are processors
 * some sleep, so that the others may be taken for all. */
static int loops_of_another_size(void)
{
    for (int i = 0; i < 300; i++) {
        atomic_int came = 0;
#pragma omp parallel num_threads(4)
        atomic_fetch_add(&came, 1);
        SAY_UNLESS(came == 4, "the program's loop has other threads");
        SAY_UNLESS(each_piece_once(i % 200 + 1), "a piece was not done once");
    }
    return 0;
}

static atomic_bool stop;

static void *compute(void *argument)
{
    while (!atomic_load_explicit(&stop, memory_order_relaxed)) continue;
    return argument;
}

/* No loop: a thread of the program that computes looks like one that waits. That is found out. */
static int another_thread_runs(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, compute, NULL) != 0) return 1;
    const double until = now_ms() + 1500.0;
    bool right = true;
    while (now_ms() < until) right = each_piece_once(20) && right;
    const int threads = threads_now();
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
    SAY_UNLESS(right, "a piece was not done once");
    SAY_UNLESS(duo_openmp_threads_regions() <= 3, "there were regions");
    SAY_UNLESS(threads <= 2 + duo_team_helpers() + 1 + 2 * UNDER_TSAN, "there are more threads");
    return 0;
}

/* OpenMP ends its threads, and makes others. */
static int ended_threads(void)
{
    enum { N = 1 << 18 };
    static float x[N];
    float sum = 1.0f;
    if (duo_set_path(NULL, DUO_PATH_CPU) != DUO_OK) return 1;
    for (int i = 0; i < 3; i++) {
        SAY_UNLESS(meets(40000.0), "no threads were met");
        SAY_UNLESS(omp_pause_resource_all(omp_pause_hard) == 0, "OpenMP refuses to end them");
        for (int j = 0; j < 5000 && threads_now() > 1 + duo_team_helpers(); j++) usleep(1000);
        SAY_UNLESS(duo_sasum(NULL, N, x, 1, &sum) == DUO_OK && sum == 0.0f, "another sum");
        SAY_UNLESS(!duo_openmp_threads_wait(2), "ended threads wait");
        SAY_UNLESS(each_piece_once(20), "a piece was not done once");
    }
    SAY_UNLESS(meets(40000.0), "no threads were met again");
    return 0;
}

/* OpenMP's threads are not in a child process. */
static int forked(void)
{
    SAY_UNLESS(meets(40000.0), "no threads were met");
    fflush(stdout);
    const pid_t pid = fork();
    if (pid == 0) {
        bool right = !duo_openmp_threads_wait(2);
        for (int i = 0; i < 20; i++) right = each_piece_once(20) && right;
        _exit(right ? 0 : 1);
    }
    SAY_UNLESS(test_child_wait((int)pid, 20) == 0, "the child fails");
    SAY_UNLESS(meets(40000.0), "not met again in the parent");
    return 0;
}

/* Their stacks are too small for a piece. */
static int small_stacks(void)
{
    SAY_UNLESS(!meets(1500.0), "asked to help");
    SAY_UNLESS(each_piece_once(20), "a piece was not done once");
    return 0;
}

static int64_t come_late(void *job, int number)
{
    if (number > 0) {
        usleep(30000);
        *(double *)job = now_ms();
    }
    return 0;
}

/* After a late region there is none for a while, and the while becomes longer. */
static int late_regions(void)
{
    for (double pause_ms = 16.0; pause_ms <= 256.0; pause_ms *= 4.0) {
        double ended_ms = 0.0;
        SAY_UNLESS(meets(40000.0), "no threads were met");
        duo_openmp_threads_run(come_late, &ended_ms);
        SAY_UNLESS(meets(40000.0), "no threads were met again");
        SAY_UNLESS(now_ms() >= ended_ms + pause_ms, "met too early");
    }
    return 0;
}

static const struct {
    const char *name;
    int (*run)(void);
    const char *setting;
} tasks[] = {
    {"pieces_in_regions", pieces_in_regions, NULL},
    {"long_runs_are_shared", long_runs_are_shared, NULL},
    {"modes_in_regions", modes_in_regions, NULL},
    {"bits_in_regions", bits_in_regions, NULL},
    {"only_where_they_wait", only_where_they_wait, NULL},
    {"loops_of_another_size", loops_of_another_size, NULL},
    {"another_thread_runs", another_thread_runs, NULL},
    {"ended_threads", ended_threads, NULL},
    {"forked", forked, NULL},
    {"small_stacks", small_stacks, "OMP_STACKSIZE=100K"},
    {"late_regions", late_regions, NULL},
};
enum { TASKS = sizeof tasks / sizeof tasks[0] };

static void run_task(int i)
{
    test_case("openmp_threads/%s", tasks[i].name);
    test_child child;
    test_child_run(tasks[i].name,
                   (const char *const[]){"OMP_NUM_THREADS=2", "OMP_WAIT_POLICY=active",
                                         tasks[i].setting, NULL},
                   300, &child);
    CHECK(child.exit_status == 0, "exit %d, said \"%.200s\" \"%.200s\"", child.exit_status,
          child.out, child.err);
}

static void all_tasks(void)
{
    if (omp_get_num_procs() < 2) {
        test_skip("one processor: OpenMP's threads are never all running");
        return;
    }
    for (int i = 0; i < TASKS; i++) {
        if (tasks[i].run == small_stacks && UNDER_TSAN)
            continue; /* no thread has so small a stack */
        if (tasks[i].run == forked && UNDER_SANITIZER)
            continue; /* does not take forks with threads */
        run_task(i);
    }
}

static const test_entry tests[] = {{"all_tasks", all_tasks}, {NULL, NULL}};

int main(int argc, char **argv)
{
    const char *const task = test_child_task(argc, argv);
    for (int i = 0; task != NULL && i < TASKS; i++)
        if (strcmp(task, tasks[i].name) == 0) return tasks[i].run();
    return test_main(argc, argv, "openmp_threads", tests);
}
