/*
 * sgemm_gpu_skinny.cu - products with few tiles of C: the blocks, and the warps of each, share k.
 *
 * C or its transpose is X Y: Y is the thin operand; X is the other one, and is read along the
 * dimension in which it lies in memory. One code serves a small n and a small m.
 *
 * Accepts   any m, n, k, transposes, leading dimensions and alignment
 * Threads   256 per block; a block owns a tile of C and a range of k, and takes slabs of X and Y
 *           through a ring in shared memory (cp.async; plain loads before compute capability 8.0).
 *           Its warps take different l of a slab, and so do the lanes of a warp in small tiles.
 * Order     per element of C and range of k one fp32 FMA chain per warp (per lane in small tiles),
 *           over its share of every slab; chains are added by halving, ranges by add_ranges or
 *           sum_ranges: the same bits on every run with the same device, leading dimensions and
 *           workspace
 * Traffic   X once from memory, 16 bytes per copy if its alignment allows, else 4; Y once per tile
 *           of C, from L2; C once; with several ranges, their sums written and read once
 */
#include "gpu/kernels.h"
#include "gpu/launch.cuh"
#include "gpu/skinny/product.cuh"

/* The thin operand is Y. If C is thin both ways, X has more rows. */
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
                                skinny_tile<12, 8, 4, 1, 1, 8, 3, 1>, /* 64 x 48 */
                                skinny_tile<6, 8, 4, 1, 1, 8, 2, 2>,  /* 64 x 24 */
                                skinny_tile<8, 4, 2, 1, 1, 8, 3, 3>,  /* 64 x 16 */
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
/* The largest tiles need more shared memory than some devices have. X along k is read four steps at
 * a time; two blocks on a multiprocessor leave too few registers for that. */
using tile_128_48 = skinny_tile<12, 8, 4, 1, 2, 8, 3, 1>;
using tiles_along_rows = tiles_with<false, tile_128_48, skinny_tile<8, 8, 4, 1, 2, 16, 2, 2>>;
/* With 9 to 16 columns, X along k is read in slabs twice as long (H100: 201 to 135 us at 330
 * MB). */
using tiles_along_k = tiles_with<true, tile_128_48, skinny_tile<8, 8, 4, 1, 4, 16, 3, 1>,
                                 skinny_tile<8, 4, 2, 1, 2, 16, 2, 2>>; /* 128 x 16 */

/* The tiles of the predictions (choice/sgemm_gpu_thin_costs.c) exist. */
template <class Tiles>
static constexpr bool has_tile(int rows, int columns, int slab, int resident, int under_way,
                               int sums)
{
    for (const skinny_shape &s : Tiles::shape)
        if (s.rows == rows && s.columns == columns && s.slab == slab && s.resident == resident &&
            s.under_way == under_way && s.sums == sums)
            return true;
    return false;
}
#define IS_TILE(...)                                                                               \
    static_assert(has_tile<tiles_along_k>(__VA_ARGS__) || has_tile<tiles_along_rows>(__VA_ARGS__), \
                  "a tile whose cost is predicted");
DUO_SKINNY_TILE_LIST(IS_TILE)
#undef IS_TILE

/* Bytes of the sums of the largest tiles, with the most ranges. */
static size_t workspace(const duo_call *, const duo_launch *how)
{
    int largest = 0;
    for (const skinny_shape &s : tiles_along_k::shape)
        largest = max(largest, s.resident * s.rows * s.columns);
    for (const skinny_shape &s : tiles_along_rows::shape)
        largest = max(largest, s.resident * s.rows * s.columns);
    return (size_t)how->multiprocessors * kRounds * largest * sizeof(float);
}

/*
 * Shall the last block of each tile add its ranges? A second kernel adds many ranges sooner, but
 * its launch takes the host 2 us and more.
 */
static bool one_kernel(const skinny_plan &plan, const skinny_shape &shape, const duo_launch *how)
{
    const int64_t tiles = plan.row_tiles * plan.column_tiles;
    const int64_t of_tile = plan.ranges * shape.rows * shape.columns;
    return of_tile <= kMostAdded && tiles <= DUO_COUNTERS &&
           tiles * of_tile * sizeof(float) <= how->workspace_bytes;
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
    q.tickets = one_kernel(plan, shape, how) ? how->counters : nullptr;
    const cudaError_t error = queue_kernel_behind(Tiles::kernel[plan.shape], (unsigned)blocks,
                                                  kThreads, shape.shared_bytes, how, q);
    if (error != cudaSuccess || q.ranges == 1 || q.tickets != nullptr) return error;
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
