/*
 * sgemm_gpu_bf16x6.cu - fp32-accurate products from six bf16 products (Hopper).
 *
 * Accepts   compute capability 9.0; k >= 64, below which memory decides
 * Order     see split/wgmma/product.cuh; blocks of C whose operands have Inf, NaN or magnitudes further
 *           apart than bf16x6 holds together, by fp32 FMA
 */
#include "gpu/split/wgmma/scheme.cuh"

extern "C" size_t duo_sgemm_gpu_bf16x6_workspace(const duo_call *call, const duo_launch *how)
{
    return scheme_bytes<bf16x6>(call, how);
}

extern "C" int duo_sgemm_gpu_bf16x6(const duo_call *call, const duo_launch *how)
{
    return (int)queue_scheme<bf16x6>(call, how);
}

extern "C" size_t duo_sgemm_gpu_bf16x6_packed_bytes(const duo_call *call, int i)
{
    return scheme_packed_bytes<bf16x6>(call, i);
}

extern "C" int duo_sgemm_gpu_bf16x6_pack(const duo_call *call, int i, void *packed,
                                         const duo_launch *how)
{
    return (int)queue_packing<bf16x6>(call, i, packed, how);
}

extern "C" int duo_sgemm_gpu_bf16x6_load(void) { return (int)load_scheme<bf16x6>(); }
