/* sdot_gpu_float64.cu - inner product in float64 throughout (reduce/reduce_shuffle.cuh). */
#include "gpu/reduce/reduce_shuffle.cuh"

const duo_gpu_algorithm duo_sdot_gpu_float64 = kReduction<product_leaf, double>;
