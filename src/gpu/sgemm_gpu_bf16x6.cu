/*
 * sgemm_gpu_bf16x6.cu - fp32-accurate products from six bf16 products (Hopper).
 *
 * Accepts   compute capability 9.0; k >= 64, below which memory decides
 * Order     see sgemm_wgmma.cuh; blocks of C whose operands have Inf, NaN or magnitudes further
 *           apart than bf16x6 holds together, by an fp32 FMA chain
 */
#include "sgemm_fallback.cuh"
#include "sgemm_tensor.cuh"

cudaError_t duo_queue_fallback(const panel &p, const duo_launch *how)
{
    return queue_dependent(sgemm_fallback, (unsigned)how->multiprocessors, kExactThreads, 0, how,
                           p.fallback);
}

cudaError_t duo_queue_behind_fp16x3(const panel &p, const duo_launch *how)
{
    tensor_problem rest = p.multiply;
    rest.ways = 1u << DUO_WAY_BF16X6;
    rest.pending = nullptr;
    rest.when = p.multiply.pending;
    const cudaError_t error = duo_queue_fallback(p, how);
    return error == cudaSuccess ? queue_tiles<bf16x6>(p, rest, how) : error;
}

static cudaError_t queue_kernels(const panel &p, const duo_launch *how)
{
    tensor_problem first = p.multiply;
    first.ways = bf16x6::kWays;
    cudaError_t error = queue_split<bf16x6>(p, how);
    if (error == cudaSuccess) error = queue_tiles<bf16x6>(p, first, how);
    if (error != cudaSuccess) return error;
    return (cudaError_t)after_c_changed(duo_queue_fallback(p, how));
}

static cudaError_t load()
{
    const cudaError_t error = load_scheme<bf16x6>();
    return error == cudaSuccess ? (cudaError_t)load_kernel(sgemm_fallback) : error;
}

extern "C" size_t duo_sgemm_gpu_bf16x6_workspace(const duo_call *call, const duo_launch *how)
{
    return panel_bytes(call->m, call->n, call->k, how);
}

extern "C" int duo_sgemm_gpu_bf16x6(const duo_call *call, const duo_launch *how)
{
    if (!has_wgmma(how)) return cudaErrorNotSupported;
    return (int)queue_product(call, how, queue_kernels);
}

extern "C" int duo_sgemm_gpu_bf16x6_load(void) { return (int)load(); }
