/*
 * batched/small_tiles.cuh - a few threads compute a tile of one product's C: 8 threads 8 x 8, a
 * warp 16 x 16, two warps 32 x 32, three 48 x 48, four 64 x 64.
 *
 * Accepts   any m, n, k, transposes, leading dimensions and alignment
 * Threads   128 per block; 64 or 96 if a tile has as many
 * Order     product_order.h
 * Traffic   A once for each column of tiles, B for each row, 16 bytes at a time if alignment
 *           allows; C once
 *
 * Small products spend more time on memory than on arithmetic, so many must be on their way at
 * once. Threads ask for a whole slab of both operands before they wait, and a multiprocessor holds
 * many blocks.
 */
#ifndef DUO_BATCHED_SMALL_TILES_CUH
#define DUO_BATCHED_SMALL_TILES_CUH

#include <cuda_pipeline_primitives.h>

#include "gpu/batched/tile_batches.cuh"
#include "gpu/ffma/multiply.cuh"
#include "gpu/ffma/store.cuh"
#include "gpu/launch.cuh"
#include "gpu/sgemm.cuh"
#include "gpu/slab.cuh"

/* ---- Tiles ---- */

/* A thread has 4 x Columns elements; a slab has Steps steps of k; a multiprocessor holds Blocks
 * blocks, one fewer if k is longer than a segment. */
template <int Edge, int Columns, int Steps, int Blocks>
struct batch_tile {
    static constexpr int kEdge = Edge, kRows = 4, kColumns = Columns, kSteps = Steps;
    static constexpr int kDown = Edge / kRows, kThreads = kDown * (Edge / Columns);
    static constexpr int kTiles = kThreads <= 32 ? 128 / kThreads : 1; /* of a block */
    static constexpr int kBlock = kTiles * kThreads, kBlocks = Blocks;
    static constexpr int kRow = kPitch<Edge>, kSlab = Steps * kRow;
    static constexpr int kCopies = kThreads % 64 == 0 || kThreads <= 32 ? 4 : 2; /* at once */
    /* From a tile's slabs to the next tile's. The tiles of one warp are in different banks. */
    static constexpr int kApart = 2 * kSlab + (kThreads < 32 ? Edge : 0);

    /* The first of a thread's rows and columns. Whole warps are 8 x 4 threads of the tile, or
     * 4 x 8. */
    static constexpr int kWarpDown = kDown % 8 == 0 ? 8 : kDown % 4 == 0 && kThreads >= 32 ? 4 : 0;
    static constexpr int kWarpsDown = kWarpDown > 0 ? kDown / kWarpDown : 1;
    static __device__ __forceinline__ int row_of(int thread)
    {
        const int warp = thread / 32 % kWarpsDown, lane = thread % 32;
        return (kWarpDown == 8   ? warp * 8 + lane_of_8(lane)
                : kWarpDown == 4 ? warp * 4 + lane_of_4(lane)
                                 : thread % kDown) *
               kRows;
    }
    static __device__ __forceinline__ int column_of(int thread)
    {
        const int warp = thread / 32 / kWarpsDown, lane = thread % 32;
        return (kWarpDown == 8   ? warp * 4 + lane_of_4(lane)
                : kWarpDown == 4 ? warp * 8 + lane_of_8(lane)
                                 : thread / kDown) *
               kColumns;
    }
    static __device__ __forceinline__ void wait_for_all()
    {
        if (kThreads <= 32)
            __syncwarp();
        else
            __syncthreads();
    }
};

