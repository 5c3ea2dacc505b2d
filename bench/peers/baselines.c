/* baselines.c - see baselines.h */
#define _GNU_SOURCE
#include "bench/peers/baselines.h"

#include <dlfcn.h>
#include <string.h>

#include "gpu/backend/devices.h"

/* ---- OpenBLAS ---- */

enum { CBLAS_COL_MAJOR = 102, CBLAS_NO_TRANS = 111, CBLAS_TRANS = 112 };

static int cblas_op(bool transposed) { return transposed ? CBLAS_TRANS : CBLAS_NO_TRANS; }

static void *cblas_function(const duo_peer_blas *blas, duo_operation operation)
{
    static const char *const names[DUO_OPERATIONS] = {
        [DUO_SGEMM] = "cblas_sgemm",
        [DUO_SASUM] = "cblas_sasum",
        [DUO_SSUM] = "cblas_ssum",
        [DUO_SDOT] = "cblas_sdot",
    };
    return blas == NULL ? NULL : dlsym(blas->handle, names[operation]);
}

duo_cblas_sum duo_baseline_cblas_sum(duo_operation operation)
{
    duo_cblas_sum function = NULL;
    void *const address = cblas_function(duo_peer_blas_get(), operation);
    memcpy(&function, &address, sizeof function);
    return function;
}

duo_cblas_dot duo_baseline_cblas_dot(void)
{
    duo_cblas_dot function = NULL;
    void *const address = cblas_function(duo_peer_blas_get(), DUO_SDOT);
    memcpy(&function, &address, sizeof function);
    return function;
}

duo_cblas_gemm duo_baseline_cblas_gemm(void)
{
    duo_cblas_gemm function = NULL;
    void *const address = cblas_function(duo_peer_blas_get(), DUO_SGEMM);
    memcpy(&function, &address, sizeof function);
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
        gemm(CBLAS_COL_MAJOR, cblas_op(call->transa), cblas_op(call->transb), (int)call->m,
             (int)call->n, (int)call->k, call->alpha, o[DUO_A].address, (int)o[DUO_A].ld,
             o[DUO_B].address, (int)o[DUO_B].ld, call->beta, o[DUO_C].address, (int)o[DUO_C].ld);
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
    duo_peer_blas *const blas = duo_peer_blas_get();
    const int before = duo_peer_blas_begin(blas, self->threads);
    (void)call_cblas(self, call);
    duo_peer_blas_end(blas, before);
    return true;
}

bool duo_baseline_cblas(duo_implementation *peer, const duo_peer_blas *blas,
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
                                 .function = cblas_function(blas, operation),
                                 .call = call_cblas};
    return peer->function != NULL;
}

bool duo_baseline_openblas(duo_implementation *peer, duo_operation operation, int threads,
                           const duo_stock *stock)
{
    const bool there = duo_baseline_cblas(peer, duo_peer_blas_get(), operation, stock);
    peer->threads = threads;
    peer->call = call_openblas;
    return there;
}

/* ---- cuBLAS ---- */

enum {
    CUBLAS_OP_N = 0,
    CUBLAS_OP_T = 1,
    CUBLAS_POINTERS_ON_HOST = 0,
    CUBLAS_POINTERS_ON_DEVICE = 1,
    CUBLAS_TF32_TENSOR_OP_MATH = 3
};

static struct {
    void *library, *handle;
    int (*sgemm)(void *handle, int transa, int transb, int m, int n, int k, const float *alpha,
                 const float *a, int lda, const float *b, int ldb, const float *beta, float *c,
                 int ldc);
    int (*sasum)(void *handle, int n, const float *x, int incx, float *result);
    int (*sdot)(void *handle, int n, const float *x, int incx, const float *y, int incy,
                float *result);
    int (*set_pointer_mode)(void *handle, int mode);
    duo_queue *queue;
    bool tf32;
} cublas;

static bool find(void *function, const char *name)
{
    void *const address = dlsym(cublas.library, name);
    memcpy(function, &address, sizeof address);
    return address != NULL;
}

