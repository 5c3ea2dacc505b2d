/*
 * crossover.h - what the crossover benchmark measures, and what is made of it.
 *
 * A case is a problem with every figure that belongs to it. Figures come from measuring, or, where
 * there is no GPU or no time, from a prediction, and always say which.
 */
#ifndef DUO_CROSSOVER_H
#define DUO_CROSSOVER_H

#include "bench/measure/stock.h"
#include "bench/tool/tool.h"
#include "choice/algorithm.h"
#include "gpu/backend/backend.h"

typedef struct duo_figure {
    double median_seconds, minimum_seconds; /* 0: none */
    const char *algorithm;
    int threads; /* 0 on the GPU */
    bool predicted;
} duo_figure;

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
    duo_figure figure[DUO_SERIES];
} duo_case;

enum { DUO_CASES = 160 };

/* The math of the tables and of the API's series. Algorithms of another math are measured beside
 * it, for the profile and the CSV. */
#define DUO_CROSSOVER_MATH DUO_MATH_ACCURATE

typedef struct duo_crossover {
    /* options */
    bool quick, cold, wanted[DUO_OPERATIONS];
    double most_seconds;
    uint64_t seed;

    /* the machine */
    int threads, device;
    bool gpu;        /* measured, not predicted */
    const char *why; /* no GPU: the reason */
    char gpu_name[96], driver[32];
    duo_device_info device_info;
    char cpu_blas[384];
    const duo_profile *assumed; /* without a GPU: the profile that predicts it */
    duo_context *context;
    duo_queue *queue;
    duo_stock stock[DUO_PLACES];

    int cases;
    duo_case item[DUO_CASES];
    int skipped; /* figures predicted for want of time or memory */
    double seconds;
} duo_crossover;

/* ---- plan.c ---- */

void duo_crossover_plan(duo_crossover *x);

/* ---- open.c ---- */

/* Opens context, device and stocks; false, and said on stderr, if there is no memory at all. */
bool duo_crossover_open(duo_crossover *x);
void duo_crossover_close(duo_crossover *x);

/* ---- measure.c ---- */

void duo_crossover_measure(duo_crossover *x);

/* The faster of one and of all threads over the CPU algorithms of the math; never NULL. */
const duo_figure *duo_crossover_cpu(const duo_case *c);

/* ---- profile.c ---- */

void duo_crossover_profile(duo_crossover *x, duo_profile *profile);

/* ---- report.c ---- */

typedef enum duo_verdict {
    DUO_WINS_NEVER,  /* not at the largest size, so from no size on */
    DUO_WINS_FROM,   /* from .n on, at every larger size measured */
    DUO_WINS_ALWAYS, /* at every size measured */
    DUO_WINS_UNKNOWN /* nothing to compare */
} duo_verdict;

typedef struct duo_crossing {
    duo_verdict verdict;
    int64_t n;       /* smallest size of the ladder from which the GPU wins at all larger ones */
    double between;  /* where the curves meet, interpolated; 0: not known */
    int64_t largest; /* of the ladder */
    bool predicted;  /* any figure near the crossing is */
} duo_crossing;

duo_crossing duo_crossover_find(const duo_crossover *x, duo_operation operation, const char *family,
                                duo_place place);

/* Calls back for every family of an operation that has cases. */
int duo_crossover_families(const duo_crossover *x, duo_operation operation,
                           const char *family[DUO_CASES]);

void duo_crossover_head(const duo_crossover *x, FILE *file);
void duo_crossover_print(const duo_crossover *x, FILE *file);
bool duo_crossover_csv(const duo_crossover *x, const char *path);

/* ---- plot.c ---- */

bool duo_crossover_plot(const duo_crossover *x, const char *path);

#endif
