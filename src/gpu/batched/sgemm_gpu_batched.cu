/*
 * sgemm_gpu_batched.cu - many products of one shape in one launch, by fp32 FMA alone.
 *
 * Accepts   any m, n, k, transposes, leading dimensions, strides and alignment
 * Kernels   tiles of 32 x 32 or 64 x 64 of a product by one or four warps
 *           (batched/warp_products.cuh), or of 128 x 128 by the loops of sgemm_gpu_ffma
 *           (batched/tile_products.cuh): whichever is predicted to take less
 * Order     per element of C one fp32 FMA chain over k, scaled by alpha, then added to beta C: the
 *           same bits by every tile, in every batch and on every device
 */
#include <math.h>

#include "gpu/batched/tile_products.cuh"
#include "gpu/batched/warp_products.cuh"
#include "gpu/kernels.h"
#include "gpu/shared_memory.cuh"

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

/* The lists stand in the workspace, one behind the other. */
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

static int64_t tiles_along(int64_t size, int edge) { return (size + edge - 1) / edge; }

/* ---- Warps ---- */

template <int Across>
static void (*const warp_kernel[2][2])(sgemm_problem, batch_places, warp_tiles, bool, bool) = {
    {sgemm_warp_products<Across, false, false>, sgemm_warp_products<Across, false, true>},
    {sgemm_warp_products<Across, true, false>, sgemm_warp_products<Across, true, true>},
};

template <int Across>
static cudaError_t launch_warps(const duo_call *call, const duo_batch *batch, const duo_launch *how)
{
    const int64_t down = tiles_along(call->m, kWarpEdge * Across);
    const int64_t across = tiles_along(call->n, kWarpEdge * Across);
    if (down * across > INT32_MAX / batch->count) return cudaErrorInvalidValue;
    const warp_tiles tiles = {(int)down, (int)across, down * across * batch->count};
    const int64_t blocks = (tiles.all + kTiles<Across> - 1) / kTiles<Across>;
    return queue_kernel_behind(warp_kernel<Across>[call->transa][call->transb], (unsigned)blocks,
                               kWarpThreads, 0, how, sgemm_problem_of(call), places_of(batch, how),
                               tiles, is_wide(call, batch, DUO_A), is_wide(call, batch, DUO_B));
}

/* ---- Tiles ---- */

struct batch_tile {
    void (*kernel[3][3])(sgemm_problem, tile_shares, batch_places); /* by copy_kind */
    int edge;
    size_t shared_bytes;
};

template <class Tile>
constexpr batch_tile batch_tile_of()
{
    static_assert(Tile::kM == Tile::kN, "a square");
    return {{{sgemm_tile_products<Tile, kVectors, kVectors>,
              sgemm_tile_products<Tile, kVectors, kAlongEdge>,
              sgemm_tile_products<Tile, kVectors, kAlongK>},
             {sgemm_tile_products<Tile, kAlongEdge, kVectors>,
              sgemm_tile_products<Tile, kAlongEdge, kAlongEdge>,
              sgemm_tile_products<Tile, kAlongEdge, kAlongK>},
             {sgemm_tile_products<Tile, kAlongK, kVectors>,
              sgemm_tile_products<Tile, kAlongK, kAlongEdge>,
              sgemm_tile_products<Tile, kAlongK, kAlongK>}},
            Tile::kM,
            Tile::kRingFloats * sizeof(float)};
}

static const batch_tile whole_tile = batch_tile_of<large_tile>();

static copy_kind kind_of(const duo_call *call, const duo_batch *batch, int i)
{
    if (is_wide(call, batch, i)) return kVectors;
    return duo_call_along_k(call, i) ? kAlongK : kAlongEdge;
}

static cudaError_t launch_tiles(const duo_call *call, const duo_batch *batch, const duo_launch *how)
{
    const batch_tile &tile = whole_tile;
    const sgemm_problem p = sgemm_problem_of(call);
    const int64_t down = tiles_along(p.m, tile.edge), across = tiles_along(p.n, tile.edge);
    const int64_t slabs = (p.k + kSlab - 1) / kSlab;
    if (down * across > INT32_MAX / batch->count || slabs > INT32_MAX) return cudaErrorInvalidValue;
    tile_shares shares = {};
    shares.tiles_m = (int)down;
    shares.tiles_n = (int)across;
    shares.whole = (int)(down * across);
    shares.slabs = (int)slabs;
    return queue_kernel_behind(
        tile.kernel[kind_of(call, batch, DUO_A)][kind_of(call, batch, DUO_B)],
        (unsigned)(shares.whole * batch->count), kThreads, tile.shared_bytes, how, p, shares,
        places_of(batch, how));
}

/* ---- Which of them ---- */

/*
 * What a tile takes, in microseconds of an H100: the slots of a multiprocessor are done in waves,
 * each of which takes a fixed time and so long for each step of k. From 300 random batches and 15
 * of squares; on 150 others the choice is 1 % slower than the best of the three.
 */
static const struct {
    int edge, slots;
    double fixed, step;
} tile_costs[] = {{32, 24, 1.19, 0.224}, {64, 6, 1.04, 0.142}, {128, 2, 4.31, 0.156}};
enum { WARPS_32, WARPS_64, TILE_128, TILES };
constexpr double kBytes = 2.7e6; /* that its memory moves in a microsecond */

static double tile_cost(int tile, const duo_call *call, int64_t count, int multiprocessors)
{
    const auto &t = tile_costs[tile];
    const double m = (double)call->m, n = (double)call->n, k = (double)call->k;
    const double moved =
        4.0 * (double)count * (m * k + k * n + m * n * (call->beta != 0.0f ? 2.0 : 1.0));
    const double all =
        (double)(tiles_along(call->m, t.edge) * tiles_along(call->n, t.edge)) * (double)count;
    const double waves = fmax(1.0, all / ((double)multiprocessors * t.slots));
    return fmax(waves * (t.fixed + k * t.step), moved / kBytes);
}

static int choose_tile(const duo_call *call, int64_t count, const duo_launch *how)
{
    const bool fits = blocks_that_fit(whole_tile.shared_bytes, kResident, how->capability) > 0;
    double cost[TILES];
    int best = 0;
    for (int i = 0; i < (fits ? TILES : TILE_128); i++) {
        cost[i] = tile_cost(i, call, count, how->multiprocessors);
        if (cost[i] < cost[best]) best = i;
    }
    return best;
}

static cudaError_t launch(const duo_call *call, const duo_batch *batch, const duo_launch *how)
{
    switch (choose_tile(call, batch->count, how)) {
    case WARPS_32:
        return launch_warps<1>(call, batch, how);
    case WARPS_64:
        return launch_warps<2>(call, batch, how);
    default:
        return launch_tiles(call, batch, how);
    }
}

static cudaError_t load()
{
    cudaError_t error = load_layouts(warp_kernel<1>);
    if (error == cudaSuccess) error = load_layouts(warp_kernel<2>);
    int capability = 0;
    if (error == cudaSuccess) error = current_capability(&capability);
    if (blocks_that_fit(whole_tile.shared_bytes, kResident, capability) == 0) return error;
    for (const auto &row : whole_tile.kernel)
        for (const auto kernel : row)
            if (error == cudaSuccess) error = load_kernel_with(kernel, whole_tile.shared_bytes);
    return error;
}

const duo_gpu_batch duo_sgemm_gpu_batched = {.launch = launch, .load = load};
