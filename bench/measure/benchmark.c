/* benchmark.c - see benchmark.h */
#define _GNU_SOURCE
#include "bench/measure/benchmark.h"

#include <stdlib.h>
#include <time.h>

#include "bench/measure/noise.h"
#include "bench/reference/random.h"

enum { MOST_ROUNDS = 64, PART_GROWTH = 8, LONGEST_SAMPLE = 3 };

/* A call longer than this many warm-ups needs none. */
static const double kOwnWarmUp = 8.0;

/* Quartiles tell about noise only with this many samples, each this long. With fewer samples they
 * are the least and the longest; shorter samples differ even on a quiet machine. */
enum { LEAST_ROUNDS = 5 };
static const double kLeastSample = 0.001;

/* The number of calls in a sample is found by a run of at least this share of its length. */
static const double kCalibrationShare = 0.25;

double duo_now_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Seconds of `calls` calls; negative if it failed. */
static double timed(duo_benchmark *benchmark, int64_t calls)
{
    const double begin = duo_now_seconds();
    const bool done = benchmark->run(benchmark->user, calls);
    return done ? duo_now_seconds() - begin : -1.0;
}

/*
 * Takes one sample: seconds of one call, negative if it failed. It is done in growing parts: calls
 * may have become a thousand times slower than in the calibration (threads wait for a processor),
 * and must not hold everything up.
 */
static double sampled(duo_benchmark *benchmark, double sample_seconds)
{
    double elapsed = 0.0;
    int64_t done = 0;
    for (int64_t part = 1; done < benchmark->calls; part *= PART_GROWTH) {
        if (part > benchmark->calls - done) part = benchmark->calls - done;
        const double seconds = timed(benchmark, part);
        if (seconds < 0.0) return -1.0;
        elapsed += seconds;
        done += part;
        if (elapsed > LONGEST_SAMPLE * sample_seconds) break;
    }
    return elapsed / (double)done;
}

/* Warms up and finds the number of calls in a sample. Returns the seconds of one call, negative: it
 * failed. */
static double calibrate(duo_benchmark *benchmark, const duo_effort *effort)
{
    int64_t calls = 1;
    double elapsed = timed(benchmark, 1);
    /* The first call may pay for pages, modules and threads. So it does not count, unless it is a
     * long one. */
    if (elapsed >= 0.0 && elapsed < effort->budget_seconds / 4.0) elapsed = timed(benchmark, 1);
    while (elapsed >= 0.0 && elapsed < kCalibrationShare * effort->sample_seconds) {
        const double growth = elapsed > 0.0 ? effort->sample_seconds / elapsed : 16.0;
        calls *= growth > 16.0 ? 16 : growth < 2.0 ? 2 : (int64_t)growth;
        elapsed = timed(benchmark, calls);
    }
    if (elapsed < 0.0) return -1.0;
    const double each = elapsed / (double)calls;
    benchmark->calls = each > 0.0 ? (int64_t)(effort->sample_seconds / each) + 1 : calls;
    if (each >= effort->sample_seconds) benchmark->calls = 1;
    return each;
}

/* Warms up before a sample. False: it failed. */
static bool warm_up(duo_benchmark *benchmark, double each, double warm_seconds)
{
    if (warm_seconds <= 0.0 || each > kOwnWarmUp * warm_seconds) return true;
    return timed(benchmark, (int64_t)(warm_seconds / (each + 1e-9)) + 1) >= 0.0;
}

/* A random order (Fisher and Yates). */
static void shuffle(int *order, int count, uint64_t *random)
{
    for (int i = count - 1; i > 0; i--) {
        const int j = (int)(duo_random_bits(random) % (uint64_t)(i + 1));
        const int swapped = order[i];
        order[i] = order[j];
        order[j] = swapped;
    }
}

static void idle(double seconds)
{
    const struct timespec pause = {.tv_nsec = (long)(seconds * 1e9)};
    if (seconds > 0.0) nanosleep(&pause, NULL);
}

/* duo_measure's plan for a benchmark, and its samples. */
typedef struct plan {
    double each;
    int wanted; /* rounds */
    double sample[MOST_ROUNDS];
} plan;

