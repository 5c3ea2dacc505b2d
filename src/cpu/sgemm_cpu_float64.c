/*
 * sgemm_cpu_float64.c - sgemm with products and sums in float64, rounded to float32 at the end.
 *
 * Accepts   everything
 * Threads   all share the work on one tile after the other
 * Order     C is cut into tiles of up to 1024 x 1024 sums in float64; for each 256 steps of k,
 *           parts of A and B are copied as float64, and the inner BLAS's dgemm, or a plain loop
 *           where it has none, adds their product to the tile. Parts of k are added in order.
 * Error     u |result| + (k+2) 2^-53 (|alpha||A||B| + |beta C|): products of floats are exact, and
 *           so is beta C; k - 1 additions, alpha's product and the last addition round in float64.
 * Memory    at most 12 MiB; where that cannot be had, small tiles on the stack
 *
 * Nothing overflows on the way, and dgemm sees short leading dimensions, whatever the call's.
 */
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "../fault.h"
#include "../row.h"
#include "blas_library.h"

/* Largest tile of C, and steps of k, for dgemm; for the plain loop, which wants them in its cache;
 * and without memory. */
enum { TILE = 1024, PANEL = 256, PLAIN_TILE = 128, STACK_TILE = 32 };

/* Where a tile is worked out; matrices without gaps, a and b stored as A and B are. */
typedef struct desk {
    int64_t m, n, k; /* largest sizes */
    double *sum, *a, *b;
    duo_fortran_dgemm dgemm; /* NULL: the plain loop */
} desk;

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/* to := the rows x columns part of the stored matrix that begins at (i, j) */
static void widen(const duo_operand *o, int64_t i, int64_t j, int64_t rows, int64_t columns,
                  double *to, int threads)
{
    const float *const from = o->address + i + j * o->ld;
#pragma omp parallel for num_threads(threads)
    for (int64_t c = 0; c < columns; c++)
        for (int64_t r = 0; r < rows; r++) to[r + c * rows] = (double)from[r + c * o->ld];
}

/* sum := sum + op(a) op(b) */
static void add_product_plain(const duo_call *call, const desk *w, int64_t m, int64_t n, int64_t k)
{
    const int64_t a_row = call->transa ? k : 1, a_column = call->transa ? 1 : m;
    const int64_t b_row = call->transb ? n : 1, b_column = call->transb ? 1 : k;
#pragma omp parallel for num_threads(call->threads)
    for (int64_t j = 0; j < n; j++)
        for (int64_t p = 0; p < k; p++) {
            const double factor = w->b[p * b_row + j * b_column];
            for (int64_t i = 0; i < m; i++)
                w->sum[i + j * m] += w->a[i * a_row + p * a_column] * factor;
        }
}

static void add_product(const duo_call *call, const desk *w, int64_t m, int64_t n, int64_t k)
{
    if (w->dgemm == NULL) {
        add_product_plain(call, w, m, n, k);
        return;
    }
    const int rows = (int)m, columns = (int)n, steps = (int)k;
    const int lda = call->transa ? steps : rows, ldb = call->transb ? columns : steps;
    const double one = 1.0;
    w->dgemm(call->transa ? "T" : "N", call->transb ? "T" : "N", &rows, &columns, &steps, &one,
             w->a, &lda, w->b, &ldb, &one, w->sum, &rows, 1, 1);
}

/* The new element of C. `old` counts where beta != 0, the sum where there is a product. */
static float blend(const duo_call *call, double sum, float old)
{
    const double rest = (double)call->beta * (double)old;
    if (!call->operand[DUO_A].read) return call->beta == 0.0f ? 0.0f : (float)rest;
    const double part = (double)call->alpha * sum;
    return (float)(call->beta == 0.0f && !DUO_FAULT(m1_float64) ? part : part + rest);
}

static void tile(const duo_call *call, const desk *w, int64_t i, int64_t j)
{
    const duo_operand *const a = &call->operand[DUO_A], *const b = &call->operand[DUO_B],
                             *const c = &call->operand[DUO_C];
    const int64_t m = smaller(call->m - i, w->m), n = smaller(call->n - j, w->n);
    const int threads = call->threads;
    memset(w->sum, 0, (size_t)(m * n) * sizeof *w->sum);
    for (int64_t p = 0; a->read && p < call->k; p += w->k) {
        const int64_t k = smaller(call->k - p, w->k);
        if (call->transa)
            widen(a, p, i, k, m, w->a, threads);
        else
            widen(a, i, p, m, k, w->a, threads);
        if (call->transb)
            widen(b, j, p, n, k, w->b, threads);
        else
            widen(b, p, j, k, n, w->b, threads);
        add_product(call, w, m, n, k);
    }
    float *const first = c->address + i + j * c->ld;
#pragma omp parallel for num_threads(threads)
    for (int64_t column = 0; column < n; column++) {
        float *const to = first + column * c->ld;
        for (int64_t row = 0; row < m; row++)
            to[row] = blend(call, w->sum[row + column * m],
                            call->beta == 0.0f && !DUO_FAULT(m1_float64) ? 0.0f : to[row]);
    }
}

static void tiles(const duo_call *call, const desk *w)
{
    for (int64_t j = 0; j < call->n; j += w->n)
        for (int64_t i = 0; i < call->m; i += w->m) tile(call, w, i, j);
}

static void tiles_on_the_stack(const duo_call *call)
{
    enum { AREA = STACK_TILE * STACK_TILE };
    double sum[AREA], a[AREA], b[AREA];
    tiles(call, &(desk){STACK_TILE, STACK_TILE, STACK_TILE, sum, a, b, NULL});
}

int duo_sgemm_cpu_float64(const duo_call *call)
{
    const duo_blas_library *const library = duo_blas_library_get();
    desk w = {.dgemm = library == NULL ? NULL : library->dgemm};
    w.m = smaller(call->m, w.dgemm == NULL ? PLAIN_TILE : TILE);
    w.n = smaller(call->n, w.dgemm == NULL ? PLAIN_TILE : TILE);
    w.k = smaller(call->k, w.dgemm == NULL ? PLAIN_TILE : PANEL);
    w.sum = malloc((size_t)(w.m * w.n + w.m * w.k + w.k * w.n) * sizeof *w.sum);
    if (w.sum == NULL) {
        tiles_on_the_stack(call);
        return DUO_OK;
    }
    w.a = w.sum + w.m * w.n;
    w.b = w.a + w.m * w.k;
    const bool openmp = library != NULL && library->follows_openmp;
    const int threads_before = openmp ? omp_get_max_threads() : 0;
    if (openmp && threads_before != call->threads) omp_set_num_threads(call->threads);
    if (library != NULL && library->set_threads != NULL) library->set_threads(call->threads);
    tiles(call, &w);
    if (openmp && threads_before != call->threads) omp_set_num_threads(threads_before);
    free(w.sum);
    return DUO_OK;
}
