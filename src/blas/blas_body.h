/*
 * blas_body.h - the exported names. Included with
 *     INT             the integers of Fortran callers
 *     NAME(name)      sgemm -> sgemm_ or sgemm_64_
 *     CNAME(name)     sgemm -> cblas_sgemm or cblas_sgemm64_
 *     WIDE            are integers of 64 bits?
 *     SCIPY           do the names begin with scipy_?
 *
 * Integers that are passed by value are declared as 64 bits in both. x86-64 and AArch64 pass both
 * widths in one register or stack slot, and a caller with 32 bits leaves arbitrary bits in the
 * upper half: VALUE cuts them off. Programs of libblas64.so need all 64 bits. The hidden lengths of
 * Fortran's strings are not read.
 */
#include "blas/blas.h"

#if WIDE
#define VALUE(x) (x)
#else
#define VALUE(x) ((int64_t)(int32_t)(x))
#endif

#if WIDE || SCIPY
#define OTHER(name, call) ((void)0)
#else
#define OTHER(name, call)                                                                          \
    do {                                                                                           \
        const duo_libblas64 *const other = duo_blas_libblas64();                                   \
        if (__builtin_expect(other != NULL, 0) && other->name != NULL) return call;                \
    } while (0)
#endif

_Static_assert(sizeof(void *) == 8, "integers by value are passed in 64 bits");

#define EXPORT __attribute__((visibility("default")))

EXPORT void NAME(sgemm)(const char *transa, const char *transb, const INT *m, const INT *n,
                        const INT *k, const float *alpha, const float *a, const INT *lda,
                        const float *b, const INT *ldb, const float *beta, float *c,
                        const INT *ldc);
EXPORT float NAME(sdot)(const INT *n, const float *x, const INT *incx, const float *y,
                        const INT *incy);
EXPORT float NAME(sasum)(const INT *n, const float *x, const INT *incx);
EXPORT float NAME(ssum)(const INT *n, const float *x, const INT *incx);
EXPORT void CNAME(sgemm)(int layout, int transa, int transb, int64_t m, int64_t n, int64_t k,
                         float alpha, const float *a, int64_t lda, const float *b, int64_t ldb,
                         float beta, float *c, int64_t ldc);
EXPORT void CNAME(sgemm_batch)(int layout, const int transa[], const int transb[], const INT m[],
                               const INT n[], const INT k[], const float alpha[],
                               const float *const a[], const INT lda[], const float *const b[],
                               const INT ldb[], const float beta[], float *const c[],
                               const INT ldc[], int64_t groups, const INT group_size[]);
EXPORT void CNAME(sgemm_batch_strided)(int layout, int transa, int transb, int64_t m, int64_t n,
                                       int64_t k, float alpha, const float *a, int64_t lda,
                                       int64_t stride_a, const float *b, int64_t ldb,
                                       int64_t stride_b, float beta, float *c, int64_t ldc,
                                       int64_t stride_c, int64_t count);
EXPORT float CNAME(sdot)(int64_t n, const float *x, int64_t incx, const float *y, int64_t incy);
EXPORT float CNAME(sasum)(int64_t n, const float *x, int64_t incx);
EXPORT float CNAME(ssum)(int64_t n, const float *x, int64_t incx);

/* ---- Fortran ---- */

void NAME(sgemm)(const char *transa, const char *transb, const INT *m, const INT *n, const INT *k,
                 const float *alpha, const float *a, const INT *lda, const float *b, const INT *ldb,
                 const float *beta, float *c, const INT *ldc)
{
    OTHER(sgemm, other->sgemm(transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, 1, 1));
    const duo_blas_gemm g = {.layout = DUO_COL_MAJOR,
                             .transa = duo_blas_transpose(*transa),
                             .transb = duo_blas_transpose(*transb),
                             .m = *m,
                             .n = *n,
                             .k = *k,
                             .alpha = *alpha,
                             .a = a,
                             .lda = *lda,
                             .b = b,
                             .ldb = *ldb,
                             .beta = *beta,
                             .c = c,
                             .ldc = *ldc,
                             .wide = WIDE,
                             .scipy = SCIPY,
                             .caller = __builtin_return_address(0)};
    const int wrong = duo_blas_wrong_argument(&g);
    if (wrong == 0)
        duo_blas_sgemm(&g);
    else
        duo_blas_report(false, WIDE, wrong);
}

float NAME(sdot)(const INT *n, const float *x, const INT *incx, const float *y, const INT *incy)
{
    OTHER(sdot, other->sdot(n, x, incx, y, incy));
    return duo_blas_reduce(DUO_BLAS_SDOT, *n, x, *incx, y, *incy);
}

float NAME(sasum)(const INT *n, const float *x, const INT *incx)
{
    OTHER(sasum, other->sasum(n, x, incx));
    return duo_blas_reduce(DUO_BLAS_SASUM, *n, x, *incx, NULL, 0);
}

float NAME(ssum)(const INT *n, const float *x, const INT *incx)
{
    OTHER(ssum, other->ssum(n, x, incx));
    return duo_blas_reduce(DUO_BLAS_SSUM, *n, x, *incx, NULL, 0);
}

/* ---- CBLAS ---- */

