/*
 * sgemm_cpu_openblas.c - sgemm by the inner BLAS: its Fortran symbol, on tiles of C.
 *
 * Accepts   leading dimensions that the library can take (blas_library.h)
 * Library   the inner BLAS; or the program's own, if the drop-in has found a better one
 * Threads   the team's. Each piece is one call of the inner BLAS, which computes on the calling
 *           thread. The program's own BLAS gets one piece, and computes with its own threads
 * Order     only the shape decides how C is cut into tiles (sgemm_tiles.h), so the bits do not
 *           depend on the number of threads. With few threads neighbours are joined, if that
 *           changes no bits. If C is small, k is cut, too: the products of all parts but the first
 *           go to memory beside C, and are added to C in their order
 * Memory    (parts - 1) m n floats if k is cut, at most 200 KB; without them, k stays whole. If
 *           OpenMP's runtime would get no memory either, the plain loop multiplies
 */
#include "cpu/kernels.h"

#include <stdlib.h>

#include "cpu/blas_library.h"
#include "cpu/sgemm_tiles.h"
#include "host/team.h"

enum { PIECE = 1 << 30 }; /* largest size passed as a 32-bit integer */
enum { TINY = 512 };      /* largest size for duo_sgemm_cpu_openblas_tiny */

typedef struct product {
    const duo_call *call;
    const duo_blas_library *library; /* NULL: the program's own */
    duo_fortran_sgemm sgemm;
    duo_tiles tiles;
    float *beside; /* m x n floats for each part of k from the second on */
} product;

/* Is this thread inside the library? A sgemm_ that forwards to a BLAS chosen at run time may lead
 * back to the drop-in, and so to here. */
static __thread bool inside;

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/* multiply without the library, if memory is short. */
static void multiply_without(const duo_call *call, int64_t i0, int64_t j0, int64_t m, int64_t n,
                             int64_t first, int64_t k, float beta, float *to, int64_t ldc)
{
    duo_call part = *call;
    duo_operand *const a = &part.operand[DUO_A], *const b = &part.operand[DUO_B],
                       *const c = &part.operand[DUO_C];
    duo_call_set_sizes(&part, m, n, k);
    a->address += call->transa ? i0 * a->ld + first : i0 + first * a->ld;
    b->address += call->transb ? first * b->ld + j0 : first + j0 * b->ld;
    c->address = to;
    c->ld = ldc;
    part.beta = beta;
    part.threads = 1;
    (void)duo_sgemm_cpu_ffma(&part);
}

/* to := alpha op(A) op(B) + beta to, for the m x n elements from (i0, j0) of C on, and for the k
 * steps from `first` on. Sizes beyond the library's integers are split. */
static void multiply(const product *p, int64_t i0, int64_t j0, int64_t m, int64_t n, int64_t first,
                     int64_t k, float beta, float *to, int64_t ldc)
{
    const duo_call *const call = p->call;
    const duo_operand *const a = &call->operand[DUO_A], *const b = &call->operand[DUO_B];
    const char transa = call->transa ? 'T' : 'N', transb = call->transb ? 'T' : 'N';
    const int64_t a_row = call->transa ? a->ld : 1, a_column = call->transa ? 1 : a->ld;
    const int64_t b_row = call->transb ? b->ld : 1, b_column = call->transb ? 1 : b->ld;
    int before = 1;
    if (p->library != NULL && !duo_blas_enter(p->library, &before)) {
        multiply_without(call, i0, j0, m, n, first, k, beta, to, ldc);
        return;
    }
    for (int64_t j = 0; j < n; j += PIECE)
        for (int64_t i = 0; i < m; i += PIECE) {
            for (int64_t q = 0; q < k; q += PIECE) {
                const int64_t rows = smaller(m - i, PIECE), columns = smaller(n - j, PIECE),
                              steps = smaller(k - q, PIECE);
                const float scale = q == 0 ? beta : 1.0f;
                const float *const a_here = a->address + (i0 + i) * a_row + (first + q) * a_column;
                const float *const b_here = b->address + (first + q) * b_row + (j0 + j) * b_column;
                p->sgemm(&transa, &transb, &rows, &columns, &steps, &call->alpha, a_here, &a->ld,
                         b_here, &b->ld, &scale, to + i + j * ldc, &ldc, 1, 1);
            }
        }
    if (p->library != NULL) duo_blas_leave(p->library, before);
}

