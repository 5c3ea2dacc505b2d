/*
 * kernels.h - the CPU's algorithms: those of sgemm in the files of their names, the reductions in
 * lanes_reduce.c; and what they share.
 *
 * All operands are in host memory. An algorithm returns DUO_OK, or DUO_DECLINED with nothing
 * written.
 */
#ifndef DUO_CPU_KERNELS_H
#define DUO_CPU_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "algorithms.h"
#include "call.h"

#define DUO_DECLARE_CPU(name) duo_outcome duo_##name(const duo_call *call);
#define DUO_DECLARE_GPU(name)
#define DUO_DECLARE(operation, side, maths, name) DUO_DECLARE_##side(name)
DUO_ALGORITHM_LIST(DUO_DECLARE)
#undef DUO_DECLARE
#undef DUO_DECLARE_GPU
#undef DUO_DECLARE_CPU

/* ---- A product without a duo_call: sgemm_cpu_ffma.c ---- */

typedef struct duo_product duo_product; /* cpu/ffma.h */

/* The product on the calling thread, as sgemm_cpu_ffma computes it; p->vector need not be set. */
void duo_ffma_multiply(duo_product *p);

/* Products [first, first + count) of a batch that reads A and B, on the calling thread. Each has
 * the bits that sgemm_cpu_ffma gives it alone. */
void duo_sgemm_cpu_ffma_products(const duo_call *call, int64_t first, int64_t count);

/* The pieces of a product of `work` multiplications that are worth a thread each. It takes longer
 * to hand out fewer. */
double duo_ffma_pieces(double work);

/* Of C with no more rows, or columns, A and B are read once and not packed. */
enum { DUO_FEW_LINES = 8 };

/* Does fmaf take a function in software here? Then sgemm_cpu_ffma takes some 50 times as long. */
bool duo_ffma_is_slow(void);

/* ---- Packed operands, for sgemm_cpu_ffma and sgemm_cpu_float64; ffma.c ---- */

/* How operand i of a call is packed for an algorithm. It depends on the operand, its transposition
 * and the clone in use, and so serves every call with these. */
typedef struct duo_packed_form {
    const void *clone; /* the code that reads it */
    size_t bytes;      /* 0: the algorithm would read the operand where it is */
} duo_packed_form;

duo_packed_form duo_ffma_packed_form(duo_algorithm_id algorithm, const duo_call *call, int i);

/* Packs the operand on the call's threads, if it has such a form. */
void duo_ffma_pack(duo_algorithm_id algorithm, const duo_call *call, int i, void *memory);

/* ---- sgemm without a product: C := beta C; sgemm_scale.c ---- */

/* The number of pieces of an m x n C; m and n are not 0. */
int64_t duo_sgemm_scale_pieces(int64_t m, int64_t n);

/*
 * Every algorithm of the CPU does this if alpha or k is 0, so all give the same bits and take the
 * same time. An element is rounded once. beta = 0: C becomes 0, and is not read.
 */
duo_outcome duo_sgemm_scale(const duo_call *call);

/* ---- Reductions of any length, increment and number of threads; lanes_reduce.c ---- */

/* n >= 1. x and y point to their logical first elements; increments may be negative or zero. Only
 * sdot uses y. */
float duo_lanes_reduce(duo_operation operation, int64_t n, const float *x, int64_t incx,
                       const float *y, int64_t incy, int threads);
/* In float64 throughout: DUO_MATH_FLOAT64. */
float duo_lanes_reduce_float64(duo_operation operation, int64_t n, const float *x, int64_t incx,
                               const float *y, int64_t incy, int threads);

/* The end of a sum of pieces that were summed elsewhere: adds their sums in adjacent pairs, and
 * rounds once. All pieces but the last have the same number of blocks, a power of two; count >= 1.
 * Overwrites partial[]. */
float duo_lanes_add_pieces(double *partial, int64_t count);

#endif
