/* split/wgmma/tile_choice.cuh - the tiles of C that a scheme has, and which one a product takes. */
#ifndef DUO_SPLIT_WGMMA_TILE_CHOICE_CUH
#define DUO_SPLIT_WGMMA_TILE_CHOICE_CUH

#include <math.h>

#include "gpu/kernels.h"
#include "gpu/split/wgmma/tile.cuh"

template <class Scheme>
struct tiles_of_scheme;
template <>
struct tiles_of_scheme<fp16x3> {
    using large = wgmma_tile<fp16x3, 128, 2, 4>;
    using medium = wgmma_tile<fp16x3, 128, 1, 6>;
    using small = wgmma_tile<fp16x3, 64, 1, 8>;
};
template <>
struct tiles_of_scheme<fp16x1> {
    using large = wgmma_tile<fp16x1, 128, 2, 4>;
    using medium = wgmma_tile<fp16x1, 128, 1, 6>;
    using small = wgmma_tile<fp16x1, 64, 1, 8>;
};
template <>
struct tiles_of_scheme<bf16x6> {
    using large = wgmma_tile<bf16x6, 128, 2, 3, 2>;
    using medium = wgmma_tile<bf16x6, 128, 1, 4>;
    using small = wgmma_tile<bf16x6, 64, 1, 6>;
};

/*
 * Clocks of a tile of C, measured on an H200 under its power limit. The large tile is bound by the
 * tensor cores, the small one by shared memory, the medium one by either; it serves where the
 * others leave half of the multiprocessors idle in their last wave.
 */
struct tile_clocks {
    double per_product; /* of two planes, for 32 k */
    double ends;        /* the start and the end, which nothing overlaps */
    /* Where k is cut: each slice writes its sums, and the last one reads those of all. */
    double sharing, per_slice;
    int most_slices;
};
static const tile_clocks kLargeClocks = {760.0, 6000.0, 0.0, 0.0, 1};
static const tile_clocks kMediumClocks = {410.0, 5000.0, 0.0, 0.0, 1};
static const tile_clocks kSmallClocks = {225.0, 5000.0, 2000.0, 2800.0, 16};

enum tile_size { TILE_LARGE, TILE_MEDIUM, TILE_SMALL };

struct tile_choice {
    tile_size size;
    int slices;
};

/* Every slice has some of the k_tiles. */
static void consider(tile_choice *best, double *least, tile_size size, int64_t tiles,
                     int64_t k_tiles, double steps, int products, const duo_launch *how)
{
    static const tile_clocks kClocks[] = {kLargeClocks, kMediumClocks, kSmallClocks};
    const tile_clocks &clocks = kClocks[size];
    for (int slices = 1; slices <= clocks.most_slices; slices++) {
        if (slices > 1 && (tiles * slices > how->multiprocessors || slices > k_tiles)) break;
        const double waves = ceil((double)(tiles * slices) / how->multiprocessors);
        const double sharing = slices > 1 ? clocks.sharing + clocks.per_slice * slices : 0.0;
        const double time =
            waves * (ceil(steps / slices) * products * clocks.per_product + clocks.ends) + sharing;
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
    const double steps = (double)((p.k + Scheme::kStageK - 1) / Scheme::kStageK);
    const int products = Scheme::kProducts * Scheme::kStageK / kStepK;
    const int64_t columns = (p.n + kTileJ - 1) / kTileJ, k_tiles = tiles_of(p.k);
    const int64_t large_columns =
        (columns + large::kCluster - 1) / large::kCluster * large::kCluster;
    tile_choice best = {TILE_LARGE, 1};
    double least = INFINITY;
    auto rows = [&](int tile) { return (p.m + tile - 1) / tile; };
    consider(&best, &least, TILE_LARGE, rows(large::kI) * large_columns, k_tiles, steps, products,
             how);
    consider(&best, &least, TILE_MEDIUM, rows(medium::kI) * columns, k_tiles, steps, products, how);
    consider(&best, &least, TILE_SMALL, rows(small::kI) * columns, k_tiles, steps, products, how);
    return best;
}

#endif
