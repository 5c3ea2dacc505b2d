/*
 * sgemm_cpu_float64.c - sgemm with products and sums in float64, rounded to float32 at the end.
 *
 * Accepts   everything
 * Threads   the team's, each on a tile of C of its own
 * Order     C is cut into tiles of up to 256 x 256 sums in float64, by the shape alone. For each
 *           256 steps of k, parts of A and B are copied as float64. The inner BLAS's dgemm adds
 *           their product to the tile; a plain loop does so if there is no dgemm, and for tiny
 *           products. Parts of k are added in order
 * Error     u |result| + (k+2) 2^-53 (|alpha||A||B| + |beta C|): products of floats are exact, and
 *           so is beta C; k - 1 additions, alpha's product and the last addition round in float64
 * Memory    at most 1.5 MiB a thread; without that, small tiles on the stack
 *
 * Nothing overflows on the way. dgemm gets short leading dimensions, even if the call's are long.
 */
#include <stdlib.h>
#include <string.h>

#include "cpu/blas_library.h"
#include "cpu/kernels.h"
#include "cpu/sgemm_tiles.h"
#include "host/team.h"

enum {
    TILE = DUO_FLOAT64_EDGE, /* for dgemm: the largest edge of a tile of C */
    PANEL = 256,             /* for dgemm: most steps of k at once */
    TINY = 8,                /* for the plain loop: the largest sizes of a tiny product */
    PLAIN_TILE = 128,        /* both for the plain loop, to fit into its cache */
    STACK_TILE = 32          /* both if there is no memory */
};

/* Memory to compute a tile in. Its matrices have no gaps; a and b are stored as A and B are. */
typedef struct workspace {
    int64_t m, n, k; /* largest sizes */
    double *sum, *a, *b;
    const duo_blas_library *library; /* one with a dgemm; NULL: the plain loop multiplies */
} workspace;

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/* to := the rows x columns part of the stored matrix that begins at (i, j) */
static void widen(const duo_operand *o, int64_t i, int64_t j, int64_t rows, int64_t columns,
                  double *to)
{
    const float *const from = o->address + i + j * o->ld;
    for (int64_t c = 0; c < columns; c++)
        for (int64_t r = 0; r < rows; r++) to[r + c * rows] = (double)from[r + c * o->ld];
}

/* sum := sum + op(a) op(b) */
static void add_product_plain(const duo_call *call, const workspace *w, int64_t m, int64_t n,
                              int64_t k)
{
    const int64_t a_row = call->transa ? k : 1, a_column = call->transa ? 1 : m;
    const int64_t b_row = call->transb ? n : 1, b_column = call->transb ? 1 : k;
    for (int64_t j = 0; j < n; j++)
        for (int64_t p = 0; p < k; p++) {
            const double factor = w->b[p * b_row + j * b_column];
            for (int64_t i = 0; i < m; i++)
                w->sum[i + j * m] += w->a[i * a_row + p * a_column] * factor;
        }
}

static void add_product(const duo_call *call, const workspace *w, int64_t m, int64_t n, int64_t k)
{
    int before = 1;
    if (w->library == NULL || !duo_blas_enter(w->library, &before)) {
        add_product_plain(call, w, m, n, k);
        return;
    }
    const int64_t lda = call->transa ? k : m, ldb = call->transb ? n : k;
    const double one = 1.0;
    w->library->dgemm(call->transa ? "T" : "N", call->transb ? "T" : "N", &m, &n, &k, &one, w->a,
                      &lda, w->b, &ldb, &one, w->sum, &m, 1, 1);
    duo_blas_leave(w->library, before);
}

/* The new element of C. `old` counts if beta is not 0. */
static float blend(const duo_call *call, double sum, float old)
{
    const double rest = (double)call->beta * (double)old;
    const double part = (double)call->alpha * sum;
    return (float)(call->beta == 0.0f ? part : part + rest);
}

