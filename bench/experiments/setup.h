/*
 * setup.h - what every experiment of `duoblas bench` begins with: its options, and data, contexts
 * and peers of this machine.
 */
#ifndef DUO_SETUP_H
#define DUO_SETUP_H

#include "bench/measure/implementation.h"
#include "bench/reference/product_error.h"
#include "choice/select.h"

enum { DUO_MOST_PROBLEMS = 64 };

typedef struct duo_bench {
    const struct duo_experiment *experiment;

    /* Options, as its --help describes them. Numbers: 0 stands for the usual one. */
    bool csv, cold, quick, wait, reads, algorithms;
    const char *word; /* that is no option; NULL: none */
    int sizes, shapes;
    int64_t size[DUO_MOST_PROBLEMS], shape[DUO_MOST_PROBLEMS][3];
    int side;          /* duo_side; -1: both */
    bool sides[2];     /* duo_side: does it take part? */
    int layout;        /* 2 * transa + transb; -1: nn, of shapes all */
    int math;          /* duo_math that its algorithms must serve; -1: any */
    int memory;        /* duo_place of the operands; -1: each, or the usual one */
    unsigned prepared; /* a bit for A and for B */
    unsigned parts;    /* graphs: a bit for each (graphs.h); 0: all */
    uint64_t seed;
    int threads, devices, rounds, random, max_seconds;
    int offset_floats; /* from a boundary of 256 bytes to every operand */
    const char *plot;
    /* ... of studies: */
    int neighbours;     /* busy processes */
    int profile;        /* built-in; -1: that in use */
    const char *beside; /* a BLAS of the program's own */
    const char *child;  /* this is a process of stall's, "warm" or "cold" */

    /* The machine: */
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
/* The lines above every table. */
void duo_bench_head(const duo_bench *bench);

/* ---- Which algorithms an experiment times, and which the library would choose ---- */

/* Does it serve the math of --math? Without that: more than TF32, which nobody gets unasked? */
bool duo_bench_wants(const duo_bench *bench, const duo_algorithm *algorithm);

/* The conditions under which an algorithm takes a call, if --math lets it. False: under none. */
bool duo_bench_conditions(const duo_bench *bench, const duo_algorithm *algorithm,
                          const duo_call *call, duo_conditions *conditions);

/* The algorithms of a side that take the call, cheapest first, in the math of --math or else the
 * default's; returns how many. */
int duo_bench_choose(const duo_bench *bench, const duo_call *call, duo_side side,
                     duo_choice chosen[DUO_CANDIDATES]);

/* ---- error.c: against float64, of what was done at slot 0 of a stock ---- */

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

/* The exact product of slot 0, by the device if its peers can be used. */
bool duo_bench_exact_product(const duo_bench *bench, const duo_problem *problem,
                             duo_product_exact *exact);

#endif
