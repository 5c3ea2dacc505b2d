/*
 * batched.h - what `duoblas bench batched` does with a batch of products: the ways of doing it, and
 * whether what they give is right.
 */
#ifndef DUO_BATCHED_H
#define DUO_BATCHED_H

#include "batch.h"
#include "bench/graphs/works.h"
#include "bench/tool/text.h"

/* The buffers of a side, for all of its batches by turns: all As, all Bs, all Cs, and what all Cs
 * are before a run that is checked, where beta is not 0 and where it is. */
enum { DUO_BATCHED_BEFORE = DUO_OPERANDS, DUO_BATCHED_NANS, DUO_BATCHED_BUFFERS };

typedef struct duo_batched {
    const duo_bench *bench;
    duo_batch_problem problem;
    const duo_buffers *buffers;
    duo_call call;                          /* the first product */
    duo_batch strides, lists, device_lists; /* all of them; lists in host memory, in the device's */
    float **list[DUO_OPERANDS];             /* what `lists` points to */
    void *device_list[DUO_OPERANDS];        /* GPU: what `device_lists` points to */
} duo_batched;

/* Puts a batch into the buffers, which have to be large enough. False: out of memory. Close it
 * either way. */
bool duo_batched_open(duo_batched *batched, const duo_bench *bench, const duo_buffers *buffers,
                      const duo_batch_problem *problem);
void duo_batched_close(duo_batched *batched);

/* ---- batched_ways.c ---- */

enum { DUO_BATCHED_WAYS = 5, DUO_BATCHED_NAME = 32 };

typedef struct duo_batched_way {
    const duo_batched *of;
    char name[DUO_BATCHED_NAME];
    bool (*all)(const duo_batched *batched); /* does, or queues, all of it */
    bool (*finish)(const duo_batched *batched);
    bool peer;
} duo_batched_way;

/* Ours first, of random batches only in one way, then the peers'; that to which ratios are is the
 * first of these. Returns how many. */
int duo_batched_ways(const duo_batched *batched, duo_batched_way way[DUO_BATCHED_WAYS]);

/* The run of a benchmark whose user is a way. */
bool duo_batched_run(void *way, int64_t times);

/* ---- batched_error.c ---- */

enum { DUO_BATCHED_CHECKED = 5 };

/* Sets C to what it is before a run that is checked. */
bool duo_batched_prepare(const duo_batched *batched);

/* After one run: are some of its products right? The largest |error| / (|A||B| + |beta C|) of
 * their elements, in 2^-24. */
bool duo_batched_check(const duo_batched *batched, double *error);

/* ---- batched_print.c ---- */

void duo_batched_print_head(const duo_bench *bench);
void duo_batched_print_row(const duo_batched *batched, const duo_batched_way *way,
                           const duo_benchmark *benchmark, double peer_seconds, double error);
void duo_batched_print_foot(const duo_bench *bench);

#endif
