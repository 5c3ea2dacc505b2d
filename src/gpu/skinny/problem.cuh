/* skinny/problem.cuh - a skinny product, and the parts of a block and of a thread. */
#ifndef DUO_SKINNY_PROBLEM_CUH
#define DUO_SKINNY_PROBLEM_CUH

#include "gpu/skinny/tile.cuh"

struct skinny_problem {
    const float *x, *y;
    float *c;
    int64_t rows, columns, k, ldx, ldy;
    bool y_along_k;                /* neighbours in memory are neighbours in k */
    bool wide_x;                   /* 16-byte copies of X are aligned */
    int64_t row_step, column_step; /* of C */
    int row_tiles, column_tiles, ranges;
    int segment;             /* steps of k */
    int64_t segments, range; /* of k; of a block's range: a multiple of its teams, if k is cut */
    bool ordered;            /* sums of segments are added one after the other */
    float *slots;            /* with several ranges: `slots_of_tile` for each tile */
    int slots_of_tile;
    unsigned *tickets; /* for the tiles. NULL: a second kernel adds the slots */
    float alpha, beta;

    /* Steps of a segment that begins there: those inside. */
    __device__ __forceinline__ int steps_from(int64_t first) const
    {
        const int64_t left = k - first;
        return left < segment ? left > 0 ? (int)left : 0 : segment;
    }
};

/* Where a block works: a tile of C, or of its transpose, and a range of k. */
struct skinny_block {
    int64_t first_row, first_column, rows_left, columns_left;
    int tile, range;

    template <class Tile>
    static __device__ __forceinline__ skinny_block of(const skinny_problem &p)
    {
        skinny_block b;
        const int tiles = p.row_tiles * p.column_tiles;
        b.tile = blockIdx.x % tiles;
        b.range = blockIdx.x / tiles;
        b.first_row = (int64_t)(b.tile / p.column_tiles) * Tile::kRows;
        b.first_column = (int64_t)(b.tile % p.column_tiles) * Tile::kColumns;
        b.rows_left = p.rows - b.first_row;
        b.columns_left = p.columns - b.first_column;
        return b;
    }
};

/* A thread's place in its block, by teams, warps and lanes (skinny/tile.cuh). */
template <class Tile>
struct skinny_place {
    int team, thread, warp, chain, lane_n, lane_m;

    __device__ __forceinline__ skinny_place()
    {
        team = threadIdx.x / Tile::kThreads;
        thread = threadIdx.x % Tile::kThreads;
        warp = thread / 32;
        chain = thread % Tile::kChains;
        const int lane = thread % 32 / Tile::kChains;
        lane_n = column_lane<Tile::kLanesN>(lane);
        lane_m = row_lane<Tile::kLanesN>(lane);
    }
};

#endif
