/*
 * crossover.h - what the crossover benchmark measures, and what is made of it.
 *
 * A case is a problem with every figure that belongs to it. Figures come from measuring, or, where
 * there is no GPU or no time, from a prediction, and always say which.
 */
#ifndef DUO_CROSSOVER_H
#define DUO_CROSSOVER_H

#include <stdbool.h>
#include <stdio.h>

#include "bench/measure/benchmark.h"
#include "bench/measure/implementation.h"
#include "bench/measure/noise.h"
#include "bench/tool/text.h"
#include "choice/algorithm.h"
#include "gpu/backend/backend.h"

typedef struct duo_figure {
    double median_seconds, minimum_seconds; /* 0: none */
    double low_seconds, high_seconds;       /* quartiles of the rounds; 0: not measured */
    const char *algorithm;                  /* NULL: nobody has tried */
    int threads;                            /* 0 on the GPU */
    int session;                            /* in which it was measured: of duo_crossover */
    int again;                              /* times that it was measured again */
    bool predicted;
} duo_figure;

/* When, by which commit and how figures were measured. */
typedef struct duo_session {
    char date[24], commit[48];
    bool quick;
    double noise; /* figures may be off by this share; 0: not known */
} duo_session;

/*
 * A case has one figure per series: every CPU algorithm on one thread and on all, every GPU
 * algorithm in a busy queue (under "one"), and the public API on the GPU with its operands in each
 * place.
 */
enum {
    DUO_SERIES_ONE = 0,
    DUO_SERIES_ALL = DUO_ALGORITHMS,
    DUO_SERIES_GPU = 2 * DUO_ALGORITHMS,
    DUO_SERIES = 2 * DUO_ALGORITHMS + DUO_PLACES
};

/* A family is a ladder of shapes along one number n; its name says where n stands. */
typedef struct duo_case {
    duo_problem problem;
    const char *family; /* "n", "n x n x n", "n x n x 16", ... */
    int64_t n;
    bool between; /* the ladder does not have it: only what is compared is measured there */
    duo_figure figure[DUO_SERIES];
} duo_case;

enum { DUO_CASES = 256, DUO_SESSIONS = 8 };

/* ---- From what size on does the GPU win? ---- */

typedef enum duo_verdict {
    DUO_WINS_NEVER,  /* not at the largest size, so from no size on */
    DUO_WINS_FROM,   /* from .n on, at every larger size measured */
    DUO_WINS_ALWAYS, /* at every size measured */
    DUO_WINS_UNKNOWN /* nothing to compare */
} duo_verdict;

typedef struct duo_crossing {
    duo_verdict verdict;
    int64_t n;       /* smallest size of the ladder from which the GPU wins at all larger ones */
    double between;  /* where the curves meet, by the sizes near it; 0: not known */
    double seconds;  /* that the CPU takes there; 0: not known */
    int64_t largest; /* of the ladder */
    bool predicted;  /* any figure near the crossing is */
} duo_crossing;

/* Another GPU in this machine, by its profile: from what size on it would win with operands in
 * pageable memory, for the main family of each operation. */
typedef struct duo_outlook {
    char gpu[160]; /* "an H100" */
    const duo_profile *profile;
    /* If the GPU is as much faster than predicted as it may well be, and as much slower. */
    duo_crossing early[DUO_OPERATIONS], late[DUO_OPERATIONS];
} duo_outlook;

enum { DUO_OUTLOOKS = 3 };

/* The math of the tables and of the API's series. Algorithms of another math are measured beside
 * it, for the profile and the CSV. */
#define DUO_CROSSOVER_MATH DUO_MATH_ACCURATE

typedef struct duo_crossover {
    /* options */
    bool quick, cold, wanted[DUO_OPERATIONS];
    bool ignore_noise;
    double most_seconds; /* for everything, from the first moment to the last file */
    uint64_t seed;
    const duo_profile *gpu_profile; /* of a GPU to look at beside this machine's; NULL: none */

    /* the machine */
    int threads, device;
    bool gpu;        /* measured, not predicted */
    const char *why; /* no GPU: the reason */
    char cpu[96], gpu_name[96], driver[32];
    duo_device_info device_info;
    char cpu_blas[384];
    const duo_profile *assumed; /* without a GPU: the profile that predicts it */
    duo_context *context;
    duo_queue *queue;
    duo_stock stock[DUO_PLACES];

    int cases;
    duo_case item[DUO_CASES]; /* by operation, family and n */
    int outlooks;
    duo_outlook outlook[DUO_OUTLOOKS];

    /* how it went */
    duo_session session[DUO_SESSIONS]; /* the first is this run */
    int sessions;
    int kept;        /* figures of earlier sessions */
    int full_before; /* figures of full runs that were in the file of figures */
    char *unwanted;  /* its lines of other operations; NULL: none */
    int skipped;     /* figures predicted for want of time or memory */
    int refined;     /* sizes that were added where curves meet or bend */
    int again;       /* figures that were measured again, as somebody disturbed them */
    duo_noise noise;
    double began, seconds;
} duo_crossover;

