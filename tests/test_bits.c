/*
 * test_bits.c - the reductions bit by bit: every algorithm, clone and thread count against the
 * literal order of summation, on random problems.
 *
 * A case is one problem with one run of the reference; a comparison is one result against it. Under
 * ctest it makes a few thousand comparisons; with DUOBLAS_TEST_LONG=1 more than 100 000 in each
 * mode, in a few minutes.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "cpu/kernels.h"
#include "cpu/lanes.h"
#include "gpu/backend/devices.h"
#include "support/algorithm_order.h"
#include "support/bits_data.h"
#include "support/child.h"
#include "support/data.h"
#include "support/harness.h"
#include "support/run_algorithm.h"
#include "support/sums.h"

enum {
    LONGEST = 1000000,
    POOL = 4 * LONGEST + 65536, /* with the widest increment, and any start */
    SHORT_CASES = 150,          /* for each kind of data */
    LONG_CASES = 6500,
    LONG_COMPARISONS = 100000,
    MOST_THREADS = 7
};

static _Alignas(64) float pool_x[POOL], pool_y[POOL];

/* ---- Where the algorithms of this mode work ---- */

static struct {
    duo_context *ctx;
    float *x, *y; /* the pools, there */
    duo_queue *queue;
    uint64_t *pinned_result; /* pinned */
    float *result;           /* pinned */
} there;

static void open_there(void)
{
    there.ctx = test_context();
    there.x = pool_x;
    there.y = pool_y;
    if (!test_gpu_side()) return;
    const duo_backend *const backend = duo_backend_current();
    void *x = NULL, *y = NULL, *pinned = NULL, *result = NULL;
    CHECK_STATUS(DUO_OK, duo_malloc(there.ctx, sizeof pool_x, &x));
    CHECK_STATUS(DUO_OK, duo_malloc(there.ctx, sizeof pool_y, &y));
    CHECK_STATUS(DUO_OK, backend->open(0, NULL, DUO_PRIORITY_NORMAL, &there.queue));
    CHECK_STATUS(DUO_OK, backend->pin(0, sizeof *there.pinned_result, &pinned));
    CHECK_STATUS(DUO_OK, backend->pin(0, sizeof *there.result, &result));
    there.x = x;
    there.y = y;
    there.pinned_result = pinned;
    there.result = result;
}

static void close_there(void)
{
    if (test_gpu_side()) {
        const duo_backend *const backend = duo_backend_current();
        CHECK_STATUS(DUO_OK, duo_free(there.ctx, there.x));
        CHECK_STATUS(DUO_OK, duo_free(there.ctx, there.y));
        CHECK_STATUS(DUO_OK, backend->close(there.queue));
        CHECK_STATUS(DUO_OK, backend->unpin(there.pinned_result));
        CHECK_STATUS(DUO_OK, backend->unpin(there.result));
    }
    test_context_end(there.ctx);
}

static void fill_pools(test_rng *rng, const bits_data *kind)
{
    for (int64_t i = 0; i < POOL; i++) {
        pool_x[i] = kind->x(rng, i);
        pool_y[i] = kind->y(rng, i);
    }
    if (!test_gpu_side()) return;
    CHECK_STATUS(DUO_OK, duo_copy(there.ctx, there.x, pool_x, sizeof pool_x));
    CHECK_STATUS(DUO_OK, duo_copy(there.ctx, there.y, pool_y, sizeof pool_y));
    CHECK_STATUS(DUO_OK, duo_synchronize(there.ctx));
}

/* ---- Problems ---- */

typedef struct problem {
    test_sum sum;
    int64_t x, y; /* where the vectors begin in the pools, by address */
} problem;

/* Equally likely in every octave. */
static int64_t log_uniform(test_rng *rng, int64_t low, int64_t high)
{
    return (int64_t)((double)low * pow((double)high / (double)low, test_unit(rng)));
}

