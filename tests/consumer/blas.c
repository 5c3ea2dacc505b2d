/* blas.c - a program of BLAS that knows nothing of DuoBLAS. */
#include <stdio.h>

void sgemm_(const char *transa, const char *transb, const int *m, const int *n, const int *k,
            const float *alpha, const float *a, const int *lda, const float *b, const int *ldb,
            const float *beta, float *c, const int *ldc);
float sdot_(const int *n, const float *x, const int *incx, const float *y, const int *incy);

int main(void)
{
    const float a[4] = {1, 2, 3, 4}, b[4] = {5, 6, 7, 8}, alpha = 1, beta = 0;
    float c[4];
    const int two = 2, four = 4, one = 1;
    sgemm_("N", "t", &two, &two, &two, &alpha, a, &two, b, &two, &beta, c, &two);
    const float dot = sdot_(&four, a, &one, b, &one);
    printf("%g %g %g %g %g\n", (double)c[0], (double)c[1], (double)c[2], (double)c[3], (double)dot);
    return c[0] == 26 && c[1] == 38 && c[2] == 30 && c[3] == 44 && dot == 70 ? 0 : 1;
}
