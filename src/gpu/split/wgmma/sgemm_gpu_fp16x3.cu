/*
 * sgemm_gpu_fp16x3.cu - fp32-accurate products from three fp16 products (Hopper).
 *
 * Accepts compute capability 9.0; k >= 64, below which memory decides Order see
 * split/wgmma/product.cuh; blocks of C that the guard keeps from fp16x3 by bf16x6, and what
 *           that cannot hold either by fp32 FMA
 */
#include "gpu/split/wgmma/algorithm.cuh"

cudaError_t duo_queue_split_fp16x3(const panel &p, const duo_launch *how)
{
    return queue_split<fp16x3>(p, how);
}

const duo_gpu_algorithm duo_sgemm_gpu_fp16x3 = kSchemeAlgorithm<fp16x3>;
