/*
 * test_blas_errors.c - the drop-in's error exits: which wrong argument is reported to the program's
 * own xerbla_ or cblas_xerbla, and that C is not touched.
 */
#define _GNU_SOURCE
#include <stdio.h>

#include "support/blas_abi.h"
#include "support/blas_report.h"
#include "support/data.h"
#include "support/harness.h"
#include "support/odd_memory.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

/* Fortran's numbers of the arguments that can be wrong; CBLAS counts one more: LAYOUT is its 1. */
enum { LAYOUT, TRANSA, TRANSB, M, N, K, LDA = 8, LDB = 10, LDC = 13 };

/* Rows of A, B and C as stored, and the lengths of their runs, are told apart by m, n and k. */
static blas_product right_product(int layout, char transa, char transb, float *c)
{
    const int64_t m = 5, n = 3, k = 4;
    const bool rows = layout == DUO_ROW_MAJOR;
    return (blas_product){.layout = layout,
                          .transa = transa,
                          .transb = transb,
                          .m = m,
                          .n = n,
                          .k = k,
                          .alpha = 1.0f,
                          .a = no_entry(),
                          .lda = blas_is_transposed(transa) != rows ? k : m,
                          .b = no_entry(),
                          .ldb = blas_is_transposed(transb) != rows ? n : k,
                          .beta = 0.0f,
                          .c = c,
                          .ldc = rows ? n : m};
}

static void spoil(blas_product *p, int argument)
{
    switch (argument) {
    case LAYOUT:
        p->layout = 100;
        break;
    case TRANSA:
        p->transa = 'X';
        break;
    case TRANSB:
        p->transb = '/';
        break;
    case M:
        p->m = -1;
        break;
    case N:
        p->n = -1;
        break;
    case K:
        p->k = -1;
        break;
    case LDA:
        p->lda--;
        break;
    case LDB:
        p->ldb--;
        break;
    default:
        p->ldc--;
        break;
    }
}

static void expect_report(blas_abi abi, const blas_product *p, int argument, const float *c,
                          int count)
{
    blas_report.calls = 0;
    RowMajorStrg = 1;
    const duo_status status = blas_sgemm(abi, p);
    RowMajorStrg = 0;
    bool untouched = true;
    for (int i = 0; i < count; i++) untouched = untouched && test_is_poison(c[i]);
    CHECK(untouched, "C was written");
    if (abi == ABI_NATIVE) {
        CHECK(status != DUO_OK && blas_report.calls == 0, "status %d, %d reports", (int)status,
              blas_report.calls);
        return;
    }
    CHECK(blas_report.calls == 1 && blas_report.abi == abi && blas_report.named,
          "%d reports, to %s, named %d", blas_report.calls, blas_abi_name(blas_report.abi),
          (int)blas_report.named);
    const int number = blas_abi_is_cblas(abi) ? argument + 1 : argument;
    CHECK(blas_report.argument == number, "argument %d, expected %d", (int)blas_report.argument,
          number);
    CHECK(blas_report.row_major == 0 || !blas_abi_is_cblas(abi), "RowMajorStrg is %d",
          blas_report.row_major);
}

/* One wrong argument; or wrong ones from it to the last: the first is to be told. */
static void wrong_arguments_are_reported(void)
{
    static const int arguments[] = {LAYOUT, TRANSA, TRANSB, M, N, K, LDA, LDB, LDC};
    float c[16];
    int calls = 0;
    for (int i = 0; i < 16; i++) c[i] = test_poison();
    for (int abi = 0; abi < ABIS; abi++) {
        const bool fortran = abi == ABI_FORTRAN || abi == ABI_FORTRAN64;
        for (int t = 0; t < 8; t++) {
            const int layout = t / 4 == 0 ? DUO_COL_MAJOR : DUO_ROW_MAJOR;
            if (fortran && layout == DUO_ROW_MAJOR) continue;
            for (int i = fortran ? 1 : 0; i < COUNT(arguments); i++) {
                for (int more = 0; more < 2; more++) {
                    blas_product p = right_product(layout, "NT"[t % 2], "NT"[t / 2 % 2], c);
                    for (int j = i; j < (more != 0 ? COUNT(arguments) : i + 1); j++)
                        spoil(&p, arguments[j]);
                    test_case("error exit/%s/%s/%d%d/argument %d/%s", blas_abi_name((blas_abi)abi),
                              layout == DUO_ROW_MAJOR ? "rows" : "columns", t % 2, t / 2 % 2,
                              arguments[i], more != 0 ? "and later ones" : "alone");
                    expect_report((blas_abi)abi, &p, arguments[i], c, 16);
                    calls++;
                }
            }
        }
    }
    printf("    %d wrong calls\n", calls);
}

