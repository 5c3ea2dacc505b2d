/* openblas.c - see openblas.h */
#include "bench/peers/openblas.h"

#include <string.h>

#include "cpu/blas_library.h"

void *duo_peer_cblas_function(const duo_blas_instance *blas, const char *name)
{
    void *address = NULL;
    if (blas != NULL && !blas->wide) (void)duo_blas_function(blas->handle, name, &address);
    return address;
}

static void *function_of(const duo_blas_instance *blas, duo_operation operation)
{
    static const char *const names[DUO_OPERATIONS] = {
        [DUO_SGEMM] = "cblas_sgemm",
        [DUO_SASUM] = "cblas_sasum",
        [DUO_SSUM] = "cblas_ssum",
        [DUO_SDOT] = "cblas_sdot",
    };
    return duo_peer_cblas_function(blas, names[operation]);
}

/* Stores the instance's function in the function pointer that `function` points to. */
static void find(duo_operation operation, void *function)
{
    void *const address = function_of(duo_blas_instance_get(), operation);
    memcpy(function, &address, sizeof address);
}

duo_cblas_sum duo_peer_cblas_sum(duo_operation operation)
{
    duo_cblas_sum function;
    find(operation, &function);
    return function;
}

duo_cblas_dot duo_peer_cblas_dot(void)
{
    duo_cblas_dot function;
    find(DUO_SDOT, &function);
    return function;
}

duo_cblas_gemm duo_peer_cblas_gemm(void)
{
    duo_cblas_gemm function;
    find(DUO_SGEMM, &function);
    return function;
}

static bool call_cblas(const duo_implementation *self, const duo_call *call)
{
    const duo_operand *const o = call->operand;
    duo_cblas_gemm gemm;
    duo_cblas_sum sum;
    duo_cblas_dot dot;
    switch (call->operation) {
    case DUO_SGEMM:
        memcpy(&gemm, &self->function, sizeof gemm);
        gemm(DUO_COL_MAJOR, duo_transpose_if(call->transa), duo_transpose_if(call->transb),
             (int)call->m, (int)call->n, (int)call->k, call->alpha, o[DUO_A].address,
             (int)o[DUO_A].ld, o[DUO_B].address, (int)o[DUO_B].ld, call->beta, o[DUO_C].address,
             (int)o[DUO_C].ld);
        break;
    case DUO_SDOT:
        memcpy(&dot, &self->function, sizeof dot);
        *o[DUO_RESULT].address = dot((int)call->n, o[DUO_X].address, 1, o[DUO_Y].address, 1);
        break;
    default:
        memcpy(&sum, &self->function, sizeof sum);
        *o[DUO_RESULT].address = sum((int)call->n, o[DUO_X].address, 1);
    }
    return true;
}

static bool call_openblas(const duo_implementation *self, const duo_call *call)
{
    duo_blas_instance *const blas = duo_blas_instance_get();
    const int before = duo_blas_instance_begin(blas, self->threads);
    (void)call_cblas(self, call);
    duo_blas_instance_end(blas, before);
    return true;
}

bool duo_peer_cblas(duo_implementation *peer, const duo_blas_instance *blas,
                    duo_operation operation, const duo_stock *stock)
{
    static const char *const names[DUO_OPERATIONS] = {
        [DUO_SGEMM] = "OpenBLAS sgemm",
        [DUO_SASUM] = "OpenBLAS sasum",
        [DUO_SSUM] = "OpenBLAS ssum",
        [DUO_SDOT] = "OpenBLAS sdot",
    };
    *peer = (duo_implementation){.name = names[operation],
                                 .side = DUO_SIDE_CPU,
                                 .peer = true,
                                 .stock = stock,
                                 .function = function_of(blas, operation),
                                 .call = call_cblas};
    return peer->function != NULL;
}

bool duo_peer_openblas(duo_implementation *peer, duo_operation operation, int threads,
                       const duo_stock *stock)
{
    const bool there = duo_peer_cblas(peer, duo_blas_instance_get(), operation, stock);
    peer->threads = threads;
    peer->call = call_openblas;
    return there;
}

double duo_peer_settle_seconds(void)
{
    const duo_blas_instance *const blas = duo_blas_instance_get();
    return blas == NULL ? 0.0 : strcmp(blas->brand, "MKL") == 0 ? 0.22 : 0.06;
}