/* 0 to LONGEST; half of them at an edge of the lanes, columns, quarters, blocks or units. */
static int64_t draw_length(test_rng *rng)
{
    static const int64_t edges[] = {16, 128, 256, 1024, 65536};
    const int64_t n = log_uniform(rng, 1, LONGEST + 1);
    if (test_random(rng) % 2 == 0) return test_random(rng) % 64 == 0 ? 0 : n;
    const int64_t edge = edges[test_between(rng, 0, 4)];
    return log_uniform(rng, edge, LONGEST) / edge * edge + test_between(rng, -1, 1);
}

static int64_t draw_increment(test_rng *rng, bool dot)
{
    if (test_random(rng) % 4 != 0) return 1;
    return dot ? test_between(rng, -3, 3) : test_between(rng, 1, 4);
}

/* Anywhere: 16 neighbouring places are the alignments of 0 to 60 bytes. */
static int64_t draw_start(test_rng *rng, int64_t n, int64_t inc)
{
    const int64_t span = n > 0 ? (n - 1) * (inc < 0 ? -inc : inc) + 1 : 0;
    return test_between(rng, 0, POOL - span);
}

static problem draw_problem(test_rng *rng)
{
    problem p = {.sum = {(duo_operation)test_between(rng, DUO_SASUM, DUO_SDOT), 0, 1, 1}};
    const bool dot = p.sum.operation == DUO_SDOT;
    p.sum.n = draw_length(rng);
    p.sum.incx = draw_increment(rng, dot);
    if (dot) p.sum.incy = draw_increment(rng, dot);
    p.x = draw_start(rng, p.sum.n, p.sum.incx);
    p.y = draw_start(rng, p.sum.n, p.sum.incy);
    return p;
}

static duo_call call_of(const problem *p, float *x, float *y, float *result)
{
    return test_reduce_call(p->sum.operation, p->sum.n, x + p->x, p->sum.incx, y + p->y,
                            p->sum.incy, result);
}

/* ---- Comparisons, and their counts ---- */

enum group { BY_DATA, BY_OPERATION, BY_RUNNER, BY_THREADS, GROUPS };

static struct tally {
    char name[40];
    int64_t comparisons;
} tallies[GROUPS][24];
static int64_t comparisons, differences;

static void count(enum group group, const char *name)
{
    struct tally *t = tallies[group];
    while (t->name[0] != '\0' && strcmp(t->name, name) != 0) t++;
    snprintf(t->name, sizeof t->name, "%s", name);
    t->comparisons++;
}

/* Prints the counts of comparisons, and frees them. */
static void report(void)
{
    printf("    %jd comparisons, %jd differences\n", (intmax_t)comparisons, (intmax_t)differences);
    for (int g = 0; g < GROUPS; g++) {
        for (const struct tally *t = tallies[g]; t->name[0] != '\0'; t++)
            printf("%s%s %jd", t == tallies[g] ? "    " : ", ", t->name, (intmax_t)t->comparisons);
        if (tallies[g][0].comparisons > 0) printf("\n");
    }
    memset(tallies, 0, sizeof tallies);
    comparisons = differences = 0;
}

static void compare(const problem *p, const char *kind, const char *runner, int threads, float got,
                    float want)
{
    char text[sizeof tallies[0][0].name];
    const bool same = test_same(got, want);
    CHECK(same, "%s, %d threads: %08x, not %08x", runner, threads, (unsigned)test_bits(got),
          (unsigned)test_bits(want));
    comparisons++;
    if (!same) differences++;
    count(BY_DATA, kind);
    count(BY_OPERATION, duo_operation_name(p->sum.operation));
    count(BY_RUNNER, runner);
    if (threads == 0) return; /* on a GPU */
    snprintf(text, sizeof text, "%d thread%s", threads, threads == 1 ? "" : "s");
    count(BY_THREADS, text);
}

/* ---- Runners ---- */

