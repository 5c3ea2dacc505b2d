/* ssum_gpu_shuffle.cu - sum (reduce/reduce_shuffle.cuh). */
#include "gpu/reduce/reduce_shuffle.cuh"

const duo_gpu_algorithm duo_ssum_gpu_shuffle = kReduction<plain_leaf, float>;
