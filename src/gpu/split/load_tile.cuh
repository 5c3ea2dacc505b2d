/*
 * split/load_tile.cuh - loads a tile of an operand, 64 rows x 64 k, into the registers of a block.
 */
#ifndef DUO_SPLIT_LOAD_TILE_CUH
#define DUO_SPLIT_LOAD_TILE_CUH

#include "gpu/split/split_run.cuh"

constexpr int kSplitThreads = 256, kSplitWarps = kSplitThreads / 32;
constexpr int kLanesPerRow = kTile / kRun; /* threads that share a row of a tile */
constexpr int kRowStep = kSplitThreads / kLanesPerRow, kRuns = kTile / kRowStep;

/* A tile's place in its operand, and a thread's part of the tile: 8 neighbours in k, from `run` on,
 * in rows row, row + kRowStep, ... */
struct tile_part {
    int64_t first_row, first_k;
    int rows, ks; /* inside the operand */
    int row, run;

    /* k_tiles_inverse: 2^32 / k_tiles, or a little less, for a division in two instructions. */
    __device__ __forceinline__ tile_part(const operand_planes &o, unsigned tile, unsigned k_tiles,
                                         unsigned k_tiles_inverse)
    {
        unsigned row_tile = __umulhi(tile, k_tiles_inverse); /* may be one too small */
        unsigned k_tile = tile - row_tile * k_tiles;
        if (k_tile >= k_tiles) {
            row_tile++;
            k_tile -= k_tiles;
        }
        first_row = (int64_t)row_tile * kTile;
        first_k = (int64_t)k_tile * kTile;
        rows = (int)min((int64_t)kTile, o.rows - first_row);
        ks = (int)min((int64_t)kTile, o.k - first_k);
        row = threadIdx.x / kLanesPerRow;
        run = threadIdx.x % kLanesPerRow * kRun;
    }
};

using tile_values = float[kRuns][kRun];

/* A whole tile along k, aligned to 16 bytes: every thread loads its own part. */
static __device__ __forceinline__ void load_along_k(tile_values &value, const float *x, int64_t ld,
                                                    const tile_part &part)
{
#pragma unroll
    for (int i = 0; i < kRuns; i++) {
        const float *const from = x + (int64_t)(part.row + i * kRowStep) * ld + part.run;
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const float4 v = __ldcs(reinterpret_cast<const float4 *>(from) + half);
            value[i][4 * half] = v.x;
            value[i][4 * half + 1] = v.y;
            value[i][4 * half + 2] = v.z;
            value[i][4 * half + 3] = v.w;
        }
    }
}

using turned_tile = float[kTile][kTile + 1]; /* [row][k]; 1 more spreads columns over the banks */

/* A whole tile along the rows, aligned to 16 bytes: four rows of one k at a time. */
static __device__ __forceinline__ void load_across(turned_tile &turned, const float *x, int64_t ld)
{
    constexpr int kLoads = kTile * kTile / kSplitThreads / 4;
    const int t = threadIdx.x;
    float4 v[kLoads];
#pragma unroll
    for (int i = 0; i < kLoads; i++)
        v[i] =
            __ldcs(reinterpret_cast<const float4 *>(x + (int64_t)(t / 16 + i * 16) * ld) + t % 16);
#pragma unroll
    for (int i = 0; i < kLoads; i++) {
        const int k = t / 16 + i * 16, r = t % 16 * 4;
        turned[r][k] = v[i].x;
        turned[r + 1][k] = v[i].y;
        turned[r + 2][k] = v[i].z;
        turned[r + 3][k] = v[i].w;
    }
}

/* Any tile, one element at a time; elements outside the operand are zero. */
static __device__ __forceinline__ void load_any(turned_tile &turned, const float *x, int64_t ld,
                                                bool along_k, int across, int down)
{
    constexpr int kSteps = kTile * kTile / kSplitThreads, kStep = kSplitThreads / kTile;
    const int t = threadIdx.x;
#pragma unroll
    for (int i = 0; i < kSteps; i++) {
        const int a = t % kTile, d = t / kTile + i * kStep;
        const float v = a < across && d < down ? __ldcs(x + (int64_t)d * ld + a) : 0.0f;
        turned[along_k ? d : a][along_k ? a : d] = v;
    }
}

/* Loads neighbours in memory. If they do not lie along k, or are not aligned to 16 bytes, the tile
 * passes through shared memory. */
static __device__ __forceinline__ void load_tile(tile_values &value, const operand_planes &o,
                                                 const tile_part &part)
{
    __shared__ turned_tile turned;
    const float *const x = o.x + (o.along_k ? part.first_row * o.ld + part.first_k
                                            : part.first_row + part.first_k * o.ld);
    const bool aligned = reinterpret_cast<uintptr_t>(x) % 16 == 0 && o.ld % 4 == 0;
    if (o.along_k && aligned && part.rows == kTile && part.ks == kTile) {
        load_along_k(value, x, o.ld, part);
        return;
    }
    const int across = o.along_k ? part.ks : part.rows, down = o.along_k ? part.rows : part.ks;
    if (aligned && across == kTile && down == kTile)
        load_across(turned, x, o.ld);
    else
        load_any(turned, x, o.ld, o.along_k, across, down);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kRuns; i++)
#pragma unroll
        for (int j = 0; j < kRun; j++) value[i][j] = turned[part.row + i * kRowStep][part.run + j];
}

#endif
