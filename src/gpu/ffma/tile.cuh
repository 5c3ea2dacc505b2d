/* ffma/tile.cuh - the tiles of C of sgemm_gpu_ffma: blocks, warps, threads. */
#ifndef DUO_FFMA_TILE_CUH
#define DUO_FFMA_TILE_CUH

#include <stdint.h>

#include "gpu/sgemm.cuh"
#include "gpu/slab.cuh"

constexpr int kSlab = 16;                     /* steps of k per slab */
constexpr int kSlabs = 4;                     /* slabs in the ring */
constexpr int kSegment = DUO_SEGMENT / kSlab; /* slabs of a segment */
static_assert(DUO_SEGMENT % kSlab == 0, "a segment is whole slabs");

/* Threads of a warp along the rows and columns of C. */
constexpr int kLanesM = 4, kLanesN = 8;
static_assert(kLanesM * kLanesN == 32, "a warp is 32 threads");

/*
 * A tile: warps along m and n, elements of C per thread along m and n, and blocks per
 * multiprocessor that registers make room for. A thread multiplies its elements in zigzag, so that
 * an FMA mostly shares one of its two operands with the FMA before.
 */
template <int WarpsM, int WarpsN, int ThreadM, int ThreadN, int Resident>
struct ffma_tile {
    static constexpr int kThreads = 32 * WarpsM * WarpsN; /* per block */
    static constexpr int kWarpsN = WarpsN, kThreadM = ThreadM, kThreadN = ThreadN;
    static constexpr int kWarpM = kLanesM * ThreadM, kWarpN = kLanesN * ThreadN;
    static constexpr int kM = WarpsM * kWarpM, kN = WarpsN * kWarpN;
    static constexpr int kAhead = ThreadM * ThreadN > 16 ? 1 : 2; /* steps that are read ahead */
    static constexpr int kSlabFloats = kSlab * (kPitch<kM> + kPitch<kN>);
    static constexpr int kRingFloats = kSlabs * kSlabFloats, kTileFloats = kN * kPitch<kM>;
    static constexpr int kSlabsFloats = kRingFloats + kSlabFloats; /* one more: the end of k */
    static constexpr int kFloats = kSlabsFloats > kTileFloats ? kSlabsFloats : kTileFloats;
    static constexpr int kResident = Resident;
    static_assert(ThreadM % kGroup == 0 && ThreadN % kGroup == 0, "fragments are float4");
};

using large_tile = ffma_tile<4, 2, 8, 8, 1>; /* 128 x 128 */
using tall_tile = ffma_tile<4, 2, 8, 4, 2>;  /* 128 x 64 */
using wide_tile = ffma_tile<4, 2, 4, 8, 2>;  /* 64 x 128 */
using small_tile = ffma_tile<4, 2, 4, 4, 2>; /* 64 x 64 */
using half_tile = ffma_tile<2, 2, 4, 4, 4>;  /* 32 x 64 */
using least_tile = ffma_tile<2, 1, 4, 4, 6>; /* 32 x 32 */

/* A thread's place in a tile. */
template <class Tile>
struct thread_place {
    static constexpr int kStrideM = kLanesM * kGroup, kStrideN = kLanesN * kGroup;
    int i, j; /* its first element of the tile; its groups are a stride apart */

    __device__ __forceinline__ thread_place()
    {
        const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
        i = warp / Tile::kWarpsN * Tile::kWarpM + lane_of_4(lane) * kGroup;
        j = warp % Tile::kWarpsN * Tile::kWarpN + lane_of_8(lane) * kGroup;
    }
};

/* The elements of C of a thread, [column][row]. */
template <class Tile>
using thread_sums = float[Tile::kThreadN][Tile::kThreadM];

/* ---- The blocks' shares ---- */

/*
 * The blocks' shares: a tile of C each, or runs of segments that may begin and end inside tiles.
 */

/*
 * Tiles in the order of the walk. Each of the first `whole` tiles has one block. The segments of
 * the others are cut into runs of `share` (the last may be shorter), and each run has one block.
 */
struct tile_shares {
    int tiles_m, tiles_n;
    int segments; /* of a tile */
    int whole;
    int share;
    int64_t shared_segments;
    float *parts; /* of shared tiles: one for each segment, in order; each column by column */
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

/* Where the parts of a shared tile begin. */
template <class Tile>
static __device__ __forceinline__ float *parts_of(const tile_shares &shares, int tile)
{
    return shares.parts + (int64_t)(tile - shares.whole) * shares.segments * (Tile::kM * Tile::kN);
}

/* A block's work now: segments of one tile; and the rest of its run. */
struct segment_run {
    int tile, first, last; /* segments first to last - 1 of the tile */
    int left = 0;          /* segments of the run, from `first` on; 0: a whole tile */

    __device__ __forceinline__ explicit segment_run(const tile_shares &shares)
        : tile(blockIdx.x), first(0), last(shares.segments)
    {
        if (tile < shares.whole) return;
        const int64_t begin = (int64_t)(tile - shares.whole) * shares.share;
        left = (int)min((int64_t)shares.share, shares.shared_segments - begin);
        tile = shares.whole + (int)(begin / shares.segments);
        first = (int)(begin % shares.segments);
        last = min(first + left, shares.segments);
    }
    __device__ __forceinline__ bool is_part(const tile_shares &shares) const
    {
        return last - first < shares.segments;
    }
    __device__ __forceinline__ bool ends() const { return left <= last - first; }
    /* Goes on to the next tile; false: there is none. */
    __device__ __forceinline__ bool next(const tile_shares &shares)
    {
        left -= last - first;
        if (left <= 0) return false;
        tile++;
        first = 0;
        last = min(left, shares.segments);
        return true;
    }
};

#endif
