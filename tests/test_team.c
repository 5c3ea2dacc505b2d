/*
 * test_team.c - the team of threads: every piece once, no more members than asked for, nobody waits
 * for a thread that has not begun, and it works where there can be no threads.
 *
 * The pieces of a test write to memory of their own without any lock: ThreadSanitizer then sees
 * whether the team orders them before the caller's return.
 */
#define _GNU_SOURCE
#include <fenv.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "duoblas.h"
#include "host/processor.h"
#include "host/team.h"
#include "support/child.h"
#include "support/data.h"
#include "support/harness.h"
#include "support/sanitizers.h"

enum { SEVERAL = 16 }; /* members of most jobs here */

static void make_thread(pthread_t *thread, void *(*body)(void *), void *argument)
{
    if (pthread_create(thread, NULL, body, argument) != 0) abort();
}

/* Waits until it is so, 20 s at most. */
static bool becomes(atomic_int *value, int wanted)
{
    for (int i = 0; i < 20000 && atomic_load(value) < wanted; i++) usleep(1000);
    return atomic_load(value) >= wanted;
}

/* ---- Every piece once ---- */

static void count_piece(void *job, int64_t piece) { ((unsigned char *)job)[piece]++; }

/* How many pieces were not done once. */
static int64_t run_and_count(int64_t pieces, int threads)
{
    unsigned char *const done = calloc((size_t)pieces + 1, 1);
    if (done == NULL) abort();
    duo_team_run(count_piece, done, pieces, threads);
    int64_t wrong = done[pieces] != 0; /* one too many */
    for (int64_t i = 0; i < pieces; i++) wrong += done[i] != 1;
    free(done);
    return wrong;
}

static void every_piece_once(void)
{
    static const int64_t few[] = {0, 1, 2, 3, 4, 5, 7, 15, 16, 17, 31, 97, 256, 1009};
    static const int64_t many[] = {65537, (1 << 18) - 2, (1 << 18) - 1, 1 << 18, 524287, 600011};
    for (int threads = 1; threads <= 17; threads++) {
        const int asked = threads <= 16 ? threads : 300;
        for (size_t i = 0; i < sizeof few / sizeof few[0]; i++)
            for (int again = 0; again < 20; again++) {
                test_case("team/%jd pieces/%d threads", (intmax_t)few[i], asked);
                const int64_t wrong = run_and_count(few[i], asked);
                CHECK(wrong == 0, "%jd pieces", (intmax_t)wrong);
            }
    }
    static const int threads[] = {1, 2, 5, 16, 300};
    for (size_t t = 0; t < sizeof threads / sizeof threads[0]; t++)
        for (size_t i = 0; i < sizeof many / sizeof many[0]; i++) {
            test_case("team/%jd pieces/%d threads", (intmax_t)many[i], threads[t]);
            const int64_t wrong = run_and_count(many[i], threads[t]);
            CHECK(wrong == 0, "%jd pieces", (intmax_t)wrong);
        }
    test_case("team/no threads at all");
    CHECK(run_and_count(9, 0) == 0 && run_and_count(9, -1) == 0, "pieces are missing");
}

typedef struct caller {
    pthread_barrier_t *start;
    int number;
    int64_t wrong;
} caller;

static void *call_at_random(void *argument)
{
    caller *const c = argument;
    test_rng rng = {(uint64_t)c->number * 7919u + 3u};
    pthread_barrier_wait(c->start);
    for (int round = 0; round < 300; round++) {
        const int64_t pieces = test_between(&rng, 0, round % 30 == 0 ? 20000 : 60);
        c->wrong += run_and_count(pieces, (int)test_between(&rng, 1, SEVERAL));
    }
    return NULL;
}

/* More callers than there are slots for jobs. */
static void many_callers(void)
{
    enum { CALLERS = 24 };
    test_case("team/%d callers at once", CALLERS);
    pthread_t threads[CALLERS];
    caller callers[CALLERS];
    pthread_barrier_t start;
    pthread_barrier_init(&start, NULL, CALLERS);
    for (int i = 0; i < CALLERS; i++) {
        callers[i] = (caller){.start = &start, .number = i};
        make_thread(&threads[i], call_at_random, &callers[i]);
    }
    int64_t wrong = 0;
    for (int i = 0; i < CALLERS; i++) {
        pthread_join(threads[i], NULL);
        wrong += callers[i].wrong;
    }
    CHECK(wrong == 0, "%jd pieces", (intmax_t)wrong);
    pthread_barrier_destroy(&start);
}

