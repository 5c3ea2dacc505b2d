/*
 * verify.h - how right is dispatch? `duoblas crossover --verify` draws calls that no ladder has,
 * times every algorithm on each, and tells how far the chosen one is from the best.
 *
 * A candidate is an algorithm with a number of threads: for the CPU one, all, and as many as the
 * model chooses. Each candidate does the whole call, with its transfers. The regret of a choice is
 * time of the chosen / time of the best - 1. It counts as 0 if the quartiles of both overlap, since
 * the difference may be noise. Without that exception it is called raw.
 */
#ifndef DUO_VERIFY_H
#define DUO_VERIFY_H

#include <stdio.h>

#include "bench/crossover/verify_draw.h"
#include "bench/measure/noise.h"
#include "choice/algorithm.h"

/* ---- Measurements ---- */

typedef struct duo_timed {
    const duo_algorithm *algorithm;
    int threads;              /* 0 on the GPU */
    double predicted_seconds; /* 0: the model does not use this number of threads here */
    double minimum_seconds, median_seconds;
    double low_seconds, high_seconds; /* quartiles; all times are 0: not timed */
} duo_timed;

enum { DUO_MOST_TIMED = 3 * DUO_CANDIDATES };

/* A drawn problem with all its candidates. */
typedef struct duo_verified {
    duo_drawn drawn;
    int count, chosen; /* chosen < 0: the chosen one could not be timed */
    duo_timed candidate[DUO_MOST_TIMED];
    double api_seconds; /* the public function, on the path auto */
    double pace;        /* the CPU's pace just before (verify_trial.h) */
} duo_verified;

/* ---- Conclusions ---- */

typedef struct duo_regrets {
    int problems, above_5_percent, above_20_percent;
    double median, p95, p99, worst;
} duo_regrets;

/* Ratios of real to predicted time. */
typedef struct duo_prediction_errors {
    int pairs, close;         /* close: within a factor of 1.25 */
    double low, median, high; /* 5 % are below low, 5 % above high */
} duo_prediction_errors;

/* Ways to choose a side without a prediction. The fastest algorithm on that side counts. Policies
 * by size leave reductions on the CPU. */
typedef enum duo_fixed_policy {
    DUO_ALWAYS_CPU,
    DUO_ALWAYS_GPU,
    DUO_CUBE_FROM_500,    /* (m n k)^(1/3) >= 500, as SCILIB-Accel */
    DUO_SIDES_ABOVE_2048, /* m and n > 2048, as the offload that MKL had */
    DUO_FIXED_POLICIES
} duo_fixed_policy;

extern const char *const duo_fixed_policy_names[DUO_FIXED_POLICIES];

/* The part of a call that was predicted wrongly. */
typedef enum duo_part {
    DUO_PART_TRANSFER, /* moving operands and result */
    DUO_PART_LAUNCH,   /* launching a GPU algorithm; the kernel is short */
    DUO_PART_THREADS,  /* sharing the work: one thread's prediction is right, or this number has
                        * none */
    DUO_PART_COMPUTE,
    DUO_PARTS
} duo_part;

extern const char *const duo_part_names[DUO_PARTS];

typedef struct duo_offender {
    int problem; /* its index */
    int best;    /* its fastest candidate */
    double regret, raw;
    bool chosen_erred; /* was the chosen one predicted worse, not the best? */
    duo_part part;
} duo_offender;

enum { DUO_OFFENDERS = 10 };

typedef struct duo_verification {
    uint64_t seed;
    int wanted, passed_over; /* problems: wanted; drawn, but too long or large */
    int left_out;            /* candidates not timed: predicted to be too slow */
    bool gpu;
    double seconds;
    duo_noise noise;
    bool judged; /* false: it was noisy, and all below is empty */

    int problems; /* measured ones */
    const duo_verified *problem;
    duo_regrets algorithm, algorithm_raw;
    duo_regrets side, side_raw;                       /* of problems that both sides can do */
    double chosen_seconds, best_seconds, api_seconds; /* sums over all problems */
    double policy_seconds[DUO_FIXED_POLICIES];
    duo_prediction_errors ratios, by_algorithm[DUO_ALGORITHMS], by_class[DUO_SHAPE_CLASSES];
    duo_prediction_errors by_pace; /* of all, if predictions used the CPU's pace */
    duo_prediction_errors pace;    /* of all problems */
    int offenders;
    duo_offender offender[DUO_OFFENDERS]; /* regret above 5 %, worst first */
} duo_verification;

/* ---- verify_regret.c ---- */

/* The fastest of a problem's candidates, on any side or on `side`; -1: none was timed. */
int duo_verified_best(const duo_verified *problem);
int duo_verified_best_on(const duo_verified *problem, duo_side side);

double duo_regret_raw(const duo_timed *chosen, const duo_timed *best);
double duo_regret(const duo_timed *chosen, const duo_timed *best);

/* Fills in all that follows from v->problem, except the offenders' parts. False: no memory. */
bool duo_verification_sum_up(duo_verification *v);

/* The candidate of an offender that was predicted worse. */
const duo_timed *duo_offender_erred(const duo_verification *v, const duo_offender *offender);

/* The part that was predicted wrongly. in_place: the same candidate with all operands on its side;
 * one: the same algorithm on one thread. NULL: not timed. */
duo_part duo_part_of(const duo_timed *whole, const duo_timed *in_place, const duo_timed *one);

/* ---- verify.c ---- */

typedef struct duo_verify_options {
    int problems;
    uint64_t seed;
    bool quick, ignore_noise, wanted[DUO_OPERATIONS];
    double most_seconds;
} duo_verify_options;

/* Draws and measures. False: out of memory, which was said on stderr. The caller frees
 * v->problem. */
bool duo_verify(const duo_verify_options *options, duo_verification *v);

/* Measures, prints to stdout, and writes the files that are not NULL. False, after a message on
 * stderr: it was not judged, or a file could not be written. */
bool duo_verify_run(const duo_verify_options *options, const char *csv, const char *report);

/* ---- verify_print.c ---- */

/* Prints machine, profile and seed; each line begins with `mark`. */
void duo_verification_head(const duo_verify_options *options, const char *mark, FILE *file);

void duo_verification_print(const duo_verification *v, FILE *file);
bool duo_verification_csv(const duo_verification *v, const duo_verify_options *options,
                          const char *path);
/* Writes a page of HTML. */
bool duo_verification_report(const duo_verification *v, const duo_verify_options *options,
                             const char *path);

#endif
