/* works.h - operations as works of graphs, and two ways to do them: as calls, and as a graph. */
#ifndef DUO_WORKS_H
#define DUO_WORKS_H

#include <stdbool.h>
#include <stdint.h>

#include "bench/experiments/setup.h"
#include "duoblas.h"

enum { DUO_MOST_WORKS = 100 };

/* C := alpha A B, m x k times k x n, column-major, without gaps. */
duo_work duo_work_product(int64_t m, int64_t n, int64_t k, float alpha, const float *a,
                          const float *b, float *c);
/* A sum of x; of sdot, of x and y. */
duo_work duo_work_reduction(duo_work_kind kind, int64_t n, const float *x, const float *y,
                            float *result);

/* The function of the work's name, by the math of the context. */
duo_status duo_work_call(duo_context *context, const duo_work *work);

/* Who depends on whom, among `count` works. */
typedef enum duo_pattern {
    DUO_CHAIN,        /* each on the one before */
    DUO_SIDE_BY_SIDE, /* none on any */
    DUO_FORK_JOIN     /* all on the first, and the last on all */
} duo_pattern;

/* A graph that is built by the context; NULL, and said on stderr: there is none. */
duo_graph *duo_works_graph(duo_context *context, const duo_work *work, int count,
                           duo_pattern pattern);

/* Works to be done over and over. */
typedef struct duo_works {
    duo_context *context;
    const duo_work *work; /* calls, one after the other, */
    int count;
    duo_graph *graph; /* or, if it is there, a launch of this */
} duo_works;

/* A benchmark's run: all of them, `times` times; the host waits in the end. */
bool duo_works_run(void *works, int64_t times);

/* ---- Arrays of one side, each allocated for itself, with a context ---- */

enum { DUO_MOST_BUFFERS = 100 };

typedef struct duo_buffers {
    duo_side side;
    duo_context *context; /* on the path of that side */
    int count;
    size_t floats; /* of each */
    float *at[DUO_MOST_BUFFERS];
} duo_buffers;

/* A context on the side's path, with the threads of the options; NULL: out of memory. */
duo_context *duo_buffers_context(const duo_bench *bench, duo_side side);

/* All random. The same seed, the same data. False, and said on stderr: out of memory
 * there. */
bool duo_buffers_open(duo_buffers *buffers, const duo_bench *bench, duo_side side, int count,
                      size_t floats);
/* Also of buffers that are all 0. */
void duo_buffers_close(duo_buffers *buffers);

/* The floats of one of them, once the context has done its work; free() them. NULL: it failed. */
float *duo_buffers_read(const duo_buffers *buffers, int which);
/* Makes all of it NaN. */
bool duo_buffers_spoil(const duo_buffers *buffers, int which);
/* Is it the same as `expected`, up to rounding? */
bool duo_buffers_agree(const duo_buffers *buffers, int which, const float *expected);

#endif
