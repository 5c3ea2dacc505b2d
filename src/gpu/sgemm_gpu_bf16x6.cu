/*
 * sgemm_gpu_bf16x6.cu - fp32-accurate products from six bf16 products (Hopper).
 *
 * Accepts   compute capability 9.0; k >= 64, below which memory decides
 * Order     see sgemm_wgmma.cuh; blocks of C whose operands have Inf, NaN or magnitudes further
 *           apart than bf16x6 holds together, by an fp32 FMA chain
 */
#include "sgemm_fallback.cuh"
#include "sgemm_tensor.cuh"

static cudaError_t queue_fallback(const panel &p, const duo_launch *how)
{
    return queue_dependent(sgemm_fallback, (unsigned)how->multiprocessors, kExactThreads, 0,
                           how->stream, p.fallback);
}

cudaError_t duo_queue_behind_fp16x3(const panel &p, const duo_launch *how)
{
    wgmma_problem rest = p.multiply;
    rest.ways = 1u << DUO_WAY_BF16X6;
    rest.pending = nullptr;
    rest.when = p.multiply.pending;
    const cudaError_t error = queue_fallback(p, how);
    return error == cudaSuccess ? queue_tiles<bf16x6>(p.a, p.b, rest, how) : error;
}

cudaError_t duo_load_behind_fp16x3()
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
    return (int)queue_product<bf16x6>(call, how, queue_fallback, duo_load_behind_fp16x3);
}

extern "C" int duo_sgemm_gpu_bf16x6_load(void) { return (int)duo_load_behind_fp16x3(); }
