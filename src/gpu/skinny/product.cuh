/*
 * skinny/product.cuh - the kernels of sgemm_gpu_skinny: a tile of C over a range of k; C from the
 * sums over many ranges.
 */
#ifndef DUO_SKINNY_PRODUCT_CUH
#define DUO_SKINNY_PRODUCT_CUH

#include "gpu/add_ranges.cuh"
#include "gpu/kernels.h"
#include "gpu/launch.cuh"
#include "gpu/sgemm.cuh"
#include "gpu/skinny/plan.cuh"
#include "gpu/skinny/tile.cuh"

/* ---- The problem, and the parts of a block and a thread ---- */

struct skinny_problem {
    const float *x, *y;
    float *c;
    skinny_size size;
    int64_t ldx, ldy;
    int64_t row_step, column_step; /* of C */
    int row_tiles, column_tiles, ranges;
    int64_t range;     /* of k, per block */
    float *partial;    /* with several ranges: C of each, packed; or their slots, tile by tile */
    unsigned *tickets; /* for the slots (add_ranges.cuh). NULL: a second kernel adds */
    bool wide_x;       /* 16-byte copies of X are aligned */
    float alpha, beta;
};

/* The ring's memory after the last slab: halves of the block's sums, then the tile of C. */
template <class Tile>
struct sums {
    static constexpr int kPitch = Tile::kRows + 1; /* no bank conflicts in either direction */
    union {
        float half[Tile::kWarpsK > 1 ? Tile::kWarpsK / 2 : 1][Tile::kSums][Tile::kWarpsM][32];
        float tile[Tile::kColumns][kPitch];
        float scratch[kThreads];
    };
};

template <class Tile, bool AlongK>
constexpr size_t kSharedBytes = sizeof(slabs<Tile, AlongK>) > sizeof(sums<Tile>)
                                    ? sizeof(slabs<Tile, AlongK>)
                                    : sizeof(sums<Tile>);

/* Where a block works: a tile of C, or of its transpose, and a range of k. */
struct skinny_block {
    int64_t first_row, first_column, rows_left, columns_left, range;
    int64_t steps; /* of k */

    template <class Tile>
    static __device__ __forceinline__ skinny_block of(const skinny_problem &p)
    {
        skinny_block b;
        const int column_tile = blockIdx.x % p.column_tiles;
        const int rest = blockIdx.x / p.column_tiles;
        b.first_row = (int64_t)(rest % p.row_tiles) * Tile::kRows;
        b.range = rest / p.row_tiles;
        b.first_column = (int64_t)column_tile * Tile::kColumns;
        b.rows_left = p.size.rows - b.first_row;
        b.columns_left = p.size.columns - b.first_column;
        b.steps = p.size.k - b.range * p.range < p.range ? p.size.k - b.range * p.range : p.range;
        return b;
    }
};

/* A thread's place in its block, by lanes and warps (skinny/tile.cuh). */
template <class Tile>
struct skinny_place {
    int lane, warp_m, warp_k, lane_k, lane_n, lane_m;

    __device__ __forceinline__ skinny_place()
    {
        const int warp = threadIdx.x / 32;
        lane = threadIdx.x % 32;
        warp_m = warp % Tile::kWarpsM;
        warp_k = warp / Tile::kWarpsM;
        lane_k = lane % Tile::kLanesK;
        const int lane_mn = lane / Tile::kLanesK;
        lane_n = column_lane<Tile::kLanesN>(lane_mn);
        lane_m = row_lane<Tile::kLanesN>(lane_mn);
    }
};

/* ---- The kernel that multiplies ---- */

/* Registers are limited for no more blocks than fit. */
#ifdef __CUDA_ARCH__
constexpr int kCapability = __CUDA_ARCH__ / 10;
#else
constexpr int kCapability = 90; /* any */
#endif
template <class Tile, bool AlongK>
constexpr int kFit = blocks_that_fit(kSharedBytes<Tile, AlongK>, Tile::kResident, kCapability);
template <class Tile, bool AlongK>
constexpr int kBlocks = kFit<Tile, AlongK> > 0 ? kFit<Tile, AlongK> : 1;

/* The elements of C of a thread. */
template <class Tile>
using skinny_sums = float[Tile::kThreadRows][Tile::kThreadColumns];