/* All threads of a tile load steps of k from x on to slab[l * kRow + i], i < edge, l < steps. */
template <class Tile>
static __device__ __forceinline__ void load_slab(float *slab, const float *x, int64_t ld, int edge,
                                                 int steps, copy_kind kind, int thread)
{
    constexpr int kThreads = Tile::kThreads, kRow = Tile::kRow;
    if (kind == kVectors) {
        constexpr int kGroups = Tile::kEdge / kGroup;
        const int i = thread % kGroups * kGroup;
        if (i >= edge) return;
#pragma unroll(Tile::kCopies)
        for (int l = thread / kGroups; l < steps; l += kThreads / kGroups)
            __pipeline_memcpy_async(slab + l * kRow + i, x + i + l * ld, kGroup * sizeof(float));
    } else if (kind == kAlongEdge) {
        constexpr int kAlong = kThreads < Tile::kEdge ? kThreads : Tile::kEdge;
        const int i = thread % kAlong;
        if (i >= edge) return;
#pragma unroll(Tile::kCopies)
        for (int l = thread / kAlong; l < steps; l += kThreads / kAlong)
            __pipeline_memcpy_async(slab + l * kRow + i, x + i + l * ld, sizeof(float));
    } else {
        constexpr int kAlong = kThreads < Tile::kSteps ? kThreads : Tile::kSteps;
#pragma unroll
        for (int l = thread % kAlong; l < Tile::kSteps; l += kAlong) {
            if (l >= steps) return;
#pragma unroll(Tile::kCopies)
            for (int i = thread / kAlong; i < edge; i += kThreads / kAlong)
                __pipeline_memcpy_async(slab + l * kRow + i, x + l + i * ld, sizeof(float));
        }
    }
}

template <int Columns>
static __device__ __forceinline__ void read_columns(float (&y)[Columns], const float *row)
{
    if constexpr (Columns % kGroup != 0) {
#pragma unroll
        for (int c = 0; c < Columns; c += 2) {
            const float2 v = *reinterpret_cast<const float2 *>(row + c);
            y[c] = v.x;
            y[c + 1] = v.y;
        }
    } else {
        read_fragment(y, row, kGroup);
    }
}

/* The sums of a thread's elements. If k is longer than a segment, the sums of the segments are
 * added to `total`. */
template <class Tile, bool Short>
struct batch_sums {
    using elements = float[Tile::kColumns][Tile::kRows];
    elements chain = {};
    elements total;

    /* Without any k the totals are the sums. */
    __device__ __forceinline__ explicit batch_sums(int64_t k)
    {
        for_each([&](int c, int r) { total[c][r] = k > 0 ? kNoSegment : 0.0f; });
    }
    template <class Act>
    static __device__ __forceinline__ void for_each(Act act)
    {
#pragma unroll
        for (int c = 0; c < Tile::kColumns; c++)
#pragma unroll
            for (int r = 0; r < Tile::kRows; r++) act(c, r);
    }
    __device__ __forceinline__ void end_segment()
    {
        for_each([&](int c, int r) {
            total[c][r] += chain[c][r];
            chain[c][r] = 0.0f;
        });
    }
    __device__ __forceinline__ const elements &result() const { return Short ? chain : total; }
};

/*
 * A tile of a product's C, from element (first_i, first_j) on, by the Tile::kThreads threads of a
 * group; wait() waits for all of them. slabs: 2 * Tile::kSlab floats of shared memory, aligned to
 * 16 bytes. Short: k is at most a segment.
 */
