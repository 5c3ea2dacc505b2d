/*
 * sgemm_gpu_mma.cu - products as accurate as fp32's, from three products of fp16 planes, on the
 * tensor cores of any architecture.
 *
 * Accepts   compute capability 7.5 and higher; k >= 64, where the error bound begins to hold
 *           (docs/numerics.md): not to be lowered for speed
 * Order     split/mma/product.cuh. Blocks of C that the guard refuses to fp16x3: by bf16x6; blocks
 *           that it refuses to bf16x6, too: by fp32 FMA. Turing has no bf16: there all refused
 *           blocks by fp32 FMA
 */
#include "gpu/split/mma/refused_blocks.cuh"
#include "gpu/split/mma/product.cuh"
#include "gpu/split/panels.cuh"

constexpr int kLeastCapability = 75, kLeastBf16 = 80;

/* True also on a later device that runs code compiled for Turing. */
static bool bf16_absent; /* read and set by the __atomic functions */

template <class Scheme>
static cudaError_t queue_mma(mma_problem p, const duo_launch *how)
{
    const int64_t tiles_i = tiles_of(p.m), tiles_j = tiles_of(p.n);
    if (tiles_i * tiles_j > INT32_MAX) return cudaErrorInvalidValue;
    p.tiles_i = (int)tiles_i;
    p.tiles_j = (int)tiles_j;
    return queue_kernel_behind(sgemm_mma<Scheme>, (unsigned)(tiles_i * tiles_j), kMmaThreads,
                               mma_stage<Scheme>::kSharedBytes, how, p);
}

static cudaError_t queue_kernels(const panel &p, const duo_launch *how)
{
    const bool bf16 =
        how->capability >= kLeastBf16 && !__atomic_load_n(&bf16_absent, __ATOMIC_RELAXED);
    const mma_problem first = {p.multiply, fp16x3::kWays, p.pending, nullptr};
    const mma_problem rest = {p.multiply, kPendingBf16, nullptr, p.pending};
    const refused_problem fallback = {
        p.multiply, p.split, bf16 ? kPendingExact : kPendingExact | kPendingBf16, p.pending};
    cudaError_t error = duo_queue_split_fp16x3(p, how);
    if (error == cudaSuccess) error = queue_mma<fp16x3>(first, how);
    if (error != cudaSuccess) return error;
    error = queue_kernel_behind(sgemm_refused, (unsigned)how->multiprocessors, kExactThreads, 0,
                                how, fallback);
    if (error == cudaSuccess && bf16) error = queue_mma<bf16x6>(rest, how);
    return after_c_changed(error);
}

static cudaError_t load()
{
    cudaError_t error = duo_sgemm_gpu_fp16x3.load(); /* both use its kernels */
    if (error == cudaSuccess) error = load_kernel(sgemm_mma<fp16x3>);
    if (error == cudaSuccess) error = load_kernel(sgemm_refused);
    cudaFuncAttributes found = {};
    if (error == cudaSuccess) error = cudaFuncGetAttributes(&found, sgemm_mma<bf16x6>);
    if (error == cudaSuccess && found.ptxVersion < kLeastBf16)
        __atomic_store_n(&bf16_absent, true, __ATOMIC_RELAXED);
    return error;
}

static size_t workspace(const duo_call *call, const duo_launch *how)
{
    return panel_bytes(call, call->m, call->n, bf16x6::kPlanes, how);
}

static cudaError_t launch(const duo_call *call, const duo_launch *how)
{
    if (how->capability < kLeastCapability) return cudaErrorNotSupported;
    return queue_product<bf16x6>(call, how, queue_kernels);
}

const duo_gpu_algorithm duo_sgemm_gpu_mma = {
    .launch = launch,
    .load = load,
    .workspace = workspace,
    .packed_bytes = nullptr,
    .pack = nullptr,
};
