/* wheels_blas.c - a BLAS with the names of PyPI's wheels, with 32-bit or 64-bit integers. Its
 * batches have strides; with TEST_LISTS they have lists, and with TEST_CRASHES the batch function
 * crashes. While the environment has WHEELS_BLAS_MODE=twice, products are twice as large; with
 * =nothing, nothing is done. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef TEST_64
typedef int64_t integer;
#define NAMED(name) scipy_##name##64_
#define CONFIG      "OpenBLAS 0.0.0 USE64BITINT of the tests"
#else
typedef int32_t integer;
#define NAMED(name) scipy_##name
#define CONFIG      "OpenBLAS 0.0.0 of the tests"
#endif

/* Begins a function and declares it. */
#define FUNCTION(name, ...)                                                                        \
    void NAMED(name)(__VA_ARGS__);                                                                 \
    void NAMED(name)(__VA_ARGS__)

enum { TRANSPOSED = 112 }; /* CBLAS's */

const char *NAMED(openblas_get_config)(void);
const char *NAMED(openblas_get_config)(void) { return CONFIG; }

/* Column-major. */
static void multiply(int transa, int transb, integer m, integer n, integer k, float alpha,
                     const float *a, integer lda, const float *b, integer ldb, float beta, float *c,
                     integer ldc)
{
    const char *const mode = getenv("WHEELS_BLAS_MODE");
    if (mode != NULL && strcmp(mode, "twice") == 0) alpha *= 2.0f;
    if (mode != NULL && strcmp(mode, "nothing") == 0) return;
    for (integer j = 0; j < n; j++)
        for (integer i = 0; i < m; i++) {
            float sum = 0.0f;
            for (integer p = 0; p < k; p++)
                sum +=
                    a[transa ? p + i * lda : i + p * lda] * b[transb ? j + p * ldb : p + j * ldb];
            float *const to = &c[i + j * ldc];
            *to = alpha * sum + (beta != 0.0f ? beta * *to : 0.0f);
        }
}

FUNCTION(sgemm_, const char *transa, const char *transb, const integer *m, const integer *n,
         const integer *k, const float *alpha, const float *a, const integer *lda, const float *b,
         const integer *ldb, const float *beta, float *c, const integer *ldc, long transa_length,
         long transb_length)
{
    (void)transa_length, (void)transb_length;
    multiply(*transa != 'N', *transb != 'N', *m, *n, *k, *alpha, a, *lda, b, *ldb, *beta, c, *ldc);
}

FUNCTION(cblas_sgemm, int layout, int transa, int transb, integer m, integer n, integer k,
         float alpha, const float *a, integer lda, const float *b, integer ldb, float beta,
         float *c, integer ldc)
{
    (void)layout;
    multiply(transa == TRANSPOSED, transb == TRANSPOSED, m, n, k, alpha, a, lda, b, ldb, beta, c,
             ldc);
}

#ifdef TEST_LISTS
FUNCTION(cblas_sgemm_batch, int layout, const int *transa, const int *transb, const integer *m,
         const integer *n, const integer *k, const float *alpha, const float **a,
         const integer *lda, const float **b, const integer *ldb, const float *beta, float **c,
         const integer *ldc, integer groups, const integer *size)
{
    (void)layout;
    for (integer g = 0, p = 0; g < groups; g++)
        for (integer i = 0; i < size[g]; i++, p++)
            multiply(transa[g] == TRANSPOSED, transb[g] == TRANSPOSED, m[g], n[g], k[g], alpha[g],
                     a[p], lda[g], b[p], ldb[g], beta[g], c[p], ldc[g]);
}
#else
FUNCTION(cblas_sgemm_batch_strided, int layout, int transa, int transb, integer m, integer n,
         integer k, float alpha, const float *a, integer lda, integer stride_a, const float *b,
         integer ldb, integer stride_b, float beta, float *c, integer ldc, integer stride_c,
         integer count)
{
    (void)layout;
#ifdef TEST_CRASHES
    abort();
#endif
    for (integer p = 0; p < count; p++)
        multiply(transa == TRANSPOSED, transb == TRANSPOSED, m, n, k, alpha, a + p * stride_a, lda,
                 b + p * stride_b, ldb, beta, c + p * stride_c, ldc);
}
#endif
