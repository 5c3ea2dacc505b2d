/*
 * bench.h - the parts of `duoblas bench`, and the place where they work.
 */
#ifndef DUO_BENCH_H
#define DUO_BENCH_H

#include "bench/measure/implementation.h"
#include "bench/reference/product_error.h"
#include "bench/tool/tool.h"
#include "choice/select.h"

typedef struct duo_bench {
    bool csv, cold, quick;
    bool wait;         /* the host waits for each call, and of a reduction for the result */
    bool reads;        /* every way of reading, every layout of cuBLAS: not the fastest alone */
    bool algorithms;   /* shapes: every algorithm is timed, not the chosen one alone */
    int layout;        /* shapes: this one alone, 2 * transa + transb; -1: all */
    bool sides[2];     /* duo_side: does it take part? */
    unsigned prepared; /* sgemm: a bit for A and for B */
    int math;          /* duo_math that its algorithms must serve; -1: any */
    uint64_t seed;
    int threads;
    int64_t offset_floats; /* from a boundary of 256 bytes to every operand */
    const char *plot;      /* NULL: none */
    int neighbours;        /* mixed: busy processes */
    const char *beside;    /* mixed: the program's own BLAS; NULL: none */

    bool gpu;
    const char *why;        /* no GPU: the reason */
    const char *cublas_why; /* no cuBLAS: the reason; NULL: it is there */
    bool gpu_peers;         /* CUB, the bare read and exact products can be used: device 0 */
    duo_device_info device;
    duo_context *context; /* on the GPU's path where there is a GPU */
    duo_queue *queue;
    duo_stock host, resident;
    float *pinned; /* GPU: where a peer's result is copied to */
} duo_bench;

/* Opens the machine with room for the problems; false, and said on stderr, if there is no
 * memory. */
bool duo_bench_open(duo_bench *bench, const duo_problem *problem, int problems);
void duo_bench_close(duo_bench *bench);
duo_effort duo_bench_effort(const duo_bench *bench);
/* For products on a GPU whose clock falls as it gets warm: each sample behind a warm-up. */
duo_effort duo_bench_sustained_effort(const duo_bench *bench, const duo_problem *problem);
/* Of its device, 10 * major + minor; 0: there is none. */
int duo_bench_capability(const duo_bench *bench);
/* Without --math: does it serve more than TF32, which nobody gets unasked? */
bool duo_bench_wants(const duo_bench *bench, const duo_algorithm *algorithm);
/* The policy under which an algorithm does a call, if --math lets it. False: under none. */
bool duo_bench_conditions(const duo_bench *bench, const duo_algorithm *algorithm,
                          const duo_call *call, duo_conditions *conditions);
/* The algorithms of a side that take the call, cheapest first; returns how many. Without --math the
 * default's. */
int duo_bench_choose(const duo_bench *bench, const duo_call *call, duo_side side,
                     duo_choice chosen[DUO_CANDIDATES]);
/* The lines above every table. */
void duo_bench_head(const duo_bench *bench);

/* ---- ladder.c: every algorithm of an operation, beside its peers ---- */

int duo_bench_ladder(duo_bench *bench, const duo_problem *problem, int problems);

/* ---- shapes.c: what dispatch chooses beside the peer, in all layouts ---- */

/* problems: 0 for those of shapes.h. */
int duo_bench_shapes(duo_bench *bench, const duo_problem *problem, int problems);

/* ---- overhead.c: what dispatch costs on a tiny call ---- */

int duo_bench_overhead(void);

/* ---- mixed.c: the operations by turns, beside busy neighbours and another BLAS ---- */

int duo_bench_mixed(duo_bench *bench, const int64_t product[3], int64_t length);

/* ---- introduction.c: sums of 2^12..2^27 and two products, as the introduction has them ---- */

int duo_bench_introduction(duo_bench *bench);

/* ---- accuracy.c: errors of the reductions on random vectors ---- */

/* sizes: 0 for the usual lengths. */
int duo_bench_accuracy(duo_bench *bench, const int64_t *size, int sizes);

/* ---- accuracy_sgemm.c: errors of the products on all kinds of matrices ---- */

/* problems: 0 for the usual ones. */
int duo_bench_accuracy_sgemm(duo_bench *bench, const duo_problem *problem, int problems);

/* ---- error.c ---- */

/* A reduction of slot 0 in float64: its value, and the sum of |terms|. */
typedef struct duo_exact {
    double sum, scale;
} duo_exact;

duo_exact duo_bench_exact(const duo_problem *problem, const duo_stock *host);

/*
 * The error of a reduction's last result, of slot 0, against float64: |error| / sum of |terms|, in
 * units of 2^-24. Negative: the result could not be fetched.
 */
double duo_bench_error(duo_context *context, const duo_problem *problem, const duo_exact *exact,
                       const duo_implementation *implementation);

/* The exact product of slot 0, by the device if its peers can be used. */
bool duo_bench_exact_product(const duo_bench *bench, const duo_problem *problem,
                             duo_product_exact *exact);

#endif
