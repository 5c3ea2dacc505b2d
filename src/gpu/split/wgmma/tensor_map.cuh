/* split/wgmma/tensor_map.cuh - describes the planes of an operand to the tensor copies. */
#ifndef DUO_SPLIT_WGMMA_TENSOR_MAP_CUH
#define DUO_SPLIT_WGMMA_TENSOR_MAP_CUH

#include <cuda.h>
#include <cuda_runtime.h>
#include <string.h>

#include "gpu/split/planes.cuh"

/* A function of the driver; the library is not linked to the driver. */
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

/* The planes of an operand, in boxes of kStageK x rows. In a box, rows beyond the operand's tiles
 * are zeros, even if the rows of another range follow in memory. */
template <class Scheme>
static cudaError_t make_map(CUtensorMap *map, const operand_planes &o, int rows)
{
    decltype(&cuTensorMapEncodeTiled) encode;
    const cudaError_t error = encode_function(&encode);
    if (error != cudaSuccess) return error;
    const cuuint64_t all_rows = (cuuint64_t)(tiles_of(o.rows) * kTile);
    const cuuint64_t k = (cuuint64_t)(tiles_of(o.k) * kTile);
    const bool one = Scheme::kInterleaved;
    const cuuint64_t length = one ? k * Scheme::kPlanes : k;
    const cuuint64_t sizes[3] = {length, all_rows, one ? 1u : (cuuint64_t)Scheme::kPlanes};
    const cuuint64_t strides[2] = {length * 2, length * 2 * (cuuint64_t)o.plane_rows};
    const cuuint32_t box[3] = {Scheme::kStageK * (one ? Scheme::kPlanes : 1), (cuuint32_t)rows,
                               one ? 1u : (cuuint32_t)Scheme::kPlanes};
    const cuuint32_t steps[3] = {1, 1, 1};
    return (cudaError_t)encode(
        map, CU_TENSOR_MAP_DATA_TYPE_UINT16, 3, o.planes, sizes, strides, box, steps,
        CU_TENSOR_MAP_INTERLEAVE_NONE, one ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_64B,
        CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

#endif
