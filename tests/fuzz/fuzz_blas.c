/*
 * fuzz_blas.c - letters, sizes and leading dimensions of the drop-in's sgemm, under each of its
 * names, against any bytes. The first wrong argument is told, by the number that the reference BLAS
 * gives it; without one the product is right, and nothing around it is touched.
 */
#include <ctype.h>

#include "fuzz/fuzz.h"
#include "support/blas_abi.h"
#include "support/blas_report.h"
#include "support/data.h"

enum { MOST = 12, LONGEST = 20, FLOATS = LONGEST * MOST };

static int64_t longest(int64_t run) { return run > 1 ? run : 1; }

static bool is_letter(char letter) { return letter != '\0' && strchr("NnTtCc", letter) != NULL; }

/* The number of a transpose in CBLAS counts there like its letter. */
static char letter_of(blas_abi abi, int8_t byte)
{
    const char letters[] = {'n', 't', 'c'};
    const bool number = byte >= DUO_NO_TRANS && byte <= DUO_CONJ_TRANS;
    return blas_abi_is_cblas(abi) && number ? letters[byte - DUO_NO_TRANS] : (char)byte;
}

/* The number of the first wrong argument in Fortran's order; 0: none is wrong. */
static int wrong_argument(const blas_product *p)
{
    const bool a = tolower(p->transa) != 'n', b = tolower(p->transb) != 'n';
    return !is_letter(p->transa)               ? 1
           : !is_letter(p->transb)             ? 2
           : p->m < 0                          ? 3
           : p->n < 0                          ? 4
           : p->k < 0                          ? 5
           : p->lda < longest(a ? p->k : p->m) ? 8
           : p->ldb < longest(b ? p->n : p->k) ? 10
           : p->ldc < longest(p->m)            ? 13
                                               : 0;
}

static float expected(const blas_product *p, int64_t i, int64_t j)
{
    const bool a = tolower(p->transa) != 'n', b = tolower(p->transb) != 'n';
    float sum = 0.0f;
    for (int64_t l = 0; l < p->k; l++)
        sum +=
            p->a[a ? l + i * p->lda : i + l * p->lda] * p->b[b ? j + l * p->ldb : l + j * p->ldb];
    return sum;
}

static void check(const blas_product *p, bool wrong)
{
    for (int64_t at = 0; at < FLOATS; at++) {
        const int64_t i = at % longest(p->ldc), j = at / longest(p->ldc);
        const bool written = !wrong && i < p->m && j < p->n;
        require(written ? p->c[at] == expected(p, i, j) : test_is_poison(p->c[at]),
                "an element of C");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const blas_abi abis[] = {ABI_FORTRAN, ABI_FORTRAN64, ABI_CBLAS, ABI_CBLAS64};
    static float a[FLOATS], b[FLOATS], c[FLOATS];
    int8_t x[9];
    if (size < sizeof x) return 0;
    memcpy(x, data, sizeof x);
    for (int i = 0; i < FLOATS; i++) a[i] = (float)(i % 7 - 3), b[i] = (float)(i % 5 - 2);
    test_fill_poison(c, FLOATS);
    const blas_abi abi = abis[x[0] & 3];
    const blas_product p = {.layout = DUO_COL_MAJOR,
                            .transa = letter_of(abi, x[1]),
                            .transb = letter_of(abi, x[2]),
                            .m = x[3] % (MOST + 1),
                            .n = x[4] % (MOST + 1),
                            .k = x[5] % (MOST + 1),
                            .alpha = 1.0f,
                            .a = a,
                            .lda = x[6] % (LONGEST + 1),
                            .b = b,
                            .ldb = x[7] % (LONGEST + 1),
                            .c = c,
                            .ldc = x[8] % (LONGEST + 1)};
    const int argument = wrong_argument(&p);
    blas_report.calls = 0;
    (void)blas_sgemm(abi, &p);
    require(blas_report.calls == (argument != 0), "is it told?");
    /* CBLAS counts its layout, too. */
    require(argument == 0 || blas_report.argument == argument + blas_abi_is_cblas(abi),
            "which argument");
    check(&p, argument != 0);
    return 0;
}