/* A piece that itself has work for the team. */
static void run_another(void *job, int64_t piece)
{
    ((unsigned char *)job)[piece] = run_and_count(50 + piece, 3) == 0;
}

static void jobs_in_pieces(void)
{
    test_case("team/pieces with jobs of their own");
    unsigned char right[40] = {0};
    duo_team_run(run_another, right, 40, 4);
    for (int i = 0; i < 40; i++) CHECK(right[i], "piece %d", i);
}

/* ---- Members at work ---- */

typedef struct crowd {
    atomic_int now, most; /* members at work */
    atomic_int who[DUO_TEAM_MOST];
} crowd;

static void be_seen(void *job, int64_t piece)
{
    (void)piece;
    crowd *const c = job;
    const int now = atomic_fetch_add(&c->now, 1) + 1;
    int most = atomic_load(&c->most);
    while (now > most && !atomic_compare_exchange_weak(&c->most, &most, now)) continue;
    for (int i = 0; i < DUO_TEAM_MOST; i++) {
        int nobody = 0;
        if (atomic_compare_exchange_strong(&c->who[i], &nobody, gettid()) || nobody == gettid())
            break;
    }
    usleep(200); /* so that others come */
    atomic_fetch_sub(&c->now, 1);
}

static void members(void)
{
    duo_team_warm_up(SEVERAL); /* there are more helpers than most jobs below may have */
    for (int threads = 1; threads <= SEVERAL; threads++)
        for (int round = 0; round < 5; round++) {
            test_case("team/members/%d threads", threads);
            crowd c = {0};
            duo_team_run(be_seen, &c, 60, threads);
            int who = 0;
            while (who < DUO_TEAM_MOST && c.who[who] != 0) who++;
            CHECK(c.most <= threads, "%d at a time", c.most);
            CHECK(who <= threads, "%d different ones", who);
        }
}

/* With work for long enough several come. */
static void helpers_come(void)
{
    static const int threads[] = {2, 3, 8, SEVERAL};
    for (size_t i = 0; i < sizeof threads / sizeof threads[0]; i++) {
        test_case("team/helpers come/%d", threads[i]);
        crowd c = {0};
        for (int round = 0; round < 100 && c.most < threads[i]; round++)
            duo_team_run(be_seen, &c, 400, threads[i]);
        CHECK(duo_team_helpers() >= threads[i] - 1, "%d helpers", duo_team_helpers());
        CHECK(c.most == threads[i], "%d at a time", c.most);
    }
}

/* The length of this thread's time slices, in ns; 0 if the kernel does not tell it (Linux before
 * 6.12), or has none for its scheduling policy. */
static uint64_t turn_here(void)
{
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t turn, deadline, period;
    } as = {.size = sizeof as};
    const bool said = syscall(SYS_sched_getattr, 0, &as, sizeof as, 0) == 0;
    return said && as.policy == SCHED_OTHER ? as.turn : 0;
}

typedef struct turns {
    pid_t caller;
    uint64_t callers;
    atomic_int by_helpers, long_ones;
} turns;

static void compare_turns(void *job, int64_t piece)
{
    (void)piece;
    turns *const t = job;
    usleep(100);
    if (gettid() == t->caller) return;
    atomic_fetch_add(&t->by_helpers, 1);
    if (turn_here() >= t->callers) atomic_fetch_add(&t->long_ones, 1);
}

/* Helpers ask for shorter time slices than the caller has, so that they soon get a processor on
 * which another thread only spins. */
static void short_turns(void)
{
    test_case("team/short turns");
    turns t = {.caller = gettid(), .callers = turn_here()};
    if (t.callers == 0) {
        test_skip("this system has no time slices for each thread");
        return;
    }
    while (t.by_helpers < 20) duo_team_run(compare_turns, &t, 64, 4);
    CHECK(t.long_ones == 0, "%d pieces in turns as long as the caller's", t.long_ones);
    CHECK(turn_here() == t.callers, "the caller's have changed");
}

/* No machine is so busy that a thread does not get a processor within this time. */
static const int64_t kLongMs = 60000;