static float by_api(const problem *p, duo_math math, int threads)
{
    float result = test_poison();
    duo_status status = duo_set_math(there.ctx, math);
    if (status == DUO_OK) status = duo_set_threads(there.ctx, threads);
    const float *const x = there.x + p->x, *const y = there.y + p->y;
    if (status == DUO_OK) status = test_sum_call(there.ctx, &p->sum, x, y, &result);
    CHECK_STATUS(DUO_OK, status);
    return result;
}

static float by_gpu_algorithm(const duo_algorithm *algorithm, const problem *p, bool by_pinned)
{
    static uint32_t ticket;
    const duo_backend *const backend = duo_backend_current();
    const duo_call call = call_of(p, there.x, there.y, there.result);
    *there.result = test_poison();
    *there.pinned_result = 0;
    ticket++;
    CHECK_STATUS(DUO_OK, backend->launch(there.queue, algorithm->id, &call,
                                         by_pinned ? there.pinned_result : NULL, ticket));
    CHECK_STATUS(DUO_OK, backend->finish(there.queue));
    if (!by_pinned) return *there.result;
    CHECK(*there.pinned_result >> 32 == ticket, "ticket and result %#jx",
          (uintmax_t)*there.pinned_result);
    return bits_to_float((uint32_t)*there.pinned_result);
}

static float by_cpu_algorithm(const duo_algorithm *algorithm, const problem *p, int threads)
{
    float result = test_poison();
    duo_call call = call_of(p, there.x, there.y, &result);
    call.threads = threads;
    CHECK_STATUS(DUO_OK, algorithm->run(&call));
    return result;
}

/* Up to one unit is one thread's work; beyond it, one thread and two teams. */
static int draw_teams(test_rng *rng, int64_t n, int team[3])
{
    team[0] = n > DUO_UNIT ? 1 : (int)test_between(rng, 1, MOST_THREADS);
    team[1] = (int)test_between(rng, 2, MOST_THREADS);
    team[2] = (int)test_between(rng, 2, MOST_THREADS);
    return n > DUO_UNIT ? 3 : 1;
}

static void by_every_clone(const duo_algorithm *algorithm, duo_math math, const problem *p,
                           const char *kind, test_rng *rng, float want)
{
    char runner[sizeof tallies[0][0].name];
    for (int c = 0; duo_lanes_clone(c) != NULL; c++) {
        const char *const clone = duo_lanes_clone(c)->name;
        int team[3];
        const int teams = draw_teams(rng, p->sum.n, team);
        duo_lanes_set(duo_lanes_clone(c));
        snprintf(runner, sizeof runner, "%s/%s", strchr(algorithm->name, '_') + 1, clone);
        for (int t = 0; t < teams && p->sum.n > 0; t++)
            compare(p, kind, runner, team[t], by_cpu_algorithm(algorithm, p, team[t]), want);
        snprintf(runner, sizeof runner, "API/%s", clone);
        compare(p, kind, runner, team[0], by_api(p, math, team[0]), want);
    }
    duo_lanes_set(NULL);
}

static void by_both_results(const duo_algorithm *algorithm, duo_math math, const problem *p,
                            const char *kind, float want)
{
    const char *const name = strchr(algorithm->name, '_') + 1;
    char runner[sizeof tallies[0][0].name];
    for (int by_pinned = 0; by_pinned < 2 && p->sum.n > 0; by_pinned++) {
        snprintf(runner, sizeof runner, "%s/%s", name, by_pinned ? "pinned" : "memory");
        compare(p, kind, runner, 0, by_gpu_algorithm(algorithm, p, by_pinned), want);
    }
    compare(p, kind, "API", 0, by_api(p, math, 1), want);
}

/* Sets the case's name, and the result of the algorithm's order. False if the algorithm has
 * none. */
