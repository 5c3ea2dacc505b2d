/*
 * batched/warp_products.cuh - a product of at most 32 x 32 for each warp.
 *
 * Accepts   m, n <= 32, any k, transposes, leading dimensions and alignment
 * Threads   128 per block: four warps, each with a product. A thread has 4 x 8 elements of C
 * Order     per element one fp32 FMA chain over k
 * Traffic   each operand once, 16 bytes at a time where its alignment allows
 *
 * Such products are read and written more than they are multiplied: what counts is that many of
 * them are on their way at once, so a warp asks for 32 steps of k of both operands before it waits.
 */
#ifndef DUO_BATCHED_WARP_PRODUCTS_CUH
#define DUO_BATCHED_WARP_PRODUCTS_CUH

#include <cuda_pipeline_primitives.h>

#include "gpu/batched/places.cuh"
#include "gpu/launch.cuh"
#include "gpu/slab.cuh"

constexpr int kWarpEdge = 32, kWarpSteps = 32, kWarpThreads = 128;
constexpr int kWarpProducts = kWarpThreads / 32; /* of a block */
constexpr int kWarpRows = 4, kWarpColumns = 8;   /* of a thread */

/* Steps of k from x on to slab[l * kPitch + i], i < edge, l < steps. Neighbours in memory are
 * neighbours in k (AlongK) or along the edge. */
template <bool AlongK>
static __device__ __forceinline__ void load_warp_slab(float *slab, const float *x, int64_t ld,
                                                      int edge, int steps, bool wide)
{
    constexpr int kRow = kPitch<kWarpEdge>;
    const int lane = threadIdx.x % 32;
    const int inner = AlongK ? steps : edge, outer = AlongK ? edge : steps;
    if (!AlongK && wide) {
        const int i = lane % 8 * kGroup;
        if (i >= edge) return;
#pragma unroll 4
        for (int l = lane / 8; l < steps; l += 4)
            __pipeline_memcpy_async(slab + l * kRow + i, x + i + l * ld, kGroup * sizeof(float));
        return;
    }
    if (lane >= inner) return;
#pragma unroll 4
    for (int o = 0; o < outer; o++)
        __pipeline_memcpy_async(slab + (AlongK ? lane * kRow + o : o * kRow + lane),
                                x + lane + o * ld, sizeof(float));
}

template <bool TransA, bool TransB>
static __global__ void __launch_bounds__(kWarpThreads)
    sgemm_warp_products(sgemm_problem p, batch_places places, int64_t count, bool wide_a,
                        bool wide_b)
{
    constexpr int kRow = kPitch<kWarpEdge>;
    __shared__ __align__(16) float slabs[kWarpProducts][2][kWarpSteps * kRow];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int64_t product = (int64_t)blockIdx.x * kWarpProducts + warp;
    float *const a = slabs[warp][0], *const b = slabs[warp][1];
    const int i = lane % 8 * kWarpRows, j = lane / 8 * kWarpColumns;
    float sum[kWarpColumns][kWarpRows] = {};
    wait_for_kernels_ahead();
    if (product >= count) return;
    places.find(p, product);
    const int m = (int)p.m, n = (int)p.n;
    for (int64_t l = 0; l < p.k; l += kWarpSteps) {
        const int steps = (int)min(p.k - l, (int64_t)kWarpSteps);
        load_warp_slab<TransA>(a, p.a + (TransA ? l : l * p.lda), p.lda, m, steps, wide_a);
        load_warp_slab<!TransB>(b, p.b + (TransB ? l * p.ldb : l), p.ldb, n, steps, wide_b);
        __pipeline_commit();
        __pipeline_wait_prior(0);
        __syncwarp();
#pragma unroll 8
        for (int s = 0; s < steps; s++) {
            float of_a[kWarpRows], of_b[kWarpColumns];
            read_fragment(of_a, a + s * kRow + i, kGroup);
            read_fragment(of_b, b + s * kRow + j, kGroup);
#pragma unroll
            for (int c = 0; c < kWarpColumns; c++)
#pragma unroll
                for (int r = 0; r < kWarpRows; r++) sum[c][r] = fmaf(of_a[r], of_b[c], sum[c][r]);
        }
        __syncwarp(); /* before the slabs are filled anew */
    }
    let_next_kernel_start();
    const bool aligned = columns_aligned(p.c, p.ldc);
    float *const to = p.c + (i + j * p.ldc);
#pragma unroll
    for (int c = 0; c < kWarpColumns; c++)
        if (j + c < n && i < m)
            update_four(to + c * p.ldc, sum[c], p.beta, m - i, aligned,
                        [&](float x, float old) { return blend(p.alpha, x, p.beta, old); });
}

#endif
