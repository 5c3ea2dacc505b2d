/*
 * sgemm_gpu_fp16x3.cu - products as accurate as fp32's, from three products of fp16 planes
 * (Hopper).
 *
 * Accepts   compute capability 9.0; k >= 64, where the error bound begins to hold
 *           (docs/reference/numerics.md): not to be lowered for speed
 * Order     split/wgmma/product.cuh. Blocks of C that the guard refuses to fp16x3: by bf16x6;
 *           blocks that it refuses to bf16x6, too: by fp32 FMA (split/wgmma/refused_blocks.cuh)
 */
#include "gpu/split/wgmma/algorithm.cuh"

cudaError_t duo_queue_split_fp16x3(const patch &p, const duo_launch *how)
{
    return queue_split<fp16x3>(p, how);
}

const duo_gpu_algorithm duo_sgemm_gpu_fp16x3 = kSchemeAlgorithm<fp16x3>;