static bool expect(const duo_algorithm *algorithm, const problem *p, const char *kind,
                   duo_math *math, float *want)
{
    test_case("%s/n=%jd/inc=%jd,%jd/x+%jd,y+%jd/%s", algorithm->name, (intmax_t)p->sum.n,
              (intmax_t)p->sum.incx, (intmax_t)p->sum.incy, (intmax_t)p->x % 16,
              (intmax_t)p->y % 16, kind);
    const algorithm_order *const reference = order_of_algorithm(algorithm);
    if (!CHECK(reference != NULL, "%s has no literal order to compare with", algorithm->name))
        return false;
    const duo_call call = call_of(p, pool_x, pool_y, NULL);
    *math = reference->math;
    *want = reference->order(p->sum.operation, p->sum.n, call.operand[DUO_X].address, p->sum.incx,
                             call.operand[DUO_Y].address, p->sum.incy);
    return true;
}

static void random_problems(void)
{
    const bool long_run = test_amount(0, 0, 1) == 1;
    test_rng rng = test_rng_for("bits");
    open_there();
    for (int k = 0; k < BITS_KINDS; k++) {
        const char *const kind = bits_kinds[k].name;
        fill_pools(&rng, &bits_kinds[k]);
        for (int i = 0; i < test_amount(SHORT_CASES / 3, SHORT_CASES, LONG_CASES); i++) {
            const problem p = draw_problem(&rng);
            const duo_algorithm *algorithms[DUO_CANDIDATES];
            const int found = test_algorithms(p.sum.operation, algorithms);
            for (int r = 0; r < found; r++) {
                duo_math math;
                float want;
                if (!expect(algorithms[r], &p, kind, &math, &want)) continue;
                if (test_gpu_side())
                    by_both_results(algorithms[r], math, &p, kind, want);
                else
                    by_every_clone(algorithms[r], math, &p, kind, &rng, want);
            }
        }
    }
    close_there();
    if (long_run)
        CHECK(comparisons >= LONG_COMPARISONS, "only %jd comparisons", (intmax_t)comparisons);
    report();
}

/* Every mode that an application may set: the same bits, and afterwards the mode is as before. */
static void float_modes(void)
{
#if defined(__x86_64__)
    static const unsigned modes[] = {0x8040, 0x6000, 0x4000, 0xE040};
    test_rng rng = test_rng_for("modes");
    if (test_gpu_side()) {
        test_skip("the CPU's algorithms alone depend on it");
        return;
    }
    open_there();
    for (int k = 0; k < BITS_PLAIN_KINDS; k++) {
        fill_pools(&rng, &bits_kinds[k]);
        for (int i = 0; i < 60; i++) {
            problem p = draw_problem(&rng);
            p.sum.n = i % 10 == 0 ? 150000 : test_between(&rng, 1, 4000);
            p.x = p.y = test_between(&rng, 0, 15);
            const duo_algorithm *algorithms[DUO_CANDIDATES];
            const int found = test_algorithms(p.sum.operation, algorithms);
            for (int r = 0; r < found; r++) {
                duo_math math;
                float want;
                if (!expect(algorithms[r], &p, bits_kinds[k].name, &math, &want)) continue;
                for (int c = 0; duo_lanes_clone(c) != NULL; c++) {
                    const unsigned before = _mm_getcsr(), mode = (before & 0x1FBF) | modes[i % 4];
                    duo_lanes_set(duo_lanes_clone(c));
                    _mm_setcsr(mode);
                    const float got = by_cpu_algorithm(algorithms[r], &p, 1 + i % 2);
                    const unsigned after = _mm_getcsr();
                    _mm_setcsr(before);
                    CHECK((after & ~0x3Fu) == (mode & ~0x3Fu), "mode %x became %x", mode, after);
                    compare(&p, bits_kinds[k].name, duo_lanes_current()->name, 1 + i % 2, got,
                            want);
                }
            }
        }
    }
    duo_lanes_set(NULL);
    close_there();
    report();
#else
    test_skip("no MXCSR here");
#endif
}

/* ---- Flags and traps ---- */

#if defined(__x86_64__)

