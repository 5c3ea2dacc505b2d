/*
 * verify.h - how right is dispatch? `duoblas crossover --verify` draws calls that no ladder has,
 * times every algorithm on each, and tells how far what was chosen is from the best.
 *
 * A candidate is an algorithm with a number of threads: the CPU's on one thread, on all, and on as
 * many as the model chooses. Each does the whole call, with the transfers that it needs. The regret
 * of a choice is time of the chosen / time of the best - 1; it counts as 0 where the quartiles of
 * both overlap, since such a difference may be noise. Without that exception it is called raw.
 */
#ifndef DUO_VERIFY_H
#define DUO_VERIFY_H

#include <stdio.h>

#include "bench/crossover/verify_draw.h"
#include "bench/measure/noise.h"
#include "choice/algorithm.h"

/* ---- What is measured ---- */

typedef struct duo_timed {
    const duo_algorithm *algorithm;
    int threads;              /* 0 on the GPU */
    double predicted_seconds; /* 0: the model does not use this number of threads here */
    double minimum_seconds, median_seconds;
    double low_seconds, high_seconds; /* quartiles. All 0: not timed */
} duo_timed;

enum { DUO_MOST_TIMED = 3 * DUO_CANDIDATES };

/* One problem. */
typedef struct duo_verified {
    duo_drawn drawn;
    int count, chosen; /* chosen < 0: what was chosen could not be timed */
    duo_timed candidate[DUO_MOST_TIMED];
    double api_seconds; /* of the public function on the path auto */
    double pace;        /* of the CPU just before (verify_time.h) */
} duo_verified;

/* ---- What is made of it ---- */

typedef struct duo_regrets {
    int problems, above_5_percent, above_20_percent;
    double median, p95, p99, worst;
} duo_regrets;

/* Real over predicted time. */
typedef struct duo_prediction_errors {
    int pairs, close;         /* close: within a factor of 1.25 */
    double low, median, high; /* a twentieth is below, a twentieth above */
} duo_prediction_errors;

/* Ways to choose a side without a prediction; on that side the fastest algorithm counts. Those by
 * size leave reductions on the CPU. */
typedef enum duo_fixed_policy {
    DUO_ALWAYS_CPU,
    DUO_ALWAYS_GPU,
    DUO_CUBE_FROM_500,    /* (m n k)^(1/3) >= 500, as SCILIB-Accel */
    DUO_SIDES_ABOVE_2048, /* m and n > 2048, as the offload that MKL had */
    DUO_FIXED_POLICIES
} duo_fixed_policy;

extern const char *const duo_fixed_policy_names[DUO_FIXED_POLICIES];

/* What of a call was predicted wrongly. */
typedef enum duo_part {
    DUO_PART_TRANSFER, /* bringing operands and result to where they are needed */
    DUO_PART_LAUNCH,   /* of a GPU algorithm, where the kernel is short */
    DUO_PART_THREADS,  /* on one thread the prediction is right, or this number has none */
    DUO_PART_COMPUTE,
    DUO_PARTS
} duo_part;

extern const char *const duo_part_names[DUO_PARTS];

typedef struct duo_offender {
    int problem; /* its index */
    int best;    /* its fastest candidate */
    double regret, raw;
    bool chosen_erred; /* is it the chosen one, or else the best, that was predicted worse? */
    duo_part part;
} duo_offender;

enum { DUO_OFFENDERS = 10 };

typedef struct duo_verification {
    uint64_t seed;
    int wanted, passed_over; /* problems: asked for; drawn, but too long or large for the machine */
    int left_out;            /* candidates that were predicted to be too slow to be timed */
    bool gpu;
    double seconds;
    duo_noise noise;
    bool judged; /* false: it was noisy, and nothing below is filled in */

    int problems; /* those measured */
    const duo_verified *problem;
    duo_regrets algorithm, algorithm_raw;
    duo_regrets side, side_raw;                       /* of the problems that both sides can do */
    double chosen_seconds, best_seconds, api_seconds; /* sums over all problems */
    double policy_seconds[DUO_FIXED_POLICIES];
    duo_prediction_errors ratios, by_algorithm[DUO_ALGORITHMS], by_class[DUO_SHAPE_CLASSES];
    duo_prediction_errors by_pace; /* of all, had the profile known the CPU's pace */
    duo_prediction_errors pace;    /* of all problems */
    int offenders;
    duo_offender offender[DUO_OFFENDERS]; /* regret above 5 %, worst first */
} duo_verification;

/* ---- verify_regret.c ---- */

/* The fastest of a problem's candidates, of all or of a side; -1: none was timed. */
int duo_verified_best(const duo_verified *problem);
int duo_verified_best_on(const duo_verified *problem, duo_side side);

double duo_regret_raw(const duo_timed *chosen, const duo_timed *best);
double duo_regret(const duo_timed *chosen, const duo_timed *best);

/* Fills in what follows from v->problem, but for the parts of the offenders. False: no memory. */
bool duo_verification_sum_up(duo_verification *v);

/* Which candidate of an offender was predicted worse. */
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

/* Measures. False, and said on stderr: there is no memory. The caller frees v->problem. */
bool duo_verify(const duo_verify_options *options, duo_verification *v);

/* Measures, prints to stdout, and writes the files that are not NULL. False: it was not judged, or
 * a file could not be written, which was said on stderr. */
bool duo_verify_run(const duo_verify_options *options, const char *csv, const char *report);

/* ---- verify_print.c ---- */

/* Machine, profile and seed, each line behind the mark. */
void duo_verification_head(const duo_verify_options *options, const char *mark, FILE *file);

void duo_verification_print(const duo_verification *v, FILE *file);
bool duo_verification_csv(const duo_verification *v, const duo_verify_options *options,
                          const char *path);
/* A page of HTML. */
bool duo_verification_report(const duo_verification *v, const duo_verify_options *options,
                             const char *path);

#endif
