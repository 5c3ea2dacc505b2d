/*
 * host.h - `duoblas bench host`: products whose operands are in host memory, by the library and by
 * its peers, beside the rates of the machine and the bound that follows from them.
 */
#ifndef DUO_HOST_H
#define DUO_HOST_H

#include "bench/experiments/setup.h"
#include "bench/measure/benchmark.h"
#include "bench/measure/host_bound.h"
#include "bench/measure/stock.h"

/* ---- arrays.c: A, B and C of large products in host memory, filled by all threads ---- */

typedef struct duo_arrays {
    duo_context *context; /* pins */
    duo_place place;      /* DUO_PLACE_PAGEABLE or DUO_PLACE_PINNED */
    float *operand[3];    /* DUO_A, DUO_B, DUO_C */
} duo_arrays;

/* Room for the operands of each of the problems; A and B random, uniform in (-1, 1). False, and
 * nothing is held: out of memory. */
bool duo_arrays_open(duo_arrays *arrays, duo_context *context, duo_place place,
                     const duo_problem *problem, int problems, uint64_t seed);
void duo_arrays_close(duo_arrays *arrays);

/* C := op(A) op(B) on the arrays, column-major, no gaps. */
duo_call duo_arrays_call(const duo_arrays *arrays, const duo_problem *problem);

/* ---- host.c ---- */

/* duo_sgemm, the same on resident data, copies + cuBLAS, and three block sizes of cuBLASXt. */
enum { DUO_HOST_LINES = 6, DUO_OURS_LINE = 0, DUO_RESIDENT_LINE = 1 };

typedef struct duo_host_group duo_host_group;

/* Who computes the product of a group. */
typedef struct duo_host_line {
    const duo_host_group *group;
    const char *name; /* NULL: it is not there */
    duo_implementation implementation;
    bool copies;             /* A and B are copied to the group's device memory, and C home */
    bool resident;           /* it works on the group's device memory */
    bool too_long;           /* left out, by expected_seconds */
    bool hidden;             /* cuBLASXt, and not its best block */
    double expected_seconds; /* of one call, by the size before this one; 0: not known */
    duo_benchmark benchmark;
    double error; /* see product_error.h; negative: not looked at */
    bool wrong;
} duo_host_line;

/* One product with its operands in one kind of host memory. */
struct duo_host_group {
    duo_problem problem;
    duo_call host, device; /* device: operands at addresses of the GPU; NULL: no room there */
    duo_host_line line[DUO_HOST_LINES];
    duo_host_bound bound;
    duo_decision decision; /* how duo_sgemm did it */
};

typedef struct duo_host {
    duo_bench *bench;
    int device, devices;  /* the first, and how many; 0: there is none */
    const char *xt_why;   /* no cuBLASXt: the reason */
    duo_context *context; /* of duo_sgemm on host arrays: its path is the environment's */
    duo_arrays arrays;
    duo_host_rates one, all; /* of the first device, and of all of them at once */
    double begin, seconds;   /* when measuring began, and what it may take */
    int groups;              /* printed so far */
    bool wrong;              /* some result was */
} duo_host;

/* ---- host_list.c: the lines of a group ---- */

/* before: the group of the size before this one, in the same memory; NULL: none. */
void duo_host_list(const duo_host *host, duo_host_group *group, const duo_host_group *before);
/* Device memory for the lines that need it; where there is no room, they are not there. */
void duo_host_open_device(const duo_host *host, duo_host_group *group);
void duo_host_close_device(const duo_host *host, duo_host_group *group);
/* A benchmark's run: `calls` calls of the line. */
bool duo_host_run(void *line, int64_t calls);

/* ---- host_print.c: as a table or as CSV ---- */

void duo_host_head(const duo_host *host);
void duo_host_print(const duo_host *host, const duo_host_group *group, bool first);
void duo_host_foot(const duo_host *host);

/* ---- rates.c ---- */

/* Sets up, down and both: pinned memory and `count` devices from `first` on, all at once, each with
 * memory of its own. False: they could not be used; the rates are 0. */
bool duo_rates_of_link(int first, int count, const duo_effort *effort, duo_host_rates *rates);

/* Sets in and out: memcpy by `threads` threads of the library. False: out of memory. */
bool duo_rates_of_copies(int threads, const duo_effort *effort, duo_host_rates *rates);

#endif
