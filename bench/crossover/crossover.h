/*
 * crossover.h - the crossover benchmark: its figures, and the answers that follow from them.
 *
 * A case is a problem with all its figures. A figure is measured; or predicted, if there is no GPU
 * or no time. It always says which.
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
    int rounds;                             /* 0: not known */
    const char *algorithm;                  /* NULL: nobody has tried */
    int threads;                            /* 0 on the GPU */
    int session;                            /* which one measured it (duo_crossover) */
    int again;                              /* how often it was measured again */
    bool predicted;
} duo_figure;

/* What a second run (second.h) tells: of the CPU's best time, and of the GPU's by the place of its
 * operands. 0: nothing. */
typedef struct duo_second {
    double cpu, gpu[DUO_PLACES];
} duo_second;

/* One run that measured figures: when, by which commit and how. */
typedef struct duo_session {
    char date[24], commit[48];
    bool quick;
    double noise; /* share by which figures may be off; 0: not known */
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
    bool between; /* added between sizes of the ladder, without the least valuable figures */
    duo_figure figure[DUO_SERIES];
    duo_second second; /* its seconds */
} duo_case;

enum { DUO_CASES = 256, DUO_SESSIONS = 8, DUO_CALLS = 4 };

/* ---- The size from which the GPU wins ---- */

typedef enum duo_verdict {
    DUO_WINS_NEVER,  /* not at the largest size */
    DUO_WINS_FROM,   /* from .n on, at every larger size measured */
    DUO_WINS_ALWAYS, /* at every size measured */
    DUO_WINS_UNKNOWN /* nothing to compare */
} duo_verdict;

typedef struct duo_crossing {
    duo_verdict verdict;
    int64_t n;       /* smallest size of the ladder from which the GPU wins at all larger ones */
    double between;  /* size where the curves meet, by sizes near it; 0: not known */
    double seconds;  /* the CPU's time there; 0: not known */
    int64_t largest; /* of the ladder */
    bool predicted;  /* a figure near the crossing is predicted */
} duo_crossing;

/* Another GPU in this machine, predicted by its profile: the size from which it would win, for the
 * main family of each operation. */
typedef struct duo_outlook {
    char gpu[160]; /* "an H100" */
    const duo_profile *profile;
    /* With operands in pageable memory; the GPU may be faster than predicted (early) or slower
     * (late). */
    duo_crossing early[DUO_OPERATIONS], late[DUO_OPERATIONS];
    /* The same with operands that stay on the GPU. */
    duo_crossing stay_early[DUO_OPERATIONS], stay_late[DUO_OPERATIONS];
} duo_outlook;

enum { DUO_OUTLOOKS = 3 };

/* The math of the tables and of the API's series. Algorithms of other maths are measured, too, for
 * the profile and the CSV. */
#define DUO_CROSSOVER_MATH DUO_MATH_ACCURATE

typedef struct duo_crossover {
    /* options */
    bool quick, cold, wanted[DUO_OPERATIONS];
    bool ignore_noise;
    double most_seconds;      /* for the whole run, files included */
    int64_t calls[DUO_CALLS]; /* numbers of calls on the same arrays; 0: none further, or default */
    uint64_t seed;
    const duo_profile *gpu_profile; /* another GPU for the outlook; NULL: none */

    /* the machine */
    int threads, device;
    bool gpu;        /* measured, not predicted */
    const char *why; /* if there is no GPU: the reason */
    char cpu[96], gpu_name[96], driver[32];
    duo_device_info device_info;
    double open_seconds; /* to open the driver and the device; 0: they were open */
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
    char *unwanted;  /* lines of unwanted operations in that file; NULL: none */
    int skipped;     /* figures predicted because time or memory ran out */
    int refined;     /* sizes added where curves meet or bend */
    int again;       /* disturbed figures that were measured again */
    duo_noise noise;
    duo_second second; /* shares by which three of four of its figures differ at most */
    double began, seconds;
} duo_crossover;

/* Was the machine noisy, and is noise not ignored? Then there is no verdict, and no earlier figures
 * are replaced. */
static inline bool duo_crossover_distrusted(const duo_crossover *x)
{
    return x->noise.looks > 0 && x->noise.noisy && !x->ignore_noise;
}

/* ---- plan.c ---- */

/* Plans the ladders of the wanted operations. */
void duo_crossover_plan(duo_crossover *x);
/* The case of this size; it is added if its family does not have it. NULL: no room, or no family of
 * this name. An added case moves the cases behind it. */
duo_case *duo_crossover_add(duo_crossover *x, duo_operation operation, const char *family,
                            int64_t n);

/* ---- refine.c ---- */

typedef struct duo_refinement {
    duo_operation operation;
    const char *family;
    int64_t n;
    double gain; /* how much a figure of this size would tell: higher is more */
} duo_refinement;

/* Lists the sizes that would tell most, best first. Sizes around a crossing come first, until they
 * are 5 % apart; then sizes where a straight line between neighbours misses the curve. Returns how
 * many. */
