/*
 * benchmark.h - timing: monotonic clock, warm-up, medians of interleaved rounds.
 *
 * A benchmark is a piece of work that can be repeated. Compared benchmarks are timed by turns, each
 * round in a new random order, so that a change of clock or a busy neighbour affects all of them
 * alike. Short work is repeated within a sample until the cost of reading the clock does not
 * matter.
 */
#ifndef DUO_BENCHMARK_H
#define DUO_BENCHMARK_H

#include <stdbool.h>
#include <stdint.h>

double duo_now_seconds(void);

typedef struct duo_benchmark {
    /* Does the work `calls` times and waits for it. False: it cannot, and is left out. */
    bool (*run)(void *user, int64_t calls);
    void *user;

    /* Results of duo_measure: */
    bool failed;
    int64_t calls; /* in one sample */
    int rounds;
    double median_seconds, minimum_seconds; /* of one call; 0 if failed */
    double low_seconds, high_seconds;       /* quartiles of the rounds; 0 if failed */
} duo_benchmark;

typedef struct duo_effort {
    double sample_seconds; /* least length of a sample */
    int rounds;            /* samples of each benchmark, at least 1 */
    double warm_seconds;   /* of the same work before each sample, to set clock and heat */
    double settle_seconds; /* idle before both, until threads of other work stop spinning */
    double budget_seconds; /* longer benchmarks get fewer rounds, but at least one */
    double until_seconds;  /* no round but the first begins later; 0: no limit */
} duo_effort;

/* Measures all, and looks for noise, too (noise.h). */
void duo_measure(duo_benchmark *benchmark, int count, const duo_effort *effort);

/* ---- Medians and quantiles; all sort the values first ---- */

/* The median; if count is even, the mean of the middle two. Sorts the values, like all below. */
double duo_median(double *value, int count);

/* The value nearest to a quantile: `share` of the values (0 to 1) are at most this. */
double duo_quantile(double *value, int count, double share);

/* A fifth of the values are smaller. */
double duo_low_quantile(double *value, int count);
/* A tenth of the values are larger. */
double duo_high_quantile(double *value, int count);

#endif
