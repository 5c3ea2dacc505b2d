/*
 * split/wgmma/copy.cuh - the copying warpgroup: stages of A and B into the ring, tile after tile.
 */
#ifndef DUO_SPLIT_WGMMA_COPY_CUH
#define DUO_SPLIT_WGMMA_COPY_CUH

#include "gpu/split/wgmma/block.cuh"

/* One thread of the block calls. */
template <class Tile>
static __device__ __forceinline__ void copy_tiles(const wgmma_block<Tile> &block,
                                                  const wgmma_problem &p, const CUtensorMap &map_i,
                                                  const CUtensorMap &map_j)
{
    using Scheme = typename Tile::Scheme;
    const int rank = (int)blockIdx.x % Tile::kCluster;
    ring_place<Tile> place;
    int turn = 0; /* tiles so far */
    for (int t = block.walk.first; t < block.walk.end; t += block.walk.stride) {
        int ti, tj;
        block.walk.place(p, t, &ti, &tj);
        for (int step = block.first_step; step < block.end_step; step++) {
            if (step == block.sure_step) {
                barrier_wait(block.judged + 8 * (turn & 1), turn / 2 & 1);
                if (!block.wanted[turn & 1]) break;
            }
            const uint32_t to = block.ring + 16 * place.at;
            const uint32_t here = block.full + 8 * place.stage;
            const int k = step * Scheme::kStageK * (Scheme::kInterleaved ? Scheme::kPlanes : 1);
            barrier_wait(block.empty + 8 * place.stage, place.phase ^ 1);
            barrier_expect(here, Tile::kStageBytes);
            copy_box(to, &map_j, here, k, tj * kTileJ);
            /* Each block of a cluster copies a part of the rows i, for all blocks. */
            const uint32_t box = to + Tile::kBytesJ + rank * Tile::kBytesBox;
            const int row = ti * Tile::kI + rank * Tile::kBoxI;
            if constexpr (Tile::kCluster == 1)
                copy_box(box, &map_i, here, k, row);
            else
                copy_box_to((1 << Tile::kCluster) - 1, box, &map_i, here, k, row);
            place.advance();
        }
        turn++;
    }
}

#endif
