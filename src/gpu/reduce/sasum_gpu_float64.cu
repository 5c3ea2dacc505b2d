/* sasum_gpu_float64.cu - sum of absolute values in float64 throughout
 * (reduce/reduce_shuffle.cuh). */
#include "gpu/reduce/reduce_shuffle.cuh"

const duo_gpu_algorithm duo_sasum_gpu_float64 = kReduction<absolute_leaf, double>;
