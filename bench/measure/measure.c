/* measure.c - see measure.h */
#define _GNU_SOURCE
#include "bench/measure/measure.h"

#include <stdlib.h>
#include <time.h>

#include "bench/reference/random.h"

enum { MOST_ROUNDS = 64, PART_GROWTH = 8, LONGEST_SAMPLE = 3 };

/* A call so many times as long as the warm-up is its own. */
static const double kOwnWarmUp = 8.0;

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

double duo_high_quantile(double *value, int count)
{
    qsort(value, (size_t)count, sizeof value[0], ascending);
    return value[count - 1 - count / 10];
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

/* False: it failed. */
static bool warm_up(duo_task *task, double each, double warm_seconds)
{
    if (warm_seconds <= 0.0 || each > kOwnWarmUp * warm_seconds) return true;
    return timed(task, (int64_t)(warm_seconds / (each + 1e-9)) + 1) >= 0.0;
}

/* Fisher and Yates */
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

/* What duo_measure knows of a task. */
typedef struct plan {
    double each;
    int wanted; /* rounds */
    double sample[MOST_ROUNDS];
} plan;

static void prepare(duo_task *t, plan *p, const duo_effort *effort, int most)
{
    idle(effort->settle_seconds);
    p->each = calibrate(t, effort);
    t->failed = p->each < 0.0;
    if (t->failed) return;
    const double rounds = effort->budget_seconds / (p->each * (double)t->calls + 1e-9);
    p->wanted = rounds < (double)most ? (int)rounds : most;
    /* So long that the warm-up has to serve as the measurement. */
    if (p->wanted < 1) p->sample[t->rounds++] = p->each;
}

static void take_sample(duo_task *t, plan *p, const duo_effort *effort)
{
    idle(effort->settle_seconds);
    t->failed = !warm_up(t, p->each, effort->warm_seconds);
    if (t->failed) return;
    const double seconds = sampled(t, effort->sample_seconds);
    t->failed = seconds < 0.0;
    if (!t->failed) p->sample[t->rounds++] = seconds;
}

void duo_measure(duo_task *task, int count, const duo_effort *effort)
{
    const int most = effort->rounds > MOST_ROUNDS ? MOST_ROUNDS : effort->rounds;
    plan *const p = calloc((size_t)count + 1, sizeof *p);
    int *const order = calloc((size_t)count + 1, sizeof *order);
    const bool good = p != NULL && order != NULL;
    uint64_t random = 1;
    for (int i = 0; i < count; i++) {
        task[i].rounds = 0;
        task[i].median_seconds = task[i].minimum_seconds = 0.0;
        task[i].failed = !good;
        if (!good) continue;
        order[i] = i;
        prepare(&task[i], &p[i], effort, most);
    }
    for (int round = 0; round < most && good; round++) {
        shuffle(order, count, &random);
        for (int turn = 0; turn < count; turn++) {
            const int i = order[turn];
            if (!task[i].failed && round < p[i].wanted) take_sample(&task[i], &p[i], effort);
        }
    }
    for (int i = 0; i < count; i++) {
        if (task[i].failed) continue;
        task[i].median_seconds = duo_median(p[i].sample, task[i].rounds);
        task[i].minimum_seconds = p[i].sample[0]; /* sorted by now */
    }
    free(p);
    free(order);
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
