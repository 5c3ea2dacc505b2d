/*
 * sgemm_gpu_bf16x6.cu - fp32-accurate products from six bf16 products (Hopper).
 *
 * Accepts compute capability 9.0; k >= 64, below which memory decides Order see
 * split/wgmma/product.cuh; blocks of C whose operands have Inf, NaN or magnitudes further
 *           apart than bf16x6 holds together, by fp32 FMA
 */
#include "gpu/split/wgmma/algorithm.cuh"

const duo_gpu_algorithm duo_sgemm_gpu_bf16x6 = kSchemeAlgorithm<bf16x6>;
