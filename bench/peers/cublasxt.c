/* cublasxt.c - see cublas.h */
#define _GNU_SOURCE

#include <dlfcn.h>
#include <string.h>

#include "bench/peers/cublas.h"
#include "gpu/backend/backend.h"

static struct {
    void *handle; /* NULL: not open */
    int (*set_block)(void *handle, int block);
    int (*sgemm)(void *handle, int transa, int transb, size_t m, size_t n, size_t k,
                 const float *alpha, const float *a, size_t lda, const float *b, size_t ldb,
                 const float *beta, float *c, size_t ldc);
} xt;

static bool find(void *library, void *function, const char *name)
{
    void *const address = dlsym(library, name);
    memcpy(function, &address, sizeof address);
    return address != NULL;
}

const char *duo_peer_cublasxt_open(int devices)
{
    int (*create)(void **handle), (*select)(void *handle, int count, int *device);
    int device[DUO_MOST_DEVICES];
    void *const library = duo_peer_cublas_library(), *handle = NULL;
    if (library == NULL) return duo_peer_cublas_missing;
    if (!find(library, &create, "cublasXtCreate") ||
        !find(library, &select, "cublasXtDeviceSelect") ||
        !find(library, &xt.set_block, "cublasXtSetBlockDim") ||
        !find(library, &xt.sgemm, "cublasXtSgemm"))
        return "cuBLAS's library lacks functions of it";
    for (int i = 0; i < DUO_MOST_DEVICES; i++) device[i] = i;
    if (create(&handle) != 0) return "it cannot start";
    if (select(handle, devices, device) != 0) return "it refuses these devices";
    xt.handle = handle;
    return NULL;
}

static bool call_cublasxt(const duo_implementation *self, const duo_call *call)
{
    const duo_operand *const o = call->operand;
    return xt.set_block(xt.handle, self->variant) == 0 &&
           xt.sgemm(xt.handle, call->transa, call->transb, (size_t)call->m, (size_t)call->n,
                    (size_t)call->k, &call->alpha, o[DUO_A].address, (size_t)o[DUO_A].ld,
                    o[DUO_B].address, (size_t)o[DUO_B].ld, &call->beta, o[DUO_C].address,
                    (size_t)o[DUO_C].ld) == 0;
}

bool duo_peer_cublasxt(duo_implementation *peer, int block)
{
    if (xt.handle == NULL) return false;
    *peer = (duo_implementation){.name = "cuBLASXt",
                                 .side = DUO_SIDE_GPU,
                                 .peer = true,
                                 .variant = block, /* its layouts are numbered as cuBLAS's: 0, 1 */
                                 .call = call_cublasxt};
    return true;
}
