/* ffma/tile.cuh - the tiles of C of sgemm_gpu_ffma: blocks, warps, threads. */
#ifndef DUO_FFMA_TILE_CUH
#define DUO_FFMA_TILE_CUH

#include <stdint.h>

#include "gpu/sgemm.cuh"
#include "gpu/slab.cuh"

constexpr int kThreads = 256; /* per block */
constexpr int kResident = 2;  /* blocks per multiprocessor: 128 registers per thread */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 860
constexpr int kLeastBlocks = 1; /* compiled for 7.5 or 8.0, two would spill */
#else
constexpr int kLeastBlocks = kResident;
#endif
constexpr int kSlab = 16; /* steps of k per slab */
constexpr int kSlabs = 4; /* slabs in the ring */

/* Threads of a warp along the rows and columns of C. */
constexpr int kLanesM = 4, kLanesN = 8;
static_assert(kLanesM * kLanesN == 32, "a warp is 32 threads");

/* Elements of C per thread, and per warp. */
constexpr int kThreadM = 8, kThreadN = 8;
constexpr int kWarpM = kLanesM * kThreadM, kWarpN = kLanesN * kThreadN;
static_assert(kThreadM % kGroup == 0 && kThreadN % kGroup == 0, "fragments are float4");

/*
 * A tile: warps along m, n and the steps of a slab. A thread multiplies its elements in zigzag,
 * Abreast columns at a time, so that an FMA mostly shares one of its two operands with the FMA
 * before. With these numbers the compiler's registers seldom collide in banks: in 10 to 20 % of the
 * FMA on sm_90a, instead of up to 60 %.
 */
template <int WarpsM, int WarpsN, int WarpsL, int Abreast>
struct ffma_tile {
    static constexpr int kWarpsM = WarpsM, kWarpsN = WarpsN, kWarpsL = WarpsL, kAbreast = Abreast;
    static constexpr int kM = WarpsM * kWarpM, kN = WarpsN * kWarpN;
    static constexpr int kSteps = kSlab / WarpsL; /* of a slab, for one warp */
    static constexpr int kSlabFloats = kSlab * (kPitch<kM> + kPitch<kN>);
    static constexpr int kRingFloats = kSlabs * kSlabFloats;
    static_assert(32 * WarpsM * WarpsN * WarpsL == kThreads, "the warps are those of a block");
    static_assert(kSteps % 2 == 0, "two fragment buffers take turns");
    static_assert((WarpsL & (WarpsL - 1)) == 0 && WarpsL / 2 * kM * kN <= kRingFloats,
                  "the sums of half the warps fit into the ring");
    static_assert(kN * kPitch<kM> <= kRingFloats, "the tile fits into the ring");
};

using large_tile = ffma_tile<4, 2, 1, 1>;   /* 128 x 128 */
using tallest_tile = ffma_tile<8, 1, 1, 1>; /* 256 x 64 */
using widest_tile = ffma_tile<2, 4, 1, 1>;  /* 64 x 256 */
using tall_tile = ffma_tile<4, 1, 2, 2>;    /* 128 x 64 */
using wide_tile = ffma_tile<2, 2, 2, 2>;    /* 64 x 128 */
using small_tile = ffma_tile<2, 1, 4, 1>;   /* 64 x 64 */

/* A thread's place in a tile. */
template <class Tile>
struct thread_place {
    static constexpr int kStrideM = kLanesM * kGroup, kStrideN = kLanesN * kGroup;
    int i, j;           /* its first element of the tile; its groups are a stride apart */
    int warp_l;         /* among the warps that share the steps of a slab */
    int read_a, read_b; /* where it reads A and B in a slab */

    __device__ __forceinline__ thread_place()
    {
        const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
        const int warp_n = warp % Tile::kWarpsN, warp_m = warp / Tile::kWarpsN % Tile::kWarpsM;
        warp_l = warp / (Tile::kWarpsN * Tile::kWarpsM);
        i = warp_m * kWarpM + lane_of_4(lane) * kGroup;
        j = warp_n * kWarpN + lane_of_8(lane) * kGroup;
        read_a = warp_l * Tile::kSteps * kPitch<Tile::kM> + i;
        read_b = kSlab * kPitch<Tile::kM> + warp_l * Tile::kSteps * kPitch<Tile::kN> + j;
    }
};

/* The elements of C of a thread, [column][row]. */
using thread_sums = float[kThreadN][kThreadM];

/* ---- The blocks' shares ---- */

/*
 * The blocks' shares: a tile of C each, or runs of slabs that may begin and end inside tiles.
 */

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
