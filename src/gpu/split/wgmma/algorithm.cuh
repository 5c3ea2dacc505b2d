/*
 * split/wgmma/algorithm.cuh - a scheme as an algorithm on Hopper: launching, loading, packing.
 */
#ifndef DUO_SPLIT_WGMMA_ALGORITHM_CUH
#define DUO_SPLIT_WGMMA_ALGORITHM_CUH

#include "gpu/split/panels.cuh"
#include "gpu/split/wgmma/product.cuh"
#include "gpu/split/wgmma/tensor_map.cuh"
#include "gpu/split/wgmma/tile_choice.cuh"

/* ---- Launching ---- */

template <class Tile>
static cudaError_t queue_wgmma(const panel &of, int slices, const duo_launch *how)
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
static cudaError_t queue_tiles(const panel &p, const duo_launch *how)
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
static cudaError_t queue_scheme_panel(const panel &p, const duo_launch *how)
{
    const cudaError_t error = queue_split<Scheme>(p, how);
    return error == cudaSuccess ? queue_tiles<Scheme>(p, how) : error;
}

template <class Scheme>
static size_t scheme_bytes(const duo_call *call, const duo_launch *how)
{
    return panel_bytes(call, call->m, call->n, Scheme::kPlanes, how);
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
    panel p = {};
    p.split = split_of(o, {}, tiles, tiles, nullptr);
    return queue_split<Scheme>(p, how);
}

template <class Scheme>
static cudaError_t queue_scheme(const duo_call *call, const duo_launch *how)
{
    if (!has_wgmma(how)) return cudaErrorNotSupported;
    return queue_product<Scheme>(call, how, queue_scheme_panel<Scheme>);
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
