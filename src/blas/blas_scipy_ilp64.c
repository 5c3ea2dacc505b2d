/* blas_scipy_ilp64.c - scipy_sgemm_64_, scipy_cblas_sgemm64_ and so on: wheels of NumPy call
 * these. */
#define INT         int64_t
#define NAME(name)  scipy_##name##_64_
#define CNAME(name) scipy_cblas_##name##64_
#define WIDE        1
#define SCIPY       1
#include "blas/blas_body.h"
