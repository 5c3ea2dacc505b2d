/* blas_scipy_lp64.c - scipy_sgemm_, scipy_cblas_sgemm and so on: wheels of SciPy call these. */
#define INT         int32_t
#define NAME(name)  scipy_##name##_
#define CNAME(name) scipy_cblas_##name
#define WIDE        0
#define SCIPY       1
#include "blas/blas_body.h"
