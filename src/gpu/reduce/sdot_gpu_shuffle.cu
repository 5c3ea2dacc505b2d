/*
 * sdot_gpu_shuffle.cu - inner product, each product rounded to float32 (reduce/reduce_shuffle.cuh).
 */
#include "gpu/reduce/reduce_shuffle.cuh"

const duo_gpu_algorithm duo_sdot_gpu_shuffle = kReduction<product_leaf, float>;
