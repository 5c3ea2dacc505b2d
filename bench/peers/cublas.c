/* cublas.c - see cublas.h */
#define _GNU_SOURCE
#include "bench/peers/cublas.h"

#include <dlfcn.h>
#include <string.h>

#include "gpu/backend/backend.h"
#include "gpu/backend/devices.h"

enum {
    CUBLAS_OP_N = 0,
    CUBLAS_OP_T = 1,
    CUBLAS_POINTERS_ON_HOST = 0,
    CUBLAS_POINTERS_ON_DEVICE = 1,
    CUBLAS_DEFAULT_MATH = 0,
    CUBLAS_TF32_TENSOR_OP_MATH = 3
};

typedef int cublas_sgemm(void *handle, int transa, int transb, int m, int n, int k,
                         const float *alpha, const float *a, int lda, const float *b, int ldb,
                         const float *beta, float *c, int ldc);

static struct {
    void *libcublas, *handle;
    cublas_sgemm *sgemm;
    int (*sasum)(void *handle, int n, const float *x, int incx, float *result);
    int (*sdot)(void *handle, int n, const float *x, int incx, const float *y, int incy,
                float *result);
    int (*strided)(void *handle, int transa, int transb, int m, int n, int k, const float *alpha,
                   const float *a, int lda, long long stride_a, const float *b, int ldb,
                   long long stride_b, const float *beta, float *c, int ldc, long long stride_c,
                   int count);
    int (*lists)(void *handle, int transa, int transb, int m, int n, int k, const float *alpha,
                 float *const a[], int lda, float *const b[], int ldb, const float *beta,
                 float *const c[], int ldc, int count);
    int (*grouped)(void *handle, const int transa[], const int transb[], const int64_t m[],
                   const int64_t n[], const int64_t k[], const float alpha[], float *const a[],
                   const int64_t lda[], float *const b[], const int64_t ldb[], const float beta[],
                   float *const c[], const int64_t ldc[], int64_t groups, const int64_t size[]);
    int (*set_pointer_mode)(void *handle, int mode);
    int (*set_math_mode)(void *handle, int mode);
    duo_queue *queue;
    bool tf32; /* asked for when it was opened */
    int math;  /* the handle's */
} cublas;

static bool find(void *function, const char *name)
{
    void *const address = dlsym(cublas.libcublas, name);
    memcpy(function, &address, sizeof address);
    return address != NULL;
}

static const char missing[] = "libcublas.so.13 or .12 was not found";

/* The library, opened by the first call; NULL: there is none. */
static void *open_library(void)
{
    static const char *const names[] = {
        "libcublas.so.13",
        "libcublas.so.12",
        "/usr/local/cuda/lib64/libcublas.so.13",
        "/usr/local/cuda/lib64/libcublas.so.12",
        "libcublas.so",
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0] && cublas.libcublas == NULL; i++)
        cublas.libcublas = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    return cublas.libcublas;
}

const char *duo_peer_cublas_open(duo_queue *queue, bool tf32)
{
    int (*create)(void **handle), (*set_stream)(void *handle, void *stream);
    if (open_library() == NULL) return missing;
    (void)find(&cublas.strided, "cublasSgemmStridedBatched");
    (void)find(&cublas.lists, "cublasSgemmBatched");
    (void)find(&cublas.grouped, "cublasSgemmGroupedBatched_64");
    if (!find(&create, "cublasCreate_v2") || !find(&set_stream, "cublasSetStream_v2") ||
        !find(&cublas.sgemm, "cublasSgemm_v2") || !find(&cublas.sasum, "cublasSasum_v2") ||
        !find(&cublas.sdot, "cublasSdot_v2") ||
        !find(&cublas.set_pointer_mode, "cublasSetPointerMode_v2") ||
        !find(&cublas.set_math_mode, "cublasSetMathMode"))
        return "its library lacks functions";
    void *const stream = duo_backend_current()->stream(queue);
    if (stream == NULL) return "this device has no CUDA stream";
    if (create(&cublas.handle) != 0) return "it cannot start on this device";
    if (set_stream(cublas.handle, stream) != 0) return "it refuses our stream";
    cublas.tf32 = tf32;
    cublas.queue = queue;
    return NULL;
}

/* A product in the implementation's math mode, by its function or else by cuBLAS's. */
static bool multiply(const duo_implementation *self, const duo_call *call)
{
    const duo_operand *const o = call->operand;
    cublas_sgemm *sgemm = cublas.sgemm;
    if (self->function != NULL) memcpy(&sgemm, &self->function, sizeof sgemm);
    if (cublas.math != self->variant && cublas.set_math_mode(cublas.handle, self->variant) != 0)
        return false;
    cublas.math = self->variant;
    return sgemm(cublas.handle, call->transa ? CUBLAS_OP_T : CUBLAS_OP_N,
                 call->transb ? CUBLAS_OP_T : CUBLAS_OP_N, (int)call->m, (int)call->n, (int)call->k,
                 &call->alpha, o[DUO_A].address, (int)o[DUO_A].ld, o[DUO_B].address,
                 (int)o[DUO_B].ld, &call->beta, o[DUO_C].address, (int)o[DUO_C].ld) == 0;
}

