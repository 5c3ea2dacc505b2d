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

/* An operation gave no result, though its arguments were right by the rules of BLAS. */
static void complain(const char *operation, duo_status status)
{
    const bool device =
        status == DUO_ERR_DEVICE || status == DUO_ERR_LOST || status == DUO_ERR_FOREIGN;
    const char *const detail = device ? duo_error_detail(NULL) : "";
    fprintf(stderr, "DuoBLAS: %s: %s%s%s\n", operation, duo_status_string(status),
            *detail != '\0' ? ": " : "", detail);
}

/* Fetches C if it is in a kept array. */
static duo_status take_home(const duo_blas_gemm *g, float *c)
{
    if (g->m <= 0 || g->n <= 0) return DUO_OK;
    const int64_t runs = g->layout == DUO_ROW_MAJOR ? g->m : g->n;
    const int64_t run = g->layout == DUO_ROW_MAJOR ? g->n : g->m;
    return duo_fetch(NULL, c, sizeof(float) * (size_t)((runs - 1) * g->ldc + run));
}

/* Adds the bytes of the operands of `count` products. */
static void add_bytes(double bytes[3], const duo_blas_gemm *g, int64_t count)
{
    const double m = (double)g->m, n = (double)g->n, k = (double)g->k, all = (double)count;
    bytes[0] += 4.0 * m * k * all;
    bytes[1] += 4.0 * k * n * all;
    bytes[2] += 4.0 * m * n * (g->beta != 0.0f ? 2.0 : 1.0) * all;
}

static void end(const duo_blas_gemm *g, duo_status status, double started, int64_t count)
{
    if (status != DUO_OK) {
        complain("sgemm", status);
    } else if (duo_blas_summary_wanted()) {
        double bytes[3] = {0.0};
        const float *const at[3] = {g->a, g->b, g->c};
        add_bytes(bytes, g, count);
        duo_blas_summary_add(started, bytes, count == 1 ? at : NULL);
    }
}

/* The time when a call begins, if a summary is wanted. */
static double begin(const duo_blas_gemm *g)
{
    const double started = duo_blas_summary_wanted() ? duo_blas_clock() : 0.0;
    duo_blas_set_defaults();
    duo_blas_tell_program(g);
    return started;
}

void duo_blas_sgemm(const duo_blas_gemm *g)
{
    const double started = begin(g);
    duo_status status =
        duo_sgemm(NULL, (duo_layout)g->layout, (duo_transpose)g->transa, (duo_transpose)g->transb,
                  g->m, g->n, g->k, g->alpha, g->a, g->lda, g->b, g->ldb, g->beta, g->c, g->ldc);
    if (status == DUO_OK) status = take_home(g, g->c);
    end(g, status, started, 1);
}

duo_blas_gemm duo_blas_no_product(const duo_blas_gemm *g)
{
    return (duo_blas_gemm){.layout = DUO_COL_MAJOR,
                           .transa = DUO_NO_TRANS,
                           .transb = DUO_NO_TRANS,
                           .lda = 1,
                           .ldb = 1,
                           .ldc = 1,
                           .wide = g->wide,
                           .scipy = g->scipy,
                           .caller = g->caller};
}

void duo_blas_sgemm_groups(const duo_blas_gemm g[], const int64_t size[], int groups,
                           const float *const a[], const float *const b[], float *const c[])
{
    duo_transpose transa[DUO_BLAS_GROUPS], transb[DUO_BLAS_GROUPS];
    int64_t m[DUO_BLAS_GROUPS], n[DUO_BLAS_GROUPS], k[DUO_BLAS_GROUPS], lda[DUO_BLAS_GROUPS],
        ldb[DUO_BLAS_GROUPS], ldc[DUO_BLAS_GROUPS];
    float alpha[DUO_BLAS_GROUPS], beta[DUO_BLAS_GROUPS];
    double bytes[3] = {0.0};
    const double started = begin(g);
    for (int i = 0; i < groups; i++) {
        transa[i] = (duo_transpose)g[i].transa;
        transb[i] = (duo_transpose)g[i].transb;
        m[i] = g[i].m;
        n[i] = g[i].n;
        k[i] = g[i].k;
        lda[i] = g[i].lda;
        ldb[i] = g[i].ldb;
        ldc[i] = g[i].ldc;
        alpha[i] = g[i].alpha;
        beta[i] = g[i].beta;
        add_bytes(bytes, &g[i], size[i]);
    }
    duo_status status = duo_sgemm_grouped(NULL, (duo_layout)g->layout, groups, transa, transb, m, n,
                                          k, alpha, a, lda, b, ldb, beta, c, ldc, size);
    int64_t first = 0;
    for (int i = 0; i < groups; first += size[i++])
        for (int64_t p = first; p < first + size[i] && status == DUO_OK; p++)
            status = take_home(&g[i], c[p]);
    if (status != DUO_OK)
        complain("sgemm", status);
    else if (duo_blas_summary_wanted())
        duo_blas_summary_add(started, bytes, NULL);
}

void duo_blas_sgemm_strided(const duo_blas_gemm *g, const int64_t stride[3], int64_t count)
{
    if (count <= 0) return;
    const double started = begin(g);
    duo_status status = duo_sgemm_strided_batched(
        NULL, (duo_layout)g->layout, (duo_transpose)g->transa, (duo_transpose)g->transb, g->m, g->n,
        g->k, g->alpha, g->a, g->lda, stride[0], g->b, g->ldb, stride[1], g->beta, g->c, g->ldc,
        stride[2], count);
    for (int64_t p = 0; p < count && status == DUO_OK; p++)
        status = take_home(g, g->c + p * stride[2]);
    end(g, status, started, count);
}

float duo_blas_reduce(duo_blas_reduction operation, int64_t n, const float *x, int64_t incx,
                      const float *y, int64_t incy)
{
    static const char *const names[] = {"sasum", "ssum", "sdot"};
    enum { LONG = 1 << 12 };
    const bool summary = duo_blas_summary_wanted();
    const double started = summary ? duo_blas_clock() : 0.0;
    float result = 0.0f;
    if (n >= LONG) duo_blas_set_defaults(); /* no GPU, no copy is asked for shorter vectors */
    const duo_status status = operation == DUO_BLAS_SDOT
                                  ? duo_sdot(NULL, n, x, incx, y, incy, &result)
                              : operation == DUO_BLAS_SASUM ? duo_sasum(NULL, n, x, incx, &result)
                                                            : duo_ssum(NULL, n, x, incx, &result);
    if (status != DUO_OK)
        complain(names[operation], status);
    else if (summary) {
        const double length = 4.0 * (double)n;
        const double bytes[3] = {length, operation == DUO_BLAS_SDOT ? length : 0.0, 4.0};
        duo_blas_summary_add(started, bytes, NULL);
    }
    return result;
}
