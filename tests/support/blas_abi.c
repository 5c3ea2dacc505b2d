/* blas_abi.c - one call, through every name of BLAS (blas_abi.h). */
#include "support/blas_abi.h"

#include <math.h>
#include <stddef.h>

/* Declares BLAS as callers do. But the integers that C functions take by value are 64-bit registers
 * here: the tests put garbage into them. */
#define DECLARE(INT, FORTRAN, CBLAS)                                                               \
    void FORTRAN(sgemm)(const char *, const char *, const INT *, const INT *, const INT *,         \
                        const float *, const float *, const INT *, const float *, const INT *,     \
                        const float *, float *, const INT *, size_t, size_t);                      \
    float FORTRAN(sdot)(const INT *, const float *, const INT *, const float *, const INT *);      \
    float FORTRAN(sasum)(const INT *, const float *, const INT *);                                 \
    float FORTRAN(ssum)(const INT *, const float *, const INT *);                                  \
    void CBLAS(sgemm)(int, int, int, int64_t, int64_t, int64_t, float, const float *, int64_t,     \
                      const float *, int64_t, float, float *, int64_t);                            \
    float CBLAS(sdot)(int64_t, const float *, int64_t, const float *, int64_t);                    \
    float CBLAS(sasum)(int64_t, const float *, int64_t);                                           \
    float CBLAS(ssum)(int64_t, const float *, int64_t);

#define FORTRAN32(name) name##_
#define CBLAS32(name)   cblas_##name
#define FORTRAN64(name) name##_64_
#define CBLAS64(name)   cblas_##name##64_
DECLARE(int32_t, FORTRAN32, CBLAS32)
DECLARE(int64_t, FORTRAN64, CBLAS64)

static const uint64_t garbage = 0xa5b6c7d800000000u;

/* A register as a caller with 32-bit integers may leave it. */
static int64_t narrow(int64_t x) { return (int64_t)(garbage | (uint32_t)x); }

/* An integer in memory as a caller with 32-bit integers passes its address. */
typedef struct narrow_integer {
    int32_t value, garbage;
} narrow_integer;

static narrow_integer stored(int64_t x)
{
    return (narrow_integer){(int32_t)x, (int32_t)(garbage >> 32)};
}

const char *blas_abi_name(blas_abi abi)
{
    static const char *const names[ABIS] = {"fortran", "cblas", "fortran64", "cblas64", "native"};
    return names[abi];
}

bool blas_abi_is_cblas(blas_abi abi) { return abi == ABI_CBLAS || abi == ABI_CBLAS64; }

bool blas_abi_is_wide(blas_abi abi) { return abi != ABI_FORTRAN && abi != ABI_CBLAS; }

int64_t blas_wide_step(blas_abi abi) { return blas_abi_is_wide(abi) ? 3000000001 : 1500000001; }

int blas_transpose(char letter)
{
    switch (letter) {
    case 'N':
    case 'n':
        return DUO_NO_TRANS;
    case 'T':
    case 't':
        return DUO_TRANS;
    case 'C':
    case 'c':
        return DUO_CONJ_TRANS;
    default:
        return letter;
    }
}

bool blas_is_transposed(char letter) { return letter != 'N' && letter != 'n'; }

static void fortran_sgemm(blas_abi abi, const blas_product *p)
{
    if (abi == ABI_FORTRAN64) {
        sgemm_64_(&p->transa, &p->transb, &p->m, &p->n, &p->k, &p->alpha, p->a, &p->lda, p->b,
                  &p->ldb, &p->beta, p->c, &p->ldc, 1, 1);
        return;
    }
    const narrow_integer m = stored(p->m), n = stored(p->n), k = stored(p->k);
    const narrow_integer lda = stored(p->lda), ldb = stored(p->ldb), ldc = stored(p->ldc);
    sgemm_(&p->transa, &p->transb, &m.value, &n.value, &k.value, &p->alpha, p->a, &lda.value, p->b,
           &ldb.value, &p->beta, p->c, &ldc.value, 1, 1);
}

