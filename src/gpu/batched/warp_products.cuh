/*
 * batched/warp_products.cuh - small products, of at most 32 x 32 for each warp or 64 x 64 for four.
 *
 * Accepts   m, n <= 32 Across, any k, transposes, leading dimensions and alignment
 * Threads   128 per block: Across x Across warps have a product together, and a warp 32 x 32 of its
 *           C. A thread has 4 x 8 elements
 * Order     per element one fp32 FMA chain over k
 * Traffic   each operand once, 16 bytes at a time where its alignment allows
 *
 * Such products are read and written more than they are multiplied: what counts is that many of
 * them are on their way at once. So the warps ask for 32 steps of k of both operands before they
 * wait, and a multiprocessor holds many blocks.
 */
#ifndef DUO_BATCHED_WARP_PRODUCTS_CUH
#define DUO_BATCHED_WARP_PRODUCTS_CUH

#include <cuda_pipeline_primitives.h>

#include "gpu/batched/places.cuh"
#include "gpu/launch.cuh"
#include "gpu/slab.cuh"

constexpr int kWarpEdge = 32, kWarpSteps = 32, kWarpThreads = 128;
constexpr int kWarpRows = 4, kWarpColumns = 8; /* of a thread */

template <int Across>
constexpr int kProducts = kWarpThreads / (32 * Across * Across); /* of a block */

/* Steps of k from x on to slab[l * kRow + i], i < edge, l < steps, by all threads of a product, of
 * which this one is number `thread`. Neighbours in memory are neighbours in k (AlongK) or along the
 * edge. */
template <int Across, bool AlongK>
static __device__ __forceinline__ void load_warp_slab(float *slab, const float *x, int64_t ld,
                                                      int edge, int steps, bool wide, int thread)
{
    constexpr int kEdge = kWarpEdge * Across, kRow = kPitch<kEdge>, kAll = 32 * Across * Across;
    if (!AlongK && wide) {
        constexpr int kGroups = kEdge / kGroup;
        const int i = thread % kGroups * kGroup;
        if (i >= edge) return;
#pragma unroll 4
        for (int l = thread / kGroups; l < steps; l += kAll / kGroups)
            __pipeline_memcpy_async(slab + l * kRow + i, x + i + l * ld, kGroup * sizeof(float));
        return;
    }
    constexpr int kInner = AlongK ? kWarpSteps : kEdge;
    const int inner = thread % kInner;
    if (inner >= (AlongK ? steps : edge)) return;
#pragma unroll 4
    for (int outer = thread / kInner; outer < (AlongK ? edge : steps); outer += kAll / kInner)
        __pipeline_memcpy_async(slab + (AlongK ? inner * kRow + outer : outer * kRow + inner),
                                x + inner + outer * ld, sizeof(float));
}

/* Waits for the threads of a product. */
template <int Across>
static __device__ __forceinline__ void wait_for_product()
{
    if (Across == 1)
        __syncwarp();
    else
        __syncthreads();
}

template <int Across, bool TransA, bool TransB>
static __global__ void __launch_bounds__(kWarpThreads)
    sgemm_warp_products(sgemm_problem p, batch_places places, int64_t count, bool wide_a,
                        bool wide_b)
{
    static_assert(Across == 1 || kProducts<Across> == 1, "a barrier is of one product");
    constexpr int kRow = kPitch<kWarpEdge * Across>, kAll = 32 * Across * Across;
    __shared__ __align__(16) float slabs[kProducts<Across>][2][kWarpSteps * kRow];
    const int group = threadIdx.x / kAll, thread = threadIdx.x % kAll;
    const int warp = thread / 32, lane = thread % 32;
    const int64_t product = (int64_t)blockIdx.x * kProducts<Across> + group;
    float *const a = slabs[group][0], *const b = slabs[group][1];
    const int i = warp % Across * kWarpEdge + lane % 8 * kWarpRows;
    const int j = warp / Across * kWarpEdge + lane / 8 * kWarpColumns;
    float sum[kWarpColumns][kWarpRows] = {};
    wait_for_kernels_ahead();
    if (product >= count) return;
    places.find(p, product);
    const int m = (int)p.m, n = (int)p.n;
    const bool inside = warp % Across * kWarpEdge < m && warp / Across * kWarpEdge < n;
    for (int64_t l = 0; l < p.k; l += kWarpSteps) {
        const int steps = (int)min(p.k - l, (int64_t)kWarpSteps);
        load_warp_slab<Across, TransA>(a, p.a + (TransA ? l : l * p.lda), p.lda, m, steps, wide_a,
                                       thread);
        load_warp_slab<Across, !TransB>(b, p.b + (TransB ? l * p.ldb : l), p.ldb, n, steps, wide_b,
                                        thread);
        __pipeline_commit();
        __pipeline_wait_prior(0);
        wait_for_product<Across>();
#pragma unroll 8
        for (int s = 0; s < steps && inside; s++) {
            float of_a[kWarpRows], of_b[kWarpColumns];
            read_fragment(of_a, a + s * kRow + i, kGroup);
            read_fragment(of_b, b + s * kRow + j, kGroup);
#pragma unroll
            for (int c = 0; c < kWarpColumns; c++)
#pragma unroll
                for (int r = 0; r < kWarpRows; r++) sum[c][r] = fmaf(of_a[r], of_b[c], sum[c][r]);
        }
        wait_for_product<Across>(); /* before the slabs are filled anew */
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
