/*
 * calls.h - calls as algorithms get them, below the public API.
 */
#ifndef DUO_TESTS_CALLS_H
#define DUO_TESTS_CALLS_H

#include "call.h"

/* Fills a call for column-major host operands; addresses may be NULL if they are not read.
 * `threads` is 1. */
duo_call test_sgemm_call(bool transa, bool transb, int64_t m, int64_t n, int64_t k, float alpha,
                         const float *a, int64_t lda, const float *b, int64_t ldb, float beta,
                         float *c, int64_t ldc);
/* Vectors by their first address in memory, increments of any sign, as the caller passes them. */
duo_call test_reduce_call(duo_operation operation, int64_t n, const float *x, int64_t incx,
                          const float *y, int64_t incy, float *result);

#endif