typedef struct lateness {
    pid_t caller;
    int callers_processor;
    atomic_int by_helpers, elsewhere;
    atomic_int confined; /* helpers that had not all processors in their last pieces */
    int processors;      /* that helpers may have */
} lateness;

static int64_t ms_since(const struct timespec *begun)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (now.tv_sec - begun->tv_sec) * 1000 + (now.tv_nsec - begun->tv_nsec) / 1000000;
}

/* Is this thread on another processor than its caller's, at once or soon? */
static bool is_elsewhere(const lateness *l)
{
    struct timespec begun;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    while (sched_getcpu() == l->callers_processor)
        if (ms_since(&begun) > 20) return false;
    return true;
}

/* Is this thread bound to its caller's processor, at once or after a while? */
static bool is_fetched(const lateness *l)
{
    struct timespec begun;
    cpu_set_t mask;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    do {
        if (pthread_getaffinity_np(pthread_self(), sizeof mask, &mask) == 0 &&
            CPU_COUNT(&mask) == 1 && CPU_ISSET(l->callers_processor, &mask))
            return true;
    } while (ms_since(&begun) < kLongMs);
    return false;
}

static void be_late(void *job, int64_t piece)
{
    (void)piece;
    lateness *const l = job;
    if (gettid() == l->caller) {
        usleep(300);
    } else if (is_elsewhere(l)) {
        atomic_fetch_add(&l->by_helpers, 1);
        if (!is_fetched(l)) atomic_fetch_add(&l->elsewhere, 1);
    }
}

static void look_at_processors(void *job, int64_t piece)
{
    static _Thread_local bool confined; /* in the thread's last piece */
    (void)piece;
    lateness *const l = job;
    cpu_set_t mask;
    usleep(100);
    if (gettid() == l->caller) return;
    atomic_fetch_add(&l->by_helpers, 1);
    if (pthread_getaffinity_np(pthread_self(), sizeof mask, &mask) != 0) return;
    const bool now = CPU_COUNT(&mask) != l->processors;
    if (now != confined) atomic_fetch_add(&l->confined, now ? 1 : -1);
    confined = now;
}

/* A helper that another program keeps from its processor is moved to the caller's, ends its piece
 * there, and may use all processors again afterwards. On a busy machine the last calls may move it
 * again; so this waits for a piece in which it has them. */
static void late_helpers(void)
{
    test_case("team/late helpers");
    duo_team_warm_up(4);
    cpu_set_t all, one;
    struct timespec begun;
    lateness l = {.caller = gettid(), .callers_processor = sched_getcpu()};
    if (sched_getaffinity(0, sizeof all, &all) != 0 || CPU_COUNT(&all) < 2) {
        test_skip("one processor is all that there is");
        return;
    }
    l.processors = CPU_COUNT(&all);
    CPU_ZERO(&one);
    CPU_SET(l.callers_processor, &one);
    CHECK(pthread_setaffinity_np(pthread_self(), sizeof one, &one) == 0, "not bound");
    for (int i = 0; i < 1000 && l.by_helpers == 0; i++) duo_team_run(be_late, &l, 4, 4);
    if (l.by_helpers == 0) test_skip("no other processor was free");
    CHECK(l.elsewhere == 0, "%d of %d were not fetched", l.elsewhere, l.by_helpers);
    CHECK(pthread_setaffinity_np(pthread_self(), sizeof all, &all) == 0, "bound for good");
    atomic_store(&l.by_helpers, 0);
    clock_gettime(CLOCK_MONOTONIC, &begun);
    while (l.by_helpers < 100 || (l.confined > 0 && ms_since(&begun) < kLongMs))
        duo_team_run(look_at_processors, &l, 64, 4);
    CHECK(l.confined == 0, "%d helpers have not all processors", l.confined);
}

/* A thread leaves the processors of others for any that is left, and is bound to none then. */
static void apart(void)
{
    test_case("team/apart");
    cpu_set_t all, others, now;
    int tries = 0;
    if (sched_getaffinity(0, sizeof all, &all) != 0 || CPU_COUNT(&all) < 2) {
        test_skip("one processor is all that there is");
        return;
    }
    for (int left = 0; left < CPU_SETSIZE; left++) {
        if (!CPU_ISSET(left, &all)) continue;
        others = all;
        CPU_CLR(left, &others);
        do { /* Linux may move the thread again at once */
            duo_processor_leave(&others);
        } while (sched_getcpu() != left && ++tries < 1000);
        CHECK(tries < 1000, "processor %d was not reached", left);
        CHECK(sched_getaffinity(0, sizeof now, &now) == 0 && CPU_EQUAL(&now, &all),
              "%d processors are left of %d", CPU_COUNT(&now), CPU_COUNT(&all));
    }
    duo_processor_leave(&all);
    CHECK(sched_getaffinity(0, sizeof now, &now) == 0 && CPU_EQUAL(&now, &all),
          "with no processor left the thread is bound");
}

