/*
 * sgemm_gpu_batched.cu - many products of one shape in one launch, only by fp32 FMA.
 *
 * Accepts   any m, n, k, transposes, leading dimensions, strides and alignment
 * Kernels   tiles of 8 x 8 to 64 x 64 of a product by few threads each (batched/small_tiles.cuh),
 *           or of 128 x 128 by the loops of sgemm_gpu_ffma: whichever is predicted to take least
 * Order     product_order.h
 */
#include <math.h>

#include "gpu/batched/small_tiles.cuh"
#include "gpu/ffma/multiply.cuh"
#include "gpu/ffma/store.cuh"
#include "gpu/kernels.h"
#include "gpu/launch.cuh"

/* ---- The kernel for large tiles ---- */

/*
 * Each block computes a tile of 128 x 128 of one product's C, with the parts of sgemm_gpu_ffma.
 */

template <class Tile, copy_kind KindA, copy_kind KindB>
static __global__ void __launch_bounds__(Tile::kThreads, Tile::kResident)
    sgemm_large_tiles(sgemm_problem p, tile_shares shares, batch_places places)
{
    extern __shared__ float4 memory[];
    float *const ring = reinterpret_cast<float *>(memory);
    const thread_place<Tile> me;
    int64_t first_i, first_j;
    find_tile<Tile::kM, Tile::kN>(shares, blockIdx.x % shares.whole, &first_i, &first_j);
    thread_sums<Tile> total;
    wait_for_kernels_ahead();
    places.find(p, blockIdx.x / shares.whole);
    begin_totals<Tile>(total, p.k);
    multiply_segments<Tile, KindA, KindB>(
        p, ring, me, first_i, first_j, 0, shares.segments,
        [&](const thread_sums<Tile> &sum, int) { add_segment<Tile>(total, sum); });
    let_next_kernel_start();
    store_tile<Tile>(p, total, ring, me, first_i, first_j);
}

/* ---- Launching ---- */

/* Are all of an operand's columns on 16 bytes, and is its edge a whole number of groups? */
static bool is_wide(const duo_call *call, const duo_batch *batch, int i)
{
    const duo_operand *const o = &call->operand[i];
    const int64_t edge = i == DUO_A ? call->m : call->n;
    uintptr_t bits = (uintptr_t)o->ld * sizeof(float);
    if (!o->read || duo_call_along_k(call, i) || edge % kGroup != 0) return false;
    if (batch->pointer[i] == nullptr) {
        bits |= (uintptr_t)o->address | (uintptr_t)batch->stride[i] * sizeof(float);
    } else {
        bits |= (uintptr_t)batch->shift[i] | batch->list[i].bits;
    }
    return bits % (kGroup * sizeof(float)) == 0;
}

/* The lists are in the workspace, one behind the other. */
static batch_places places_of(const duo_batch *batch, const duo_launch *how)
{
    batch_places places = {};
    const uintptr_t *list = reinterpret_cast<const uintptr_t *>(how->workspace);
    for (int i = 0; i < DUO_OPERANDS; i++) {
        if (batch->pointer[i] == nullptr) {
            places.step[i] = batch->stride[i] * (int64_t)sizeof(float);
            continue;
        }
        places.list[i] = list;
        places.step[i] = batch->shift[i];
        list += batch->count;
    }
    return places;
}

static copy_kind kind_of(const duo_call *call, const duo_batch *batch, int i)
{
    if (is_wide(call, batch, i)) return kVectors;
    return duo_call_along_k(call, i) ? kAlongK : kAlongEdge;
}

static int64_t tiles_along(int64_t size, int edge) { return (size + edge - 1) / edge; }

/* ---- Small tiles ---- */

template <class Tile, int Chains>
static cudaError_t launch_small(const duo_call *call, const duo_batch *batch, const duo_launch *how)
{
    const int64_t down = tiles_along(call->m, Tile::kEdge);
    const int64_t across = tiles_along(call->n, Tile::kEdge);
    if (down * across > INT32_MAX / batch->count) return cudaErrorInvalidValue;
    const tile_counts tiles = {(int)down, (int)across, down * across * batch->count};
    const int64_t blocks = (tiles.all + Tile::kTiles - 1) / Tile::kTiles;
    auto *kernel = sgemm_small_tiles<Tile, Chains, false>;
    if constexpr (Chains == 1)
        if (call->k <= DUO_SEGMENT) kernel = sgemm_small_tiles<Tile, Chains, true>;
    return queue_kernel_behind(kernel, (unsigned)blocks, Tile::kBlock, 0, how,
                               sgemm_problem_of(call), places_of(batch, how), tiles,
                               kind_of(call, batch, DUO_A), kind_of(call, batch, DUO_B));
}

using tile_8 = batch_tile<8, 2, 16, 7>;
using tile_16 = batch_tile<16, 2, 32, 8>;
using tile_32 = batch_tile<32, 4, 32, 12>;
using tile_64 = batch_tile<64, 8, 32, 5>;
using vector_tile = batch_tile<8, 2, 16, 4>; /* a thread has eight chains of each element */

/* ---- Large tiles ---- */

constexpr int kLargeEdge = large_tile::kM;
constexpr size_t kLargeBytes = large_tile::kFloats * sizeof(float);
static_assert(large_tile::kM == large_tile::kN, "a square");

