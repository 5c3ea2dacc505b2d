/*
 * sgemm_cpu_openblas.c - sgemm by another library: its Fortran symbol, once for the product.
 *
 * Accepts   sizes and leading dimensions that the library can take (blas_library.h), if it computes
 *           with no more threads than the call may use
 * Library   the program's, if it is set and was measured (call/policy.h); else the inner BLAS
 * Threads   the library's own
 * Order     the library's; it may depend on its threads
 */
#include "cpu/blas_library.h"
#include "cpu/kernels.h"

/* Is this thread inside the library? A sgemm_ that forwards to a BLAS chosen at run time may lead
 * back to the drop-in, and so to here. */
static __thread bool inside;

static void multiply(const duo_call *call, duo_fortran_sgemm sgemm)
{
    const duo_operand *const a = &call->operand[DUO_A], *const b = &call->operand[DUO_B],
                             *const c = &call->operand[DUO_C];
    inside = true;
    sgemm(call->transa ? "T" : "N", call->transb ? "T" : "N", &call->m, &call->n, &call->k,
          &call->alpha, a->address, &a->ld, b->address, &b->ld, &call->beta, c->address, &c->ld, 1,
          1);
    inside = false;
}

duo_outcome duo_sgemm_cpu_openblas(const duo_call *call)
{
    if (!call->operand[DUO_A].read) return duo_sgemm_scale(call);
    const duo_blas_library *const library =
        call->program != NULL ? call->program : duo_blas_library_get();
    if (library == NULL || !duo_blas_library_takes(call)) return DUO_DECLINED;
    if (inside) {
        if (call->program == NULL) duo_blas_library_abandon("its sgemm_ leads back to DuoBLAS");
        return DUO_DECLINED;
    }
    if (duo_blas_library_threads(library) > call->threads) return DUO_DECLINED;
    multiply(call, library->sgemm);
    return DUO_OK;
}
