/*
 * host.h - `duoblas bench host`: products of operands in host memory, by the library and its peers,
 * with the machine's rates and the bound that follows from them.
 */
#ifndef DUO_HOST_H
#define DUO_HOST_H

#include "bench/experiments/setup.h"
#include "bench/measure/benchmark.h"
#include "bench/measure/host_bound.h"
#include "bench/measure/stock.h"

/* ---- arrays.c: A, B and C of large products in host memory, filled by all threads ---- */

typedef struct duo_arrays {
    duo_context *context; /* it pins */
    duo_place place;      /* DUO_PLACE_PAGEABLE or DUO_PLACE_PINNED */
    float *operand[3];    /* DUO_A, DUO_B, DUO_C */
} duo_arrays;

/* Allocates room for the operands of any of the problems; A and B are random, uniform in (-1, 1).
 * False: out of memory, and nothing is held. */
bool duo_arrays_open(duo_arrays *arrays, duo_context *context, duo_place place,
                     const duo_problem *problem, int problems, uint64_t seed);
void duo_arrays_close(duo_arrays *arrays);

/* The call C := op(A) op(B) on the arrays, column-major, without gaps. */
duo_call duo_arrays_call(const duo_arrays *arrays, const duo_problem *problem);

/* ---- host.c ---- */

/* The lines: duo_sgemm, duo_sgemm on resident data, copies + cuBLAS, and three block sizes of
 * cuBLASXt. */
enum { DUO_HOST_LINES = 6, DUO_OURS_LINE = 0, DUO_RESIDENT_LINE = 1 };

typedef struct duo_host_group duo_host_group;

/* One way to compute the product of a group. */
typedef struct duo_host_line {
    const duo_host_group *group;
    const char *name; /* NULL: not there */
    duo_implementation implementation;
    bool copies;             /* A and B are copied to the group's device memory, and C home */
    bool resident;           /* it works on the group's device memory */
    bool too_long;           /* left out, as expected_seconds is too long */
    bool hidden;             /* a block of cuBLASXt, not the best */
    double expected_seconds; /* for one call, by the size before; 0: not known */
    duo_benchmark benchmark;
    double error; /* see product_error.h; negative: not checked */
    bool wrong;
} duo_host_line;

/* One product with its operands in one kind of host memory. */
struct duo_host_group {
    duo_problem problem;
    duo_call host, device; /* device: operands on the GPU, NULL without room */
    duo_host_line line[DUO_HOST_LINES];
    duo_host_bound bound;
    duo_decision decision; /* how duo_sgemm did it */
};

typedef struct duo_host {
    duo_bench *bench;
    int device, devices;  /* the first, and their number; 0: none */
    const char *xt_why;   /* no cuBLASXt: the reason */
    duo_context *context; /* for duo_sgemm on host arrays, with the environment's path */
    duo_arrays arrays;
    duo_host_rates one, all; /* of the first device, and of all together */
    double begin, seconds;   /* when measuring began, and its limit */
    int groups;              /* printed so far */
    bool wrong;              /* a result was */
} duo_host;

/* ---- host_list.c: the lines of a group ---- */

/* Lists the group's lines. before: the group of the size before, in the same memory, or NULL. */
void duo_host_list(const duo_host *host, duo_host_group *group, const duo_host_group *before);
/* Allocates device memory for lines that need it; without room these lines are left out. */
void duo_host_open_device(const duo_host *host, duo_host_group *group);
void duo_host_close_device(const duo_host *host, duo_host_group *group);
/* The `run` of a benchmark: `calls` calls of the line. */
bool duo_host_run(void *line, int64_t calls);

/* ---- host_print.c: as a table or as CSV ---- */

void duo_host_head(const duo_host *host);
void duo_host_print(const duo_host *host, const duo_host_group *group, bool first);
void duo_host_foot(const duo_host *host);

/* ---- rates.c ---- */

/* Sets up, down and both: rates between pinned memory and `count` devices from `first` on, all
 * together; each device has its own memory. False: they could not be used; the rates are 0. */
bool duo_rates_of_link(int first, int count, const duo_effort *effort, duo_host_rates *rates);

/* Sets in and out: rates of memcpy by `threads` threads of the library. False: out of memory. */
bool duo_rates_of_copies(int threads, const duo_effort *effort, duo_host_rates *rates);

#endif
