/*
 * sgemm_gpu_fp16x3.cu - fp32-accurate products from three fp16 products (Hopper).
 *
 * Accepts   compute capability 9.0; k >= 64, below which memory decides
 * Order     see split/wgmma/product.cuh; blocks of C that the guard keeps from fp16x3 by bf16x6, and what
 *           that cannot hold either by fp32 FMA
 */
#include "gpu/split/wgmma/scheme.cuh"

cudaError_t duo_queue_split_fp16x3(const panel &p, const duo_launch *how)
{
    return queue_split<fp16x3>(p, how);
}

extern "C" size_t duo_sgemm_gpu_fp16x3_workspace(const duo_call *call, const duo_launch *how)
{
    return scheme_bytes<fp16x3>(call, how);
}

extern "C" int duo_sgemm_gpu_fp16x3(const duo_call *call, const duo_launch *how)
{
    return (int)queue_scheme<fp16x3>(call, how);
}

extern "C" size_t duo_sgemm_gpu_fp16x3_packed_bytes(const duo_call *call, int i)
{
    return scheme_packed_bytes<fp16x3>(call, i);
}

extern "C" int duo_sgemm_gpu_fp16x3_pack(const duo_call *call, int i, void *packed,
                                         const duo_launch *how)
{
    return (int)queue_packing<fp16x3>(call, i, packed, how);
}

extern "C" int duo_sgemm_gpu_fp16x3_load(void) { return (int)load_scheme<fp16x3>(); }
