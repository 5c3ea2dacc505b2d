/*
 * split/wgmma/block.cuh - what the warpgroups of a block of sgemm_wgmma know of it, each of its own
 * accord: its shared memory, the tiles of C that it walks, its slice of k; and their places in the
 * ring.
 */
#ifndef DUO_SPLIT_WGMMA_BLOCK_CUH
#define DUO_SPLIT_WGMMA_BLOCK_CUH

#include "gpu/split/wgmma/tile.cuh"

template <class Tile>
struct wgmma_block {
    /*
     * Shared memory: the stages; for each stage a barrier "it is full" and one "it may be filled";
     * for each verdict (split/wgmma/verdict.cuh) one "it is there", and the verdict. Two can be
     * under way: of the tile and of the one before it, by turns.
     */
    uint32_t ring, full, empty, judged;
    volatile bool *wanted;

    cluster_walk<Tile> walk;
    int slice;
    int first_step, end_step; /* of this slice, in kStageK k */
    int sure_step; /* what fits into the ring is copied before anyone knows if the tile is wanted */

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

    /* By one thread, before all others go on. */
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
