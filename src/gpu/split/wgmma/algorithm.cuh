/*
 * split/wgmma/algorithm.cuh - a scheme as an algorithm on Hopper: launching, loading, packing.
 */
#ifndef DUO_SPLIT_WGMMA_ALGORITHM_CUH
#define DUO_SPLIT_WGMMA_ALGORITHM_CUH

#include <cuda.h>
#include <cuda_runtime.h>
#include <math.h>
#include <string.h>

#include "gpu/kernels.h"
#include "gpu/split/patches.cuh"
#include "gpu/split/planes.cuh"
#include "gpu/split/wgmma/product.cuh"
#include "gpu/split/wgmma/tensor_map.cuh"
#include "gpu/split/wgmma/tile.cuh"
#include "gpu/split/wgmma/tile_clocks.h"

/* ---- The planes of an operand, described to the tensor copies ---- */

/* The planes of an operand, in boxes of kStageK x rows. In a box, rows beyond the operand's tiles
 * are zeros, even if the rows of another range follow in memory. */
template <class Scheme>
static cudaError_t make_map(CUtensorMap *map, const operand_planes &o, int rows)
{
    decltype(&cuTensorMapEncodeTiled) encode;
    const cudaError_t error = encode_function(&encode);
    if (error != cudaSuccess) return error;
    const cuuint64_t all_rows = (cuuint64_t)(tiles_of(o.rows) * kTile);
    const cuuint64_t k = (cuuint64_t)(tiles_of(o.k) * kTile);
    const bool one = Scheme::kInterleaved;
    const cuuint64_t length = one ? k * Scheme::kPlanes : k;
    const cuuint64_t sizes[3] = {length, all_rows, one ? 1u : (cuuint64_t)Scheme::kPlanes};
    const cuuint64_t strides[2] = {length * 2, length * 2 * (cuuint64_t)o.plane_rows};
    const cuuint32_t box[3] = {Scheme::kStageK * (one ? Scheme::kPlanes : 1), (cuuint32_t)rows,
                               one ? 1u : (cuuint32_t)Scheme::kPlanes};
    const cuuint32_t steps[3] = {1, 1, 1};
    return (cudaError_t)encode(
        map, CU_TENSOR_MAP_DATA_TYPE_UINT16, 3, o.planes, sizes, strides, box, steps,
        CU_TENSOR_MAP_INTERLEAVE_NONE, one ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_64B,
        CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

/* ---- A scheme's tiles of C, and the one that a product takes ---- */

template <class Scheme>
struct tiles_of_scheme;
template <>
struct tiles_of_scheme<fp16x3> {
    using large = wgmma_tile<fp16x3, 128, 2, 4, fp16x3::kCluster>;
    using medium = wgmma_tile<fp16x3, 128, 1, 6>;
    using small = wgmma_tile<fp16x3, 64, 1, 8>;
};
template <>
struct tiles_of_scheme<fp16x1> {
    using large = wgmma_tile<fp16x1, 128, 2, 4, fp16x1::kCluster>;
    using medium = wgmma_tile<fp16x1, 128, 1, 6>;
    using small = wgmma_tile<fp16x1, 64, 1, 8>;
};
template <>
struct tiles_of_scheme<bf16x6> {
    using large = wgmma_tile<bf16x6, 128, 2, 3, bf16x6::kCluster>;
    using medium = wgmma_tile<bf16x6, 128, 1, 4>;
    using small = wgmma_tile<bf16x6, 64, 1, 6>;
};

struct tile_choice {
    duo_tile_size size;
    int slices;
};

/* Every slice has some of the k_tiles. */
static void consider(tile_choice *best, double *least, duo_tile_size size, int64_t tiles,
                     int64_t k_tiles, double steps, int products, const duo_launch *how)
{
    const duo_tile_clocks &tile = duo_tiles_of_c[size];
    for (int slices = 1; slices <= tile.most_slices; slices++) {
        if (slices > 1 && (tiles * slices > how->multiprocessors || slices > k_tiles)) break;
        const double time = duo_clocks_of_tiles(&tile, (double)tiles, slices, steps, products,
                                                how->multiprocessors);
        if (time >= *least) continue;
        *least = time;
        *best = {size, slices};
    }
}

template <class Scheme>
static tile_choice choose_tile(const tensor_problem &p, const duo_launch *how)
{
    using large = typename tiles_of_scheme<Scheme>::large;
    using medium = typename tiles_of_scheme<Scheme>::medium;
    using small = typename tiles_of_scheme<Scheme>::small;
    static_assert(large::kI == DUO_LARGE_ROWS && medium::kI == DUO_MEDIUM_ROWS &&
                      small::kI == DUO_SMALL_ROWS && kTileJ == DUO_TILE_COLUMNS &&
                      kStepK == DUO_TILE_STEP && kTile == DUO_TILE_K,
                  "the tiles whose clocks are known");
    const double steps = (double)((p.k + Scheme::kStageK - 1) / Scheme::kStageK);
    const int products = Scheme::kProducts * Scheme::kStageK / kStepK;
    const int64_t columns = (p.n + kTileJ - 1) / kTileJ, k_tiles = tiles_of(p.k);
    const int64_t large_columns =
        (columns + large::kCluster - 1) / large::kCluster * large::kCluster;
    tile_choice best = {DUO_TILE_LARGE, 1};
    double least = INFINITY;
    auto rows = [&](int tile) { return (p.m + tile - 1) / tile; };
    consider(&best, &least, DUO_TILE_LARGE, rows(large::kI) * large_columns, k_tiles, steps,
             products, how);
    consider(&best, &least, DUO_TILE_MEDIUM, rows(medium::kI) * columns, k_tiles, steps, products,
             how);
    consider(&best, &least, DUO_TILE_SMALL, rows(small::kI) * columns, k_tiles, steps, products,
             how);
    return best;
}

/* ---- Launching ---- */

template <class Tile>
static cudaError_t queue_wgmma(const patch &of, int slices, const duo_launch *how)
{
    static_assert(!Tile::kSliced || Tile::kI * kTileJ <= kSlicedTile, "partial sums have room");
    wgmma_problem p = {of.multiply, slices, of.tickets, of.partials};
    p.tiles_i = (int)((p.m + Tile::kI - 1) / Tile::kI);
    p.tiles_j = (int)((p.n + kTileJ - 1) / kTileJ);
    CUtensorMap map_i, map_j;
    cudaError_t error = make_map<typename Tile::Scheme>(&map_i, p.a, Tile::kBoxI);
    if (error == cudaSuccess) error = make_map<typename Tile::Scheme>(&map_j, p.b, kTileJ);
    if (error != cudaSuccess) return error;
    const int64_t columns = (p.tiles_j + Tile::kCluster - 1) / Tile::kCluster; /* of clusters */
    const int64_t clusters = p.tiles_i * columns * slices;
    const int64_t most = max(1, how->multiprocessors / Tile::kCluster);
    return queue_clusters_behind(
        sgemm_wgmma<Tile>, (unsigned)((clusters < most ? clusters : most) * Tile::kCluster),
        Tile::kCluster, kWgmmaThreads, Tile::kSharedBytes, how, map_i, map_j, p);
}

template <class Scheme>
static cudaError_t queue_tiles(const patch &p, const duo_launch *how)
{
    const tile_choice choice = choose_tile<Scheme>(p.multiply, how);
    using tiles = tiles_of_scheme<Scheme>;
    switch (choice.size) {
    case DUO_TILE_LARGE:
        return queue_wgmma<typename tiles::large>(p, choice.slices, how);
    case DUO_TILE_MEDIUM:
        return queue_wgmma<typename tiles::medium>(p, choice.slices, how);
    default:
        return queue_wgmma<typename tiles::small>(p, choice.slices, how);
    }
}

/* ---- Loading ---- */

/* Kernels compiled for another architecture than 9.0a are empty: they count as absent. */
static bool wgmma_absent; /* read and set by the __atomic functions */

static bool has_wgmma(const duo_launch *how)
{
    return how->capability == 90 && !__atomic_load_n(&wgmma_absent, __ATOMIC_RELAXED);
}

/* On devices other than Hopper the kernel is empty, and there is less shared memory. */
template <class Tile>
static cudaError_t load_wgmma()
{
    int capability = 0;
    cudaFuncAttributes found = {};
    cudaError_t error = current_capability(&capability);
    if (error != cudaSuccess || capability != 90) return error;
    error = cudaFuncGetAttributes(&found, sgemm_wgmma<Tile>);
    if (error != cudaSuccess) return error;
    if (found.sharedSizeBytes == 0) { /* then it is empty: else it has `wanted` */
        __atomic_store_n(&wgmma_absent, true, __ATOMIC_RELAXED);
        return cudaSuccess;
    }
    return cudaFuncSetAttribute(sgemm_wgmma<Tile>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                Tile::kSharedBytes);
}

/* Loads a scheme's kernels onto the current device, and gives them their shared memory. */
template <class Scheme>
static cudaError_t load_scheme()
{
    cudaError_t error = load_kernel(sgemm_split<Scheme, kFewResident>);
    if (error == cudaSuccess) error = load_kernel(sgemm_split<Scheme, Scheme::kSplitResident>);
    if (error == cudaSuccess) error = load_wgmma<typename tiles_of_scheme<Scheme>::large>();
    if (error == cudaSuccess) error = load_wgmma<typename tiles_of_scheme<Scheme>::medium>();
    if (error == cudaSuccess) error = load_wgmma<typename tiles_of_scheme<Scheme>::small>();
    return error;
}

/* ---- The algorithm ---- */

template <class Scheme>
static cudaError_t queue_scheme_patch(const patch &p, const duo_launch *how)
{
    const cudaError_t error = queue_split<Scheme>(p, how);
    return error == cudaSuccess ? queue_tiles<Scheme>(p, how) : error;
}

template <class Scheme>
static size_t scheme_bytes(const duo_call *call, const duo_launch *how)
{
    return patch_bytes(call, call->m, call->n, Scheme::kPlanes, how);
}

template <class Scheme>
static size_t scheme_packed_bytes(const duo_call *call, int i)
{
    return i == DUO_C || call->k == 0 || call->k > kMostK
               ? 0
               : packed_bytes(i == DUO_A ? call->m : call->n, call->k, Scheme::kPlanes);
}

template <class Scheme>
static cudaError_t queue_packing(const duo_call *call, int i, void *packed, const duo_launch *how)
{
    if (!has_wgmma(how)) return cudaErrorNotSupported;
    operand_planes o = operand_of(call, i);
    if (o.k == 0) return cudaErrorInvalidValue; /* nothing is multiplied */
    put_packed<Scheme>(&o, packed, duo_call_packed_rows(call, i), call->operand[i].packed_first);
    const int64_t tiles = tiles_of(o.rows) * tiles_of(o.k);
    if (tiles > INT32_MAX) return cudaErrorInvalidValue;
    patch p = {};
    p.split = split_of(o, {}, tiles, tiles, nullptr);
    return queue_split<Scheme>(p, how);
}

template <class Scheme>
static cudaError_t queue_scheme(const duo_call *call, const duo_launch *how)
{
    if (!has_wgmma(how)) return cudaErrorNotSupported;
    return queue_product<Scheme>(call, how, queue_scheme_patch<Scheme>);
}

template <class Scheme>
constexpr duo_gpu_algorithm kSchemeAlgorithm = {
    .launch = queue_scheme<Scheme>,
    .load = load_scheme<Scheme>,
    .workspace = scheme_bytes<Scheme>,
    .packed_bytes = scheme_packed_bytes<Scheme>,
    .pack = queue_packing<Scheme>,
};

#endif
