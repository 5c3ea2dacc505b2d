/* sgemm_cpu_openblas.c - sgemm by the inner BLAS: its Fortran symbol, in LP64 pieces, with our
 * threads. */
#include <float.h>
#include <omp.h>

#include "../fault.h"
#include "../row.h"
#include "blas_library.h"

enum { PIECE = 1 << 30 }; /* largest size passed as a 32-bit integer */

/* A library whose sgemm_ is a switch may lead back to the drop-in, and so to here. */
static __thread bool inside;

static int smaller(int64_t a, int64_t b) { return (int)(a < b ? a : b); }

int duo_sgemm_cpu_openblas(const duo_call *call)
{
    const duo_blas_library *const library = duo_blas_library_get();
    if (library == NULL) return DUO_DECLINED;
    if (inside) {
        duo_blas_library_abandon("its sgemm_ leads back to DuoBLAS");
        return DUO_DECLINED;
    }
    const duo_operand *const a = &call->operand[DUO_A], *const b = &call->operand[DUO_B],
                             *const c = &call->operand[DUO_C];
    if (a->ld > DUO_BLAS_LARGEST_LD || b->ld > DUO_BLAS_LARGEST_LD || c->ld > DUO_BLAS_LARGEST_LD)
        return DUO_DECLINED;
    const char transa = call->transa ? 'T' : 'N', transb = call->transb ? 'T' : 'N';
    const int lda = (int)a->ld, ldb = (int)b->ld, ldc = (int)c->ld;
    const int64_t a_row = call->transa ? a->ld : 1, a_column = call->transa ? 1 : a->ld;
    const int64_t b_row = call->transb ? b->ld : 1, b_column = call->transb ? 1 : b->ld;
    /* Where A and B are not read they may be NULL: no arithmetic on them, and none with alpha,
     * which OpenBLAS multiplies by the empty sum: a NaN would reach C. */
    const int64_t k_all = a->read ? call->k : 0;
    const float alpha = a->read || DUO_FAULT(alpha_unread) ? call->alpha : 0.0f;

    const int threads_before = library->follows_openmp ? omp_get_max_threads() : 0;
    if (library->follows_openmp && threads_before != call->threads)
        omp_set_num_threads(call->threads);
    if (library->set_threads != NULL) library->set_threads(call->threads);
    inside = true;
    for (int64_t j = 0; j < call->n; j += PIECE)
        for (int64_t i = 0; i < call->m; i += PIECE) {
            int64_t p = 0;
            do {
                const int m = smaller(call->m - i, PIECE), n = smaller(call->n - j, PIECE),
                          k = smaller(k_all - p, PIECE);
                float beta = p == 0 ? call->beta : 1.0f;
                if (DUO_FAULT(m1) && beta == 0.0f) beta = FLT_MIN;
                const float *const a_here =
                    k > 0 ? a->address + i * a_row + p * a_column : a->address;
                const float *const b_here =
                    k > 0 ? b->address + p * b_row + j * b_column : b->address;
                library->sgemm(&transa, &transb, &m, &n, &k, &alpha, a_here, &lda, b_here, &ldb,
                               &beta, c->address + i + j * c->ld, &ldc, 1, 1);
                p += PIECE;
            } while (p < k_all);
        }
    inside = false;
    if (DUO_FAULT(m12) && call->m >= 16) c->address[call->m - 1] *= 1.001f;
    if (DUO_FAULT(m20) && c->ld > call->m) c->address[call->m] = 0.0f;
    if (library->follows_openmp && threads_before != call->threads && !DUO_FAULT(threads_kept))
        omp_set_num_threads(threads_before);
    return DUO_OK;
}