static bool call_cublas(const duo_implementation *self, const duo_call *call)
{
    const duo_operand *const o = call->operand;
    float *const result = self->result != NULL ? self->result : o[DUO_RESULT].address;
    switch (call->operation) {
    case DUO_SGEMM:
        return multiply(self, call);
    case DUO_SDOT:
        return cublas.sdot(cublas.handle, (int)call->n, o[DUO_X].address, 1, o[DUO_Y].address, 1,
                           result) == 0;
    default:
        return cublas.sasum(cublas.handle, (int)call->n, o[DUO_X].address, 1, result) == 0;
    }
}

bool duo_peer_cublas(duo_implementation *peer, duo_operation operation, const duo_stock *stock,
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
                                 .variant = tf32 ? CUBLAS_TF32_TENSOR_OP_MATH : CUBLAS_DEFAULT_MATH,
                                 .call = call_cublas,
                                 .finish = duo_implementation_finish_queue};
    return cublas.set_pointer_mode(cublas.handle, operation == DUO_SGEMM
                                                      ? CUBLAS_POINTERS_ON_HOST
                                                      : CUBLAS_POINTERS_ON_DEVICE) == 0;
}

bool duo_peer_cublas_to_host(duo_implementation *peer, duo_operation operation,
                             const duo_stock *stock)
{
    static float result;
    if (!duo_peer_cublas(peer, operation, stock, true)) return false;
    if (operation == DUO_SGEMM) return true;
    peer->result = &result;
    peer->wait_each = false;
    return cublas.set_pointer_mode(cublas.handle, CUBLAS_POINTERS_ON_HOST) == 0;
}

bool duo_peer_cublas_tf32(duo_implementation *peer, const duo_stock *stock)
{
    if (!duo_peer_cublas(peer, DUO_SGEMM, stock, false)) return false;
    peer->name = "cuBLAS Sgemm TF32";
    peer->variant = CUBLAS_TF32_TENSOR_OP_MATH;
    return true;
}

/* ---- Batches ---- */

bool duo_peer_cublas_batch(const duo_call *call, const duo_batch *batch)
{
    const duo_operand *const o = call->operand;
    const int transa = call->transa ? CUBLAS_OP_T : CUBLAS_OP_N;
    const int transb = call->transb ? CUBLAS_OP_T : CUBLAS_OP_N;
    const int m = (int)call->m, n = (int)call->n, k = (int)call->k, count = (int)batch->count;
    const bool strides = batch->pointer[DUO_A] == NULL;
    if (cublas.queue == NULL || cublas.strided == NULL || cublas.lists == NULL) return false;
    if (cublas.set_pointer_mode(cublas.handle, CUBLAS_POINTERS_ON_HOST) != 0) return false;
    if (strides)
        return cublas.strided(cublas.handle, transa, transb, m, n, k, &call->alpha,
                              o[DUO_A].address, (int)o[DUO_A].ld, batch->stride[DUO_A],
                              o[DUO_B].address, (int)o[DUO_B].ld, batch->stride[DUO_B], &call->beta,
                              o[DUO_C].address, (int)o[DUO_C].ld, batch->stride[DUO_C], count) == 0;
    return cublas.lists(cublas.handle, transa, transb, m, n, k, &call->alpha, batch->pointer[DUO_A],
                        (int)o[DUO_A].ld, batch->pointer[DUO_B], (int)o[DUO_B].ld, &call->beta,
                        batch->pointer[DUO_C], (int)o[DUO_C].ld, count) == 0;
}

bool duo_peer_cublas_has_groups(void) { return cublas.grouped != NULL; }

bool duo_peer_cublas_grouped(int64_t groups, const int64_t m[], const int64_t n[],
                             const int64_t k[], const float alpha[], const float beta[],
                             float *const *const list[DUO_OPERANDS], const int64_t size[])
{
    enum { MOST = 64 };
    static const int plain[MOST] = {CUBLAS_OP_N};
    if (cublas.queue == NULL || cublas.grouped == NULL || groups > MOST) return false;
    return cublas.set_pointer_mode(cublas.handle, CUBLAS_POINTERS_ON_HOST) == 0 &&
           cublas.grouped(cublas.handle, plain, plain, m, n, k, alpha, list[DUO_A], m, list[DUO_B],
                          k, beta, list[DUO_C], m, groups, size) == 0;
}

bool duo_peer_cublas_finish(void)
{
    return cublas.queue != NULL && duo_queue_finish(cublas.queue) == DUO_OK;
}

/* ---- cuBLASXt ---- */

static struct {
    void *handle; /* NULL: not open */
    int (*set_block)(void *handle, int block);
    int (*sgemm)(void *handle, int transa, int transb, size_t m, size_t n, size_t k,
                 const float *alpha, const float *a, size_t lda, const float *b, size_t ldb,
                 const float *beta, float *c, size_t ldc);
} xt;

const char *duo_peer_cublasxt_open(int devices)
{
    int (*create)(void **handle), (*select)(void *handle, int count, int *device);
    int device[DUO_MOST_DEVICES];
    void *handle = NULL;
    if (open_library() == NULL) return missing;
    if (!find(&create, "cublasXtCreate") || !find(&select, "cublasXtDeviceSelect") ||
        !find(&xt.set_block, "cublasXtSetBlockDim") || !find(&xt.sgemm, "cublasXtSgemm"))
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
                                 .variant = block, /* rows; cuBLAS's N and T are 0 and 1 */
                                 .call = call_cublasxt};
    return true;
}