duo_status blas_sgemm(blas_abi abi, const blas_product *p)
{
    const int transa = blas_transpose(p->transa), transb = blas_transpose(p->transb);
    blas_product turned = *p;
    switch (abi) {
    case ABI_FORTRAN:
    case ABI_FORTRAN64:
        if (p->layout == DUO_ROW_MAJOR)
            turned =
                (blas_product){DUO_COL_MAJOR, p->transb, p->transa, p->n,   p->m,    p->k, p->alpha,
                               p->b,          p->ldb,    p->a,      p->lda, p->beta, p->c, p->ldc};
        fortran_sgemm(abi, &turned);
        return DUO_OK;
    case ABI_CBLAS:
        cblas_sgemm(p->layout, transa, transb, narrow(p->m), narrow(p->n), narrow(p->k), p->alpha,
                    p->a, narrow(p->lda), p->b, narrow(p->ldb), p->beta, p->c, narrow(p->ldc));
        return DUO_OK;
    case ABI_CBLAS64:
        cblas_sgemm64_(p->layout, transa, transb, p->m, p->n, p->k, p->alpha, p->a, p->lda, p->b,
                       p->ldb, p->beta, p->c, p->ldc);
        return DUO_OK;
    default:
        return duo_sgemm(NULL, (duo_layout)p->layout, (duo_transpose)transa, (duo_transpose)transb,
                         p->m, p->n, p->k, p->alpha, p->a, p->lda, p->b, p->ldb, p->beta, p->c,
                         p->ldc);
    }
}

/* A function of the same name for sasum and ssum, which take the same arguments. */
#define SUM(NAME)                                                                                  \
    static float NAME##_of(blas_abi abi, int64_t n, const float *x, int64_t incx)                  \
    {                                                                                              \
        const narrow_integer count = stored(n), inc = stored(incx);                                \
        float result = NAN;                                                                        \
        switch (abi) {                                                                             \
        case ABI_FORTRAN:                                                                          \
            return NAME##_(&count.value, x, &inc.value);                                           \
        case ABI_CBLAS:                                                                            \
            return cblas_##NAME(narrow(n), x, narrow(incx));                                       \
        case ABI_FORTRAN64:                                                                        \
            return NAME##_64_(&n, x, &incx);                                                       \
        case ABI_CBLAS64:                                                                          \
            return cblas_##NAME##64_(n, x, incx);                                                  \
        default:                                                                                   \
            return duo_##NAME(NULL, n, x, incx, &result) == DUO_OK ? result : NAN;                 \
        }                                                                                          \
    }
SUM(sasum)
SUM(ssum)

static float sdot_of(blas_abi abi, int64_t n, const float *x, int64_t incx, const float *y,
                     int64_t incy)
{
    const narrow_integer count = stored(n), inc = stored(incx), other = stored(incy);
    float result = NAN;
    switch (abi) {
    case ABI_FORTRAN:
        return sdot_(&count.value, x, &inc.value, y, &other.value);
    case ABI_CBLAS:
        return cblas_sdot(narrow(n), x, narrow(incx), y, narrow(incy));
    case ABI_FORTRAN64:
        return sdot_64_(&n, x, &incx, y, &incy);
    case ABI_CBLAS64:
        return cblas_sdot64_(n, x, incx, y, incy);
    default:
        return duo_sdot(NULL, n, x, incx, y, incy, &result) == DUO_OK ? result : NAN;
    }
}

float blas_reduce(blas_abi abi, duo_operation operation, int64_t n, const float *x, int64_t incx,
                  const float *y, int64_t incy)
{
    switch (operation) {
    case DUO_SASUM:
        return sasum_of(abi, n, x, incx);
    case DUO_SSUM:
        return ssum_of(abi, n, x, incx);
    default:
        return sdot_of(abi, n, x, incx, y, incy);
    }
}
