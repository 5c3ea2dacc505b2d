/* ssum_gpu_float64.cu - sum in float64 throughout (reduce/reduce_shuffle.cuh). */
#include "gpu/reduce/reduce_shuffle.cuh"

const duo_gpu_algorithm duo_ssum_gpu_float64 = kReduction<plain_leaf, double>;