/* Adds the sums of lanes and warps that shared the steps, into after.tile. */
template <class Tile, bool AlongK>
static __device__ __forceinline__ void add_block(sums<Tile> &after, skinny_sums<Tile> &sum,
                                                 const skinny_place<Tile> &me)
{
    constexpr int kThreadColumns = Tile::kThreadColumns;
#pragma unroll
    for (int distance = Tile::kLanesK / 2; distance > 0; distance /= 2)
#pragma unroll
        for (int r = 0; r < Tile::kThreadRows; r++)
#pragma unroll
            for (int j = 0; j < kThreadColumns; j++)
                sum[r][j] += __shfl_xor_sync(0xffffffffu, sum[r][j], distance);
#pragma unroll
    for (int half = Tile::kWarpsK / 2; half > 0; half /= 2) {
        if (me.warp_k >= half && me.warp_k < 2 * half)
#pragma unroll
            for (int e = 0; e < Tile::kSums; e++)
                after.half[me.warp_k - half][e][me.warp_m][me.lane] =
                    sum[e / kThreadColumns][e % kThreadColumns];
        __syncthreads();
        if (me.warp_k < half)
#pragma unroll
            for (int e = 0; e < Tile::kSums; e++)
                sum[e / kThreadColumns][e % kThreadColumns] +=
                    after.half[me.warp_k][e][me.warp_m][me.lane];
        __syncthreads();
    }
    if (me.warp_k == 0 && me.lane_k == 0)
#pragma unroll
        for (int r = 0; r < Tile::kThreadRows; r++)
#pragma unroll
            for (int j = 0; j < kThreadColumns; j++)
                after.tile[me.lane_n * kThreadColumns + j]
                          [row_of<Tile, AlongK>(me.warp_m, me.lane_m, r)] = sum[r][j];
    __syncthreads();
}

/* The block's part of C begins its way to the L2 cache. */
template <class Tile>
static __device__ __forceinline__ void prefetch_block(const skinny_problem &p,
                                                      const skinny_block &block)
{
    const float *const c =
        p.c + (block.first_row * p.row_step + block.first_column * p.column_step);
    if (p.row_step == 1)
        prefetch_tile<Tile::kRows, Tile::kColumns, kThreads>(c, p.column_step, block.rows_left,
                                                             block.columns_left, threadIdx.x);
    else
        prefetch_tile<Tile::kColumns, Tile::kRows, kThreads>(c, p.row_step, block.columns_left,
                                                             block.rows_left, threadIdx.x);
}

/* True for the last block of the tile, with the sums over all ranges of k in after.tile. */
template <class Tile>
static __device__ __forceinline__ bool is_whole(const skinny_problem &p, sums<Tile> &after)
{
    constexpr int kElements = Tile::kRows * Tile::kColumns;
    const int tiles = p.row_tiles * p.column_tiles, tile = blockIdx.x % tiles;
    const bool down = p.row_step == 1; /* the order of store_block */
    auto element = [&](int e) -> float & {
        return down ? after.tile[e / Tile::kRows][e % Tile::kRows]
                    : after.tile[e % Tile::kColumns][e / Tile::kColumns];
    };
    return add_tile_ranges<kThreads, kElements>(p.partial + (int64_t)tile * p.ranges * kElements,
                                                p.tickets + tile, blockIdx.x / tiles, p.ranges,
                                                after.scratch, element);
}

/* Stores after.tile to C, or to the sums of its range. */
template <class Tile>
static __device__ __forceinline__ void store_block(const skinny_problem &p,
                                                   const skinny_block &block, sums<Tile> &after)
{
    const bool in_workspace = p.ranges > 1 && p.tickets == nullptr;
    if (p.ranges > 1 && !in_workspace && !is_whole<Tile>(p, after)) return;
    const bool down = p.row_step == 1; /* neighbours in C are neighbours in its rows */
    auto for_each = [&](auto &&act) {
#pragma unroll 1
        for (int e = threadIdx.x; e < Tile::kRows * Tile::kColumns; e += kThreads) {
            const int row = down ? e % Tile::kRows : e / Tile::kColumns;
            const int column = down ? e / Tile::kRows : e % Tile::kColumns;
            if (row < block.rows_left && column < block.columns_left)
                act(after.tile[column][row], block.first_row + row, block.first_column + column);
        }
    };
    auto update = [&](float value, int64_t row, int64_t column) {
        float *const c = p.c + (row * p.row_step + column * p.column_step);
        *c = blend(p.alpha, value, p.beta, p.beta == 0.0f ? 0.0f : *c);
    };
    if (!in_workspace) {
        for_each(update);
        return;
    }
    const int64_t elements = p.size.rows * p.size.columns;
    auto packed = [&](int64_t row, int64_t column) {
        return down ? row + column * p.size.rows : column + row * p.size.columns;
    };
    for_each([&](float value, int64_t row, int64_t column) {
        p.partial[block.range * elements + packed(row, column)] = value;
    });
}

