/*
 * studies.h - experiments that answered one question. They are built into `duoblas bench` on
 * request (CMake's DUOBLAS_STUDIES); its help does not list them. Each is in the file of its name.
 */
#ifndef DUO_STUDIES_H
#define DUO_STUDIES_H

#include "bench/experiments/experiments.h"

/* Sums of 2^12..2^27 floats and two products, as in an introduction to GPUs. */
int duo_bench_introduction(duo_bench *bench);
/* The operations by turns, beside busy neighbours and another BLAS. */
int duo_bench_mixed(duo_bench *bench);
/* Random calls with and without learning from them. */
int duo_bench_adapt(duo_bench *bench);
/* One product that is larger than some memory, with a check. */
int duo_bench_large(duo_bench *bench);
/* A picture of when the steps of a streamed product ran. */
int duo_bench_timeline(duo_bench *bench);
/* First calls of a process beside a busy queue. */
int duo_bench_stall(duo_bench *bench);
/* Products into new memory. */
int duo_bench_new_memory(duo_bench *bench);
/* Products with and without a check of each. */
int duo_bench_checks(duo_bench *bench);
/* Products that bring the same factor again. */
int duo_bench_remembered(duo_bench *bench);
/* A picture of when products of several contexts ran. */
int duo_bench_lanes(duo_bench *bench);

/* ---- stall_child.c: the processes of stall ---- */

typedef struct duo_first_call {
    duo_work_kind kind;
    duo_math math;
    int64_t m, n, k; /* a reduction uses only n */
} duo_first_call;

enum { DUO_FIRST_CALLS = 12 };
extern const duo_first_call duo_first_calls[DUO_FIRST_CALLS];

/* Measures the first calls in this process. Prints for each its number, the seconds, and whether
 * the other queue still ran (0 or 1). */
bool duo_stall_child(const duo_bench *bench, bool warm);

#endif