const char *duo_baseline_cublas_open(duo_queue *queue, bool tf32)
{
    static const char *const names[] = {
        "libcublas.so.13",
        "libcublas.so.12",
        "/usr/local/cuda/lib64/libcublas.so.13",
        "/usr/local/cuda/lib64/libcublas.so.12",
        "libcublas.so",
    };
    int (*create)(void **handle), (*set_stream)(void *handle, void *stream);
    int (*set_math_mode)(void *handle, int mode);
    for (size_t i = 0; i < sizeof names / sizeof names[0] && cublas.library == NULL; i++)
        cublas.library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (cublas.library == NULL) return "libcublas.so.13 or .12 was not found";
    if (!find(&create, "cublasCreate_v2") || !find(&set_stream, "cublasSetStream_v2") ||
        !find(&cublas.sgemm, "cublasSgemm_v2") || !find(&cublas.sasum, "cublasSasum_v2") ||
        !find(&cublas.sdot, "cublasSdot_v2") ||
        !find(&cublas.set_pointer_mode, "cublasSetPointerMode_v2") ||
        !find(&set_math_mode, "cublasSetMathMode"))
        return "its library lacks functions";
    void *const stream = duo_backend_current()->stream(queue);
    if (stream == NULL) return "this device has no CUDA stream";
    if (create(&cublas.handle) != 0) return "it cannot start on this device";
    if (set_stream(cublas.handle, stream) != 0) return "it refuses our stream";
    if (tf32 && set_math_mode(cublas.handle, CUBLAS_TF32_TENSOR_OP_MATH) != 0)
        return "it refuses TF32";
    cublas.tf32 = tf32;
    cublas.queue = queue;
    return NULL;
}

static bool call_cublas(const duo_implementation *self, const duo_call *call)
{
    const duo_operand *const o = call->operand;
    float *const result = self->result != NULL ? self->result : o[DUO_RESULT].address;
    switch (call->operation) {
    case DUO_SGEMM:
        return cublas.sgemm(cublas.handle, call->transa ? CUBLAS_OP_T : CUBLAS_OP_N,
                            call->transb ? CUBLAS_OP_T : CUBLAS_OP_N, (int)call->m, (int)call->n,
                            (int)call->k, &call->alpha, o[DUO_A].address, (int)o[DUO_A].ld,
                            o[DUO_B].address, (int)o[DUO_B].ld, &call->beta, o[DUO_C].address,
                            (int)o[DUO_C].ld) == 0;
    case DUO_SDOT:
        return cublas.sdot(cublas.handle, (int)call->n, o[DUO_X].address, 1, o[DUO_Y].address, 1,
                           result) == 0;
    default:
        return cublas.sasum(cublas.handle, (int)call->n, o[DUO_X].address, 1, result) == 0;
    }
}

static bool finish_cublas(const duo_implementation *self)
{
    (void)self;
    return duo_backend_current()->finish(cublas.queue) == DUO_OK;
}

bool duo_baseline_cublas(duo_implementation *peer, duo_operation operation, const duo_stock *stock,
                         bool wait_each)
{
    static const char *const names[DUO_OPERATIONS] = {
        [DUO_SGEMM] = "cuBLAS Sgemm",
        [DUO_SASUM] = "cuBLAS Sasum",
        [DUO_SSUM] = "cuBLAS Sasum",
        [DUO_SDOT] = "cuBLAS Sdot",
    };
    if (cublas.queue == NULL) return false;
    const bool tf32 = operation == DUO_SGEMM && cublas.tf32;
    *peer = (duo_implementation){.name = tf32 ? "cuBLAS Sgemm TF32" : names[operation],
                                 .side = DUO_SIDE_GPU,
                                 .peer = true,
                                 .stock = stock,
                                 .wait_each = wait_each,
                                 .other_operation = operation == DUO_SSUM,
                                 .queue = cublas.queue,
                                 .call = call_cublas,
                                 .finish = finish_cublas};
    return cublas.set_pointer_mode(cublas.handle, operation == DUO_SGEMM
                                                      ? CUBLAS_POINTERS_ON_HOST
                                                      : CUBLAS_POINTERS_ON_DEVICE) == 0;
}

bool duo_baseline_cublas_to_host(duo_implementation *peer, duo_operation operation,
                                 const duo_stock *stock)
{
    static float result;
    if (!duo_baseline_cublas(peer, operation, stock, true)) return false;
    if (operation == DUO_SGEMM) return true;
    peer->result = &result;
    peer->wait_each = false;
    return cublas.set_pointer_mode(cublas.handle, CUBLAS_POINTERS_ON_HOST) == 0;
}

double duo_baseline_settle_seconds(void) { return duo_peer_blas_get() != NULL ? 0.06 : 0.0; }