enum { FLAG_INVALID = 0x01, FLAG_OVERFLOW = 0x08, FLAGS = 0x3F };
enum { TO_MASKS = 7 /* from a flag to its mask */ };
enum { MOST_FLAGGED = 150000, FARTHEST = 3 };

static float flagged_x[MOST_FLAGGED * FARTHEST], flagged_y[MOST_FLAGGED * FARTHEST];

static void set_term(duo_operation operation, int64_t i, int64_t inc, float term)
{
    flagged_x[i * inc] = operation == DUO_SDOT ? copysignf(1e30f, term) : term;
    flagged_y[i * inc] = 1e30f;
}

/* Terms that overflow in float32, in one lane, between lanes and between blocks, and cancel. */
static void fill_cancelling(duo_operation operation, int64_t n, int64_t inc)
{
    memset(flagged_x, 0, sizeof flagged_x);
    memset(flagged_y, 0, sizeof flagged_y);
    const float large = 3e38f;
    set_term(operation, 0, inc, large);
    set_term(operation, 64, inc, large);
    set_term(operation, n < 2000 ? 17 : 1500, inc, -large);
    set_term(operation, n < 2000 ? 81 : 1564, inc, -large);
}

static bool sum_flagged(duo_operation operation, int64_t n, int64_t inc, int threads, float want)
{
    const float got = duo_lanes_reduce(operation, n, flagged_x, inc, flagged_y, inc, threads);
    return got == want;
}

static const int64_t flagged_sizes[] = {100, 1000, 1024, 3000, 4096, 70000, MOST_FLAGGED};
enum { FLAGGED_SIZES = sizeof flagged_sizes / sizeof flagged_sizes[0] };

/* The flags of the caller stay, and no other comes but by the result. */
static void check_flags(const duo_lanes *lanes, duo_operation operation, int64_t n, int64_t inc,
                        int threads, unsigned before)
{
    const unsigned usual = _mm_getcsr() & ~(unsigned)(FLAG_INVALID | FLAG_OVERFLOW);
    duo_lanes_set(lanes);
    fill_cancelling(operation, n, inc);
    _mm_setcsr(usual | before);
    const bool right = sum_flagged(operation, n, inc, threads, 0.0f);
    const unsigned after = _mm_getcsr() & (FLAG_INVALID | FLAG_OVERFLOW);
    set_term(operation, 17, inc, 3e38f);
    set_term(operation, 81, inc, 3e38f);
    for (int i = 0; i < 100; i++) set_term(operation, i, inc, 3e38f);
    _mm_setcsr(usual | before);
    const bool infinite = sum_flagged(operation, n, inc, threads, INFINITY);
    const unsigned of_infinity = _mm_getcsr() & (FLAG_INVALID | FLAG_OVERFLOW);
    _mm_setcsr(usual);
    CHECK(right && after == before, "%s: flags %x became %x", lanes->name, before, after);
    CHECK(infinite && (of_infinity & FLAG_INVALID) == (before & FLAG_INVALID),
          "%s: Inf, flags %x became %x", lanes->name, before, of_infinity);
}

static int sum_with_trap_of(unsigned flags, duo_operation operation, int64_t n, int64_t inc,
                            float want)
{
    const unsigned usual = _mm_getcsr(), traps = usual & ~(flags << TO_MASKS) & ~(unsigned)FLAGS;
    _mm_setcsr(traps);
    const float got = duo_lanes_reduce(operation, n, flagged_x, inc, flagged_y, inc, 1);
    const unsigned after = _mm_getcsr() & ~(unsigned)FLAGS;
    _mm_setcsr(usual);
    return !(got == want) + (after != traps);
}

