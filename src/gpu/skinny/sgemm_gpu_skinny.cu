/*
 * sgemm_gpu_skinny.cu - products with few tiles of C: the blocks, and the warps of each, share k.
 *
 * C or its transpose is X Y: X is the operand with more rows or columns that C keeps, read along
 * whatever dimension it lies in memory; Y the thin one. One code serves a small n and a small m.
 *
 * Accepts   any m, n, k, transposes, leading dimensions and alignment
 * Threads   256 per block; a block owns a tile of C and a range of k, and takes slabs of X and Y
 *           through a ring in shared memory (cp.async; plain loads before compute capability 8.0).
 *           Its warps take different l of a slab, and so do the lanes of a warp in small tiles.
 * Order     per element of C and range of k one fp32 FMA chain per warp, or per lane in small
 *           tiles, over its share of every slab; chains are added by halving, ranges by sum_ranges:
 *           the same bits on every run with the same device, leading dimensions and workspace
 * Traffic   X once from memory, 16 bytes per copy where its alignment allows, else 4; Y once per
 *           tile of C, from L2; C once; with several ranges, their sums there and back
 */
#include "gpu/kernels.h"
#include "gpu/launch.cuh"
#include "gpu/shared_memory.cuh"
#include "gpu/sgemm.cuh"
#include "gpu/skinny/plan.cuh"
#include "gpu/skinny/tile.cuh"
#include "gpu/skinny/sum_ranges.cuh"

struct skinny_problem {
    const float *x, *y;
    float *c;
    skinny_size size;
    int64_t ldx, ldy;
    int64_t row_step, column_step; /* of C */
    int row_tiles, column_tiles, ranges;
    int64_t range;  /* of k, per block */
    float *partial; /* C for each of several ranges, packed */
    bool wide_x;    /* 16-byte copies of X are aligned */
    float alpha, beta;
};

/* The ring's memory after the last slab: halves of the block's sums, then the tile of C. */
template <class Tile>
struct sums {
    static constexpr int kPitch = Tile::kRows + 1; /* both directions without bank conflicts */
    union {
        float half[Tile::kWarpsK > 1 ? Tile::kWarpsK / 2 : 1][Tile::kSums][Tile::kWarpsM][32];
        float tile[Tile::kColumns][kPitch];
    };
};

template <class Tile, bool AlongK>
constexpr size_t kSharedBytes = sizeof(slabs<Tile, AlongK>) > sizeof(sums<Tile>)
                                    ? sizeof(slabs<Tile, AlongK>)
                                    : sizeof(sums<Tile>);

/* Registers are shared out among no more blocks than fit in. */
#ifdef __CUDA_ARCH__
constexpr int kCapability = __CUDA_ARCH__ / 10;
#else
constexpr int kCapability = 90; /* any */
#endif
template <class Tile, bool AlongK>
constexpr int kFit = blocks_that_fit(kSharedBytes<Tile, AlongK>, Tile::kResident, kCapability);
template <class Tile, bool AlongK>
constexpr int kBlocks = kFit<Tile, AlongK> > 0 ? kFit<Tile, AlongK> : 1;

