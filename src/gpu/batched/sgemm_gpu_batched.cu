/*
 * sgemm_gpu_batched.cu - many products of one shape in one launch, by fp32 FMA alone.
 *
 * Accepts   any m, n, k, transposes, leading dimensions, strides and alignment
 * Kernels   m, n <= 32: a product for each warp, <= 64: for each block of four warps
 *           (batched/warp_products.cuh); else a tile of a product, 64 x 64 or 128 x 128, for each
 *           block (batched/tile_products.cuh)
 * Order     per element of C an fp32 FMA chain for each group of warps that share the steps of a
 *           slab of k, added in one order: the same bits for every count, place and device
 */
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
        bits |= (uintptr_t)batch->shift[i];
        for (int64_t p = 0; p < batch->count; p++) bits |= (uintptr_t)batch->pointer[i][p];
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

/* ---- Warps ---- */

template <int Across>
static void (*const warp_kernel[2][2])(sgemm_problem, batch_places, int64_t, bool, bool) = {
    {sgemm_warp_products<Across, false, false>, sgemm_warp_products<Across, false, true>},
    {sgemm_warp_products<Across, true, false>, sgemm_warp_products<Across, true, true>},
};

template <int Across>
static cudaError_t launch_warps(const duo_call *call, const duo_batch *batch, const duo_launch *how)
{
    const int64_t blocks = (batch->count + kProducts<Across> - 1) / kProducts<Across>;
    if (blocks > INT32_MAX) return cudaErrorInvalidValue;
    return queue_kernel_behind(warp_kernel<Across>[call->transa][call->transb], (unsigned)blocks,
                               kWarpThreads, 0, how, sgemm_problem_of(call), places_of(batch, how),
                               batch -> count, is_wide(call, batch, DUO_A),
                               is_wide(call, batch, DUO_B));
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

static const batch_tile tiles[] = {batch_tile_of<small_tile>(), batch_tile_of<large_tile>()};

static int64_t tiles_along(int64_t size, int edge) { return (size + edge - 1) / edge; }

/* The large tile, unless it would leave multiprocessors idle, or more of it than a fifth more is
 * outside C. */
static const batch_tile &choose_tile(const duo_call *call, int64_t count, const duo_launch *how)
{
    const batch_tile &few = tiles[1], &many = tiles[0];
    const int64_t large = tiles_along(call->m, few.edge) * tiles_along(call->n, few.edge);
    const int64_t small = tiles_along(call->m, many.edge) * tiles_along(call->n, many.edge);
    const bool fits = blocks_that_fit(few.shared_bytes, kResident, how->capability) > 0;
    const bool full = large * count >= how->multiprocessors;
    return fits && full && 4 * large * 5 <= small * 6 ? few : many;
}

static copy_kind kind_of(const duo_call *call, const duo_batch *batch, int i)
{
    if (is_wide(call, batch, i)) return kVectors;
    return duo_call_along_k(call, i) ? kAlongK : kAlongEdge;
}

static cudaError_t launch_tiles(const duo_call *call, const duo_batch *batch, const duo_launch *how)
{
    const sgemm_problem p = sgemm_problem_of(call);
    const batch_tile &tile = choose_tile(call, batch->count, how);
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

/* ---- Both ---- */

static cudaError_t launch(const duo_call *call, const duo_batch *batch, const duo_launch *how)
{
    const int64_t edge = call->m > call->n ? call->m : call->n;
    if (edge <= kWarpEdge) return launch_warps<1>(call, batch, how);
    if (edge <= 2 * kWarpEdge) return launch_warps<2>(call, batch, how);
    return launch_tiles(call, batch, how);
}

static cudaError_t load()
{
    cudaError_t error = load_layouts(warp_kernel<1>);
    if (error == cudaSuccess) error = load_layouts(warp_kernel<2>);
    int capability = 0;
    if (error == cudaSuccess) error = current_capability(&capability);
    for (const batch_tile &tile : tiles) {
        if (blocks_that_fit(tile.shared_bytes, kResident, capability) == 0) continue;
        for (const auto &row : tile.kernel)
            for (const auto kernel : row)
                if (error == cudaSuccess) error = load_kernel_with(kernel, tile.shared_bytes);
    }
    return error;
}

const duo_gpu_batch duo_sgemm_gpu_batched = {.launch = launch, .load = load};