static void (*const large_kernel[3][3])(sgemm_problem, tile_shares, batch_places) = {
    {sgemm_large_tiles<large_tile, kVectors, kVectors>,
     sgemm_large_tiles<large_tile, kVectors, kAlongEdge>,
     sgemm_large_tiles<large_tile, kVectors, kAlongK>},
    {sgemm_large_tiles<large_tile, kAlongEdge, kVectors>,
     sgemm_large_tiles<large_tile, kAlongEdge, kAlongEdge>,
     sgemm_large_tiles<large_tile, kAlongEdge, kAlongK>},
    {sgemm_large_tiles<large_tile, kAlongK, kVectors>,
     sgemm_large_tiles<large_tile, kAlongK, kAlongEdge>,
     sgemm_large_tiles<large_tile, kAlongK, kAlongK>}};

static cudaError_t launch_large(const duo_call *call, const duo_batch *batch, const duo_launch *how)
{
    const sgemm_problem p = sgemm_problem_of(call);
    const int64_t down = tiles_along(p.m, kLargeEdge), across = tiles_along(p.n, kLargeEdge);
    const int64_t segments = (p.k + DUO_SEGMENT - 1) / DUO_SEGMENT;
    if (down * across > INT32_MAX / batch->count || p.k / kSlab >= INT32_MAX)
        return cudaErrorInvalidValue;
    tile_shares shares = {};
    shares.tiles_m = (int)down;
    shares.tiles_n = (int)across;
    shares.whole = (int)(down * across);
    shares.segments = (int)segments;
    return queue_kernel_behind(
        large_kernel[kind_of(call, batch, DUO_A)][kind_of(call, batch, DUO_B)],
        (unsigned)(shares.whole * batch->count), large_tile::kThreads, kLargeBytes, how, p, shares,
        places_of(batch, how));
}

/* ---- Which of them ---- */

/*
 * The microseconds of a batch with tiles of this edge, on an H100: a fixed time for the first tile
 * and a time for each of its steps of k; then a time for each tile of a multiprocessor, and for
 * each step of k of each warp with elements inside. Fitted to 500 random batches and 16 of squares;
 * on 300 others the choice is 2.5 % slower than the best of the five.
 */
static const struct {
    int edge, warp_rows, warp_columns; /* of the part that is skipped if it is outside */
    cudaError_t (*launch)(const duo_call *, const duo_batch *, const duo_launch *);
    double first, first_step, tile, warp_step;
} tiles[] = {{8, 8, 8, launch_small<tile_8, 1>, 1.96, 0.0446, 0.0198, 0.00153},
             {16, 16, 16, launch_small<tile_16, 1>, 2.16, 0.0261, 0.0844, 0.00353},
             {32, 32, 16, launch_small<tile_32, 1>, 2.39, 0.0283, 0.253, 0.00429},
             {64, 32, 32, launch_small<tile_64, 1>, 2.74, 0.0412, 0.608, 0.00716},
             {kLargeEdge, kLargeEdge, kLargeEdge, launch_large, 2.51, 0.0751, 4.03, 0.0760}};
enum { TILES = sizeof tiles / sizeof tiles[0] };

static double tile_cost(int tile, const duo_call *call, int64_t count, int multiprocessors)
{
    const auto &t = tiles[tile];
    const double k = (double)call->k, share = (double)count / multiprocessors;
    const int64_t all = tiles_along(call->m, t.edge) * tiles_along(call->n, t.edge);
    const int64_t warps = tiles_along(call->m, t.warp_rows) * tiles_along(call->n, t.warp_columns);
    return t.first + k * t.first_step +
           share * ((double)all * t.tile + (double)warps * k * t.warp_step);
}

static int choose_tile(const duo_call *call, int64_t count, const duo_launch *how)
{
    const bool large_fits = blocks_that_fit(kLargeBytes, 1, how->capability) > 0;
    double cost[TILES];
    int best = 0;
    for (int i = 0; i < (large_fits ? TILES : TILES - 1); i++) {
        cost[i] = tile_cost(i, call, count, how->multiprocessors);
        if (cost[i] < cost[best]) best = i;
    }
    return best;
}

static cudaError_t launch(const duo_call *call, const duo_batch *batch, const duo_launch *how)
{
    if (duo_call_is_vector(call)) return launch_small<vector_tile, DUO_CHAINS>(call, batch, how);
    return tiles[choose_tile(call, batch->count, how)].launch(call, batch, how);
}

template <class Tile>
static cudaError_t load_small()
{
    const cudaError_t error = load_kernel(sgemm_small_tiles<Tile, 1, true>);
    return error == cudaSuccess ? load_kernel(sgemm_small_tiles<Tile, 1, false>) : error;
}

static cudaError_t load()
{
    int capability = 0;
    cudaError_t error = current_capability(&capability);
    if (error == cudaSuccess) error = load_small<tile_8>();
    if (error == cudaSuccess) error = load_small<tile_16>();
    if (error == cudaSuccess) error = load_small<tile_32>();
    if (error == cudaSuccess) error = load_small<tile_64>();
    if (error == cudaSuccess)
        error = load_kernel(sgemm_small_tiles<vector_tile, DUO_CHAINS, false>);
    if (blocks_that_fit(kLargeBytes, 1, capability) == 0) return error;
    for (const auto &row : large_kernel)
        for (const auto kernel : row)
            if (error == cudaSuccess) error = load_kernel_with(kernel, kLargeBytes);
    return error;
}

const duo_gpu_batch duo_sgemm_gpu_batched = {.launch = launch, .load = load};