/* ---- Nobody waits for a member that has not begun ---- */

typedef struct gate {
    atomic_int inside;
    atomic_bool open;
} gate;

static void wait_at_gate(void *job, int64_t piece)
{
    (void)piece;
    gate *const g = job;
    atomic_fetch_add(&g->inside, 1);
    while (!atomic_load(&g->open)) usleep(1000);
}

typedef struct blocked {
    gate *g;
    int64_t pieces;
    int threads;
} blocked;

static void *run_blocked(void *argument)
{
    const blocked *const b = argument;
    duo_team_run(wait_at_gate, b->g, b->pieces, b->threads);
    return NULL;
}

static void *run_free(void *wrong)
{
    *(int64_t *)wrong = run_and_count(1000, SEVERAL);
    return NULL;
}

/* Can another job be done meanwhile? Tried in another thread, so that the test goes on if it
 * cannot. */
static void check_free(gate *g)
{
    pthread_t thread;
    int64_t wrong = -1;
    struct timespec limit;
    make_thread(&thread, run_free, &wrong);
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += 20;
    const bool ended = pthread_timedjoin_np(thread, NULL, &limit) == 0;
    CHECK(ended, "it waits for the others");
    atomic_store(&g->open, true);
    if (!ended) pthread_join(thread, NULL);
    CHECK(wrong == 0, "%jd pieces", (intmax_t)wrong);
}

static void busy_helpers(void)
{
    duo_team_warm_up(SEVERAL);
    const int all = duo_team_helpers() + 1;
    test_case("team/%d helpers are busy", all - 1);
    gate g = {0};
    pthread_t thread;
    blocked b = {&g, all, all};
    make_thread(&thread, run_blocked, &b);
    CHECK(becomes(&g.inside, all), "%d of %d came", g.inside, all);
    check_free(&g);
    pthread_join(thread, NULL);
}

static void all_slots_taken(void)
{
    enum { JOBS = 12 };
    test_case("team/%d jobs are under way", JOBS);
    gate g = {0};
    pthread_t threads[JOBS];
    blocked b = {&g, 2, 2};
    for (int i = 0; i < JOBS; i++) make_thread(&threads[i], run_blocked, &b);
    CHECK(becomes(&g.inside, JOBS), "%d of %d began", g.inside, JOBS);
    check_free(&g);
    for (int i = 0; i < JOBS; i++) pthread_join(threads[i], NULL);
}

/* ---- The caller's floating-point mode ---- */

/* By an addition of floats: fegetround asks x86's other unit. */
typedef struct mode_seen {
    bool up, down, flushes;
} mode_seen;

static mode_seen look_at_mode(void)
{
    const volatile float one = 1.0f, least = 0x1p-30f, tiny = 0x1p-126f, four = 4.0f;
    return (mode_seen){one + least > one, -one - least < -one, tiny / four == 0.0f};
}

typedef struct modes {
    pid_t caller;
    mode_seen expected;
    atomic_int by_helpers, wrong;
} modes;

static void compare_mode(void *job, int64_t piece)
{
    (void)piece;
    modes *const m = job;
    const mode_seen mode = look_at_mode();
    if (mode.up != m->expected.up || mode.down != m->expected.down ||
        mode.flushes != m->expected.flushes)
        atomic_fetch_add(&m->wrong, 1);
    if (gettid() == m->caller) {
        usleep(100);
        return;
    }
    atomic_fetch_add(&m->by_helpers, 1);
    const volatile float zero = 0.0f,
                         infinite = 1.0f / zero; /* ends the process if it is trapped */
    (void)infinite;
    /* A floating-point mode that a piece sets must not reach the next piece, which may be another
     * job's. */
    fesetround(FE_TOWARDZERO);
}

