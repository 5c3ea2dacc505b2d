/*
 * own_blas.c - a useless BLAS for test_dropin.sh: its functions give nothing, so a client of it
 * fails unless the drop-in serves. isamax_ and dgemm_, which the drop-in lacks, do what the client
 * needs. With -DWORKS its sgemm_ works and says so.
 */
#include <stdio.h>

#ifndef INTEGER
#define INTEGER int
#endif
typedef INTEGER integer;

void sgemm_(const char *, const char *, const integer *, const integer *, const integer *,
            const float *, const float *, const integer *, const float *, const integer *,
            const float *, float *, const integer *);
float sdot_(const integer *, const float *, const integer *, const float *, const integer *);
float sasum_(const integer *, const float *, const integer *);
integer isamax_(const integer *, const float *, const integer *);
void cblas_sgemm(int, int, int, integer, integer, integer, float, const float *, integer,
                 const float *, integer, float, float *, integer);
float cblas_sdot(integer, const float *, integer, const float *, integer);
float cblas_sasum(integer, const float *, integer);
void dgemm_(const char *, const char *, const integer *, const integer *, const integer *,
            const double *, const double *, const integer *, const double *, const integer *,
            const double *, double *, const integer *);

#ifdef WORKS
void sgemm_(const char *transa, const char *transb, const integer *m, const integer *n,
            const integer *k, const float *alpha, const float *a, const integer *lda,
            const float *b, const integer *ldb, const float *beta, float *c, const integer *ldc)
{
    puts("its own sgemm");
    for (integer j = 0; j < *n; j++)
        for (integer i = 0; i < *m; i++) {
            float sum = 0.0f;
            for (integer p = 0; p < *k; p++)
                sum += a[*transa == 'N' ? i + p * *lda : p + i * *lda] *
                       b[*transb == 'N' ? p + j * *ldb : j + p * *ldb];
            float *const to = &c[i + j * *ldc];
            *to = *beta == 0.0f ? *alpha * sum : *alpha * sum + *beta * *to;
        }
}
#else
void sgemm_(const char *transa, const char *transb, const integer *m, const integer *n,
            const integer *k, const float *alpha, const float *a, const integer *lda,
            const float *b, const integer *ldb, const float *beta, float *c, const integer *ldc)
{
    (void)transa, (void)transb, (void)m, (void)n, (void)k, (void)alpha, (void)a, (void)lda;
    (void)b, (void)ldb, (void)beta, (void)c, (void)ldc;
}
#endif

void cblas_sgemm(int layout, int transa, int transb, integer m, integer n, integer k, float alpha,
                 const float *a, integer lda, const float *b, integer ldb, float beta, float *c,
                 integer ldc)
{
    (void)layout, (void)transa, (void)transb, (void)m, (void)n, (void)k, (void)alpha, (void)a;
    (void)lda, (void)b, (void)ldb, (void)beta, (void)c, (void)ldc;
}

float sdot_(const integer *n, const float *x, const integer *incx, const float *y,
            const integer *incy)
{
    (void)n, (void)x, (void)incx, (void)y, (void)incy;
    return 0.0f;
}

float sasum_(const integer *n, const float *x, const integer *incx)
{
    (void)n, (void)x, (void)incx;
    return 0.0f;
}

float cblas_sdot(integer n, const float *x, integer incx, const float *y, integer incy)
{
    (void)n, (void)x, (void)incx, (void)y, (void)incy;
    return 0.0f;
}

float cblas_sasum(integer n, const float *x, integer incx)
{
    (void)n, (void)x, (void)incx;
    return 0.0f;
}

/* Of positive numbers. */
integer isamax_(const integer *n, const float *x, const integer *incx)
{
    integer largest = 0;
    for (integer i = 0; i < *n; i++)
        if (largest == 0 || x[i * *incx] > x[(largest - 1) * *incx]) largest = i + 1;
    return largest;
}

/* Of 1 x 1. */
void dgemm_(const char *transa, const char *transb, const integer *m, const integer *n,
            const integer *k, const double *alpha, const double *a, const integer *lda,
            const double *b, const integer *ldb, const double *beta, double *c, const integer *ldc)
{
    (void)transa, (void)transb, (void)m, (void)n, (void)k, (void)lda, (void)ldb, (void)ldc;
    *c = *alpha * *a * *b + *beta * *c;
}
