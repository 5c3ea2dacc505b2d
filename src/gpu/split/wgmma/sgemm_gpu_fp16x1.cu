/*
 * sgemm_gpu_fp16x1.cu - products of operands rounded to the 11 bits of TF32, as fp16 (Hopper).
 *
 * Accepts compute capability 9.0; k >= 64, below which memory decides Order see
 * split/wgmma/product.cuh; blocks of C that the guard keeps from fp16x1 by bf16x6, and what
 *           that cannot hold either by fp32 FMA
 */
#include "gpu/split/wgmma/algorithm.cuh"

const duo_gpu_algorithm duo_sgemm_gpu_fp16x1 = kSchemeAlgorithm<fp16x1>;
