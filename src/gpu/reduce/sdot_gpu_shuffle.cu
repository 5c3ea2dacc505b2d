/* sdot_gpu_shuffle.cu - inner product, products rounded to float32; see
 * reduce/reduce_shuffle.cuh. */
#include "gpu/reduce/reduce_shuffle.cuh"

const duo_gpu_algorithm duo_sdot_gpu_shuffle = kReduction<product_leaf, float>;