/* Was the machine noisy, and is that not to be ignored? Then there is no verdict, and what was
 * measured takes the place of nothing. */
static inline bool duo_crossover_distrusted(const duo_crossover *x)
{
    return x->noise.looks > 0 && x->noise.noisy && !x->ignore_noise;
}

/* ---- plan.c ---- */

/* The ladders of what is wanted. */
void duo_crossover_plan(duo_crossover *x);
/* The case of this size, which is added to its family if it is not there. NULL: there is no room,
 * or no such family. Cases behind it move. */
duo_case *duo_crossover_add(duo_crossover *x, duo_operation operation, const char *family,
                            int64_t n);

/* ---- refine.c ---- */

typedef struct duo_refinement {
    duo_operation operation;
    const char *family;
    int64_t n;
    double gain; /* the higher, the more such a size would tell */
} duo_refinement;

/* Lists the sizes that would tell most, best first: between the sizes around each crossing, until
 * they are 5 % apart, then beside those where the neighbours' curve is wrong. Returns how many. */
int duo_crossover_refine(const duo_crossover *x, duo_refinement *list, int most);

/* The share by which the quartiles of a measured figure lie apart; 0: not measured. */
double duo_figure_spread(const duo_figure *figure);
/* Did somebody disturb a figure of the case: do its quartiles lie far apart, or did a larger
 * problem of the family take less time? */
bool duo_crossover_disturbed(const duo_crossover *x, const duo_case *c, int series);

/* ---- open.c ---- */

/* Opens context, device and stocks; false, and said on stderr, if there is no memory at all. */
bool duo_crossover_open(duo_crossover *x);
void duo_crossover_close(duo_crossover *x);

/* ---- predict.c ---- */

/* The conditions of a prediction: by the profile in use, without a GPU its side by x->assumed. */
duo_conditions duo_crossover_conditions(const duo_crossover *x, duo_path path, int threads);

/* The API on the GPU with operands in a place. */
duo_figure duo_crossover_predict_gpu(const duo_crossover *x, const duo_problem *problem,
                                     duo_place place);

/*
 * Seconds of one call: what the series took at the last size that was measured, growing as the
 * profile's curve does, or with the work. Before any was measured, the profile's own figure. 0: no
 * idea.
 */
double duo_crossover_expect(const duo_crossover *x, const duo_case *c,
                            const duo_implementation *implementation, int series);

/* ---- sources.c ---- */

enum { DUO_MOST_SOURCES = 24 };

/* Where a figure of a case comes from. */
typedef struct duo_source {
    duo_implementation implementation;
    int series;
    int value;               /* what the figure is worth */
    double expected_seconds; /* of one call */
    bool possible;           /* the algorithm accepts the problem, and there is room for it */
} duo_source;

/* What is to be timed at a case; returns how many. */
int duo_crossover_sources(const duo_crossover *x, const duo_case *c,
                          duo_source source[DUO_MOST_SOURCES]);

/* ---- time.c ---- */

static inline bool duo_figure_measured(const duo_figure *f)
{
    return f->median_seconds > 0.0 && !f->predicted;
}

/* Nobody has tried yet, or there was no time. */
static inline bool duo_figure_pending(const duo_figure *f)
{
    return f->algorithm == NULL || f->predicted;
}

/* Times those sources of the case whose series are wanted. */
void duo_crossover_time(duo_crossover *x, duo_case *c, const duo_effort *effort,
                        const bool wanted[DUO_SERIES]);
/* What could not be measured is predicted, by what is known by now. Returns how much of it could
 * have been measured. */
int duo_crossover_predict_rest(const duo_crossover *x, duo_case *c);

/* ---- measure.c ---- */

/* Measures what fits in the time, in the order of its worth, and predicts the rest. `checkpoint` is
 * called after each case. */
void duo_crossover_measure(duo_crossover *x, void (*checkpoint)(duo_crossover *x, void *user),
                           void *user);
/* How noisy it was by now: of the run, and of its session. */
void duo_crossover_judge(duo_crossover *x);

/* ---- profile.c; of threads forks.c, of the way between host and GPU link.c, of shapes
 * corrections.c ---- */

/* Seconds that sharing work among threads costs, by what was measured of it: with `piece` seconds
 * of work for each thread a run takes `overhead` longer. False: too few runs were undisturbed. */
bool duo_fork_seconds(const double *overhead, int count, double piece, double *seconds);
void duo_crossover_forks(const duo_crossover *x, duo_profile *profile);

/* The speedup by all threads, divided by their number. Never more than 1, which would mean that the
 * run on one thread was disturbed, and never near 0. */
double duo_parallel_efficiency(double one_seconds, double all_seconds, int threads);

