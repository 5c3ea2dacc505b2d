/*
 * benchmark.h - timing: monotonic clock, warm-up, medians of interleaved rounds.
 *
 * A benchmark is a piece of work that can be done over and over. Those that are compared are timed
 * in turns, each round in a new random order, so that a change of clock or a busy neighbour meets
 * all of them alike. Short work is repeated within a sample until the clock's own cost does not
 * matter.
 */
#ifndef DUO_BENCHMARK_H
#define DUO_BENCHMARK_H

#include <stdbool.h>
#include <stdint.h>

double duo_now_seconds(void);

typedef struct duo_benchmark {
    /* Does the work `times` times over and waits for it; false: it cannot, and is left out. */
    bool (*run)(void *user, int64_t calls);
    void *user;

    /* What duo_measure found: */
    bool failed;
    int64_t calls; /* in one sample */
    int rounds;
    double median_seconds, minimum_seconds; /* of one call; 0 if failed */
    double low_seconds, high_seconds;       /* quartiles of the rounds; 0 if failed */
} duo_benchmark;

typedef struct duo_effort {
    double sample_seconds; /* least length of a sample */
    int rounds;            /* samples of each benchmark, at least 1 */
    double warm_seconds;   /* of its own work, before each sample: clock and heat become its own */
    double settle_seconds; /* idle time before both, for threads that spin on after other work */
    double budget_seconds; /* of what would take longer there are fewer rounds, but never none */
    double until_seconds;  /* by duo_now_seconds: then no round but the first begins; 0: never */
} duo_effort;

/* Looks for noise, too (noise.h). */
void duo_measure(duo_benchmark *benchmark, int count, const duo_effort *effort);

/* ---- Medians and quantiles; all sort the values first ---- */

/* The mean of the middle two if count is even. */
double duo_median(double *value, int count);

/* So large a share of the values (0 to 1) is at most this one: the nearest of them. */
double duo_quantile(double *value, int count, double share);

/* A fifth of the values are smaller. */
double duo_low_quantile(double *value, int count);
/* A tenth of the values are larger. */
double duo_high_quantile(double *value, int count);

#endif
