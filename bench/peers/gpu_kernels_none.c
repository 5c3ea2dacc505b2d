/* gpu_kernels_none.c - stands in for the files behind gpu_kernels.h in builds without CUDA. */
#include "bench/peers/gpu_kernels.h"

int duo_read_gpu_variants(void) { return 0; }

const char *duo_read_gpu_name(int variant)
{
    (void)variant;
    return "";
}

bool duo_read_gpu(int variant, const duo_call *call, void *stream)
{
    (void)variant;
    (void)call;
    (void)stream;
    return false;
}

bool duo_cub_has(duo_operation operation, duo_cub_promise promise)
{
    (void)operation;
    (void)promise;
    return false;
}

bool duo_cub_reduce(duo_cub_promise promise, const duo_call *call, void *stream, float *host)
{
    (void)promise;
    (void)call;
    (void)stream;
    (void)host;
    return false;
}
