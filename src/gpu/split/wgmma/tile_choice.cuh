/* split/wgmma/tile_choice.cuh - a scheme's tiles of C, and the one that a product takes. */
#ifndef DUO_SPLIT_WGMMA_TILE_CHOICE_CUH
#define DUO_SPLIT_WGMMA_TILE_CHOICE_CUH

#include <math.h>

#include "gpu/kernels.h"
#include "gpu/split/wgmma/tile.cuh"
#include "gpu/split/wgmma/tile_clocks.h"

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

#endif
