/*
 * skinny/sum_ranges.cuh - a second kernel: C from the sums over many ranges of k in the workspace.
 *
 * Threads   256 per block; several of them share the ranges of an element if elements are few
 * Order     a thread's ranges in their order, then shares by halving: the same bits on every run
 */
#ifndef DUO_SUM_RANGES_CUH
#define DUO_SUM_RANGES_CUH

#include "gpu/kernels.h"
#include "gpu/launch.cuh"
#include "gpu/sgemm.cuh"

constexpr int kSumThreads = 256;
constexpr int kMostShares = 32, kLeastRanges = 4; /* per element; per thread */
constexpr int kBusyThreads = 1024; /* per multiprocessor: with this many no sharing is needed */

struct partial_sums {
    const float *partial; /* ranges times m x n, packed */
    float *c;
    int64_t m, elements, ldc;
    int ranges, shares; /* shares: threads per element, a power of two */
    float alpha, beta;
};

static __global__ void __launch_bounds__(kSumThreads) sum_ranges(partial_sums p)
{
    __shared__ float shared[kSumThreads];
    const int per_block = kSumThreads / p.shares;
    const int share = threadIdx.x / per_block;
    const int64_t e = (int64_t)blockIdx.x * per_block + threadIdx.x % per_block;
    float sum = 0.0f;
    wait_for_kernels_ahead();
    let_next_kernel_start();
    if (e < p.elements) {
#pragma unroll 8
        for (int range = share; range < p.ranges; range += p.shares)
            sum += __ldcg(p.partial + range * p.elements + e);
    }
    for (int half = p.shares / 2; half > 0; half /= 2) {
        shared[threadIdx.x] = sum;
        __syncthreads();
        if (share < half) sum += shared[threadIdx.x + half * per_block];
        __syncthreads();
    }
    if (share > 0 || e >= p.elements) return;
    float *const c = p.c + (e % p.m + e / p.m * p.ldc);
    *c = blend(p.alpha, sum, p.beta, p.beta == 0.0f ? 0.0f : *c);
}

/* Queues it behind the kernel that has left `ranges` times m x n sums. */
static cudaError_t queue_sum_ranges(const sgemm_problem &p, const float *partial, int ranges,
                                    const duo_launch *how)
{
    partial_sums s = {partial, p.c, p.m, p.m * p.n, p.ldc, ranges, 1, p.alpha, p.beta};
    while (s.shares < kMostShares && s.ranges > kLeastRanges * s.shares &&
           s.elements * s.shares < (int64_t)how->multiprocessors * kBusyThreads)
        s.shares *= 2;
    const int64_t per_block = kSumThreads / s.shares;
    return queue_kernel_behind(sum_ranges, (unsigned)((s.elements + per_block - 1) / per_block),
                               kSumThreads, 0, how, s);
}

#endif
