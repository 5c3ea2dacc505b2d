/*
 * tile_clocks.h - the clocks that tiles of C take on Hopper's tensor cores. With them a kernel
 * chooses its tile (algorithm.cuh), and choice/sgemm_gpu_wgmma_costs.c predicts its cost.
 */
#ifndef DUO_TILE_CLOCKS_H
#define DUO_TILE_CLOCKS_H

#include "gpu/whole.h"

enum {
    DUO_TILE_COLUMNS = 128,
    DUO_LARGE_ROWS = 256,
    DUO_MEDIUM_ROWS = 128,
    DUO_SMALL_ROWS = 64,
    DUO_TILE_STEP = 32, /* k of a product of two planes */
    DUO_TILE_K = 64     /* of the least slice */
};

/*
 * Measured on an H200 under its power limit. The large tile is bound by the tensor cores, the small
 * one by shared memory, the medium one by either; it is best if the others leave half of the
 * multiprocessors idle in their last wave.
 */
typedef struct duo_tile_clocks {
    int rows;
    double per_product; /* of two planes, for DUO_TILE_STEP k */
    double ends;        /* the start and the end, which nothing overlaps */
    /* If k is cut: each slice writes its sums, and the last one reads all sums. */
    double sharing, per_slice;
    int most_slices;
} duo_tile_clocks;

typedef enum duo_tile_size {
    DUO_TILE_LARGE,
    DUO_TILE_MEDIUM,
    DUO_TILE_SMALL,
    DUO_TILE_SIZES
} duo_tile_size;

static const duo_tile_clocks duo_tiles_of_c[DUO_TILE_SIZES] = {
    {DUO_LARGE_ROWS, 760.0, 6000.0, 0.0, 0.0, 1},
    {DUO_MEDIUM_ROWS, 410.0, 5000.0, 0.0, 0.0, 1},
    {DUO_SMALL_ROWS, 225.0, 5000.0, 2000.0, 2800.0, 16},
};

/* How many tiles, or slices of them, a multiprocessor takes one after the other. */
static inline double duo_tile_waves(double tiles, int slices, double multiprocessors)
{
    return duo_whole(tiles * slices / multiprocessors);
}

/* Clocks of `tiles` with k cut into `slices`; k has `steps` stages, with `products` of planes in
 * each. */
static inline double duo_clocks_of_tiles(const duo_tile_clocks *tile, double tiles, int slices,
                                         double steps, int products, double multiprocessors)
{
    const double sharing = slices > 1 ? tile->sharing + tile->per_slice * slices : 0.0;
    return duo_tile_waves(tiles, slices, multiprocessors) *
               (duo_whole(steps / slices) * products * tile->per_product + tile->ends) +
           sharing;
}

#endif
