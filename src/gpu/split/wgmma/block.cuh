/*
 * split/wgmma/block.cuh - facts that every warpgroup of a block of sgemm_wgmma computes for itself:
 * the places in shared memory, the tiles of C that the block walks, its slice of k.
 */
#ifndef DUO_SPLIT_WGMMA_BLOCK_CUH
#define DUO_SPLIT_WGMMA_BLOCK_CUH

#include "gpu/split/wgmma/tile.cuh"

template <class Tile>
struct wgmma_block {
    /*
     * Places in shared memory: the stages; for each stage a barrier that says it is full, and one
     * that says it may be filled; a barrier that says that the verdict on a tile
     * (split/wgmma/verdict.cuh) is there; and the verdict: is any block of the tile wanted? There
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
