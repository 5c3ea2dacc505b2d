/* sdot_gpu_float64.cu - inner product in float64 throughout; see reduce/reduce_shuffle.cuh. */
#include "gpu/reduce/reduce_shuffle.cuh"

extern "C" int duo_sdot_gpu_float64(const duo_call *call, const duo_launch *how)
{
    return queue_reduction<product_leaf, double>(call, how);
}

extern "C" int duo_sdot_gpu_float64_load(void) { return load_reduction<product_leaf, double>(); }
