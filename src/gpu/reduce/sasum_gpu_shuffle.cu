/* sasum_gpu_shuffle.cu - sum of absolute values; see reduce/reduce_shuffle.cuh. */
#include "gpu/reduce/reduce_shuffle.cuh"

extern "C" int duo_sasum_gpu_shuffle(const duo_call *call, const duo_launch *how)
{
    return queue_reduction<absolute_leaf, float>(call, how);
}

extern "C" int duo_sasum_gpu_shuffle_load(void) { return load_reduction<absolute_leaf, float>(); }
