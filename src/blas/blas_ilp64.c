/* blas_ilp64.c - sgemm_64_, cblas_sgemm64_ and so on: integers of 64 bits. */
#define INT         int64_t
#define NAME(name)  name##_64_
#define CNAME(name) cblas_##name##64_
#define WIDE        1
#define SCIPY       0
#include "blas/blas_body.h"
