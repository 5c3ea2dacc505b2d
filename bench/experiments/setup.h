/*
 * setup.h - what every experiment of `duoblas bench` begins with: its options, and data, contexts
 * and peers of this machine.
 */
#ifndef DUO_SETUP_H
#define DUO_SETUP_H

#include "bench/measure/implementation.h"

typedef struct duo_bench {
    /* Options: */
    bool csv, cold, quick;
    bool wait;         /* the host waits for each call, and of a reduction for the result */
    bool reads;        /* every bare read, every layout of cuBLAS: not the fastest alone */
    bool algorithms;   /* shapes: every algorithm is timed, not the chosen one alone */
    int random;        /* shapes, batched: so many random ones; 0: those of their own lists */
    int layout;        /* shapes: this one alone, 2 * transa + transb; -1: all */
    bool sides[2];     /* duo_side: does it take part? */
    unsigned prepared; /* sgemm: a bit for A and for B */
    int math;          /* duo_math that its algorithms must serve; -1: any */
    uint64_t seed;
    int threads;
    int64_t offset_floats; /* from a boundary of 256 bytes to every operand */
    const char *plot;      /* NULL: none */
    int neighbours;        /* mixed, adapt: busy processes */
    const char *profile;   /* adapt: a built-in profile; NULL: that in use */
    const char *beside;    /* mixed: the program's own BLAS; NULL: none */
    int memory;            /* host, large: duo_place of the operands; -1: each, or the usual one */
    int devices;           /* host: of the rates, of cuBLASXt and of the bound */
    int rounds;            /* host, large, graphs; 0: the usual number */
    const char *timeline;  /* host: the CSV of the last product's steps; NULL: none */
    double max_seconds;    /* host, graphs: about how long it may take */
    unsigned parts;        /* graphs: a bit for each (graphs.h); 0: all */
    const char *stall_child; /* graphs: this is a process of stall, "warm" or "cold"; else NULL */

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

#endif
