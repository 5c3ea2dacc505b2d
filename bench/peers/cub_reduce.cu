/*
 * cub_reduce.cu - the reductions by CUB's device-wide functions, as its manual has them.
 *
 * Temporary storage is allocated before the first call of a length, and kept.
 */
#include <cub/device/device_reduce.cuh>
#include <cuda/std/functional>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/zip_function.h>

#include "bench/peers/gpu_kernels.h"

namespace
{
struct absolute {
    __device__ float operator()(float x) const { return fabsf(x); }
};

struct product {
    __device__ float operator()(float x, float y) const { return x * y; }
};

/* Runs the reduction; if `temporary` is NULL, only sets `bytes` to the storage that it needs. */
cudaError_t reduce(void *temporary, size_t &bytes, const duo_call *call, cudaStream_t stream)
{
    const float *const x = call->operand[DUO_X].address;
    const float *const y = call->operand[DUO_Y].address;
    float *const result = call->operand[DUO_RESULT].address;
    const uint32_t n = (uint32_t)call->n;
    const cuda::std::plus<> plus;
    switch (call->operation) {
    case DUO_SSUM:
        return cub::DeviceReduce::Sum(temporary, bytes, x, result, n, stream);
    case DUO_SASUM:
        return cub::DeviceReduce::TransformReduce(temporary, bytes, x, result, n, plus, absolute(),
                                                  0.0f, stream);
    case DUO_SDOT:
        return cub::DeviceReduce::TransformReduce(
            temporary, bytes, thrust::make_zip_iterator(x, y), result, n, plus,
            thrust::make_zip_function(product()), 0.0f, stream);
    default:
        return cudaErrorInvalidValue;
    }
}
} // namespace

extern "C" bool duo_cub_reduce(const duo_call *call, void *stream_of_queue, float *host)
{
    static struct {
        void *address;
        size_t bytes, needed; /* needed: for this operation and length */
        duo_operation operation;
        int64_t n;
    } temporary;
    const cudaStream_t stream = (cudaStream_t)stream_of_queue;
    if (call->n > UINT32_MAX) return false;
    if (temporary.n != call->n || temporary.operation != call->operation) {
        if (reduce(nullptr, temporary.needed, call, stream) != cudaSuccess) return false;
        if (temporary.needed > temporary.bytes) {
            if (cudaFree(temporary.address) != cudaSuccess) return false;
            temporary.address = nullptr;
            temporary.bytes = 0;
            if (cudaMalloc(&temporary.address, temporary.needed) != cudaSuccess) return false;
            temporary.bytes = temporary.needed;
        }
        temporary.n = call->n;
        temporary.operation = call->operation;
    }
    return reduce(temporary.address, temporary.needed, call, stream) == cudaSuccess &&
           (host == nullptr ||
            cudaMemcpyAsync(host, call->operand[DUO_RESULT].address, sizeof *host,
                            cudaMemcpyDeviceToHost, stream) == cudaSuccess);
}
