/*
 * tag_blocks.cu - the tags of blocks in device memory (data/tags.h): a warp makes the tag of a
 * block.
 *
 * Traffic: every block is read once, and 1/256 of that is written. Measured on an H100: 1 GB at
 * 2.9 TB/s.
 */
#include "gpu/launch.cuh"
#include "tag_block.h"

constexpr int kThreads = 512, kBlocksPerMultiprocessor = 2;
constexpr int kVectors = DUO_TAG_BLOCK / (int)sizeof(uint4), kPerLane = kVectors / 32;

static __device__ __forceinline__ uint64_t product(unsigned x, unsigned y, unsigned kx, unsigned ky)
{
    return (uint64_t)(x + kx) * (y + ky);
}

static __device__ __forceinline__ uint64_t products(const uint4 &v, const uint4 &k)
{
    return product(v.x, v.y, k.x, k.y) + product(v.z, v.w, k.z, k.w);
}

static __device__ __forceinline__ uint64_t sum_of_warp(uint64_t sum)
{
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, distance);
    return sum;
}

static __global__ void __launch_bounds__(kThreads)
    tag_blocks(const uint4 *memory, int64_t blocks, const uint4 *key, ulonglong2 *tags)
{
    __shared__ uint4 shared_key[kVectors + 1];
    wait_for_kernels_ahead();
    for (int i = threadIdx.x; i <= kVectors; i += kThreads) shared_key[i] = key[i];
    __syncthreads();
    const int lane = threadIdx.x % 32;
    const int64_t warps = (int64_t)gridDim.x * (kThreads / 32);
    for (int64_t block = blockIdx.x * (int64_t)(kThreads / 32) + threadIdx.x / 32; block < blocks;
         block += warps) {
        uint4 v[kPerLane];
#pragma unroll
        for (int i = 0; i < kPerLane; i++) v[i] = memory[block * kVectors + i * 32 + lane];
        uint64_t first = 0, second = 0;
#pragma unroll
        for (int i = 0; i < kPerLane; i++) {
            first += products(v[i], shared_key[i * 32 + lane]);
            second += products(v[i], shared_key[i * 32 + lane + 1]);
        }
        first = sum_of_warp(first);
        second = sum_of_warp(second);
        if (lane == 0) tags[block] = make_ulonglong2(first, second);
    }
}

static_assert(DUO_TAG_SHIFT == sizeof(uint4) && DUO_TAG_BYTES == sizeof(ulonglong2), "");

cudaError_t duo_tag_blocks(const void *memory, size_t blocks, const void *key, void *tags,
                           const duo_launch *how)
{
    const size_t per_block = kThreads / 32, wanted = (blocks + per_block - 1) / per_block;
    const size_t most = (size_t)how->multiprocessors * kBlocksPerMultiprocessor;
    return queue_kernel_behind(tag_blocks, (unsigned)(wanted < most ? wanted : most), kThreads, 0,
                               how, (const uint4 *)memory, (int64_t)blocks, (const uint4 *)key,
                               (ulonglong2 *)tags);
}

cudaError_t duo_tag_blocks_load(void) { return load_kernel(tag_blocks); }
