/*
 * sgemm_gpu_bf16x6.cu - fp32-accurate products from six bf16 products (Hopper).
 *
 * Accepts   compute capability 9.0; k >= 64, below which memory decides
 * Order     see sgemm_wgmma.cuh; blocks of C whose operands have Inf, NaN or magnitudes further
 *           apart than bf16x6 holds together, by an fp32 FMA chain
 */
#include "sgemm_tensor.cuh"

static cudaError_t queue_kernels(const panel &p, const duo_launch *how)
{
    const cudaError_t error = queue_split<bf16x6>(p, how);
    return error == cudaSuccess ? queue_tiles<bf16x6>(p, how) : error;
}

extern "C" size_t duo_sgemm_gpu_bf16x6_workspace(const duo_call *call, const duo_launch *how)
{
    return panel_bytes(call->m, call->n, call->k, bf16x6::kPlanes, how);
}

extern "C" int duo_sgemm_gpu_bf16x6(const duo_call *call, const duo_launch *how)
{
    if (!has_wgmma(how)) return cudaErrorNotSupported;
    return (int)queue_product(call, how, bf16x6::kPlanes, queue_kernels);
}

extern "C" int duo_sgemm_gpu_bf16x6_load(void) { return (int)load_scheme<bf16x6>(); }
