/* wheels_blas.c - a BLAS that names its functions as those of PyPI's wheels do, with integers of 32
 * or of 64 bits. */
#include <stdint.h>

#ifdef TEST_64
typedef int64_t integer;
#define NAMED(name) scipy_##name##64_
#else
typedef int32_t integer;
#define NAMED(name) scipy_##name
#endif

const char *NAMED(openblas_get_config)(void);
const char *NAMED(openblas_get_config)(void) { return "OpenBLAS 0.0.0 of the tests"; }

void NAMED(sgemm_)(const char *transa, const char *transb, const integer *m, const integer *n,
                   const integer *k, const float *alpha, const float *a, const integer *lda,
                   const float *b, const integer *ldb, const float *beta, float *c,
                   const integer *ldc, long transa_length, long transb_length);
void NAMED(sgemm_)(const char *transa, const char *transb, const integer *m, const integer *n,
                   const integer *k, const float *alpha, const float *a, const integer *lda,
                   const float *b, const integer *ldb, const float *beta, float *c,
                   const integer *ldc, long transa_length, long transb_length)
{
    (void)transa_length, (void)transb_length;
    for (integer j = 0; j < *n; j++)
        for (integer i = 0; i < *m; i++) {
            float sum = 0.0f;
            for (integer p = 0; p < *k; p++)
                sum += a[*transa == 'N' ? i + p * *lda : p + i * *lda] *
                       b[*transb == 'N' ? p + j * *ldb : j + p * *ldb];
            float *const to = &c[i + j * *ldc];
            *to = *alpha * sum + (*beta != 0.0f ? *beta * *to : 0.0f);
        }
}