int duo_crossover_refine(const duo_crossover *x, duo_refinement *list, int most);

/* The distance between the quartiles of a measured figure, as a share; 0: not measured. */
double duo_figure_spread(const duo_figure *figure);
/* Was a figure of the case disturbed? Its quartiles lie far apart, or a larger problem of the
 * family took less time. */
bool duo_crossover_disturbed(const duo_crossover *x, const duo_case *c, int series);

/* ---- open.c ---- */

/* Opens context, device and stocks. False: out of memory, which was said on stderr. */
bool duo_crossover_open(duo_crossover *x);
void duo_crossover_close(duo_crossover *x);

/* ---- predict.c ---- */

/* The conditions of a prediction: from the profile in use; without a GPU, its side from
 * x->assumed. */
duo_conditions duo_crossover_conditions(const duo_crossover *x, duo_path path, int threads);

/* Predicts the API on the GPU with all operands in `place`. */
duo_figure duo_crossover_predict_gpu(const duo_crossover *x, const duo_problem *problem,
                                     duo_place place);

/*
 * Seconds of one call, extrapolated from the next smaller size that was measured: time grows as in
 * the profile's curve, or with the work. If no smaller size was measured: the profile's figure. 0:
 * not known.
 */
double duo_crossover_expect(const duo_crossover *x, const duo_case *c,
                            const duo_implementation *implementation, int series);

/* ---- sources.c ---- */

enum { DUO_MOST_SOURCES = 24 };

/* A way to measure one figure of a case. */
typedef struct duo_source {
    duo_implementation implementation;
    int series;
    int value;               /* how much the figure is worth: higher is sooner */
    double expected_seconds; /* of one call */
    bool possible;           /* the algorithm accepts the problem, and memory is enough */
} duo_source;

/* Lists the figures that can be timed at a case; returns how many. */
int duo_crossover_sources(const duo_crossover *x, const duo_case *c,
                          duo_source source[DUO_MOST_SOURCES]);

/* ---- time.c ---- */

static inline bool duo_figure_measured(const duo_figure *f)
{
    return f->median_seconds > 0.0 && !f->predicted;
}

/* Was it not tried yet, or only predicted? */
static inline bool duo_figure_pending(const duo_figure *f)
{
    return f->algorithm == NULL || f->predicted;
}

/* Times the sources of the case that are in wanted series. */
void duo_crossover_time(duo_crossover *x, duo_case *c, const duo_effort *effort,
                        const bool wanted[DUO_SERIES]);
/* Predicts figures of the case that were not measured, from all figures so far. Returns how many
 * could have been measured. */
int duo_crossover_predict_rest(const duo_crossover *x, duo_case *c);

/* ---- measure.c ---- */

/* Measures the figures that fit into the time, the most valuable first, and predicts the rest.
 * Calls `checkpoint` after each case. */
void duo_crossover_measure(duo_crossover *x, void (*checkpoint)(duo_crossover *x, void *user),
                           void *user);
/* Notes how noisy the machine was so far: in the run and in its session. */
void duo_crossover_judge(duo_crossover *x);

/* ---- profile.c; its threads: forks.c, host to GPU: link.c, shapes: corrections.c ---- */

/* The cost of sharing work among threads, in seconds. Each thread has `piece` seconds of work; run
 * i took `piece` + overhead[i]. False: too few runs were undisturbed. */
bool duo_fork_seconds(const double *overhead, int count, double piece, double *seconds);
void duo_crossover_forks(const duo_crossover *x, duo_profile *profile);

/* The speedup by all threads, divided by their number. At most 1, since more means that the run on
 * one thread was disturbed; and never near 0. */
double duo_parallel_efficiency(double one_seconds, double all_seconds, int threads);

void duo_crossover_profile(const duo_crossover *x, duo_profile *profile);
/* Notes for each operation when and how it was measured, and how noisy the machine was. To be
 * called after duo_crossover_judge. */
void duo_crossover_sessions(const duo_crossover *x, duo_profile *profile);
void duo_crossover_link(const duo_crossover *x, duo_profile *profile);
/* Adds corrections to the profile, based on its curves and costs of threads. */
void duo_crossover_corrections(const duo_crossover *x, duo_profile *profile);

/* ---- crossing.c ---- */

/* The two compared figures: the fastest CPU algorithm, on one thread or on all; and the API on the
 * GPU. Never NULL. */
const duo_figure *duo_crossover_cpu(const duo_case *c);
const duo_figure *duo_crossover_gpu(const duo_case *c, duo_place place);
/* log(GPU time / CPU time): negative if the GPU wins; NaN: nothing to compare. */
double duo_crossover_log_ratio(const duo_case *c, duo_place place);

duo_crossing duo_crossover_find(const duo_crossover *x, duo_operation operation, const char *family,
                                duo_place place);

/* How a GPU is used: `calls` calls on the same arrays. The first call finds them in `place`, all
 * others on the GPU. GPU times are multiplied by `factor`, to see how much an error would
 * change. */
