/*
 * kernels.h - the CPU's algorithms, each in the file of its name.
 *
 * All operands are in host memory. An algorithm answers DUO_OK, or DUO_DECLINED before it has written
 * anything.
 */
#ifndef DUO_CPU_KERNELS_H
#define DUO_CPU_KERNELS_H

#include "algorithms.h"
#include "call.h"

#define DUO_DECLARE_CPU(name) duo_outcome duo_##name(const duo_call *call);
#define DUO_DECLARE_GPU(name)
#define DUO_DECLARE(operation, side, maths, name) DUO_DECLARE_##side(name)
DUO_ALGORITHM_LIST(DUO_DECLARE)
#undef DUO_DECLARE
#undef DUO_DECLARE_GPU
#undef DUO_DECLARE_CPU

/* sgemm_cpu_openblas for a tiny call with operands that are read, without a duo_call; false: not that,
 * nothing was done. Sizes are at most 512. */
bool duo_sgemm_cpu_openblas_tiny(bool transa, bool transb, int64_t m, int64_t n, int64_t k,
                                 float alpha, const float *a, int64_t lda, const float *b,
                                 int64_t ldb, float beta, float *c, int64_t ldc);

#endif
