/* sgemm_cpu_openblas.h - a tiny product by the inner BLAS, without a duo_call. */
#ifndef DUO_SGEMM_CPU_OPENBLAS_H
#define DUO_SGEMM_CPU_OPENBLAS_H

#include <stdbool.h>
#include <stdint.h>

/* The arguments of a column-major sgemm that reads A and B. Sizes are at most 512 (a limit of
 * call/policy.c), so their product cannot overflow. False, and nothing is done: there is no inner
 * BLAS, or the product takes more than one call. */
bool duo_sgemm_cpu_openblas_tiny(bool transa, bool transb, int64_t m, int64_t n, int64_t k,
                                 float alpha, const float *a, int64_t lda, const float *b,
                                 int64_t ldb, float beta, float *c, int64_t ldc);

#endif