/* Inexact sums, sums of 0 and of a subnormal: every exception but a division by zero. */
static int sum_with_traps_of_all(duo_operation operation, int64_t n, int64_t inc)
{
    int wrong = 0;
    memset(flagged_x, 0, sizeof flagged_x);
    memset(flagged_y, 0, sizeof flagged_y);
    wrong += sum_with_trap_of(FLAGS, operation, n, inc, 0.0f);
    flagged_x[(n - 1) * inc] = 0x1p-140f;
    flagged_y[(n - 1) * inc] = 1.0f;
    wrong += sum_with_trap_of(FLAGS, operation, n, inc, 0x1p-140f);
    flagged_x[0] = 0.1f;
    flagged_y[0] = 1.0f;
    return wrong + sum_with_trap_of(FLAGS, operation, n, inc, 0.1f);
}

/* In a child process, which a trap ends. Returns the number of errors. */
static int sum_with_traps(void)
{
    int wrong = 0;
    for (int c = 0; duo_lanes_clone(c) != NULL; c++)
        for (int s = 0; s < FLAGGED_SIZES; s++)
            for (int operation = DUO_SSUM; operation <= DUO_SDOT; operation++)
                for (int64_t inc = 1; inc <= FARTHEST; inc += 2) {
                    const duo_operation op = (duo_operation)operation;
                    const int64_t n = flagged_sizes[s];
                    duo_lanes_set(duo_lanes_clone(c));
                    fill_cancelling(op, n, inc);
                    wrong += sum_with_trap_of(FLAG_INVALID | FLAG_OVERFLOW, op, n, inc, 0.0f);
                    wrong += sum_with_traps_of_all(op, n, inc);
                }
    return wrong;
}

#endif

/* A sum that overflows on its way to a finite result raises nothing, and no finite one traps. */
static void float_flags(void)
{
#if defined(__x86_64__)
    static const unsigned flags[] = {0, FLAG_INVALID, FLAG_OVERFLOW, FLAG_INVALID | FLAG_OVERFLOW};
    if (test_gpu_side()) {
        test_skip("the CPU's algorithms alone depend on it");
        return;
    }
    test_case("flags/traps");
    const pid_t pid = fork();
    if (pid == 0) _exit(sum_with_traps());
    const int ended = test_child_wait((int)pid, 60);
    CHECK(ended == 0, "status %d%s", ended, ended == -1 ? ": a trap" : "");
    for (int c = 0; duo_lanes_clone(c) != NULL; c++)
        for (int s = 0; s < FLAGGED_SIZES; s++)
            for (int operation = DUO_SSUM; operation <= DUO_SDOT; operation++)
                for (int i = 0; i < 16; i++) {
                    const int64_t inc = i / 4 % 2 == 0 ? 1 : FARTHEST;
                    test_case("flags/%s/%d/n=%d/inc=%d", duo_lanes_clone(c)->name, operation,
                              (int)flagged_sizes[s], (int)inc);
                    check_flags(duo_lanes_clone(c), (duo_operation)operation, flagged_sizes[s], inc,
                                1 + i / 8, flags[i % 4]);
                }
    duo_lanes_set(NULL);
#else
    test_skip("no MXCSR here");
#endif
}

/* Each clone once, with the best one in use; if AVX-512 runs, both of its clones. */
static void clones(void)
{
    int count = 0, of_avx512 = 0;
    duo_lanes_set(NULL);
    CHECK(duo_lanes_current() == duo_lanes_clone(0), "%s", duo_lanes_current()->name);
    for (; duo_lanes_clone(count) != NULL; count++) {
        const duo_lanes *const lanes = duo_lanes_clone(count);
        of_avx512 += strcmp(lanes->isa, "avx512") == 0;
        for (int c = 0; c < count; c++)
            CHECK(strcmp(duo_lanes_clone(c)->name, lanes->name) != 0, "%s twice", lanes->name);
    }
    CHECK(count > 0 && (of_avx512 == 0 || of_avx512 == 2), "%d of AVX-512", of_avx512);
}

int main(int argc, char **argv)
{
    static const test_entry tests[] = {
        {"clones", clones},
        {"random_problems", random_problems},
        {"float_modes", float_modes},
        {"float_flags", float_flags},
        {NULL, NULL},
    };
    return test_main(argc, argv, "bits", tests);
}