static void check_mode(const char *name, mode_seen expected)
{
    test_case("team/mode/%s", name);
    modes m = {.caller = gettid(), .expected = expected};
    for (int i = 0; i < 200 && m.by_helpers < 20; i++) duo_team_run(compare_mode, &m, 64, 4);
    CHECK(m.by_helpers >= 20, "helpers did %d pieces", m.by_helpers);
    CHECK(m.wrong == 0, "%d pieces in another mode", m.wrong);
}

static void float_modes(void)
{
    fenv_t before;
    fegetenv(&before);
    check_mode("default", (mode_seen){false, false, false});
    fesetround(FE_UPWARD);
    check_mode("upward", (mode_seen){true, false, false});
    fesetround(FE_DOWNWARD);
    check_mode("downward", (mode_seen){false, true, false});
    fesetenv(&before);
#if defined(__x86_64__)
    _mm_setcsr(_mm_getcsr() | 0x8040); /* flush to zero, denormals are zero */
    check_mode("flush to zero", (mode_seen){false, false, true});
    fesetenv(&before);
#endif
    feenableexcept(FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW);
    check_mode("traps", (mode_seen){false, false, false});
    fesetenv(&before);
    check_mode("default again", (mode_seen){false, false, false});
}

/* ---- Where no thread can be made ---- */

/* The operations, large enough for several threads; data are small integers. */
static bool operations_are_right(void)
{
    enum { N = 1 << 21, EDGE = 300 };
    static float x[N], a[EDGE * EDGE], c[EDGE * EDGE];
    float sum = 0.0f, asum = 0.0f, dot = 0.0f;
    for (int i = 0; i < N; i++) x[i] = i % 2 == 0 ? -1.0f : 2.0f;
    for (int i = 0; i < EDGE * EDGE; i++) a[i] = (float)(i % EDGE % 3);
    bool ok = duo_ssum(NULL, N, x, 1, &sum) == DUO_OK && sum == (float)(N / 2);
    ok = duo_sasum(NULL, N, x, 1, &asum) == DUO_OK && asum == 1.5f * N && ok;
    ok = duo_sdot(NULL, N, x, 1, x, 1, &dot) == DUO_OK && dot == 2.5f * N && ok;
    for (int math = 0; math < 2; math++) {
        memset(c, 0xFF, sizeof c);
        ok = duo_set_math(NULL, math ? DUO_MATH_FLOAT64 : DUO_MATH_ACCURATE) == DUO_OK && ok;
        ok = duo_sgemm(NULL, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, EDGE, EDGE, EDGE, 1.0f, a,
                       EDGE, a, EDGE, 0.0f, c, EDGE) == DUO_OK &&
             ok;
        /* Row i of A is i mod 3 throughout; a column sums to EDGE. */
        for (int i = 0; i < EDGE * EDGE; i++) ok = c[i] == (float)(i % EDGE % 3 * EDGE) && ok;
    }
    return duo_set_math(NULL, DUO_MATH_ACCURATE) == DUO_OK && ok;
}

/* In a child: the address space has no room for a stack, and later has. */
static int be_refused(void)
{
    bool ok = duo_set_path(NULL, DUO_PATH_CPU) == DUO_OK && duo_set_threads(NULL, 1) == DUO_OK &&
              operations_are_right(); /* with all that it opens and allocates */
    const int before = duo_team_helpers();
    ok = duo_set_threads(NULL, 4) == DUO_OK && ok;
    struct rlimit all, none;
    long pages = 0;
    FILE *const file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%ld", &pages) != 1 || getrlimit(RLIMIT_AS, &all) != 0)
        return 1;
    fclose(file);
    none = all;
    none.rlim_cur = (rlim_t)(pages * sysconf(_SC_PAGESIZE)) + (1 << 20);
    if (setrlimit(RLIMIT_AS, &none) != 0) return 1;
    duo_team_warm_up(4);
    const int within = duo_team_helpers();
    ok = run_and_count(1000, 4) == 0 && operations_are_right() && ok;
    if (setrlimit(RLIMIT_AS, &all) != 0) return 1;
    usleep(1200000);
    duo_team_warm_up(4);
    const int after = duo_team_helpers();
    ok = run_and_count(1000, 4) == 0 && operations_are_right() && ok;
    printf("before=%d within=%d after=%d", before, within, after);
    return ok ? 0 : 1;
}

