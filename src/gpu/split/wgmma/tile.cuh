/*
 * split/wgmma/tile.cuh - a tile of C and its stages in shared memory; the problem; the tiles that a
 * block walks.
 */
#ifndef DUO_SPLIT_WGMMA_TILE_CUH
#define DUO_SPLIT_WGMMA_TILE_CUH

#include "gpu/split/product.cuh"
#include "gpu/split/wgmma/instructions.cuh"

/*
 * A tile of C: kTileJ columns and Halves * Width rows; Stages in the ring. The blocks of a cluster
 * have tiles side by side: their rows i are the same, and each block copies a part of them for all:
 * this saves L2 traffic and power.
 */
template <class Scheme_, int Width_, int Halves_, int Stages_, int Cluster_ = 1>
struct wgmma_tile {
    using Scheme = Scheme_;
    static constexpr int kWidth = Width_, kHalves = Halves_, kStages = Stages_, kCluster = Cluster_;
    static constexpr int kI = kWidth * kHalves;
    static constexpr bool kSliced = kI == kTile;     /* may k be cut? Only a small C needs it */
    static constexpr bool kTwoChains = kHalves == 1; /* there are registers for two */
    static constexpr int kBlocksI = kI / kTile, kBlocksPerHalf = kWidth / kTile;
    static constexpr int kRowBytes = Scheme::kInterleaved ? 128 : 64;
    static constexpr int kCopies = Scheme::kInterleaved ? 1 : Scheme::kPlanes;
    static constexpr int kStepsPerTile = kTile / Scheme::kStageK; /* of k, with one scale */
    static constexpr int kBytesJ = kTileJ * kRowBytes * kCopies;
    static constexpr int kBoxI = kI / kCluster; /* rows i that a block copies, at once */
    static constexpr int kBytesBox = kBoxI * kRowBytes * kCopies;
    static constexpr int kStageBytes = kBytesJ + kCluster * kBytesBox;
    static constexpr int kAlignment = 1024; /* of a stage: the swizzle repeats */
    static constexpr int kSharedBytes = kStageBytes * kStages + kAlignment + 16 * kStages + 16;
    static_assert(kBytesJ % kAlignment == 0 && kBytesBox % kAlignment == 0, "every box is aligned");
    static_assert(kSharedBytes <= 227 * 1024, "a block of compute capability 9.0 has 227 KiB");
    static_assert(kWidth % kTile == 0, "a scale belongs to 64 rows");
    static_assert(kBoxI % kWidth == 0, "a half lies in one box");

    /* From the start of an operand's part of a stage to a plane's 16 k, in units of 16 bytes. */
    static __device__ __forceinline__ constexpr uint32_t offset(int rows, int plane, int step)
    {
        return (uint32_t)(((Scheme::kInterleaved ? plane * 64 : plane * rows * kRowBytes) +
                           step * 32) >>
                          4);
    }
};

struct wgmma_problem : tensor_problem {
    int slices;        /* ranges of k that are multiplied separately */
    uint32_t *tickets; /* for each tile and warpgroup the slices done; 0 between launches */
    float *partials;   /* the sums of slices */
};

/* A block has the tiles number first, first + stride, ... of its cluster's walk. */
template <class Tile>
struct cluster_walk {
    int first, stride, end;
    __device__ __forceinline__ explicit cluster_walk(const wgmma_problem &p)
        : first((int)blockIdx.x / (p.slices * Tile::kCluster)),
          stride((int)gridDim.x / (p.slices * Tile::kCluster)),
          end(p.tiles_i * ((p.tiles_j + Tile::kCluster - 1) / Tile::kCluster))
    {
    }
    static_assert(kTilesTogether % Tile::kCluster == 0, "whole clusters are walked together");
    /* Where tile t is in C; with a cluster it may be behind the last column. */
    static __device__ __forceinline__ void place(const wgmma_problem &p, int t, int *ti, int *tj)
    {
        place_of_tile<kTilesTogether / Tile::kCluster>(
            (p.tiles_j + Tile::kCluster - 1) / Tile::kCluster, p.tiles_i, t, tj, ti);
        *tj = *tj * Tile::kCluster + (int)blockIdx.x % Tile::kCluster;
    }
};

/* The first step of a slice: whole tiles of k. */
template <class Tile>
static __device__ __forceinline__ int first_step_of(int steps, int slice, int slices)
{
    constexpr int kSteps = Tile::kStepsPerTile;
    const int tiles = (steps + kSteps - 1) / kSteps;
    return min((int)((int64_t)tiles * slice / slices) * kSteps, steps);
}

/* ---- What every warpgroup of a block computes for itself ---- */

/* The places in shared memory, the tiles of C that the block walks, its slice of k. */

template <class Tile>
struct wgmma_block {
    /*
     * Places in shared memory: the stages; for each stage a barrier that says it is full, and one
     * that says it may be filled; a barrier that says that the verdict on a tile
     * (split/wgmma/multiply.cuh) is there; and the verdict: is any block of the tile wanted? There
     * are two of the last two, because the verdicts on two tiles can be under way at once.
     */
    uint32_t ring, full, empty, judged;
    volatile bool *wanted;

    cluster_walk<Tile> walk;
    int slice;
    int first_step, end_step; /* of this slice; a step is kStageK k */
    int sure_step; /* steps before this one fit into the ring, and are copied before the verdict */

    __device__ __forceinline__ wgmma_block(const wgmma_problem &p, uint32_t memory,
                                           volatile bool *verdicts)
        : ring((memory + Tile::kAlignment - 1) & ~(Tile::kAlignment - 1u)),
          full(ring + Tile::kStageBytes * Tile::kStages), empty(full + 8 * Tile::kStages),
          judged(empty + 8 * Tile::kStages), wanted(verdicts), walk(p),
          slice((int)blockIdx.x % p.slices)
    {
        static_assert(Tile::kCluster == 1 || !Tile::kSliced, "blocks of a cluster have the same k");
        const int steps = (int)((p.k + Tile::Scheme::kStageK - 1) / Tile::Scheme::kStageK);
        first_step = first_step_of<Tile>(steps, slice, p.slices);
        end_step = first_step_of<Tile>(steps, slice + 1, p.slices);
        sure_step = min(first_step + Tile::kStages, end_step);
    }

    /* One thread calls, before all others go on. */
    __device__ __forceinline__ void make_barriers() const
    {
        for (int s = 0; s < Tile::kStages; s++) {
            barrier_init(full + 8 * s, 1);
            barrier_init(empty + 8 * s, kMultipliers * Tile::kCluster);
        }
        for (int turn = 0; turn < 2; turn++) barrier_init(judged + 8 * turn, 1);
        barrier_init_done();
    }
};

/* Where a warpgroup is in the ring. */
template <class Tile>
struct ring_place {
    int stage = 0;
    uint32_t phase = 0; /* of the stage's barriers: it changes with every round */
    uint32_t at = 0;    /* of the stage from the start of the ring, in units of 16 bytes */

    __device__ __forceinline__ void advance()
    {
        at += Tile::kStageBytes / 16;
        if (++stage == Tile::kStages) {
            stage = 0;
            at = 0;
            phase ^= 1;
        }
    }
};

#endif