static void tile(const duo_call *call, const workspace *w, int64_t i, int64_t j)
{
    const duo_operand *const a = &call->operand[DUO_A], *const b = &call->operand[DUO_B],
                             *const c = &call->operand[DUO_C];
    const int64_t m = smaller(call->m - i, w->m), n = smaller(call->n - j, w->n);
    memset(w->sum, 0, (size_t)(m * n) * sizeof *w->sum);
    for (int64_t p = 0; p < call->k; p += w->k) {
        const int64_t k = smaller(call->k - p, w->k);
        if (call->transa)
            widen(a, p, i, k, m, w->a);
        else
            widen(a, i, p, m, k, w->a);
        if (call->transb)
            widen(b, j, p, n, k, w->b);
        else
            widen(b, p, j, k, n, w->b);
        add_product(call, w, m, n, k);
    }
    float *const first = c->address + i + j * c->ld;
    for (int64_t column = 0; column < n; column++) {
        float *const to = first + column * c->ld;
        for (int64_t row = 0; row < m; row++)
            to[row] = blend(call, w->sum[row + column * m], call->beta == 0.0f ? 0.0f : to[row]);
    }
}

/* The largest sizes for this call; no memory yet. */
static workspace workspace_for(const duo_call *call)
{
    const bool tiny = call->m <= TINY && call->n <= TINY && call->k <= TINY;
    const duo_blas_library *const library = tiny ? NULL : duo_blas_library_get();
    const bool dgemm = library != NULL && library->dgemm != NULL;
    const int64_t edge = dgemm ? TILE : PLAIN_TILE, steps = dgemm ? PANEL : PLAIN_TILE;
    const duo_tiles t = duo_sgemm_tiles(call->m, call->n, call->k);
    return (workspace){.m = smaller(t.rows, edge),
                       .n = smaller(t.columns, edge),
                       .k = smaller(call->k, steps),
                       .library = dgemm ? library : NULL};
}

/* Without memory: computes a tile in smaller ones on the stack. */
static void tile_on_the_stack(const duo_call *call, int64_t i0, int64_t j0, int64_t m, int64_t n)
{
    enum { AREA = STACK_TILE * STACK_TILE };
    double sum[AREA], a[AREA], b[AREA];
    for (int64_t j = j0; j < smaller(j0 + n, call->n); j += STACK_TILE)
        for (int64_t i = i0; i < smaller(i0 + m, call->m); i += STACK_TILE) {
            const int64_t rows = smaller(STACK_TILE, i0 + m - i),
                          columns = smaller(STACK_TILE, j0 + n - j);
            tile(call, &(workspace){rows, columns, STACK_TILE, sum, a, b, NULL}, i, j);
        }
}

typedef struct product {
    const duo_call *call;
    workspace largest; /* without memory: each piece allocates its own */
} product;

static void piece(void *job, int64_t number)
{
    const product *const p = job;
    workspace w = p->largest;
    const int64_t down = (p->call->m - 1) / w.m + 1;
    const int64_t i = number % down * w.m, j = number / down * w.n;
    w.sum = malloc((size_t)(w.m * w.n + w.m * w.k + w.k * w.n) * sizeof *w.sum);
    if (w.sum == NULL) {
        tile_on_the_stack(p->call, i, j, w.m, w.n);
    } else {
        w.a = w.sum + w.m * w.n;
        w.b = w.a + w.m * w.k;
        tile(p->call, &w, i, j);
    }
    free(w.sum);
}

duo_outcome duo_sgemm_cpu_float64(const duo_call *call)
{
    if (!call->operand[DUO_A].read) return duo_sgemm_scale(call);
    product p = {call, workspace_for(call)};
    const bool its_own =
        p.largest.library != NULL && p.largest.library->threads == DUO_BLAS_ITS_OWN;
    const int64_t down = (call->m - 1) / p.largest.m + 1, across = (call->n - 1) / p.largest.n + 1;
    duo_team_run(piece, &p, down * across, its_own ? 1 : call->threads);
    return DUO_OK;
}
