/* oracle.c - references, and the error bounds of the public header. */
#include "support/oracle.h"

#include "bench/reference/exact_sum.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const double u = 0x1p-24;

int64_t oracle_index(duo_layout layout, int64_t i, int64_t j, int64_t ld)
{
    return layout == DUO_COL_MAJOR ? i + j * ld : i * ld + j;
}

/* op(X) in float64, row after row. */
static double *unpack(duo_layout layout, duo_transpose trans, const float *x, int64_t ld,
                      int64_t rows, int64_t columns)
{
    double *out = malloc(((size_t)(rows * columns) + 1) * sizeof *out);
    if (out == NULL) {
        perror("oracle");
        exit(EXIT_FAILURE);
    }
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            out[i * columns + j] = x[trans == DUO_NO_TRANS ? oracle_index(layout, i, j, ld)
                                                           : oracle_index(layout, j, i, ld)];
    return out;
}

/* A row of sums and of sums of magnitudes: k rows of b, each times an element of a. By rows no sum
 * waits for itself. */
static void sum_row(int64_t n, int64_t k, const double *a, const double *b, double *restrict sum,
                    double *restrict magnitude)
{
    for (int64_t j = 0; j < n; j++) sum[j] = magnitude[j] = 0.0;
    for (int64_t q = 0; q < k; q++)
        for (int64_t j = 0; j < n; j++) {
            const double term = a[q] * b[q * n + j];
            sum[j] += term;
            magnitude[j] += fabs(term);
        }
}

void oracle_sgemm(const oracle_product *p, double *want, double *bound)
{
    const bool product = p->alpha != 0.0f && p->k > 0;
    const int64_t k = product ? p->k : 0;
    const double alpha = product ? (double)p->alpha : 0.0;
    double *const a = unpack(p->layout, p->transa, p->a, p->lda, product ? p->m : 0, k);
    double *const b = unpack(p->layout, p->transb, p->b, p->ldb, k, p->n);
    for (int64_t i = 0; i < p->m; i++) {
        double *const wanted = want + i * p->n, *const bounds = bound + i * p->n;
        sum_row(p->n, k, a + i * k, b, wanted, bounds);
        for (int64_t j = 0; j < p->n; j++) {
            wanted[j] *= alpha;
            bounds[j] *= (double)(p->k + 3) * u * fabs(alpha);
            if (p->beta == 0.0f) continue;
            const double old =
                (double)p->beta * (double)p->c[oracle_index(p->layout, i, j, p->ldc)];
            wanted[j] += old;
            bounds[j] += 2.0 * u * fabs(old);
        }
    }
    free(a);
    free(b);
}

void oracle_tf32_bound(const oracle_product *p, const double *bound, double *tf32_bound)
{
    const double wider = 1.0 + 0x1p-10 / ((double)(p->k + 3) * u);
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++) {
            const double c =
                p->beta == 0.0f ? 0.0 : (double)p->c[oracle_index(p->layout, i, j, p->ldc)];
            const double of_c = 2.0 * u * fabs((double)p->beta * c);
            tf32_bound[i * p->n + j] = of_c + wider * (bound[i * p->n + j] - of_c);
        }
}

bool oracle_close(double want, double bound, float got)
{
    if (isnan(want)) return isnan(got);
    if (isinf(want)) return (double)got == want;
    return fabs((double)got - want) <= bound;
}

/* The sum, and the sum of magnitudes. */
static double reduce(duo_operation operation, int64_t n, const float *x, int64_t incx,
                     const float *y, int64_t incy, double *magnitudes)
{
    const bool two = operation == DUO_SDOT;
    *magnitudes = 0.0;
    if (n <= 0 || (!two && incx <= 0)) return 0.0;
    if (incx < 0) x -= (n - 1) * incx;
    if (two && incy < 0) y -= (n - 1) * incy;

    duo_exact_sum sum = {0};
    double plain = 0.0;
    for (int64_t i = 0; i < n; i++) {
        double term = x[i * incx];
        if (operation == DUO_SASUM) term = fabs(term);
        if (two) term *= (double)y[i * incy];
        plain += term;
        *magnitudes += fabs(term);
        if (isfinite(term)) duo_exact_sum_add(&sum, term);
    }
    return isfinite(plain) ? duo_exact_sum_value(&sum) : plain;
}

double oracle_reduce(duo_operation operation, int64_t n, const float *x, int64_t incx,
                     const float *y, int64_t incy, double *bound)
{
    double magnitudes;
    const double sum = reduce(operation, n, x, incx, y, incy, &magnitudes);
    const bool two = operation == DUO_SDOT && n > 0;
    *bound = (two ? 9.0 : 8.0) * u * magnitudes + (two ? (double)n * 0x1p-150 : 0.0);
    return sum;
}

double oracle_reduce_float64(duo_operation operation, int64_t n, const float *x, int64_t incx,
                             const float *y, int64_t incy, double *bound)
{
    double magnitudes;
    const double sum = reduce(operation, n, x, incx, y, incy, &magnitudes);
    int levels = 0;
    for (int64_t blocks = (n + 1023) / 1024; blocks > 1; blocks = (blocks + 1) / 2) levels++;
    *bound = u * fabs(sum) + (12 + levels) * 0x1p-53 * magnitudes;
    if (operation == DUO_SDOT && n > 0) *bound += 0x1p-150;
    return sum;
}