typedef struct duo_use {
    duo_place place;
    int64_t calls;
    double factor;
} duo_use;

/* The numbers of calls to show; returns how many. */
int duo_crossover_calls(const duo_crossover *x, int64_t calls[DUO_CALLS]);

static inline duo_use duo_one_call(duo_place place) { return (duo_use){place, 1, 1.0}; }

/* Mean seconds of a call; 0: not known. */
double duo_crossover_gpu_seconds(const duo_case *c, duo_use use);
duo_crossing duo_crossover_find_use(const duo_crossover *x, duo_operation operation,
                                    const char *family, duo_use use);

/* The family of the verdicts: squares, or vectors. */
const char *duo_crossover_main_family(duo_operation operation);

/* Lists the families of an operation that have cases; returns how many. */
int duo_crossover_families(const duo_crossover *x, duo_operation operation,
                           const char *family[DUO_CASES]);

/* ---- predict.c: other GPUs ---- */

/* 90 % of GPU calls take between these two multiples of the predicted time. */
extern const double duo_prediction_low, duo_prediction_high;

/* The quotient of two figures may be off by a factor between these. It comes from the noise and, if
 * a figure is predicted, from the error of predictions. */
typedef struct duo_range {
    double low, high;
} duo_range;
/* c: at this case; NULL: between cases. */
duo_range duo_crossover_range(const duo_crossover *x, const duo_case *c, duo_place place,
                              bool predicted);

/* A crossing, and where it would be at both ends of that range. */
typedef struct duo_ends {
    duo_crossing crossing, early, late;
} duo_ends;
duo_ends duo_crossover_ends(const duo_crossover *x, duo_operation operation, const char *family,
                            duo_use use);

/* Predicts other GPUs: the one of x->gpu_profile; without any GPU here, also an H100 and an
 * H200. */
void duo_crossover_outlook(duo_crossover *x);

/* ---- verdict.c ---- */

enum { DUO_SENTENCES = 12, DUO_SENTENCE = 400 };

typedef struct duo_sentences {
    int count;
    char text[DUO_SENTENCES][DUO_SENTENCE];
} duo_sentences;

/* The answer in a few sentences: on sgemm, on the reductions, and an example. If the machine was
 * noisy, the first sentence says so; if figures cannot be trusted, it is the only one. */
void duo_crossover_verdict(const duo_crossover *x, duo_sentences *sentences);
/* Explain sgemm and the places of operands; name the math of the figures. */
extern const char *const duo_crossover_terms, *const duo_crossover_math;
/* Says where figures come from if not all were measured here; "" if all were. */
const char *duo_crossover_caveat(const duo_crossover *x, char text[DUO_SENTENCE]);
/* "327", "never", "always" or "-" */
const char *duo_crossing_text(const duo_crossing *crossing, char text[DUO_TEXT]);
/* The same with the range if that is wide: "48 to 441", "up to 441", "48 or never" */
const char *duo_ends_text(const duo_ends *ends, char text[DUO_TEXT]);

/* ---- print.c ---- */

/* Prints verdict, machine and tables. `full`: of all sizes and families, with algorithms and
 * quartiles. */
void duo_crossover_print(const duo_crossover *x, bool full, FILE *file);

/* ---- csv.c ---- */

bool duo_crossover_csv(const duo_crossover *x, const char *path);

/* ---- json.c ---- */

/* Writes all figures and answers; docs/reference/crossover.md has the keys. Without a path to
 * stdout. */
bool duo_crossover_json(const duo_crossover *x, const char *path);
/* The same as text, to be freed; NULL: out of memory. */
char *duo_crossover_json_text(const duo_crossover *x);

/* ---- plot.c ---- */

bool duo_crossover_plot(const duo_crossover *x, const char *path);

/* ---- report.c ---- */

/* Writes all as one HTML page without other files. */
bool duo_crossover_report(const duo_crossover *x, const char *path);

/* ---- markdown.c ---- */

/* Writes the verdict, the machine and the tables of the terminal as Markdown, for an issue. */
bool duo_crossover_markdown(const duo_crossover *x, const char *path);

/* ---- time.c: choosing figures that fit into the time ---- */

/* Seconds to time calls of `call_seconds`: warm-up, counting, all rounds. */
double duo_budget_seconds(const duo_effort *effort, double call_seconds);

typedef struct duo_budget_item {
    int value;      /* higher is sooner */
    double seconds; /* not finite: not known, so it does not fit */
    bool fits;      /* set by duo_budget_fit */
    int owner;      /* for the caller, since the list gets sorted */
} duo_budget_item;

/*
 * Marks the items that fit into `seconds`: the most valuable first; if equally valuable, the
 * shortest first. So the largest sizes of a ladder are left out, not sizes between others. Returns
 * the seconds of all marked items.
 */
double duo_budget_fit(duo_budget_item *item, int count, double seconds);

#endif
