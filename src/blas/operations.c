/* operations.c - from BLAS's arguments to the public API. */
#include <stdio.h>

#include "blas/blas.h"

int duo_blas_transpose(char letter)
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
        return 0;
    }
}

static bool valid_transpose(int t)
{
    return t == DUO_NO_TRANS || t == DUO_TRANS || t == DUO_CONJ_TRANS;
}

static bool shorter(int64_t ld, int64_t run) { return ld < (run > 1 ? run : 1); }

int duo_blas_wrong_argument(const duo_blas_gemm *g)
{
    if (g->layout != DUO_COL_MAJOR && g->layout != DUO_ROW_MAJOR) return DUO_BLAS_LAYOUT;
    const bool rows = g->layout == DUO_ROW_MAJOR; /* do rows lie contiguous in memory? */
    const bool turned_a = g->transa != DUO_NO_TRANS, turned_b = g->transb != DUO_NO_TRANS;
    if (!valid_transpose(g->transa)) return 1;
    if (!valid_transpose(g->transb)) return 2;
    if (g->m < 0) return 3;
    if (g->n < 0) return 4;
    if (g->k < 0) return 5;
    if (shorter(g->lda, turned_a != rows ? g->k : g->m)) return 8;
    if (shorter(g->ldb, turned_b != rows ? g->n : g->k)) return 10;
    if (shorter(g->ldc, rows ? g->n : g->m)) return 13;
    return 0;
}

/* There is no result, though the caller made no mistake that BLAS knows. */
static void complain(const char *operation, duo_status status)
{
    const bool device =
        status == DUO_ERR_DEVICE || status == DUO_ERR_LOST || status == DUO_ERR_FOREIGN;
    const char *const detail = device ? duo_error_detail(NULL) : "";
    fprintf(stderr, "DuoBLAS: %s: %s%s%s\n", operation, duo_status_string(status),
            *detail != '\0' ? ": " : "", detail);
}

void duo_blas_sgemm(const duo_blas_gemm *g)
{
    const bool summary = duo_blas_summary_wanted();
    const double started = summary ? duo_blas_clock() : 0.0;
    duo_blas_tell_program(g);
    duo_status status =
        duo_sgemm(NULL, (duo_layout)g->layout, (duo_transpose)g->transa, (duo_transpose)g->transb,
                  g->m, g->n, g->k, g->alpha, g->a, g->lda, g->b, g->ldb, g->beta, g->c, g->ldc);
    if (status == DUO_OK && g->m > 0 && g->n > 0) {
        const int64_t runs = g->layout == DUO_ROW_MAJOR ? g->m : g->n;
        const int64_t run = g->layout == DUO_ROW_MAJOR ? g->n : g->m;
        status = duo_fetch(NULL, g->c, sizeof(float) * (size_t)((runs - 1) * g->ldc + run));
    }
    if (status != DUO_OK)
        complain("sgemm", status);
    else if (summary) {
        const double m = (double)g->m, n = (double)g->n, k = (double)g->k;
        const double bytes[3] = {4.0 * m * k, 4.0 * k * n,
                                 4.0 * m * n * (g->beta != 0.0f ? 2.0 : 1.0)};
        duo_blas_summary_add(started, bytes);
    }
}

float duo_blas_reduce(duo_blas_reduction operation, int64_t n, const float *x, int64_t incx,
                      const float *y, int64_t incy)
{
    static const char *const names[] = {"sasum", "ssum", "sdot"};
    const bool summary = duo_blas_summary_wanted();
    const double started = summary ? duo_blas_clock() : 0.0;
    float result = 0.0f;
    const duo_status status = operation == DUO_BLAS_SDOT
                                  ? duo_sdot(NULL, n, x, incx, y, incy, &result)
                              : operation == DUO_BLAS_SASUM ? duo_sasum(NULL, n, x, incx, &result)
                                                            : duo_ssum(NULL, n, x, incx, &result);
    if (status != DUO_OK)
        complain(names[operation], status);
    else if (summary) {
        const double length = 4.0 * (double)n;
        const double bytes[3] = {length, operation == DUO_BLAS_SDOT ? length : 0.0, 4.0};
        duo_blas_summary_add(started, bytes);
    }
    return result;
}
