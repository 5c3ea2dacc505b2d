/* sums.h - reductions for tests: vectors in guarded memory, the documented result, and the call. */
#ifndef DUO_TESTS_SUMS_H
#define DUO_TESTS_SUMS_H

#include "duoblas.h"
#include "support/arrays.h"
#include "support/calls.h"

/* Increments are as in the call, of any sign. */
typedef struct test_sum {
    duo_operation operation;
    int64_t n, incx, incy;
} test_sum;

/* A vector that the increment fits. */
test_array test_sum_vector(int64_t n, int64_t inc, int64_t offset, test_data data, test_rng *rng);

/* The result by the documented order of summation of the math. y: only sdot. */
float test_sum_documented(const test_sum *s, duo_math math, const float *x, const float *y);

/* By duo_sasum, duo_ssum or duo_sdot. */
duo_status test_sum_call(duo_context *ctx, const test_sum *s, const float *x, const float *y,
                         float *result);

#endif
