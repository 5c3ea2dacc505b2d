/* measure.c - see measure.h */
#define _GNU_SOURCE
#include "measure.h"

#include <stdlib.h>
#include <time.h>

enum { MOST_ROUNDS = 64, PART_GROWTH = 8, LONGEST_SAMPLE = 3 };

/* A sample that must be repeated has at least this share of its length when its calls are counted.
 */
static const double kCalibrationShare = 0.25;

double duo_now_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

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

double duo_low_quantile(double *value, int count)
{
    qsort(value, (size_t)count, sizeof value[0], ascending);
    return value[count / 5];
}

/* Seconds of so many calls; negative if it failed. */
static double timed(duo_task *task, int64_t calls)
{
    const double begin = duo_now_seconds();
    const bool done = task->run(task->user, calls);
    return done ? duo_now_seconds() - begin : -1.0;
}

/*
 * One sample: seconds of one call, negative if it failed. In growing parts, so that calls which
 * have become a thousand times slower than when they were counted (threads that wait for a
 * processor) do not hold everything up.
 */
static double sampled(duo_task *task, double sample_seconds)
{
    double elapsed = 0.0;
    int64_t done = 0;
    for (int64_t part = 1; done < task->calls; part *= PART_GROWTH) {
        if (part > task->calls - done) part = task->calls - done;
        const double seconds = timed(task, part);
        if (seconds < 0.0) return -1.0;
        elapsed += seconds;
        done += part;
        if (elapsed > LONGEST_SAMPLE * sample_seconds) break;
    }
    return elapsed / (double)done;
}

/* Warms up and finds how many calls make a sample; returns the seconds of one call, negative on
 * failure. */
static double calibrate(duo_task *task, const duo_effort *effort)
{
    int64_t calls = 1;
    double elapsed = timed(task, 1);
    /* The first call may pay for pages, modules and threads: unless it is a long one, it is not
     * the one to count by. */
    if (elapsed >= 0.0 && elapsed < effort->budget_seconds / 4.0) elapsed = timed(task, 1);
    while (elapsed >= 0.0 && elapsed < kCalibrationShare * effort->sample_seconds) {
        const double growth = elapsed > 0.0 ? effort->sample_seconds / elapsed : 16.0;
        calls *= growth > 16.0 ? 16 : growth < 2.0 ? 2 : (int64_t)growth;
        elapsed = timed(task, calls);
    }
    if (elapsed < 0.0) return -1.0;
    const double each = elapsed / (double)calls;
    task->calls = each > 0.0 ? (int64_t)(effort->sample_seconds / each) + 1 : calls;
    if (each >= effort->sample_seconds) task->calls = 1;
    return each;
}

static void idle(double seconds)
{
    const struct timespec pause = {.tv_nsec = (long)(seconds * 1e9)};
    if (seconds > 0.0) nanosleep(&pause, NULL);
}

void duo_measure(duo_task *task, int count, const duo_effort *effort)
{
    const int most = effort->rounds > MOST_ROUNDS ? MOST_ROUNDS : effort->rounds;
    double(*const sample)[MOST_ROUNDS] = calloc((size_t)count + 1, sizeof *sample);
    int *const wanted = calloc((size_t)count + 1, sizeof *wanted);
    for (int i = 0; i < count; i++) {
        duo_task *const t = &task[i];
        t->rounds = 0;
        t->median_seconds = t->minimum_seconds = 0.0;
        t->failed = sample == NULL || wanted == NULL;
        if (t->failed) continue;
        idle(effort->settle_seconds);
        const double each = calibrate(t, effort);
        t->failed = each < 0.0;
        if (t->failed) continue;
        const double rounds = effort->budget_seconds / (each * (double)t->calls + 1e-9);
        wanted[i] = rounds < (double)most ? (int)rounds : most;
        /* So long that the warm-up has to serve as the measurement. */
        if (wanted[i] < 1) sample[i][t->rounds++] = each;
    }
    for (int round = 0; round < most; round++)
        for (int turn = 0; turn < count; turn++) {
            const int i = (turn + round) % count; /* not always behind the same neighbour */
            duo_task *const t = &task[i];
            if (t->failed || round >= wanted[i]) continue;
            idle(effort->settle_seconds);
            const double seconds = sampled(t, effort->sample_seconds);
            t->failed = seconds < 0.0;
            if (!t->failed) sample[i][t->rounds++] = seconds;
        }
    for (int i = 0; i < count; i++) {
        duo_task *const t = &task[i];
        if (t->failed) continue;
        t->median_seconds = duo_median(sample[i], t->rounds);
        t->minimum_seconds = sample[i][0]; /* sorted by now */
    }
    free(sample);
    free(wanted);
}

void duo_fill_random(float *x, size_t count, uint64_t seed)
{
    /* xorshift64*, Vigna, ACM TOMS 42 (2016) 30 */
    uint64_t state = seed * 0x9E3779B97F4A7C15u + 0x2545F4914F6CDD1Du;
    if (state == 0) state = 1;
    for (size_t i = 0; i < count; i++) {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        const int32_t bits = (int32_t)(state * 0x2545F4914F6CDD1Du >> 40); /* 24 bits */
        x[i] = (float)(2 * bits + 1 - (1 << 24)) * 0x1p-24f;               /* odd, so never zero */
    }
}
