/* ssum_gpu_float64.cu - sum in float64 throughout; see reduce/reduce_shuffle.cuh. */
#include "gpu/reduce/reduce_shuffle.cuh"

extern "C" int duo_ssum_gpu_float64(const duo_call *call, const duo_launch *how)
{
    return queue_reduction<plain_leaf, double>(call, how);
}

extern "C" int duo_ssum_gpu_float64_load(void) { return load_reduction<plain_leaf, double>(); }
