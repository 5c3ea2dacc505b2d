/* blas.c - scenarios of sweep.h through the drop-in: each of its names. BLAS has no status, so
 * every result has to be right. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "blas/install.h"
#include "sweep.h"

/* small integers, so that all results are exact */
enum { N = 5000, EDGE = 20, SQUARE = EDGE * EDGE, COUNT = 12, LARGE = 300 };

static float x[N], a[LARGE * LARGE], ones[LARGE * LARGE], c[LARGE * LARGE];
static float sum, asum, dot;

static void fill(void)
{
    if (ones[0] == 1.0f) return;
    for (int i = 0; i < N; i++) {
        x[i] = (float)(i % 7 - 3);
        sum += x[i];
        asum += x[i] < 0 ? -x[i] : x[i];
        dot += x[i] * x[i];
    }
    for (int i = 0; i < LARGE * LARGE; i++) a[i] = (float)(i % 5), ones[i] = 1.0f;
}

/* Is each element of the n x n matrix at `to` the sum of its row of a? */
static void check(const float *to, int n, const char *what)
{
    bool right = true;
    for (int i = 0; i < n; i++) {
        float row = 0.0f;
        for (int p = 0; p < n; p++) row += a[i + p * n];
        for (int j = 0; j < n; j++) right = right && to[i + j * n] == row;
    }
    expect(right, "%s of %d^3", what, n);
}

/* All functions of a family, and scenarios of small calls and of large ones. LETTERS: how Fortran's
 * names begin, which end with END; C, C_END: likewise those of C; INT: the integers. */
#define FAMILY(name, LETTERS, END, C, C_END, INT)                                                  \
    void LETTERS##sgemm##END(const char *, const char *, const INT *, const INT *, const INT *,    \
                             const float *, const float *, const INT *, const float *,             \
                             const INT *, const float *, float *, const INT *);                    \
    float LETTERS##sdot##END(const INT *, const float *, const INT *, const float *, const INT *); \
    float LETTERS##sasum##END(const INT *, const float *, const INT *);                            \
    float LETTERS##ssum##END(const INT *, const float *, const INT *);                             \
    void C##sgemm##C_END(int, int, int, INT, INT, INT, float, const float *, INT, const float *,   \
                         INT, float, float *, INT);                                                \
    void C##sgemm_batch##C_END(int, const int *, const int *, const INT *, const INT *,            \
                               const INT *, const float *, const float *const *, const INT *,      \
                               const float *const *, const INT *, const float *, float *const *,   \
                               const INT *, INT, const INT *);                                     \
    void C##sgemm_batch_strided##C_END(int, int, int, INT, INT, INT, float, const float *, INT,    \
                                       INT, const float *, INT, INT, float, float *, INT, INT,     \
                                       INT);                                                       \
    float C##sdot##C_END(INT, const float *, INT, const float *, INT);                             \
    float C##sasum##C_END(INT, const float *, INT);                                                \
    float C##ssum##C_END(INT, const float *, INT);                                                 \
                                                                                                   \
    static void name##_products(INT n)                                                             \
    {                                                                                              \
        const float one = 1.0f, zero = 0.0f;                                                       \
        fill();                                                                                    \
        memset(c, 0, sizeof c);                                                                    \
        LETTERS##sgemm##END("N", "N", &n, &n, &n, &one, a, &n, ones, &n, &zero, c, &n);            \
        check(c, (int)n, "a product of Fortran");                                                  \
        memset(c, 0, sizeof c);                                                                    \
        C##sgemm##C_END(102, 111, 111, n, n, n, 1.0f, a, n, ones, n, 0.0f, c, n);                  \
        check(c, (int)n, "a product of C");                                                        \
    }                                                                                              \
                                                                                                   \
    static void name##_large(void) { name##_products(LARGE); }                                     \
                                                                                                   \
    static void name(void)                                                                         \
    {                                                                                              \
        static const INT n = N, step = 1, edge[] = {EDGE, EDGE},                                   \
                         size[] = {COUNT / 3, COUNT - COUNT / 3};                                  \
        static const int plainly[] = {111, 111};                                                   \
        static const float one[] = {1.0f, 1.0f}, zero[] = {0.0f, 0.0f};                            \
        const float *as[COUNT], *bs[COUNT];                                                        \
        float *cs[COUNT];                                                                          \
        name##_products(EDGE);                                                                     \
        expect(LETTERS##ssum##END(&n, x, &step) == sum && C##ssum##C_END(n, x, 1) == sum &&        \
                   LETTERS##sasum##END(&n, x, &step) == asum && C##sasum##C_END(n, x, 1) == asum,  \
               "a sum");                                                                           \
        expect(LETTERS##sdot##END(&n, x, &step, x, &step) == dot &&                                \
                   C##sdot##C_END(n, x, 1, x, 1) == dot,                                           \
               "a dot product");                                                                   \
        for (int i = 0; i < COUNT; i++) as[i] = a, bs[i] = ones, cs[i] = c + i * SQUARE;           \
        memset(c, 0, sizeof c);                                                                    \
        C##sgemm_batch##C_END(102, plainly, plainly, edge, edge, edge, one, as, edge, bs, edge,    \
                              zero, cs, edge, 2, size);                                            \
        for (int i = 0; i < COUNT; i++) check(cs[i], EDGE, "a product of groups");                 \
        memset(c, 0, sizeof c);                                                                    \
        C##sgemm_batch_strided##C_END(102, 111, 111, EDGE, EDGE, EDGE, 1.0f, a, EDGE, 0, ones,     \
                                      EDGE, 0, 0.0f, c, EDGE, SQUARE, COUNT);                      \
        for (int i = 0; i < COUNT; i++) check(cs[i], EDGE, "a product of a batch");                \
    }

FAMILY(narrow, , _, cblas_, , int32_t)
FAMILY(wide, , _64_, cblas_, 64_, int64_t)
FAMILY(scipy_narrow, scipy_, _, scipy_cblas_, , int32_t)
FAMILY(scipy_wide, scipy_, _64_, scipy_cblas_, 64_, int64_t)

/* Packages of other languages. */
static void install(void)
{
    static char text[4000];
    duo_blas_calls calls;
    const int served = duo_blas_install(1);
    expect(served >= 0 || duo_blas_served(0) == NULL, "a failed installation");
    for (int i = 0; i < served; i++) expect(duo_blas_served(i) != NULL, "object %d", i);
    narrow();
    expect(duo_blas_counted(0, &calls) != 0, "no operation was counted");
    (void)duo_blas_summary(text, sizeof text);
    duo_blas_uninstall();
    narrow();
}

const scenario scenarios[] = {
    {"narrow", narrow, NULL},
    {"narrow_large", narrow_large, NULL},
    {"wide", wide, NULL},
    {"wide_large", wide_large, NULL},
    {"scipy_narrow", scipy_narrow, NULL},
    {"scipy_narrow_large", scipy_narrow_large, NULL},
    {"scipy_wide", scipy_wide, NULL},
    {"scipy_wide_large", scipy_wide_large, NULL},
    {"summary", narrow_large, "DUOBLAS_SUMMARY=/dev/null"},
    {"ieee", narrow_large, "DUOBLAS_MATH=ieee"},
    {"install", install, NULL},
    {NULL, NULL, NULL},
};