template <class Tile, bool Short, class Wait>
static __device__ __forceinline__ void
multiply_tile(const sgemm_problem &p, int64_t first_i, int64_t first_j, copy_kind kind_a,
              copy_kind kind_b, float *slabs, int thread, Wait wait)
{
    constexpr int kEdge = Tile::kEdge, kRows = Tile::kRows, kColumns = Tile::kColumns;
    constexpr int kRow = Tile::kRow;
    static_assert(DUO_SEGMENT % Tile::kSteps == 0, "slabs end with segments");
    float *const a = slabs, *const b = a + Tile::kSlab;
    const int m = (int)min(p.m - first_i, (int64_t)kEdge); /* inside */
    const int n = (int)min(p.n - first_j, (int64_t)kEdge);
    const int i = Tile::row_of(thread), j = Tile::column_of(thread);
    /* Is the thread's first element inside, and any of its warp's? */
    const bool inside = i < m && j < n;
    const bool warp_inside = Tile::row_of(thread & ~31) < m && Tile::column_of(thread & ~31) < n;
    batch_sums<Tile, Short> sums(p.k);
    const float *of_a = p.a + (kind_a == kAlongK ? first_i * p.lda : first_i);
    const float *of_b = p.b + (kind_b == kAlongK ? first_j * p.ldb : first_j);
    float *const to = p.c + (first_i + i + (first_j + j) * p.ldc);
    if (p.beta != 0.0f && inside) /* C begins its way to the L2 cache */
        for (int c = 0; c < kColumns; c++)
            if (j + c < n) prefetch_to_l2(to + c * p.ldc);
    const int64_t next_a = Tile::kSteps * (kind_a == kAlongK ? 1 : p.lda);
    const int64_t next_b = Tile::kSteps * (kind_b == kAlongK ? 1 : p.ldb);
    for (int64_t l = 0; l < p.k; l += Tile::kSteps, of_a += next_a, of_b += next_b) {
        const int steps = (int)min(p.k - l, (int64_t)Tile::kSteps);
        load_slab<Tile>(a, of_a, p.lda, m, steps, kind_a, thread);
        load_slab<Tile>(b, of_b, p.ldb, n, steps, kind_b, thread);
        __pipeline_commit();
        __pipeline_wait_prior(0);
        wait();
        auto multiply_step = [&](int s) {
            float x[kRows], y[kColumns];
            read_fragment(x, a + s * kRow + i, kGroup);
            read_columns(y, b + s * kRow + j);
            sums.for_each(
                [&](int c, int r) { sums.chain[c][r] = fmaf(x[r], y[c], sums.chain[c][r]); });
        };
        if (warp_inside) {
#pragma unroll 8
            for (int s = 0; s < steps; s++) multiply_step(s);
        }
        wait(); /* before the slabs are refilled */
        if (!Short && ((l + Tile::kSteps) % DUO_SEGMENT == 0 || l + Tile::kSteps >= p.k))
            sums.end_segment();
    }
    let_next_kernel_start();
    /* Up to four columns are read before the first is written: reads behind a write wait. */
    constexpr int kAtOnce = kColumns / ((kColumns + 3) / 4);
    const bool aligned = columns_aligned(p.c, p.ldc);
    if (!inside) return;
#pragma unroll
    for (int first = 0; first < kColumns; first += kAtOnce) {
        float4 old[kAtOnce] = {};
#pragma unroll
        for (int c = 0; c < kAtOnce; c++)
            if (j + first + c < n)
                old[c] = read_four(to + (first + c) * p.ldc, p.beta, m - i, aligned);
#pragma unroll
        for (int c = 0; c < kAtOnce; c++) {
            const float(&x)[kRows] = sums.result()[first + c];
            if (j + first + c < n)
                write_four(to + (first + c) * p.ldc,
                           make_float4(blend(p.alpha, x[0], p.beta, old[c].x),
                                       blend(p.alpha, x[1], p.beta, old[c].y),
                                       blend(p.alpha, x[2], p.beta, old[c].z),
                                       blend(p.alpha, x[3], p.beta, old[c].w)),
                           m - i, aligned);
        }
    }
}

/* ---- The kernel ---- */

/* For older devices the same tiles need more registers. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
constexpr int kFewerBlocks = 1;
#else
constexpr int kFewerBlocks = 0;
#endif

/* Groups need whole warps for a tile. */
template <class Tile, bool Short, class Source>
static __global__ void __launch_bounds__(Tile::kBlock, Tile::kBlocks - !Short - kFewerBlocks)
    sgemm_small_tiles(const __grid_constant__ Source source)
{
    __shared__ __align__(16) float slabs[Tile::kTiles * Tile::kApart];
    const int thread = threadIdx.x % Tile::kThreads;
    int group = threadIdx.x / Tile::kThreads;
    if (Tile::kThreads >= 32)
        group = __shfl_sync(~0u, group, 0); /* known to be alike in the warp */
    int number = (int)blockIdx.x * Tile::kTiles + group;
    if (number >= source.tiles()) return;
    const auto &batch = source.find(number); /* groups were sent before the kernel ahead began */
    const int product = batch.of_product == 1 ? number : number / batch.of_product;
    const int tile = number - product * batch.of_product;
    sgemm_problem p = batch.p;
    wait_for_kernels_ahead();
    batch.places.find(p, product);
    const unsigned down = batch.down;
    multiply_tile<Tile, Short>(p, (int64_t)((unsigned)tile % down) * Tile::kEdge,
                               (int64_t)((unsigned)tile / down) * Tile::kEdge, batch.kind_a,
                               batch.kind_b, slabs + group * Tile::kApart, thread,
                               [] { Tile::wait_for_all(); });
}

/* Loads a tile's kernels, for k of one segment and of several. */
template <class Tile, class Source>
static cudaError_t load_small()
{
    const cudaError_t error = load_kernel(sgemm_small_tiles<Tile, true, Source>);
    return error == cudaSuccess ? load_kernel(sgemm_small_tiles<Tile, false, Source>) : error;
}

#endif
