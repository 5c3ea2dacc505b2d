/*
 * sgemm_gpu_fp16x1.cu - products of operands rounded to the 11 bits of TF32, as fp16 (Hopper).
 *
 * Accepts   compute capability 9.0; k >= 64, below which memory decides
 * Order     see sgemm_wgmma.cuh; blocks of C that the guard keeps from fp16x1 by bf16x6, and what
 *           that cannot hold either by an fp32 FMA chain
 */
#include "sgemm_tensor.cuh"

static cudaError_t queue_kernels(const panel &p, const duo_launch *how)
{
    const cudaError_t error = queue_split<fp16x1>(p, how);
    return error == cudaSuccess ? queue_tiles<fp16x1>(p, how) : error;
}

extern "C" size_t duo_sgemm_gpu_fp16x1_workspace(const duo_call *call, const duo_launch *how)
{
    return panel_bytes(call->m, call->n, call->k, fp16x1::kPlanes, how);
}

extern "C" int duo_sgemm_gpu_fp16x1(const duo_call *call, const duo_launch *how)
{
    if (!has_wgmma(how)) return cudaErrorNotSupported;
    return (int)queue_product(call, how, fp16x1::kPlanes, queue_kernels);
}

extern "C" int duo_sgemm_gpu_fp16x1_load(void) { return (int)load_scheme<fp16x1>(); }