static void piece(void *job, int64_t number)
{
    const product *const p = job;
    const duo_call *const call = p->call;
    const duo_operand *const c = &call->operand[DUO_C];
    const duo_tiles *const t = &p->tiles;
    const int64_t part = number / (t->down * t->across), tile = number % (t->down * t->across);
    const int64_t i = tile % t->down * t->rows, j = tile / t->down * t->columns;
    const int64_t m = smaller(t->rows, call->m - i), n = smaller(t->columns, call->n - j);
    const int64_t first = part * t->steps, k = smaller(t->steps, call->k - first);
    inside = true;
    if (part == 0)
        multiply(p, i, j, m, n, first, k, call->beta, c->address + i + j * c->ld, c->ld);
    else
        multiply(p, i, j, m, n, first, k, 0.0f,
                 p->beside + ((part - 1) * call->n + j) * call->m + i, call->m);
    inside = false;
}

/* C := C + the parts beside it, one by one */
static void add_parts(const product *p)
{
    const duo_operand *const c = &p->call->operand[DUO_C];
    const int64_t m = p->call->m, n = p->call->n;
    for (int64_t part = 1; part < p->tiles.parts; part++)
        for (int64_t j = 0; j < n; j++)
            for (int64_t i = 0; i < m; i++)
                c->address[i + j * c->ld] += p->beside[((part - 1) * n + j) * m + i];
}

static void one_piece(const product *p)
{
    const duo_operand *const c = &p->call->operand[DUO_C];
    inside = true;
    multiply(p, 0, 0, p->call->m, p->call->n, 0, p->call->k, p->call->beta, c->address, c->ld);
    inside = false;
}

static void share(product *p)
{
    const int64_t area = p->call->m * p->call->n;
    if (p->tiles.parts > 1) {
        p->beside = malloc((size_t)(p->tiles.parts - 1) * (size_t)area * sizeof(float));
        if (p->beside == NULL) {
            p->tiles.parts = 1;
            p->tiles.steps = p->call->k;
        }
    }
    duo_team_run(piece, p, p->tiles.down * p->tiles.across * p->tiles.parts, p->call->threads);
    add_parts(p);
    free(p->beside);
}

bool duo_sgemm_cpu_openblas_tiny(bool transa, bool transb, int64_t m, int64_t n, int64_t k,
                                 float alpha, const float *a, int64_t lda, const float *b,
                                 int64_t ldb, float beta, float *c, int64_t ldc)
{
    const duo_blas_library *const library = duo_blas_library_get();
    if (library == NULL || inside || m * n * k >= DUO_SGEMM_ONE_TILE ||
        (lda | ldb | ldc) > DUO_BLAS_LARGEST_LD)
        return false;
    int before = 1;
    if (!duo_blas_enter(library, &before)) return false;
    inside = true;
    library->sgemm(transa ? "T" : "N", transb ? "T" : "N", &m, &n, &k, &alpha, a, &lda, b, &ldb,
                   &beta, c, &ldc, 1, 1);
    inside = false;
    duo_blas_leave(library, before);
    return true;
}

duo_outcome duo_sgemm_cpu_openblas(const duo_call *call)
{
    if (!call->operand[DUO_A].read) return duo_sgemm_scale(call);
    const duo_blas_library *const library = call->program == NULL ? duo_blas_library_get() : NULL;
    if (library == NULL && call->program == NULL) return DUO_DECLINED;
    if (inside) {
        if (library != NULL) duo_blas_library_abandon("its sgemm_ leads back to DuoBLAS");
        return DUO_DECLINED;
    }
    const duo_operand *const a = &call->operand[DUO_A], *const b = &call->operand[DUO_B],
                             *const c = &call->operand[DUO_C];
    if (a->ld > DUO_BLAS_LARGEST_LD || b->ld > DUO_BLAS_LARGEST_LD || c->ld > DUO_BLAS_LARGEST_LD)
        return DUO_DECLINED;
    if (library != NULL && call->m <= TINY && call->n <= TINY && call->k <= TINY &&
        duo_sgemm_cpu_openblas_tiny(call->transa, call->transb, call->m, call->n, call->k,
                                    call->alpha, a->address, a->ld, b->address, b->ld, call->beta,
                                    c->address, c->ld))
        return DUO_OK;
    product p = {.call = call,
                 .library = library,
                 .sgemm = library != NULL ? library->sgemm : call->program};
    const bool whole = library == NULL || library->threads == DUO_BLAS_ITS_OWN;
    p.tiles = whole ? duo_sgemm_one_tile(call->m, call->n, call->k)
                    : duo_sgemm_tiles(call->m, call->n, call->k);
    if (library != NULL && library->any_tile)
        p.tiles = duo_sgemm_larger_tiles(p.tiles, call->m, call->n, call->k, call->threads);
    if (p.tiles.down * p.tiles.across * p.tiles.parts == 1)
        one_piece(&p);
    else
        share(&p);
    return DUO_OK;
}