static void prepare(duo_benchmark *b, plan *p, const duo_effort *effort, int most)
{
    idle(effort->settle_seconds);
    p->each = calibrate(b, effort);
    b->failed = p->each < 0.0;
    if (b->failed) return;
    const double rounds = effort->budget_seconds / (p->each * (double)b->calls + 1e-9);
    p->wanted = rounds < (double)most ? (int)rounds : most;
    /* The call is so long that the warm-up serves as the measurement. */
    if (p->wanted < 1) p->sample[b->rounds++] = p->each;
}

static void take_sample(duo_benchmark *b, plan *p, const duo_effort *effort)
{
    idle(effort->settle_seconds);
    b->failed = !warm_up(b, p->each, effort->warm_seconds);
    if (b->failed) return;
    const double seconds = sampled(b, effort->sample_seconds);
    b->failed = seconds < 0.0;
    if (!b->failed) p->sample[b->rounds++] = seconds;
}

static bool is_late(const duo_effort *effort)
{
    return effort->until_seconds > 0.0 && duo_now_seconds() > effort->until_seconds;
}

/* Looks now and then, since a look takes some milliseconds. */
static void look_for_noise(void)
{
    static double next;
    const double now = duo_now_seconds();
    if (now < next) return;
    next = now + 0.1;
    duo_noise_look();
}

/* Fills in the results from the samples. */
static void sum_up(duo_benchmark *b, plan *p, const duo_effort *effort)
{
    b->median_seconds = duo_median(p->sample, b->rounds);
    b->minimum_seconds = p->sample[0]; /* sorted by now */
    b->low_seconds = duo_quantile(p->sample, b->rounds, 0.25);
    b->high_seconds = duo_quantile(p->sample, b->rounds, 0.75);
    if (b->rounds >= LEAST_ROUNDS && effort->sample_seconds >= kLeastSample)
        duo_noise_add(b->low_seconds, b->high_seconds);
}

void duo_measure(duo_benchmark *benchmark, int count, const duo_effort *effort)
{
    const int most = effort->rounds > MOST_ROUNDS ? MOST_ROUNDS : effort->rounds;
    plan *const p = calloc((size_t)count + 1, sizeof *p);
    int *const order = calloc((size_t)count + 1, sizeof *order);
    const bool good = p != NULL && order != NULL;
    uint64_t random = 1;
    look_for_noise();
    for (int i = 0; i < count; i++) {
        benchmark[i].rounds = 0;
        benchmark[i].median_seconds = benchmark[i].minimum_seconds = 0.0;
        benchmark[i].low_seconds = benchmark[i].high_seconds = 0.0;
        benchmark[i].failed = !good;
        if (!good) continue;
        order[i] = i;
        prepare(&benchmark[i], &p[i], effort, most);
    }
    for (int round = 0; round < most && good && !(round > 0 && is_late(effort)); round++) {
        shuffle(order, count, &random);
        for (int turn = 0; turn < count; turn++) {
            const int i = order[turn];
            if (!benchmark[i].failed && round < p[i].wanted)
                take_sample(&benchmark[i], &p[i], effort);
        }
    }
    for (int i = 0; i < count; i++)
        if (!benchmark[i].failed) sum_up(&benchmark[i], &p[i], effort);
    free(p);
    free(order);
}

/* ---- Medians and quantiles ---- */

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double duo_median(double *value, int count)
{
    qsort(value, (size_t)count, sizeof value[0], ascending);
    return 0.5 * (value[count / 2] + value[(count - 1) / 2]);
}

double duo_quantile(double *value, int count, double share)
{
    qsort(value, (size_t)count, sizeof value[0], ascending);
    return value[(int)(share * (double)(count - 1) + 0.5)];
}

double duo_low_quantile(double *value, int count)
{
    qsort(value, (size_t)count, sizeof value[0], ascending);
    return value[count / 5];
}

double duo_high_quantile(double *value, int count)
{
    qsort(value, (size_t)count, sizeof value[0], ascending);
    return value[count - 1 - count / 10];
}
