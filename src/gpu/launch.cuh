/*
 * launch.cuh - queueing and loading kernels; blocks per multiprocessor; the last block of several.
 *
 * By cudaLaunchKernel, which returns the error of its own launch. The <<<>>> syntax would leave it
 * to cudaGetLastError, which would also clear a pending error of the library's caller.
 */
#ifndef DUO_LAUNCH_CUH
#define DUO_LAUNCH_CUH

#include <cuda_runtime.h>
#include <limits.h>
#include <stddef.h>
#include <string.h>

#include "gpu/kernels.h"

/* ---- Queueing ---- */

template <class... Parameter>
static cudaError_t queue_kernel(void (*kernel)(Parameter...), unsigned blocks,
                                unsigned threads_per_block, const duo_launch *how,
                                Parameter... value)
{
    void *values[] = {&value...};
    return cudaLaunchKernel(reinterpret_cast<const void *>(kernel), dim3(blocks),
                            dim3(threads_per_block), values, 0, how->stream);
}

/*
 * Dependent launches: a kernel may start before the one ahead of it in the stream is done. All its
 * blocks have to wait before they touch memory: else it may be done before the kernel ahead. Before
 * compute capability 9.0 it starts after that, as always. So it does if the driver has compiled it
 * from PTX for older devices, which does not wait.
 */
constexpr int kDependentLaunches = 90; /* capability */
static bool no_dependent_launches;     /* read and set by the __atomic functions */

static __device__ __forceinline__ void let_next_kernel_start()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
/* Everything that kernels ahead in the stream have written can be read from here on. */
static __device__ __forceinline__ void wait_for_kernels_ahead()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/*
 * A dependent launch with `shared_bytes` of dynamic shared memory per block. From compute
 * capability 9.0 on, the blocks of a cluster share a part of the device and may reach each other's
 * shared memory.
 */
template <class... Parameter>
static cudaError_t queue_clusters_behind(void (*kernel)(Parameter...), unsigned blocks,
                                         unsigned blocks_per_cluster, unsigned threads_per_block,
                                         size_t shared_bytes, const duo_launch *how,
                                         Parameter... value)
{
    void *values[] = {&value...};
    cudaLaunchAttribute attribute[2];
    unsigned attributes = 0;
    if (how->capability >= kDependentLaunches &&
        !__atomic_load_n(&no_dependent_launches, __ATOMIC_RELAXED)) {
        cudaLaunchAttribute &early = attribute[attributes++];
        early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
        early.val.programmaticStreamSerializationAllowed = 1;
    }
    if (blocks_per_cluster > 1) {
        cudaLaunchAttribute &cluster = attribute[attributes++];
        cluster.id = cudaLaunchAttributeClusterDimension;
        cluster.val.clusterDim.x = blocks_per_cluster;
        cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
    }
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(blocks);
    config.blockDim = dim3(threads_per_block);
    config.dynamicSmemBytes = shared_bytes;
    config.stream = how->stream;
    config.attrs = attribute;
    config.numAttrs = attributes;
    return cudaLaunchKernelExC(&config, reinterpret_cast<const void *>(kernel), values);
}

template <class... Parameter>
static cudaError_t queue_kernel_behind(void (*kernel)(Parameter...), unsigned blocks,
                                       unsigned threads_per_block, size_t shared_bytes,
                                       const duo_launch *how, Parameter... value)
{
    return queue_clusters_behind(kernel, blocks, 1, threads_per_block, shared_bytes, how, value...);
}

/*
 * The error of a launch behind a kernel that changes C. If it cannot be queued, no other algorithm
 * may be tried, for it would begin with a half-done C: so it counts as a lost device.
 */
static inline cudaError_t after_c_changed(cudaError_t error)
{
    return error == cudaSuccess ? error : cudaErrorLaunchFailure;
}

/* ---- Planning ---- */

/*
 * What `make` says of a key, or said of the same bytes before: a thread remembers its last plans of
 * each kind. To plan takes a microsecond or more, as long as to queue a kernel, and programs repeat
 * their calls.
 */
