/*
 * split/wgmma/product.cuh - C from split operands, by Hopper's warpgroup matrix products in a
 * persistent kernel.
 *
 * Accepts   any m, n, k, ldc and alignment of C; planes and words of split/planes.cuh
 * Threads   384 per block: one warpgroup copies (one thread of it), two multiply. A block walks
 *           tiles of C; each multiplying warpgroup owns 64 columns of a tile
 * Copies    stages of kStageK k of both operands, in a ring that runs on from tile to tile. Blocks
 *           of a cluster have neighbouring tiles along the columns, and share the copies of rows i
 * Order     for every kStageK k the products of the planes, smallest first, in one chain of
 *           tensor-core sums; that sum times the scale of its tiles is added to fp32 registers by
 *           one FMA. A tensor core truncates to 25 bits below its largest term, so a chain must be
 *           short: the frequent additions in fp32 make the result better than a chain of fp32 FMAs
 * Guard     each block of 64 x 64 of C is stored only if its way (split/guard.cuh) is one of the
 *           scheme's; the others are computed at the end (split/wgmma/refused_blocks.cuh). If a
 *           tile has no block to store, copying it stops as soon as that is known
 * Split-K   if small tiles are fewer than multiprocessors, several blocks share a tile of C, with a
 *           range of k each. All leave their sums in the workspace, and the last one adds them, in
 *           the order of the ranges
 *
 * The rows of a warpgroup's product are columns j of C, its columns are rows i: see
 * split/product.cuh.
 */
#ifndef DUO_SPLIT_WGMMA_PRODUCT_CUH
#define DUO_SPLIT_WGMMA_PRODUCT_CUH

#include "gpu/split/wgmma/multiply.cuh"
#include "gpu/split/wgmma/refused_blocks.cuh"
#include "gpu/split/wgmma/store.cuh"
#include "gpu/split/wgmma/tile.cuh"

/* ---- The copying warpgroup: stages into the ring, tile after tile ---- */

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

/* ---- The kernel ---- */

/* The multiplying warpgroups: all tiles of the block, then their refused blocks. */
template <class Tile>
static __device__ __forceinline__ void
multiply_tiles(const wgmma_block<Tile> &block, const wgmma_problem &p, int multiplier, void *memory)
{
    static_assert(Tile::kStepsPerTile <= 2, "each step has new scales, or each second one");
    tile_sums<Tile> sum;
    bool left = false; /* are there blocks that are not stored? */
    stage_reader<Tile> reader(block, multiplier);
    int turn = 0; /* tiles so far */
    for (int t = block.walk.first; t < block.walk.end; t += block.walk.stride) {
        int ti, tj;
        block.walk.place(p, t, &ti, &tj);
        const tile_words<Tile> words(p, ti, tj, multiplier);
        tile_scales<Tile> scales(words, block.first_step);
        const verdict<Tile> on(words);
        left |= on.stored != verdict<Tile>::kAll;
        if (multiplier == 0 && threadIdx.x % kWarpgroup == 0 &&
            block.sure_step < block.end_step) { /* else no thread waits */
            block.wanted[turn & 1] = on.any;
            barrier_arrive(block.judged + 8 * (turn & 1));
        }
        turn++;
        if constexpr (!Tile::kTwoChains) sync_multipliers(); /* see keep_apart */

#pragma unroll
        for (int h = 0; h < Tile::kHalves; h++)
#pragma unroll
            for (int r = 0; r < Tile::kWidth / 2; r++) sum[h][r] = 0.0f;
        if (on.stored == 0) { /* all of it is refused */
            const int copied = on.any ? block.end_step : block.sure_step;
            for (int step = block.first_step; step < copied; step++) {
                reader.wait();
                sync_warpgroup(multiplier); /* no thread still waits for this phase */
                reader.release(reader.stage);
                reader.advance();
            }
            continue;
        }
        scales.begin(on.limit);
        if constexpr (Tile::kTwoChains)
            multiply_two_chains<Tile>(sum, reader, scales);
        else
            multiply_one_chain<Tile>(sum, multiplier, reader, scales);

        if constexpr (Tile::kSliced)
            if (p.slices > 1 && !last_to_come(p, t, block.slice, multiplier, sum[0])) continue;
#pragma unroll
        for (int h = 0; h < Tile::kHalves; h++)
            store_half<Tile>(p, sum[h], on.limit + h * Tile::kBlocksPerHalf,
                             on.stored >> h * Tile::kBlocksPerHalf,
                             (int64_t)ti * Tile::kI + h * Tile::kWidth,
                             (int64_t)tj * kTileJ + multiplier * 64);
    }
    if (any_multiplier(left)) do_refused<Tile>(p, block.ring, memory, block.slice);
}

template <class Tile>
static __global__ void __launch_bounds__(kWgmmaThreads, 1)
    sgemm_wgmma(const __grid_constant__ CUtensorMap map_i,
                const __grid_constant__ CUtensorMap map_j, const __grid_constant__ wgmma_problem p)
{
#if DUO_HAS_WGMMA
    extern __shared__ uint8_t raw[];
    __shared__ volatile bool wanted[2];
    const uint32_t memory = shared_address(raw);
    const int warpgroup = __shfl_sync(~0u, (int)threadIdx.x / kWarpgroup, 0);
    const wgmma_block<Tile> block(p, memory, wanted);

    let_next_kernel_start();
    if (threadIdx.x == 0) {
        prefetch_map(&map_i);
        prefetch_map(&map_j);
        block.make_barriers();
    }
    if constexpr (Tile::kCluster > 1)
        sync_cluster();
    else
        __syncthreads();
    wait_for_kernels_ahead();

    if (warpgroup == 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x == 0) copy_tiles(block, p, map_i, map_j);
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        multiply_tiles(block, p, warpgroup - 1, raw + (block.ring - memory));
    }
    if constexpr (Tile::kCluster > 1) sync_cluster(); /* no block's barriers are needed any more */
#endif
}

#endif
