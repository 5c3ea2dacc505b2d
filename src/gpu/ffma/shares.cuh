/*
 * ffma/shares.cuh - the blocks' shares: a tile of C each, or runs of slabs that may begin and end
 * inside tiles.
 */
#ifndef DUO_FFMA_SHARES_CUH
#define DUO_FFMA_SHARES_CUH

#include <stdint.h>

#include "gpu/tile_walk.cuh"

/*
 * Tiles in the order of the walk. Each of the first `whole` tiles has one block. The slabs of the
 * others are cut into runs of `share` (the last may be shorter), and each run has one block.
 */
struct tile_shares {
    int tiles_m, tiles_n;
    int slabs; /* of a tile */
    int whole;
    int share;
    int64_t shared_slabs;
    float *parts; /* of tiles, each column by column */
};

/* The first element of a tile. */
template <int EdgeM, int EdgeN>
static __device__ __forceinline__ void find_tile(const tile_shares &shares, int tile, int64_t *i,
                                                 int64_t *j)
{
    int tile_m, tile_n;
    place_of_tile<kTilesTogether>(shares.tiles_m, shares.tiles_n, tile, &tile_m, &tile_n);
    *i = (int64_t)tile_m * EdgeM;
    *j = (int64_t)tile_n * EdgeN;
}

/* The place of a part in shares.parts. In the order of the slabs either the tile or the run
 * advances from part to part: so each part has a number of its own. */
static __device__ __forceinline__ int64_t part_of(int shared_tile, int run)
{
    return (int64_t)shared_tile + run;
}

/* A block's work now: slabs of one tile; and the rest of its run. */
struct slab_run {
    int tile, first, last; /* slabs first to last - 1 of the tile */
    int left = 0;          /* slabs of the run, from `first` on; 0: the block has a whole tile */

    __device__ __forceinline__ explicit slab_run(const tile_shares &shares)
        : tile(blockIdx.x), first(0), last(shares.slabs)
    {
        if (tile < shares.whole) return;
        const int64_t begin = (int64_t)(tile - shares.whole) * shares.share;
        left = (int)min((int64_t)shares.share, shares.shared_slabs - begin);
        tile = shares.whole + (int)(begin / shares.slabs);
        first = (int)(begin % shares.slabs);
        last = min(first + left, shares.slabs);
    }
    __device__ __forceinline__ bool ends() const { return left <= last - first; }
    /* Goes on to the next tile; false: there is none. */
    __device__ __forceinline__ bool next(const tile_shares &shares)
    {
        left -= last - first;
        if (left <= 0) return false;
        tile++;
        first = 0;
        last = min(left, shares.slabs);
        return true;
    }
};

#endif
