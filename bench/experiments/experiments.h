/*
 * experiments.h - what `duoblas bench` can do. Each is in the file of its name, here if it says
 * nothing else, and returns the exit status.
 */
#ifndef DUO_EXPERIMENTS_H
#define DUO_EXPERIMENTS_H

#include "bench/experiments/setup.h"

/* Every algorithm of an operation, beside its peers. */
int duo_bench_ladder(duo_bench *bench, const duo_problem *problem, int problems);

/* What dispatch chooses beside the peer, in all layouts. problems: 0 for those of shapes_list.h. */
int duo_bench_shapes(duo_bench *bench, const duo_problem *problem, int problems);

/* What dispatch costs on a tiny call. */
int duo_bench_overhead(void);

/* The operations by turns, beside busy neighbours and another BLAS. */
int duo_bench_mixed(duo_bench *bench, const int64_t product[3], int64_t length);

/* Random calls with and without learning from them. */
int duo_bench_adapt(duo_bench *bench);

/* Sums of 2^12..2^27 and two products, as an introduction to GPUs has them. */
int duo_bench_introduction(duo_bench *bench);

/* ../host/host.c: products of host arrays beside copies + cuBLAS and cuBLASXt, and the bound. */
int duo_bench_host(duo_bench *bench, const duo_problem *problem, int problems);

/* ../host/large.c: one product that is larger than some memory, and is it right? */
int duo_bench_large(duo_bench *bench, const duo_problem *problem);

/* ../host/timeline.c: draws the steps of a streamed product, from a CSV. */
int duo_bench_timeline(const char *csv, const char *picture);

/* ../graphs/graphs.c: contexts side by side, and graphs beside the calls that they stand for. */
int duo_bench_graphs(duo_bench *bench);

/* ../batched/batched.c: batches of products beside calls, and the batches of cuBLAS and of the
 * CPU's BLAS. */
int duo_bench_batched(duo_bench *bench);

/* Errors of the reductions on random vectors. sizes: 0 for the usual lengths. */
int duo_bench_accuracy(duo_bench *bench, const int64_t *size, int sizes);

/* Errors of the products on matrices of all kinds. problems: 0 for the usual ones. */
int duo_bench_accuracy_sgemm(duo_bench *bench, const duo_problem *problem, int problems);

#endif
