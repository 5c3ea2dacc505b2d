/* sasum_gpu_shuffle.cu - sum of absolute values (reduce/reduce_shuffle.cuh). */
#include "gpu/reduce/reduce_shuffle.cuh"

const duo_gpu_algorithm duo_sasum_gpu_shuffle = kReduction<absolute_leaf, float>;
