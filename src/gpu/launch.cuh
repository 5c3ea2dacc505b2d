/*
 * launch.cuh - queueing and loading kernels by their address.
 *
 * cudaLaunchKernel answers for its own launch; the <<<>>> syntax would leave the error to
 * cudaGetLastError, which also takes away what the caller of the library had pending.
 */
#ifndef DUO_LAUNCH_CUH
#define DUO_LAUNCH_CUH

#include <cuda_runtime.h>

template <class... Parameter>
static int queue_kernel(void (*kernel)(Parameter...), unsigned blocks, unsigned threads_per_block,
                        void *stream, Parameter... value)
{
    void *values[] = {&value...};
    return (int)cudaLaunchKernel(reinterpret_cast<const void *>(kernel), dim3(blocks),
                                 dim3(threads_per_block), values, 0,
                                 static_cast<cudaStream_t>(stream));
}

/* Asking for a kernel's attributes loads it. */
template <class... Parameter>
static int load_kernel(void (*kernel)(Parameter...))
{
    cudaFuncAttributes ignored;
    return (int)cudaFuncGetAttributes(&ignored, reinterpret_cast<const void *>(kernel));
}

#endif
