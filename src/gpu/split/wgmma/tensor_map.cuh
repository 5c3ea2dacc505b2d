/* split/wgmma/tensor_map.cuh - the driver's function that makes the maps of tensor copies. */
#ifndef DUO_SPLIT_WGMMA_TENSOR_MAP_CUH
#define DUO_SPLIT_WGMMA_TENSOR_MAP_CUH

#include <cuda.h>
#include <cuda_runtime.h>
#include <string.h>

/* The library is not linked to the driver. */
static cudaError_t encode_function(decltype(&cuTensorMapEncodeTiled) *function)
{
    void *address = nullptr;
    cudaDriverEntryPointQueryResult result;
#if CUDART_VERSION >= 12050
    const cudaError_t error = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &address,
                                                               12000, cudaEnableDefault, &result);
#else
    const cudaError_t error =
        cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &address, cudaEnableDefault, &result);
#endif
    if (error != cudaSuccess) return error;
    if (result != cudaDriverEntryPointSuccess) return cudaErrorNotSupported;
    memcpy(function, &address, sizeof address);
    return cudaSuccess;
}

#endif
