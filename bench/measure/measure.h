/*
 * measure.h - timing: monotonic clock, warm-up, medians of interleaved rounds.
 *
 * What is compared is timed in turns, each round in a new random order, so that a change of clock or
 * a busy neighbour meets all of it alike. A short task is repeated within a sample until the clock's
 * own cost does not matter.
 */
#ifndef DUO_MEASURE_H
#define DUO_MEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

double duo_now_seconds(void);

typedef struct duo_task {
    /* Does the work so many times over and waits for it; false: it cannot, and is left out. */
    bool (*run)(void *user, int64_t calls);
    void *user;

    bool failed;
    int64_t calls; /* in one sample */
    int rounds;
    double median_seconds, minimum_seconds; /* of one call; 0 if failed */
} duo_task;

typedef struct duo_effort {
    double sample_seconds; /* least length of a sample */
    int rounds;            /* samples of each task, at least 1 */
    double warm_seconds;   /* of the same task, before each sample: clock and heat become its own */
    double settle_seconds; /* idle time before both, for threads that spin on after a task */
    double budget_seconds; /* a task that would take longer gets fewer rounds, but never none */
} duo_effort;

void duo_measure(duo_task *task, int count, const duo_effort *effort);

/* Sorts. The mean of the middle two if count is even. */
double duo_median(double *value, int count);

/* Sorts too. A fifth of the values are smaller. */
double duo_low_quantile(double *value, int count);
/* Sorts too. A tenth of the values are larger. */
double duo_high_quantile(double *value, int count);

/* Random numbers, uniform in (-1, 1), none of them zero: zeros draw less power and run faster. */
void duo_fill_random(float *x, size_t count, uint64_t seed);

#endif
