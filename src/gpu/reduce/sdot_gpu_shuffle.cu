/* sdot_gpu_shuffle.cu - inner product, products rounded to float32; see reduce/reduce_shuffle.cuh. */
#include "gpu/reduce/reduce_shuffle.cuh"

extern "C" int duo_sdot_gpu_shuffle(const duo_call *call, const duo_launch *how)
{
    return queue_reduction<product_leaf, float>(call, how);
}

extern "C" int duo_sdot_gpu_shuffle_load(void) { return load_reduction<product_leaf, float>(); }
