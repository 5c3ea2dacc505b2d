/* blas_lp64.c - sgemm_, cblas_sgemm and so on: integers of 32 bits. */
#define INT         int32_t
#define NAME(name)  name##_
#define CNAME(name) cblas_##name
#define WIDE        0
#define SCIPY       0
#include "blas/blas_body.h"
