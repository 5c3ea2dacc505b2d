/* cuda_memory.cu - device memory, and pinned host memory. */
#include "gpu/backend/cuda_memory.cuh"

#include "gpu/backend/cuda_devices.cuh"
#include "gpu/backend/cuda_error.cuh"

duo_status duo_cuda_allocate(int device, size_t bytes, void **address)
{
    *address = nullptr;
    const duo_cuda_guard current(device);
    if (current.status != DUO_OK) return current.status;
    return duo_cuda_status(cudaMalloc(address, bytes), "cudaMalloc");
}

duo_status duo_cuda_release(int device, void *address)
{
    const duo_cuda_guard current(device);
    if (current.status != DUO_OK) return current.status;
    return duo_cuda_status(cudaFree(address), "cudaFree");
}

duo_status duo_cuda_pin(int device, size_t bytes, void **address)
{
    *address = nullptr;
    const duo_cuda_guard current(device);
    if (current.status != DUO_OK) return current.status;
    return duo_cuda_status(
        cudaHostAlloc(address, bytes, cudaHostAllocPortable | cudaHostAllocMapped),
        "cudaHostAlloc");
}

duo_status duo_cuda_unpin(void *address)
{
    /* Portable memory belongs to no device; without a guard the runtime would make a context. */
    const duo_cuda_guard current(duo_cuda_some_device());
    if (current.status != DUO_OK) return current.status;
    return duo_cuda_status(cudaFreeHost(address), "cudaFreeHost");
}
