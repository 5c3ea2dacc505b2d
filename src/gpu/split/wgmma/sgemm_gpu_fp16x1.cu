/*
 * sgemm_gpu_fp16x1.cu - products of operands rounded to the 11 bits of TF32, as fp16 (Hopper).
 *
 * Accepts   compute capability 9.0; k >= 64, where the error bound begins to hold
 *           (docs/reference/numerics.md): not to be lowered for speed
 * Order     split/wgmma/product.cuh. Blocks of C that the guard refuses to fp16x1: by bf16x6;
 *           blocks that it refuses to bf16x6, too: by fp32 FMA (split/wgmma/refused_blocks.cuh)
 */
#include "gpu/split/wgmma/algorithm.cuh"

const duo_gpu_algorithm duo_sgemm_gpu_fp16x1 = kSchemeAlgorithm<fp16x1>;