template <class Tile, bool AlongK>
static __global__ void __launch_bounds__(kThreads, kBlocks<Tile, AlongK>)
    sgemm_skinny(skinny_problem p)
{
    constexpr int kSlab = Tile::kSlab, kSlabs = Tile::kSlabs;
    extern __shared__ __align__(16) char shared[];
    auto &ring = *reinterpret_cast<slabs<Tile, AlongK> *>(shared);
    auto &after = *reinterpret_cast<sums<Tile> *>(shared);

    const int column_tile = blockIdx.x % p.column_tiles;
    const int rest = blockIdx.x / p.column_tiles;
    const int64_t first_row = (int64_t)(rest % p.row_tiles) * Tile::kRows;
    const int64_t range = rest / p.row_tiles;
    const int64_t first_column = (int64_t)column_tile * Tile::kColumns;
    const int64_t rows_left = p.size.rows - first_row, columns_left = p.size.columns - first_column;

    /* Steps of this range not yet multiplied, not yet loaded. All ranges but the last are whole
     * slabs, so that what is past the end of a range is past the end of the matrix. */
    const int64_t steps =
        p.size.k - range * p.range < p.range ? p.size.k - range * p.range : p.range;
    int64_t to_multiply = steps, to_load = steps;
    const bool whole_groups =
        rows_left >= Tile::kRows ? Tile::kRows % kGroup == 0 : rows_left % kGroup == 0;
    const bool wide_x = p.wide_x && (AlongK || whole_groups);
    skinny_loader<Tile::kRows, kSlab> x_loader(
        p.x, p.ldx, AlongK, wide_x ? kGroup : 1, first_row, p.size.rows, range * p.range,
        AlongK ? kPitchX<Tile, AlongK> : 1, AlongK ? 1 : kPitchX<Tile, AlongK>);
    const int64_t end_column =
        columns_left < Tile::kColumns ? p.size.columns : first_column + Tile::kColumns;
    skinny_loader<Tile::kColumnsCopied, kSlab> y_loader(p.y, p.ldy, p.size.y_along_k, 1,
                                                        first_column, end_column, range * p.range,
                                                        1, kPitchY<Tile>);

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

    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int warp_m = warp % Tile::kWarpsM, warp_k = warp / Tile::kWarpsM;
    const int lane_k = lane % Tile::kLanesK;
    const int lane_mn = lane / Tile::kLanesK;
    const int lane_n = column_lane<Tile::kLanesN>(lane_mn);
    const int lane_m = row_lane<Tile::kLanesN>(lane_mn);
    constexpr int kThreadColumns = Tile::kThreadColumns;

    float sum[Tile::kThreadRows][kThreadColumns] = {};

    wait_for_kernels_ahead();
#pragma unroll 1
    for (int slot = 0; slot < kSlabs - 1; slot++) load_next(slot);
    int slot = 0, freed = kSlabs - 1; /* being multiplied; multiplied before it */
    for (; to_multiply > 0; to_multiply -= kSlab) {
        __pipeline_wait_prior(kSlabs - 2);
        __syncthreads();
        load_next(freed);

        constexpr int kAtOnce = AlongK && Tile::kLanesK == 1 ? kGroup : 1;
        const float *const y_row = &ring.y[slot][lane_n * kThreadColumns];
#pragma unroll(Tile::kLanesK == 1 ? 4 : 2)
        for (int step = 0; step < Tile::kSteps; step += kAtOnce) {
            const int l = (warp_k * Tile::kSteps + step) * Tile::kLanesK + lane_k;
            float xs[kAtOnce][Tile::kThreadRows];
            read_x<Tile, AlongK, kAtOnce>(xs, ring.x[slot], warp_m, lane_m, l);
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

#pragma unroll
    for (int distance = Tile::kLanesK / 2; distance > 0; distance /= 2)
#pragma unroll
        for (int r = 0; r < Tile::kThreadRows; r++)
#pragma unroll
            for (int j = 0; j < kThreadColumns; j++)
                sum[r][j] += __shfl_xor_sync(0xffffffffu, sum[r][j], distance);
#pragma unroll
    for (int half = Tile::kWarpsK / 2; half > 0; half /= 2) {
        if (warp_k >= half && warp_k < 2 * half)
#pragma unroll
            for (int e = 0; e < Tile::kSums; e++)
                after.half[warp_k - half][e][warp_m][lane] =
                    sum[e / kThreadColumns][e % kThreadColumns];
        __syncthreads();
        if (warp_k < half)
#pragma unroll
            for (int e = 0; e < Tile::kSums; e++)
                sum[e / kThreadColumns][e % kThreadColumns] += after.half[warp_k][e][warp_m][lane];
        __syncthreads();
    }
    if (warp_k == 0 && lane_k == 0)
#pragma unroll
        for (int r = 0; r < Tile::kThreadRows; r++)
#pragma unroll
            for (int j = 0; j < kThreadColumns; j++)
                after.tile[lane_n * kThreadColumns + j][row_of<Tile, AlongK>(warp_m, lane_m, r)] =
                    sum[r][j];
    __syncthreads();

    const bool down = p.row_step == 1; /* neighbours in C are neighbours in its rows */
    auto for_each = [&](auto &&act) {
#pragma unroll 1
        for (int e = threadIdx.x; e < Tile::kRows * Tile::kColumns; e += kThreads) {
            const int row = down ? e % Tile::kRows : e / Tile::kColumns;
            const int column = down ? e / Tile::kRows : e % Tile::kColumns;
            if (row < rows_left && column < columns_left)
                act(after.tile[column][row], first_row + row, first_column + column);
        }
    };
    auto update = [&](float value, int64_t row, int64_t column) {
        float *const c = p.c + (row * p.row_step + column * p.column_step);
        *c = blend(p.alpha, value, p.beta, p.beta == 0.0f ? 0.0f : *c);
    };
    if (p.ranges == 1) {
        for_each(update);
        return;
    }
    const int64_t elements = p.size.rows * p.size.columns;
    auto packed = [&](int64_t row, int64_t column) {
        return down ? row + column * p.size.rows : column + row * p.size.columns;
    };
    for_each([&](float value, int64_t row, int64_t column) {
        p.partial[range * elements + packed(row, column)] = value;
    });
}

/* ---- Launch ---- */

/* The thin operand is Y; of a C that is thin both ways, X has more rows. */
static skinny_problem skinny_problem_of(const sgemm_problem &p, bool transa, bool transb)
{
    skinny_problem q;
    const bool swapped = p.m < p.n;
    q.x = swapped ? p.b : p.a;
    q.y = swapped ? p.a : p.b;
    q.c = p.c;
    q.ldx = swapped ? p.ldb : p.lda;
    q.ldy = swapped ? p.lda : p.ldb;
    q.row_step = swapped ? p.ldc : 1;
    q.column_step = swapped ? 1 : p.ldc;
    q.alpha = p.alpha;
    q.beta = p.beta;

    q.size.rows = swapped ? p.n : p.m;
    q.size.columns = swapped ? p.m : p.n;
    q.size.k = p.k;
    q.size.x_along_k = swapped ? !transb : transa;
    q.size.y_along_k = swapped ? transa : !transb;
    const bool one_run = q.size.rows == 1 && (q.size.x_along_k || q.ldx == 1);
    q.size.x_along_k |= one_run;
    q.wide_x = reinterpret_cast<uintptr_t>(q.x) % (kGroup * sizeof(float)) == 0 &&
               (one_run || q.ldx % kGroup == 0);
    return q;
}

/* The tiles for an X along k, or along its rows. */
template <bool AlongK, class... Tile>
struct skinny_tiles {
    static constexpr int kCount = sizeof...(Tile);
    static constexpr skinny_shape shape[kCount] = {{Tile::kRows, Tile::kColumns, Tile::kSlab,
                                                    Tile::kResident, Tile::kUnderWay, Tile::kSums,
                                                    kSharedBytes<Tile, AlongK>}...};
    static constexpr void (*kernel[kCount])(skinny_problem) = {sgemm_skinny<Tile, AlongK>...};
};

/* columns and rows per thread, lanes along columns and k, warps along rows, steps, slabs, blocks
 * per multiprocessor */
template <bool AlongK, class... Large>
using tiles_with = skinny_tiles<AlongK, Large...,                     /* rows x columns */
                                skinny_tile<8, 8, 4, 1, 2, 8, 2, 2>,  /* 128 x 32 */
                                skinny_tile<6, 8, 4, 1, 2, 8, 2, 2>,  /* 128 x 24 */
                                skinny_tile<8, 4, 2, 1, 2, 8, 2, 3>,  /* 128 x 16 */
                                skinny_tile<8, 2, 1, 1, 2, 4, 4, 3>,  /* 128 x 8 */
                                skinny_tile<8, 4, 1, 2, 1, 4, 2, 3>,  /* 64 x 8 */
                                skinny_tile<8, 4, 4, 1, 1, 8, 2, 3>,  /* 32 x 32 */
                                skinny_tile<8, 4, 2, 2, 1, 4, 3, 2>,  /* 32 x 16 */
                                skinny_tile<8, 4, 1, 4, 1, 4, 2, 3>,  /* 32 x 8 */
                                skinny_tile<8, 4, 1, 8, 1, 1, 3, 2>,  /* 16 x 8 */
                                skinny_tile<8, 4, 1, 32, 1, 1, 2, 3>, /* 4 x 8 */
                                skinny_tile<1, 4, 1, 1, 1, 4, 2, 4>,  /* 128 x 1 */
                                skinny_tile<1, 8, 1, 32, 1, 1, 3, 4>, /* 8 x 1 */
                                skinny_tile<1, 1, 1, 32, 1, 4, 4, 4>  /* 1 x 1 */
                                >;
/* The largest need much shared memory, which not all devices have. X along k comes from shared
 * memory four steps at a time, and two blocks to a multiprocessor leave too few registers for
 * it. */
using tile_128_48 = skinny_tile<12, 8, 4, 1, 2, 8, 3, 1>;
using tiles_along_rows = tiles_with<false, tile_128_48, skinny_tile<8, 8, 4, 1, 2, 16, 2, 2>>;
using tiles_along_k = tiles_with<true, tile_128_48, skinny_tile<8, 8, 4, 1, 4, 16, 3, 1>>;

/* What the largest tiles take with as many ranges as there may be. */
static size_t workspace(const duo_call *, const duo_launch *how)
{
    int largest = 0;
    for (const skinny_shape &s : tiles_along_k::shape)
        largest = max(largest, s.resident * s.rows * s.columns);
    for (const skinny_shape &s : tiles_along_rows::shape)
        largest = max(largest, s.resident * s.rows * s.columns);
    return (size_t)how->multiprocessors * kRounds * largest * sizeof(float);
}

template <class Tiles>
static cudaError_t queue_skinny(const sgemm_problem &p, skinny_problem &q, const duo_launch *how)
{
    skinny_plan plan = plan_of(Tiles::shape, q.size, how->multiprocessors, how->capability);
    const skinny_shape &shape = Tiles::shape[plan.shape];
    const int64_t room = (int64_t)(how->workspace_bytes / sizeof(float)) / (p.m * p.n);
    if (plan.ranges > 1 && plan.ranges > room) split(&plan, shape.slab, p.k, room > 1 ? room : 1);
    const int64_t blocks = plan.row_tiles * plan.column_tiles * plan.ranges;
    if (blocks > INT32_MAX) return cudaErrorInvalidValue;

    q.row_tiles = (int)plan.row_tiles;
    q.column_tiles = (int)plan.column_tiles;
    q.ranges = (int)plan.ranges;
    q.range = plan.range;
    q.partial = reinterpret_cast<float *>(how->workspace);
    const cudaError_t error = queue_kernel_behind(Tiles::kernel[plan.shape], (unsigned)blocks,
                                                  kThreads, shape.shared_bytes, how, q);
    if (error != cudaSuccess || q.ranges == 1) return error;
    return queue_sum_ranges(p, q.partial, q.ranges, how);
}

static cudaError_t launch(const duo_call *call, const duo_launch *how)
{
    const sgemm_problem p = sgemm_problem_of(call);
    skinny_problem q = skinny_problem_of(p, call->transa, call->transb);
    return q.size.x_along_k ? queue_skinny<tiles_along_k>(p, q, how)
                            : queue_skinny<tiles_along_rows>(p, q, how);
}

/* A tile that does not fit is not used, and not loaded. */
template <class Tiles>
static cudaError_t load_tiles(int capability)
{
    cudaError_t error = cudaSuccess;
    for (int i = 0; i < Tiles::kCount && error == cudaSuccess; i++)
        if (Tiles::shape[i].resident_on(capability) > 0)
            error = load_kernel_with(Tiles::kernel[i], Tiles::shape[i].shared_bytes);
    return error;
}

static cudaError_t load()
{
    int capability = 0;
    cudaError_t error = current_capability(&capability);
    if (error == cudaSuccess) error = load_kernel(sum_ranges);
    if (error == cudaSuccess) error = load_tiles<tiles_along_rows>(capability);
    return error == cudaSuccess ? load_tiles<tiles_along_k>(capability) : error;
}

const duo_gpu_algorithm duo_sgemm_gpu_skinny = {
    .launch = launch,
    .load = load,
    .workspace = workspace,
    .packed_bytes = nullptr,
    .pack = nullptr,
};
