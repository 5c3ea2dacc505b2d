/* sgemm_cpu_openblas.h - the short way into the inner BLAS. */
#ifndef DUO_SGEMM_CPU_OPENBLAS_H
#define DUO_SGEMM_CPU_OPENBLAS_H

#include <stdbool.h>
#include <stdint.h>

/* A tiny call with operands that are read, without a duo_call; false: the inner BLAS is not there,
 * or needs more than a call, and nothing was done. Sizes are at most 512. */
bool duo_sgemm_cpu_openblas_tiny(bool transa, bool transb, int64_t m, int64_t n, int64_t k,
                                 float alpha, const float *a, int64_t lda, const float *b,
                                 int64_t ldb, float beta, float *c, int64_t ldc);

#endif