void duo_crossover_profile(const duo_crossover *x, duo_profile *profile);
/* Of each operation when and how it was measured, and how noisy it was: once that was judged. */
void duo_crossover_sessions(const duo_crossover *x, duo_profile *profile);
void duo_crossover_link(const duo_crossover *x, duo_profile *profile);
/* By the curves and costs of threads that the profile has. */
void duo_crossover_corrections(const duo_crossover *x, duo_profile *profile);

/* ---- crossing.c ---- */

/* The figures that are compared: the fastest of the CPU's algorithms, on one thread or on all, and
 * the API on the GPU. Never NULL. */
const duo_figure *duo_crossover_cpu(const duo_case *c);
const duo_figure *duo_crossover_gpu(const duo_case *c, duo_place place);
/* log(GPU time / CPU time): negative where the GPU wins; NaN: nothing to compare. */
double duo_crossover_log_ratio(const duo_case *c, duo_place place);

duo_crossing duo_crossover_find(const duo_crossover *x, duo_operation operation, const char *family,
                                duo_place place);

/* How a GPU is used: `calls` calls on the same arrays, which the first one finds in `place` and all
 * others on the GPU. Its times are taken times a factor, to see what an error would change. */
typedef struct duo_use {
    duo_place place;
    int64_t calls;
    double factor;
} duo_use;

static inline duo_use duo_one_call(duo_place place) { return (duo_use){place, 1, 1.0}; }

/* Seconds of a call in the mean; 0: not known. */
double duo_crossover_gpu_seconds(const duo_case *c, duo_use use);
duo_crossing duo_crossover_find_use(const duo_crossover *x, duo_operation operation,
                                    const char *family, duo_use use);

/* The family that verdicts are about: squares, or vectors. */
const char *duo_crossover_main_family(duo_operation operation);

/* Lists the families of an operation that have cases; returns how many. */
int duo_crossover_families(const duo_crossover *x, duo_operation operation,
                           const char *family[DUO_CASES]);

/* ---- outlook.c ---- */

/* 90 % of GPU calls take between these two multiples of the predicted time. */
extern const double duo_prediction_low, duo_prediction_high;

/* The quotient of two figures may be off by factors between these: by what is known of predictions,
 * if one figure is predicted, and by the noise. */
typedef struct duo_range {
    double low, high;
} duo_range;
duo_range duo_crossover_range(const duo_crossover *x, bool predicted);

/* What other GPUs would bring: the one of x->gpu_profile, and where there is none an H100 and an
 * H200. */
void duo_crossover_outlook(duo_crossover *x);

/* ---- verdict.c ---- */

enum { DUO_SENTENCES = 12, DUO_SENTENCE = 400 };

typedef struct duo_sentences {
    int count;
    char text[DUO_SENTENCES][DUO_SENTENCE];
} duo_sentences;

/* The answer in a few sentences: of sgemm, of the reductions, and an example. The first one tells
 * of noise; where the figures are not to be trusted it is the only one. */
void duo_crossover_verdict(const duo_crossover *x, duo_sentences *sentences);
/* What sgemm is and where its operands are; the math that was measured. */
extern const char *const duo_crossover_terms, *const duo_crossover_math;
/* Where the figures come from, if not all were measured here; "" if all were. */
const char *duo_crossover_caveat(const duo_crossover *x, char text[DUO_SENTENCE]);
/* "327", "never", "always" or "-" */
const char *duo_crossing_text(const duo_crossing *crossing, char text[DUO_TEXT]);

/* ---- print.c ---- */

/* Verdict, machine and tables; `full`: of all sizes and families, with who did it and quartiles. */
void duo_crossover_print(const duo_crossover *x, bool full, FILE *file);

/* ---- csv.c ---- */

bool duo_crossover_csv(const duo_crossover *x, const char *path);

/* ---- json.c ---- */

/* All that was measured and made of it, as docs/crossover.md describes it; to stdout without a
 * path. */
bool duo_crossover_json(const duo_crossover *x, const char *path);

/* ---- plot.c ---- */

bool duo_crossover_plot(const duo_crossover *x, const char *path);

/* ---- report.c ---- */

/* All of it as one HTML page that needs nothing else. */
bool duo_crossover_report(const duo_crossover *x, const char *path);

/* ---- time.c: what fits into the time that there is ---- */

/* Seconds that timing something takes whose call takes so long: warm-up, counting, all rounds. */
double duo_budget_seconds(const duo_effort *effort, double call_seconds);

typedef struct duo_budget_item {
    int value;      /* the higher, the sooner it is taken */
    double seconds; /* not finite: nobody knows, so it does not fit */
    bool fits;      /* set by duo_budget_fit */
    int owner;      /* the caller's own; the list is sorted */
} duo_budget_item;

/*
 * Marks what fits into `seconds`: the most valuable first, of the same value the shortest
 * first. So of a ladder of sizes the largest are left out, and none between others. Returns the
 * seconds of all that fits.
 */
double duo_budget_fit(duo_budget_item *item, int count, double seconds);

#endif
