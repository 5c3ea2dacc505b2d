/*
 * plug.c - a plug-in for test_unreached.c and test_blas_install.c: a 1 x 1 product by the BLAS that
 * it is linked with, in float32 or, with TEST_DOUBLE, in float64. It is begun once: by another time
 * the process ends with status 97.
 */
#include <unistd.h>

#ifdef TEST_DOUBLE
typedef double real;
#define GEMM dgemm_
#else
typedef float real;
#define GEMM sgemm_
#endif

void GEMM(const char *, const char *, const int *, const int *, const int *, const real *,
          const real *, const int *, const real *, const int *, const real *, real *, const int *);
double plug(double a, double b);

static int begun;

static __attribute__((constructor)) void begin(void)
{
    if (begun++ > 0) _exit(97);
}

double plug(double a, double b)
{
    const int n = 1;
    const real one = 1, zero = 0, x = (real)a, y = (real)b;
    real c = 0;
    GEMM("N", "N", &n, &n, &n, &one, &x, &n, &y, &n, &zero, &c, &n);
    return (double)c;
}
