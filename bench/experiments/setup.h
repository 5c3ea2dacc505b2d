/*
 * setup.h - options, data, contexts and peers of every experiment of `duoblas bench`.
 */
#ifndef DUO_SETUP_H
#define DUO_SETUP_H

#include "bench/measure/implementation.h"
#include "bench/peers/libraries.h"
#include "bench/reference/product_error.h"
#include "bench/tool/table.h"
#include "choice/select.h"

enum { DUO_MOST_PROBLEMS = 64 };

typedef struct duo_bench {
    const struct duo_experiment *experiment;

    /* Options; --help describes them. In numbers 0 stands for the default. */
    bool csv, cold, quick, wait, reads, algorithms;
    const char *word; /* the word that is no option; NULL: none */
    int sizes, shapes;
    int64_t size[DUO_MOST_PROBLEMS], shape[DUO_MOST_PROBLEMS][3];
    int side;          /* duo_side; -1: both */
    bool sides[2];     /* duo_side: does it take part? */
    int layout;        /* 2 * transa + transb; -1: nn; in shapes: all */
    int math;          /* duo_math that algorithms must serve; -1: any */
    int memory;        /* duo_place of the operands; -1: all, or the default */
    unsigned prepared; /* bits for A and B */
    unsigned parts;    /* graphs: bits of its parts (graphs.h); 0: all */
    uint64_t seed;
    int threads, devices, rounds, random, max_seconds;
    int offset_floats; /* distance of operands from a boundary of 256 bytes */
    const char *plot;
    const char *named[DUO_MOST_NAMED]; /* libraries to compare with (libraries.h) */
    int names;
    /* Options of studies: */
    int neighbours;     /* busy processes */
    int profile;        /* a built-in one; -1: the one in use */
    const char *beside; /* a BLAS in the program itself */
    const char *child;  /* this process is a child of stall: "warm" or "cold" */

    /* The machine: */
    bool gpu;
    const char *why;        /* no GPU: the reason */
    const char *cublas_why; /* no cuBLAS: the reason; NULL: it is there */
    bool gpu_peers;         /* CUB, bare reads and exact products work: on device 0 */
    duo_device_info device;
    duo_context *context; /* on the GPU's path if there is a GPU */
    duo_queue *queue;
    duo_stock host, resident;
    float *pinned; /* GPU: receives a peer's result */
} duo_bench;

/* Opens the machine with room for the problems. False: no memory, which was said on stderr. */
bool duo_bench_open(duo_bench *bench, const duo_problem *problem, int problems);
void duo_bench_close(duo_bench *bench);

duo_effort duo_bench_effort(const duo_bench *bench);
/* The effort for products on a GPU: each sample follows a warm-up, since a warm GPU lowers its
 * clock. */
duo_effort duo_bench_sustained_effort(const duo_bench *bench, const duo_problem *problem);
/* Prints the lines above every table. */
void duo_bench_head(const duo_bench *bench);
/* The problem in the first columns of a CSV: operation, m, n, k. */
void duo_bench_problem_cells(duo_table *table, const duo_problem *problem);

/* ---- Algorithms that an experiment times, or that the library would choose ---- */

/* Does the algorithm serve the math of --math? Without --math: any math but TF32, which users get
 * only on request. */
bool duo_bench_wants(const duo_bench *bench, const duo_algorithm *algorithm);

/* Finds conditions under which the algorithm accepts the call, in the math of --math if given.
 * False: there are none. */
bool duo_bench_conditions(const duo_bench *bench, const duo_algorithm *algorithm,
                          const duo_call *call, duo_conditions *conditions);

/* Lists the algorithms of a side that accept the call, cheapest first, in the math of --math or
 * else the default. Returns how many. */
int duo_bench_choose(const duo_bench *bench, const duo_call *call, duo_side side,
                     duo_choice chosen[DUO_CANDIDATES]);

/* ---- error.c: errors against float64, of results at slot 0 of a stock ---- */

/* A reduction of slot 0 in float64: its value, and the sum of |terms|. */
typedef struct duo_exact {
    double sum, scale;
} duo_exact;

duo_exact duo_bench_exact(const duo_problem *problem, const duo_stock *host);

/*
 * The error of a reduction's last result: |error| / sum of |terms|, in units of 2^-24. Negative:
 * the result could not be fetched.
 */
double duo_bench_error(duo_context *context, const duo_problem *problem, const duo_exact *exact,
                       const duo_implementation *implementation);

/* Makes a call's output NaN before it is run for its error: one that does nothing is found. For C,
 * beta is 0. False: the device failed. */
bool duo_bench_spoil(const duo_bench *bench, const duo_implementation *implementation,
                     const duo_call *call);

/* Computes the exact product of slot 0; on the device if bench->gpu_peers. */
bool duo_bench_exact_product(const duo_bench *bench, const duo_problem *problem,
                             duo_product_exact *exact);

#endif
