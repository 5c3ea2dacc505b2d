/*
 * oracle.h - right results of the operations, and how far off they may be.
 *
 * Written from the definitions of BLAS; shares no code with src/. Products are in float64.
 * Reductions are exact, so that a sum that nearly cancels is as well known as any other.
 */
#ifndef DUO_TESTS_ORACLE_H
#define DUO_TESTS_ORACLE_H

#include <stdbool.h>
#include <stdint.h>

#include "call.h"
#include "duoblas.h"

/* The arguments of duo_sgemm, and C as it was before. */
typedef struct oracle_product {
    duo_layout layout;
    duo_transpose transa, transb;
    int64_t m, n, k;
    float alpha;
    const float *a;
    int64_t lda;
    const float *b;
    int64_t ldb;
    float beta;
    const float *c;
    int64_t ldc;
} oracle_product;

/*
 * want[i*n + j] = C(i,j), bound[i*n + j] = (k+3) u |alpha| |A||B| + 2u |beta C|, u = 2^-24. BLAS
 * rules: alpha == 0 or k == 0 leaves A and B unread, beta == 0 leaves C unread.
 */
void oracle_sgemm(const oracle_product *p, double *want, double *bound);

/* The bound of DUO_MATH_TF32: 2^-10 |alpha| |A||B| more than `bound`. */
void oracle_tf32_bound(const oracle_product *p, const double *bound, double *tf32_bound);

/* Element C(i,j) in memory, either layout. */
int64_t oracle_index(duo_layout layout, int64_t i, int64_t j, int64_t ld);

/* NaN if NaN is wanted, the same infinity if one is wanted, else within the bound. */
bool oracle_close(double want, double bound, float got);

/*
 * The sum that duo_sasum, duo_ssum or duo_sdot approximates, to within 2^-52 of itself, for vectors
 * as the caller passes them (first address, any increment); *bound: 8u, for sdot 9u, times the sum
 * of magnitudes, for sdot plus n 2^-150.
 */
double oracle_reduce(duo_operation operation, int64_t n, const float *x, int64_t incx,
                     const float *y, int64_t incy, double *bound);

/*
 * The same under DUO_MATH_FLOAT64; *bound: u times the sum, plus (12 + L) 2^-53 times the sum of
 * magnitudes, L = ceil(log2 ceil(n/1024)), for sdot plus 2^-150.
 */
double oracle_reduce_float64(duo_operation operation, int64_t n, const float *x, int64_t incx,
                             const float *y, int64_t incy, double *bound);

#endif
