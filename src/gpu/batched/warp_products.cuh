/*
 * batched/warp_products.cuh - tiles of small products: 32 x 32 for a warp, or 64 x 64 for four.
 *
 * Accepts   any m, n, k, transposes, leading dimensions and alignment
 * Threads   128 per block: Across x Across warps have a tile together, and a warp 32 x 32 of its C.
 *           A thread has 4 x 8 elements
 * Order     per element one fp32 FMA chain over k
 * Traffic   A once for each column of tiles, B for each row, 16 bytes at a time where alignment
 *           allows; C once
 *
 * Such products are read and written more than they are multiplied: what counts is that many of
 * them are on their way at once. So the warps ask for 32 steps of k of both operands before they
 * wait, and a multiprocessor holds many blocks.
 */
#ifndef DUO_BATCHED_WARP_PRODUCTS_CUH
#define DUO_BATCHED_WARP_PRODUCTS_CUH

#include <cuda_pipeline_primitives.h>

#include "gpu/batched/places.cuh"
#include "gpu/ffma/store.cuh"
#include "gpu/launch.cuh"
#include "gpu/slab.cuh"

constexpr int kWarpEdge = 32, kWarpSteps = 32, kWarpThreads = 128;
constexpr int kWarpRows = 4, kWarpColumns = 8; /* of a thread */
constexpr int kWarpBlocks = 6;                 /* per multiprocessor */

template <int Across>
constexpr int kTiles = kWarpThreads / (32 * Across * Across); /* of a block */

/* Tiles of a product, and of all. */
struct warp_tiles {
    int down, across;
    int64_t all;
};

/* Steps of k from x on to slab[l * kRow + i], i < edge, l < steps, by all threads of a tile, of
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

/* Waits for the threads of a tile. */
template <int Across>
static __device__ __forceinline__ void wait_for_tile()
{
    if (Across == 1)
        __syncwarp();
    else
        __syncthreads();
}

template <int Across, bool TransA, bool TransB>
static __global__ void __launch_bounds__(kWarpThreads, kWarpBlocks)
    sgemm_warp_products(sgemm_problem p, batch_places places, warp_tiles tiles, bool wide_a,
                        bool wide_b)
{
    static_assert(Across == 1 || kTiles<Across> == 1, "a barrier is of one tile");
    constexpr int kEdge = kWarpEdge * Across, kRow = kPitch<kEdge>, kAll = 32 * Across * Across;
    __shared__ __align__(16) float slabs[kTiles<Across>][2][kWarpSteps * kRow];
    const int group = threadIdx.x / kAll, thread = threadIdx.x % kAll;
    const int warp = thread / 32, lane = thread % 32;
    const int64_t number = (int64_t)blockIdx.x * kTiles<Across> + group;
    if (number >= tiles.all) return;
    const int of_product = tiles.down * tiles.across;
    const int64_t product = of_product == 1 ? number : number / of_product;
    const int tile = (int)(number - product * of_product);
    const int64_t first_i = (int64_t)(tile % tiles.down) * kEdge;
    const int64_t first_j = (int64_t)(tile / tiles.down) * kEdge;
    const int m = (int)min(p.m - first_i, (int64_t)kEdge); /* inside */
    const int n = (int)min(p.n - first_j, (int64_t)kEdge);
    float *const a = slabs[group][0], *const b = slabs[group][1];
    const int i = warp % Across * kWarpEdge + lane % 8 * kWarpRows;
    const int j = warp / Across * kWarpEdge + lane / 8 * kWarpColumns;
    const bool inside = warp % Across * kWarpEdge < m && warp / Across * kWarpEdge < n;
    float sum[kWarpColumns][kWarpRows] = {};
    wait_for_kernels_ahead();
    places.find(p, product);
    const float *of_a = p.a + (TransA ? first_i * p.lda : first_i);
    const float *of_b = p.b + (TransB ? first_j : first_j * p.ldb);
    float *const to = p.c + (first_i + i + (first_j + j) * p.ldc);
    if (p.beta != 0.0f && i < m) /* C begins its way to the L2 cache */
        for (int c = 0; c < kWarpColumns; c++)
            if (j + c < n) prefetch_to_l2(to + c * p.ldc);
    const int64_t next_a = kWarpSteps * (TransA ? 1 : p.lda);
    const int64_t next_b = kWarpSteps * (TransB ? p.ldb : 1);
    for (int64_t l = 0; l < p.k; l += kWarpSteps, of_a += next_a, of_b += next_b) {
        const int steps = (int)min(p.k - l, (int64_t)kWarpSteps);
        load_warp_slab<Across, TransA>(a, of_a, p.lda, m, steps, wide_a, thread);
        load_warp_slab<Across, !TransB>(b, of_b, p.ldb, n, steps, wide_b, thread);
        __pipeline_commit();
        __pipeline_wait_prior(0);
        wait_for_tile<Across>();
#pragma unroll 8
        for (int s = 0; s < steps && inside; s++) {
            float x[kWarpRows], y[kWarpColumns];
            read_fragment(x, a + s * kRow + i, kGroup);
            read_fragment(y, b + s * kRow + j, kGroup);
#pragma unroll
            for (int c = 0; c < kWarpColumns; c++)
#pragma unroll
                for (int r = 0; r < kWarpRows; r++) sum[c][r] = fmaf(x[r], y[c], sum[c][r]);
        }
        wait_for_tile<Across>(); /* before the slabs are filled anew */
    }
    let_next_kernel_start();
    /* Four columns are read before the first is written, for what is behind a write waits. */
    constexpr int kAtOnce = 4;
    const bool aligned = columns_aligned(p.c, p.ldc);
    if (i >= m) return;
#pragma unroll
    for (int first = 0; first < kWarpColumns; first += kAtOnce) {
        float4 old[kAtOnce] = {};
#pragma unroll
        for (int c = 0; c < kAtOnce; c++)
            if (j + first + c < n)
                old[c] = read_four(to + (first + c) * p.ldc, p.beta, m - i, aligned);
#pragma unroll
        for (int c = 0; c < kAtOnce; c++) {
            const float(&x)[kWarpRows] = sum[first + c];
            if (j + first + c < n)
                write_four(to + (first + c) * p.ldc,
                           make_float4(settle(p.alpha * x[0], p.beta, old[c].x),
                                       settle(p.alpha * x[1], p.beta, old[c].y),
                                       settle(p.alpha * x[2], p.beta, old[c].z),
                                       settle(p.alpha * x[3], p.beta, old[c].w)),
                           m - i, aligned);
        }
    }
}

#endif
