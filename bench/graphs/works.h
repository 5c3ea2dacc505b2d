/* works.h - operations that are done in two ways: as calls, and as a graph. */
#ifndef DUO_WORKS_H
#define DUO_WORKS_H

#include <stdbool.h>
#include <stdint.h>

#include "bench/experiments/setup.h"
#include "duoblas.h"

enum { DUO_MOST_WORKS = 100 };

/* C := alpha A B; A is m x k, B is k x n; column-major, without gaps. */
duo_work duo_work_product(int64_t m, int64_t n, int64_t k, float alpha, const float *a,
                          const float *b, float *c);
/* A sum of x, or sdot of x and y. */
duo_work duo_work_reduction(duo_work_kind kind, int64_t n, const float *x, const float *y,
                            float *result);

/* Calls the work's function, with the context's math. */
duo_status duo_work_call(duo_context *context, const duo_work *work);

/* How `count` works depend on each other. */
typedef enum duo_pattern {
    DUO_CHAIN,        /* each on the one before */
    DUO_SIDE_BY_SIDE, /* none on any */
    DUO_FORK_JOIN     /* all on the first, and the last on all */
} duo_pattern;

/* Builds a graph by the context. NULL: it failed, which was said on stderr. */
duo_graph *duo_works_graph(duo_context *context, const duo_work *work, int count,
                           duo_pattern pattern);

/* Works to be done over and over. */
typedef struct duo_works {
    duo_context *context;
    const duo_work *work; /* calls, one after the other */
    int count;
    duo_graph *graph; /* if not NULL, one launch of it instead */
} duo_works;

/* The `run` of a benchmark: all works, `times` times; then the host waits. */
bool duo_works_run(void *works, int64_t times);

/* ---- Arrays of one side, each allocated for itself, with a context ---- */

enum { DUO_MOST_BUFFERS = 100 };

typedef struct duo_buffers {
    duo_side side;
    duo_place place;
    duo_context *context; /* on the path of `side` */
    int count;
    size_t floats; /* in each */
    float *at[DUO_MOST_BUFFERS];
} duo_buffers;

/* A context on the side's path, with the options' threads; NULL: out of memory. */
duo_context *duo_buffers_context(const duo_bench *bench, duo_side side);

/* Opens buffers of random numbers; the same seed gives the same data. The GPU's are in the memory
 * that the options name, or on the device. False: out of memory, which was said on stderr. */
bool duo_buffers_open(duo_buffers *buffers, const duo_bench *bench, duo_side side, int count,
                      size_t floats);
/* Closes opened buffers; a struct that is all zero has none. */
void duo_buffers_close(duo_buffers *buffers);

/* Waits for the context, and copies a buffer's floats, for free(). NULL: it failed. */
float *duo_buffers_read(const duo_buffers *buffers, int which);
/* Makes a buffer all NaN. */
bool duo_buffers_spoil(const duo_buffers *buffers, int which);
/* Does a buffer equal `expected`, up to rounding? */
bool duo_buffers_agree(const duo_buffers *buffers, int which, const float *expected);

#endif
