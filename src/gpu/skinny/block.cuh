/* skinny/block.cuh - the problem, and the parts of a block and a thread. */
#ifndef DUO_SKINNY_BLOCK_CUH
#define DUO_SKINNY_BLOCK_CUH

#include "gpu/skinny/plan.cuh"
#include "gpu/skinny/tile.cuh"

struct skinny_problem {
    const float *x, *y;
    float *c;
    skinny_size size;
    int64_t ldx, ldy;
    int64_t row_step, column_step; /* of C */
    int row_tiles, column_tiles, ranges;
    int64_t range;     /* of k, per block */
    float *partial;    /* with several ranges: C of each, packed; or their slots, tile by tile */
    unsigned *tickets; /* for the slots (add_ranges.cuh). NULL: a second kernel adds */
    bool wide_x;       /* 16-byte copies of X are aligned */
    float alpha, beta;
};

/* The ring's memory after the last slab: halves of the block's sums, then the tile of C. */
template <class Tile>
struct sums {
    static constexpr int kPitch = Tile::kRows + 1; /* no bank conflicts in either direction */
    union {
        float half[Tile::kWarpsK > 1 ? Tile::kWarpsK / 2 : 1][Tile::kSums][Tile::kWarpsM][32];
        float tile[Tile::kColumns][kPitch];
        float scratch[kThreads];
    };
};

template <class Tile, bool AlongK>
constexpr size_t kSharedBytes = sizeof(slabs<Tile, AlongK>) > sizeof(sums<Tile>)
                                    ? sizeof(slabs<Tile, AlongK>)
                                    : sizeof(sums<Tile>);

/* Where a block works: a tile of C, or of its transpose, and a range of k. */
struct skinny_block {
    int64_t first_row, first_column, rows_left, columns_left, range;
    int64_t steps; /* of k */

    template <class Tile>
    static __device__ __forceinline__ skinny_block of(const skinny_problem &p)
    {
        skinny_block b;
        const int column_tile = blockIdx.x % p.column_tiles;
        const int rest = blockIdx.x / p.column_tiles;
        b.first_row = (int64_t)(rest % p.row_tiles) * Tile::kRows;
        b.range = rest / p.row_tiles;
        b.first_column = (int64_t)column_tile * Tile::kColumns;
        b.rows_left = p.size.rows - b.first_row;
        b.columns_left = p.size.columns - b.first_column;
        b.steps = p.size.k - b.range * p.range < p.range ? p.size.k - b.range * p.range : p.range;
        return b;
    }
};

/* A thread's place in its block, by lanes and warps (skinny/tile.cuh). */
template <class Tile>
struct skinny_place {
    int lane, warp_m, warp_k, lane_k, lane_n, lane_m;

    __device__ __forceinline__ skinny_place()
    {
        const int warp = threadIdx.x / 32;
        lane = threadIdx.x % 32;
        warp_m = warp % Tile::kWarpsM;
        warp_k = warp / Tile::kWarpsM;
        lane_k = lane % Tile::kLanesK;
        const int lane_mn = lane / Tile::kLanesK;
        lane_n = column_lane<Tile::kLanesN>(lane_mn);
        lane_m = row_lane<Tile::kLanesN>(lane_mn);
    }
};

#endif
