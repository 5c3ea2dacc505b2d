/*
 * cub_reduce.cu - the reductions by CUB's device-wide functions, as its manual has them.
 *
 * Temporary storage is allocated before the first call of a length, and kept. Sums with another
 * promise than "run to run" are asked for by an environment, and CUB allocates for each call.
 */
#include <cub/device/device_reduce.cuh>
#include <cuda/std/functional>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/zip_function.h>

#include "bench/peers/gpu_kernels.h"

#if CUB_VERSION >= 300200
#include <cuda/execution>
#include <cuda/stream>
#define HAS_PROMISES 1
#else
#define HAS_PROMISES 0
#endif

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

#if HAS_PROMISES
template <class Determinism>
cudaError_t sum(Determinism determinism, const duo_call *call, cudaStream_t stream)
{
    return cub::DeviceReduce::Sum(
        static_cast<const float *>(call->operand[DUO_X].address),
        static_cast<float *>(call->operand[DUO_RESULT].address), (uint32_t)call->n,
        cuda::std::execution::env{cuda::execution::require(determinism), cuda::stream_ref{stream}});
}
#endif

bool copy_to_host(float *host, const duo_call *call, cudaStream_t stream)
{
    return host == nullptr || cudaMemcpyAsync(host, call->operand[DUO_RESULT].address, sizeof *host,
                                              cudaMemcpyDeviceToHost, stream) == cudaSuccess;
}

/* With the promise that CUB gives unasked. */
bool run_to_run(const duo_call *call, cudaStream_t stream)
{
    static struct {
        void *address;
        size_t bytes, needed; /* needed: for this operation and length */
        duo_operation operation;
        int64_t n;
    } temporary;
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
    return reduce(temporary.address, temporary.needed, call, stream) == cudaSuccess;
}
} // namespace

extern "C" bool duo_cub_has(duo_operation operation, duo_cub_promise promise)
{
    return operation != DUO_SGEMM &&
           (promise == DUO_CUB_RUN_TO_RUN || (HAS_PROMISES && operation == DUO_SSUM));
}

extern "C" bool duo_cub_reduce(duo_cub_promise promise, const duo_call *call, void *stream_of_queue,
                               float *host)
{
    const cudaStream_t stream = (cudaStream_t)stream_of_queue;
    bool good = call->n <= UINT32_MAX && duo_cub_has(call->operation, promise);
    if (promise == DUO_CUB_RUN_TO_RUN) {
        good = good && run_to_run(call, stream);
#if HAS_PROMISES
    } else if (promise == DUO_CUB_NONE) {
        good =
            good && sum(cuda::execution::determinism::not_guaranteed, call, stream) == cudaSuccess;
    } else {
        good = good && sum(cuda::execution::determinism::gpu_to_gpu, call, stream) == cudaSuccess;
#endif
    }
    return good && copy_to_host(host, call, stream);
}