template <class Plan, class Key, class Make>
static Plan remembered_plan(const Key &key, const Make &make)
{
    constexpr int kPlans = 8;
    static thread_local struct {
        Key key[kPlans];
        Plan plan[kPlans];
        int made;
    } last;
    const int kept = last.made < kPlans ? last.made : kPlans;
    for (int i = 0; i < kept; i++)
        if (memcmp(&last.key[i], &key, sizeof key) == 0) return last.plan[i];
    const int place = last.made % kPlans;
    last.made = last.made < INT_MAX ? last.made + 1 : kPlans + place + 1;
    last.key[place] = key;
    return last.plan[place] = make();
}

/* ---- Loading ---- */

/* The current device's: 10 * major + minor. */
static inline cudaError_t current_capability(int *capability)
{
    int device, major = 0, minor = 0;
    cudaError_t error = cudaGetDevice(&device);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
    *capability = 10 * major + minor;
    return error;
}

/* Asking for a kernel's attributes loads it. */
template <class... Parameter>
static cudaError_t load_kernel(void (*kernel)(Parameter...))
{
    cudaFuncAttributes found;
    const cudaError_t error = cudaFuncGetAttributes(&found, reinterpret_cast<const void *>(kernel));
    if (error == cudaSuccess && found.binaryVersion >= kDependentLaunches &&
        found.ptxVersion < kDependentLaunches)
        __atomic_store_n(&no_dependent_launches, true, __ATOMIC_RELAXED);
    return error;
}

/* Loads the kernels of all layouts: [transa][transb]. */
template <class... Parameter>
static cudaError_t load_layouts(void (*const (&kernel)[2][2])(Parameter...))
{
    cudaError_t error = load_kernel(kernel[0][0]);
    if (error == cudaSuccess) error = load_kernel(kernel[0][1]);
    if (error == cudaSuccess) error = load_kernel(kernel[1][0]);
    return error == cudaSuccess ? load_kernel(kernel[1][1]) : error;
}

/* Also asks for shared memory: needed for more than 48 KiB per block. */
template <class... Parameter>
static cudaError_t load_kernel_with(void (*kernel)(Parameter...), size_t shared_bytes)
{
    const cudaError_t error = load_kernel(kernel);
    if (error != cudaSuccess) return error;
    return cudaFuncSetAttribute(reinterpret_cast<const void *>(kernel),
                                cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared_bytes);
}

/* ---- Shared memory ---- */

/* Bytes per multiprocessor, by compute capability (CUDA C++ Programming Guide, "Compute
 * Capabilities"). */
constexpr size_t shared_memory(int capability)
{
    switch (capability) {
    case 75:
        return (size_t)65 << 10; /* 64 KiB; a block takes no extra 1 KiB there */
    case 80:
    case 87:
        return (size_t)164 << 10;
    case 90:
    case 100:
    case 103:
        return (size_t)228 << 10;
    default:
        return (size_t)100 << 10; /* 8.6, 8.9, 12.0, and the least of all others */
    }
}

/* The most that a block may ask for. */
constexpr size_t shared_of_block(int capability) { return shared_memory(capability) - 1024; }

/* Blocks that a multiprocessor holds, at most `most`: each takes 1 KiB more than it asks for. */
constexpr int blocks_that_fit(size_t shared_bytes, int most, int capability)
{
    const size_t fit = shared_memory(capability) / (shared_bytes + 1024);
    return fit < (size_t)most ? (int)fit : most;
}

/* ---- Sums that blocks share ---- */

/*
 * Counts its callers; true for the last of `count`, and then the counter is 0 again. Writes of this
 * thread, and writes that it saw before a barrier of its block, are visible to later callers. (As a
 * release and acquire it is 0.25 us faster than between two fences, which are sequentially
 * consistent.)
 */
static __device__ __forceinline__ bool is_last(unsigned *counter, unsigned count)
{
    unsigned before;
    asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;"
                 : "=r"(before)
                 : "l"(counter), "r"(count - 1)
                 : "memory");
    return before == count - 1;
}

#endif
