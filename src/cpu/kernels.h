/*
 * kernels.h - the CPU's algorithms: those of sgemm in the files of their names, the reductions in
 * lanes_reduce.c.
 *
 * All operands are in host memory. An algorithm returns DUO_OK, or DUO_DECLINED with nothing
 * written.
 */
#ifndef DUO_CPU_KERNELS_H
#define DUO_CPU_KERNELS_H

#include <stdbool.h>
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

/* ---- A tiny product by the inner BLAS, without a duo_call ---- */

/* The arguments of a column-major sgemm that reads A and B. Sizes are at most 512 (a limit of
 * call/policy.c), so their product cannot overflow. False, and nothing is done: there is no inner
 * BLAS, or the product takes more than one call. */
bool duo_sgemm_cpu_openblas_tiny(bool transa, bool transb, int64_t m, int64_t n, int64_t k,
                                 float alpha, const float *a, int64_t lda, const float *b,
                                 int64_t ldb, float beta, float *c, int64_t ldc);

#endif