void CNAME(sgemm)(int layout, int transa, int transb, int64_t m, int64_t n, int64_t k, float alpha,
                  const float *a, int64_t lda, const float *b, int64_t ldb, float beta, float *c,
                  int64_t ldc)
{
    OTHER(cblas_sgemm,
          other->cblas_sgemm(layout, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc));
    const duo_blas_gemm g = {.layout = layout,
                             .transa = transa,
                             .transb = transb,
                             .m = VALUE(m),
                             .n = VALUE(n),
                             .k = VALUE(k),
                             .alpha = alpha,
                             .a = a,
                             .lda = VALUE(lda),
                             .b = b,
                             .ldb = VALUE(ldb),
                             .beta = beta,
                             .c = c,
                             .ldc = VALUE(ldc),
                             .wide = WIDE,
                             .scipy = SCIPY,
                             .caller = __builtin_return_address(0)};
    const int wrong = duo_blas_wrong_argument(&g);
    if (wrong == 0)
        duo_blas_sgemm(&g);
    else
        duo_blas_report(true, WIDE, wrong);
}

/* Groups of products: all products of a group have the same arguments, and all groups share one
 * list for each operand. A group with a wrong argument is left out. */
void CNAME(sgemm_batch)(int layout, const int transa[], const int transb[], const INT m[],
                        const INT n[], const INT k[], const float alpha[], const float *const a[],
                        const INT lda[], const float *const b[], const INT ldb[],
                        const float beta[], float *const c[], const INT ldc[], int64_t groups,
                        const INT group_size[])
{
    OTHER(cblas_sgemm_batch,
          other->cblas_sgemm_batch(layout, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c,
                                   ldc, groups, group_size));
    duo_blas_gemm g[DUO_BLAS_GROUPS];
    int64_t size[DUO_BLAS_GROUPS], first = 0, next = 0;
    int here = 0;
    for (int64_t i = 0; i < VALUE(groups); i++) {
        g[here] = (duo_blas_gemm){.layout = layout,
                                  .transa = transa[i],
                                  .transb = transb[i],
                                  .m = m[i],
                                  .n = n[i],
                                  .k = k[i],
                                  .alpha = alpha[i],
                                  .lda = lda[i],
                                  .ldb = ldb[i],
                                  .beta = beta[i],
                                  .ldc = ldc[i],
                                  .wide = WIDE,
                                  .scipy = SCIPY,
                                  .caller = __builtin_return_address(0)};
        size[here] = group_size[i] > 0 ? group_size[i] : 0;
        next += size[here];
        const int wrong = duo_blas_wrong_argument(&g[here]);
        if (wrong != 0) {
            duo_blas_report(true, WIDE, wrong);
            g[here] = duo_blas_no_product(&g[here]);
        }
        if (++here < DUO_BLAS_GROUPS && i + 1 < VALUE(groups)) continue;
        if (next > first) duo_blas_sgemm_groups(g, size, here, a + first, b + first, c + first);
        first = next;
        here = 0;
    }
}

void CNAME(sgemm_batch_strided)(int layout, int transa, int transb, int64_t m, int64_t n, int64_t k,
                                float alpha, const float *a, int64_t lda, int64_t stride_a,
                                const float *b, int64_t ldb, int64_t stride_b, float beta, float *c,
                                int64_t ldc, int64_t stride_c, int64_t count)
{
    OTHER(cblas_sgemm_batch_strided,
          other->cblas_sgemm_batch_strided(layout, transa, transb, m, n, k, alpha, a, lda, stride_a,
                                           b, ldb, stride_b, beta, c, ldc, stride_c, count));
    const duo_blas_gemm g = {.layout = layout,
                             .transa = transa,
                             .transb = transb,
                             .m = VALUE(m),
                             .n = VALUE(n),
                             .k = VALUE(k),
                             .alpha = alpha,
                             .a = a,
                             .lda = VALUE(lda),
                             .b = b,
                             .ldb = VALUE(ldb),
                             .beta = beta,
                             .c = c,
                             .ldc = VALUE(ldc),
                             .wide = WIDE,
                             .scipy = SCIPY,
                             .caller = __builtin_return_address(0)};
    const int64_t stride[3] = {VALUE(stride_a), VALUE(stride_b), VALUE(stride_c)};
    const int wrong = duo_blas_wrong_argument(&g);
    if (wrong == 0)
        duo_blas_sgemm_strided(&g, stride, VALUE(count));
    else
        duo_blas_report(true, WIDE, wrong);
}

float CNAME(sdot)(int64_t n, const float *x, int64_t incx, const float *y, int64_t incy)
{
    OTHER(cblas_sdot, other->cblas_sdot(n, x, incx, y, incy));
    return duo_blas_reduce(DUO_BLAS_SDOT, VALUE(n), x, VALUE(incx), y, VALUE(incy));
}

float CNAME(sasum)(int64_t n, const float *x, int64_t incx)
{
    OTHER(cblas_sasum, other->cblas_sasum(n, x, incx));
    return duo_blas_reduce(DUO_BLAS_SASUM, VALUE(n), x, VALUE(incx), NULL, 0);
}

float CNAME(ssum)(int64_t n, const float *x, int64_t incx)
{
    OTHER(cblas_ssum, other->cblas_ssum(n, x, incx));
    return duo_blas_reduce(DUO_BLAS_SSUM, VALUE(n), x, VALUE(incx), NULL, 0);
}