/* A wrong argument is wrong also when there is nothing to do: C empty, nothing to add, leading
 * dimensions 0. */
static void arguments_are_checked_before_anything_is_skipped(void)
{
    float c[16];
    for (int i = 0; i < 16; i++) c[i] = test_poison();
    for (int abi = 0; abi < ABIS; abi++) {
        for (int i = 0; i < 5; i++) {
            blas_product p = right_product(DUO_COL_MAJOR, 'N', 'N', c);
            if (i == 0) p.m = 0;
            if (i == 1) p.n = 0;
            if (i == 2) p.k = 0;
            if (i == 3) p.alpha = 0.0f, p.beta = 1.0f;
            if (i == 4) p.m = p.n = p.k = 0;
            static const int arguments[] = {TRANSA, TRANSB, LDA, LDB, LDC};
            for (int j = 0; j < COUNT(arguments); j++) {
                blas_product wrong = p;
                spoil(&wrong, arguments[j]);
                if (arguments[j] == LDA) wrong.lda = 0;
                if (arguments[j] == LDB) wrong.ldb = 0;
                if (arguments[j] == LDC) wrong.ldc = 0;
                test_case("error exit/%s/nothing to do %d/argument %d",
                          blas_abi_name((blas_abi)abi), i, arguments[j]);
                expect_report((blas_abi)abi, &wrong, arguments[j], c, 16);
            }
        }
    }
}

/* With 64 bits: numbers of which only the lower half would be right, or would be wrong. */
static void whole_integers_are_looked_at(void)
{
    static const int64_t two_32 = (int64_t)1 << 32;
    float c[16];
    for (int i = 0; i < 16; i++) c[i] = test_poison();
    for (int abi = 0; abi < ABIS; abi++) {
        if (!blas_abi_is_wide((blas_abi)abi)) continue;
        test_case("error exit/%s/wide", blas_abi_name((blas_abi)abi));
        blas_product p = right_product(DUO_COL_MAJOR, 'N', 'N', c);
        p.lda += two_32;
        p.m += two_32; /* beyond ldc */
        expect_report((blas_abi)abi, &p, LDC, c, 16);
        p = right_product(DUO_COL_MAJOR, 'N', 'N', c);
        p.n -= two_32;
        expect_report((blas_abi)abi, &p, N, c, 16);
        p = right_product(DUO_COL_MAJOR, 'N', 'N', c);
        p.ldb -= two_32;
        expect_report((blas_abi)abi, &p, LDB, c, 16);
        p = right_product(DUO_COL_MAJOR, 'N', 'T', c);
        p.n += two_32; /* beyond ldb */
        expect_report((blas_abi)abi, &p, LDB, c, 16);
        p = right_product(DUO_COL_MAJOR, 'T', 'N', c);
        p.k += two_32; /* beyond lda */
        expect_report((blas_abi)abi, &p, LDA, c, 16);
    }
}

static const test_entry tests[] = {
    {"wrong_arguments_are_reported", wrong_arguments_are_reported},
    {"arguments_are_checked_before_anything_is_skipped",
     arguments_are_checked_before_anything_is_skipped},
    {"whole_integers_are_looked_at", whole_integers_are_looked_at},
    {NULL, NULL},
};

int main(int argc, char **argv) { return test_main(argc, argv, "blas_errors", tests); }
