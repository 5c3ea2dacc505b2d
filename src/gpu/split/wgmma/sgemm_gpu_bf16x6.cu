/*
 * sgemm_gpu_bf16x6.cu - products as accurate as fp32's, from six products of bf16 planes (Hopper).
 *
 * Accepts   compute capability 9.0; k >= 64, where the error bound begins to hold
 *           (docs/reference/numerics.md): not to be lowered for speed
 * Order     split/wgmma/product.cuh. Blocks of C with Inf, NaN, or magnitudes too far apart for
 *           bf16x6 in their operands: by fp32 FMA (split/product.cuh)
 */
#include "gpu/split/wgmma/algorithm.cuh"

const duo_gpu_algorithm duo_sgemm_gpu_bf16x6 = kSchemeAlgorithm<bf16x6>;
