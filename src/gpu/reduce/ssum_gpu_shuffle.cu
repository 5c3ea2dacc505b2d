/* ssum_gpu_shuffle.cu - sum; see reduce/reduce_shuffle.cuh. */
#include "gpu/reduce/reduce_shuffle.cuh"

extern "C" int duo_ssum_gpu_shuffle(const duo_call *call, const duo_launch *how)
{
    return queue_reduction<plain_leaf, float>(call, how);
}

extern "C" int duo_ssum_gpu_shuffle_load(void) { return load_reduction<plain_leaf, float>(); }