static void no_room_for_threads(void)
{
    if (UNDER_SANITIZER) {
        test_skip("a sanitizer takes all the address space");
        return;
    }
    test_case("team/no room for threads");
    test_child child;
    test_child_run("refused", (const char *const[]){NULL}, 60, &child);
    int before = -1, within = -1, after = -1;
    sscanf(child.out, "before=%d within=%d after=%d", &before, &within, &after);
    CHECK(child.exit_status == 0, "exit %d, said \"%.200s\" \"%.200s\"", child.exit_status,
          child.out, child.err);
    CHECK(before == 0 && within == 0, "%d and %d helpers", before, within);
    CHECK(after == 3, "%d helpers where there may be 3", after);
}

/* ---- Far too many threads ---- */

static int ask_for_many(void)
{
    bool ok = duo_set_path(NULL, DUO_PATH_CPU) == DUO_OK;
    static const int asked[] = {100000, 2000000000};
    for (int i = 0; i < 2; i++) {
        ok = duo_set_threads(NULL, asked[i]) == DUO_OK && duo_warm_up(NULL) == DUO_OK && ok;
        ok = operations_are_right() && ok;
    }
    printf("helpers=%d", duo_team_helpers());
    return ok ? 0 : 1;
}

static void too_many_threads(void)
{
    test_case("team/2000000000 threads");
    test_child child;
    test_child_run("many", (const char *const[]){NULL}, 120, &child);
    int helpers = -1;
    CHECK(child.exit_status == 0 && sscanf(child.out, "helpers=%d", &helpers) == 1,
          "exit %d, said \"%.200s\" \"%.200s\"", child.exit_status, child.out, child.err);
    CHECK(helpers >= 1 && helpers < DUO_TEAM_MOST, "%d helpers", helpers);
}

/* ---- Forks ---- */

static atomic_bool stop;

static void *call_until_stop(void *argument)
{
    caller *const c = argument;
    while (!atomic_load(&stop)) c->wrong += run_and_count(200, 4);
    return NULL;
}

/* In a child the slots are free and there are no helpers; it makes its own. */
static void fork_among_jobs(void)
{
    enum { CALLERS = 10, FORKS = 40 };
    if (UNDER_SANITIZER) {
        test_skip("a sanitizer does not take forks with threads");
        return;
    }
    pthread_t threads[CALLERS];
    caller callers[CALLERS] = {{.wrong = 0}};
    atomic_store(&stop, false);
    for (int i = 0; i < CALLERS; i++) make_thread(&threads[i], call_until_stop, &callers[i]);
    for (int i = 0; i < FORKS; i++) {
        test_case("team/fork among jobs/%d", i);
        fflush(stdout);
        const pid_t pid = fork();
        if (pid == 0) {
            const int before = duo_team_helpers();
            bool ok = before == 0;
            for (int j = 0; j < 20; j++) ok = run_and_count(200, 4) == 0 && ok;
            crowd c = {0};
            for (int j = 0; j < 100 && c.most < 4; j++) duo_team_run(be_seen, &c, 200, 4);
            _exit((ok ? 0 : 1) | (duo_team_helpers() == 3 ? 0 : 2) | (c.most == 4 ? 0 : 4));
        }
        const int ended = test_child_wait((int)pid, 20);
        if (!CHECK(ended == 0, "the child: %d", ended)) break;
    }
    atomic_store(&stop, true);
    int64_t wrong = 0;
    for (int i = 0; i < CALLERS; i++) {
        pthread_join(threads[i], NULL);
        wrong += callers[i].wrong;
    }
    CHECK(wrong == 0, "%jd pieces in the parent", (intmax_t)wrong);
}

static const test_entry tests[] = {
    {"every_piece_once", every_piece_once},
    {"many_callers", many_callers},
    {"jobs_in_pieces", jobs_in_pieces},
    {"members", members},
    {"helpers_come", helpers_come},
    {"short_turns", short_turns},
    {"late_helpers", late_helpers},
    {"apart", apart},
    {"busy_helpers", busy_helpers},
    {"all_slots_taken", all_slots_taken},
    {"float_modes", float_modes},
    {"no_room_for_threads", no_room_for_threads},
    {"too_many_threads", too_many_threads},
    {"fork_among_jobs", fork_among_jobs},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    const char *const task = test_child_task(argc, argv);
    if (task != NULL) return strcmp(task, "refused") == 0 ? be_refused() : ask_for_many();
    return test_main(argc, argv, "team", tests);
}