template <class Tile, bool AlongK>
static __global__ void __launch_bounds__(kThreads, kBlocks<Tile, AlongK>)
    sgemm_skinny(skinny_problem p)
{
    constexpr int kSlab = Tile::kSlab, kSlabs = Tile::kSlabs;
    constexpr int kThreadColumns = Tile::kThreadColumns;
    constexpr int kAtOnce = AlongK && Tile::kLanesK == 1 ? kGroup : 1; /* steps */
    extern __shared__ __align__(16) char shared[];
    auto &ring = *reinterpret_cast<slabs<Tile, AlongK> *>(shared);
    auto &after = *reinterpret_cast<sums<Tile> *>(shared);
    const skinny_block block = skinny_block::of<Tile>(p);
    if (p.beta != 0.0f && p.ranges == 1) prefetch_block<Tile>(p, block);

    /* Steps of this range not yet multiplied, and not yet loaded. All ranges but the last are whole
     * slabs, so a step past the end of a range is past the end of the matrix. */
    int64_t to_multiply = block.steps, to_load = block.steps;
    const bool whole_groups =
        block.rows_left >= Tile::kRows ? Tile::kRows % kGroup == 0 : block.rows_left % kGroup == 0;
    const bool wide_x = p.wide_x && (AlongK || whole_groups);
    skinny_loader<Tile::kRows, kSlab> x_loader(p.x, p.ldx, AlongK, wide_x ? kGroup : 1,
                                               block.first_row, p.size.rows, block.range * p.range,
                                               AlongK ? kPitchX<Tile, AlongK> : 1,
                                               AlongK ? 1 : kPitchX<Tile, AlongK>);
    const int64_t end_column =
        block.columns_left < Tile::kColumns ? p.size.columns : block.first_column + Tile::kColumns;
    skinny_loader<Tile::kColumnsCopied, kSlab> y_loader(p.y, p.ldy, p.size.y_along_k, 1,
                                                        block.first_column, end_column,
                                                        block.range * p.range, 1, kPitchY<Tile>);
    auto load_next = [&](int slot) {
        if (to_load > 0) {
            if (wide_x)
                x_loader.template load<kGroup>(ring.x[slot], to_load);
            else
                x_loader.template load<1>(ring.x[slot], to_load);
            y_loader.template load<1>(ring.y[slot], to_load);
            to_load -= kSlab;
        }
        __pipeline_commit(); /* also an empty one: a wait counts commits */
    };

    const skinny_place<Tile> me;
    skinny_sums<Tile> sum = {};
    wait_for_kernels_ahead();
#pragma unroll 1
    for (int slot = 0; slot < kSlabs - 1; slot++) load_next(slot);
    int slot = 0, freed = kSlabs - 1; /* the slot being multiplied; the one before it */
    for (; to_multiply > 0; to_multiply -= kSlab) {
        __pipeline_wait_prior(kSlabs - 2);
        __syncthreads();
        load_next(freed);

        /* A thread's share of the slab. In a function of its own it spills on sm_100. */
        const float *const y_row = &ring.y[slot][me.lane_n * kThreadColumns];
#pragma unroll(Tile::kLanesK == 1 ? 4 : 2)
        for (int step = 0; step < Tile::kSteps; step += kAtOnce) {
            const int l = (me.warp_k * Tile::kSteps + step) * Tile::kLanesK + me.lane_k;
            float xs[kAtOnce][Tile::kThreadRows];
            read_x<Tile, AlongK, kAtOnce>(xs, ring.x[slot], me.warp_m, me.lane_m, l);
#pragma unroll
            for (int q = 0; q < kAtOnce; q++) {
                float ys[kThreadColumns];
                read_y<kThreadColumns>(ys, y_row + (l + q) * kPitchY<Tile>);
#pragma unroll
                for (int r = 0; r < Tile::kThreadRows; r++)
#pragma unroll
                    for (int j = 0; j < kThreadColumns; j++)
                        sum[r][j] = fmaf(xs[q][r], ys[j], sum[r][j]);
            }
        }
        freed = slot;
        slot = slot + 1 == kSlabs ? 0 : slot + 1;
    }
    let_next_kernel_start();
    __pipeline_wait_prior(0);
    __syncthreads(); /* from here on the ring's memory holds sums */
    add_block<Tile, AlongK>(after, sum, me);
    store_block<Tile>(p, block, after);
}

/* ---- The kernel that adds ranges ---- */

/*
 * A second kernel: C from the sums over many ranges of k in the workspace.
 *
 * Threads   256 per block; several of them share the ranges of an element if elements are few
 * Order     a thread's ranges in their order, then shares by halving: the same bits on every run
 */

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
