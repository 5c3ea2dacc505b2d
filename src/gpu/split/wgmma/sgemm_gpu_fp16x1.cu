/*
 * sgemm_gpu_fp16x1.cu - products of operands rounded to the 11 bits of TF32, as fp16 (Hopper).
 *
 * Accepts   compute capability 9.0; k >= 64, below which memory decides
 * Order     see split/wgmma/product.cuh; blocks of C that the guard keeps from fp16x1 by bf16x6, and what
 *           that cannot hold either by fp32 FMA
 */
#include "gpu/split/wgmma/scheme.cuh"

extern "C" size_t duo_sgemm_gpu_fp16x1_workspace(const duo_call *call, const duo_launch *how)
{
    return scheme_bytes<fp16x1>(call, how);
}

extern "C" int duo_sgemm_gpu_fp16x1(const duo_call *call, const duo_launch *how)
{
    return (int)queue_scheme<fp16x1>(call, how);
}

extern "C" size_t duo_sgemm_gpu_fp16x1_packed_bytes(const duo_call *call, int i)
{
    return scheme_packed_bytes<fp16x1>(call, i);
}

extern "C" int duo_sgemm_gpu_fp16x1_pack(const duo_call *call, int i, void *packed,
                                         const duo_launch *how)
{
    return (int)queue_packing<fp16x1>(call, i, packed, how);
}

extern "C" int duo_sgemm_gpu_fp16x1_load(void) { return (int)load_scheme<fp16x1>(); }
