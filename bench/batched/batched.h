/*
 * batched.h - a batch of products in `duoblas bench batched`: the ways to do it, and the check of
 * their results.
 */
#ifndef DUO_BATCHED_H
#define DUO_BATCHED_H

#include "batch.h"
#include "bench/graphs/works.h"
#include "bench/measure/host_bound.h"
#include "bench/tool/text.h"

/* The buffers of a side; all its batches use them by turns. The first three hold all As, all Bs and
 * all Cs. The other two hold C's contents before a checked run: the first if beta is not 0, NaNs if
 * it is. */
enum { DUO_BATCHED_BEFORE = DUO_OPERANDS, DUO_BATCHED_NANS, DUO_BATCHED_BUFFERS };

typedef struct duo_batched {
    const duo_bench *bench;
    duo_batch_problem problem;
    const duo_buffers *buffers;
    const duo_host_rates *link;             /* operands in host memory: its rates */
    duo_call call;                          /* the first product */
    duo_batch strides, lists, device_lists; /* all products; lists in host or device memory */
    float **list[DUO_OPERANDS];             /* memory of `lists` */
    void *device_list[DUO_OPERANDS];        /* GPU: memory of `device_lists` */
} duo_batched;

/* Puts a batch into the buffers, which have to be large enough. False: out of memory. To be closed
 * in both cases. */
bool duo_batched_open(duo_batched *batched, const duo_bench *bench, const duo_buffers *buffers,
                      const duo_batch_problem *problem);
void duo_batched_close(duo_batched *batched);

/* ---- batched_ways.c ---- */

enum { DUO_BATCHED_WAYS = 6, DUO_BATCHED_NAME = 32 };

typedef struct duo_batched_way {
    const duo_batched *of;
    char name[DUO_BATCHED_NAME];
    bool (*all)(const duo_batched *batched); /* does or queues all products */
    bool (*finish)(const duo_batched *batched);
    bool peer;
} duo_batched_way;

/* Lists our ways, for random batches only one, then the peers'. Ratios are to the first peer.
 * Returns how many. */
int duo_batched_ways(const duo_batched *batched, duo_batched_way way[DUO_BATCHED_WAYS]);

/* The `run` of a benchmark; `way` is its user. */
bool duo_batched_run(void *way, int64_t times);

/* ---- batched_error.c ---- */

enum { DUO_BATCHED_CHECKED = 5 };

/* Sets C to its contents before a checked run. */
bool duo_batched_prepare(const duo_batched *batched);

/* Is every element of a product within the bound? x: its A, B and C; before: its C before the run,
 * or NULL if beta is 0. *largest: raised to the largest error, as below. */
bool duo_batched_check_product(const duo_call *call, const float *const x[DUO_OPERANDS],
                               const float *before, double *largest);

/* Checks some products after one run. *error: the largest |error| / (|A||B| + |beta C|) of their
 * elements, in 2^-24. False: an element is wrong. */
bool duo_batched_check(const duo_batched *batched, double *error);

/* ---- grouped.c ---- */

/* Measures products of different shapes on the GPU, and prints their table. */
bool duo_batched_groups(const duo_bench *bench);

/* ---- batched_print.c ---- */

/* link: NULL, or its rates. */
void duo_batched_print_head(const duo_bench *bench, const duo_host_rates *link);
void duo_batched_print_row(const duo_batched *batched, const duo_batched_way *way,
                           const duo_benchmark *benchmark, double peer_seconds, double error);
void duo_batched_print_foot(const duo_bench *bench);

#endif
