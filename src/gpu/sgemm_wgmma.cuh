/*
 * sgemm_wgmma.cuh - C from split operands: a persistent kernel of warpgroup matrix products.
 *
 * Accepts   any m, n, k, ldc and alignment of C; planes and words of sgemm_planes.cuh
 * Threads   384 per block: one warpgroup copies (a thread of it), two multiply. A block walks tiles
 *           of C, each warpgroup owning 64 columns of it
 * Copies    stages of kStageK k of both operands, in a ring that runs on from tile to tile
 * Order     for every kStageK k the products of the planes, smallest first, in one chain of tensor-core
 *           sums; that sum times the scale of its tiles is added to fp32 registers by one FMA. A
 *           tensor core truncates to 25 bits below its largest term, so a chain must be short: this
 *           promotion is what makes the result better than a chain of fp32 FMAs
 * Guard     each block of 64 x 64 of C is stored only if its way (sgemm_guard.cuh) is one of those
 *           asked for; the others are done at the end, by sgemm_rest.cuh. Of a tile without blocks to
 *           store no more is copied than was on its way before that was known
 * Split-K   where small tiles are fewer than multiprocessors, several blocks share a tile of C, each
 *           a range of k. All leave their sums in the workspace, and the last to come adds them up,
 *           in the order of the ranges
 *
 * The rows of a warpgroup's product are columns j of C, its columns are rows i: see sgemm_tiles.cuh.
 */
#ifndef DUO_SGEMM_WGMMA_CUH
#define DUO_SGEMM_WGMMA_CUH

#include "sgemm_rest.cuh"

#if defined(__CUDA_ARCH_FEAT_SM90_ALL) || !defined(__CUDA_ARCH__)
#define DUO_HAS_WGMMA 1
#else
#define DUO_HAS_WGMMA 0
#endif

constexpr int kTogether = 4; /* steps of a small tile between which its products do not pause */
static_assert(kTogether % 2 == 0, "two chains by turns");

template <class Tile>
static __global__ void __launch_bounds__(kWgmmaThreads, 1)
    sgemm_wgmma(const __grid_constant__ CUtensorMap map_i,
                const __grid_constant__ CUtensorMap map_j, const __grid_constant__ wgmma_problem p)
{
#if DUO_HAS_WGMMA
    using Scheme = typename Tile::Scheme;
    extern __shared__ uint8_t raw[];
    const uint32_t ring = (shared_address(raw) + Tile::kAlignment - 1) & ~(Tile::kAlignment - 1u);
    const uint32_t full = ring + Tile::kStageBytes * Tile::kStages,
                   empty = full + 8 * Tile::kStages, judged = empty + 8 * Tile::kStages;
    __shared__ volatile bool wanted[2]; /* the tile and the one before it, by turns */
    const int warpgroup = __shfl_sync(~0u, (int)threadIdx.x / kWarpgroup, 0);

    let_next_kernel_start();
    if (threadIdx.x == 0) {
        prefetch_map(&map_i);
        prefetch_map(&map_j);
        for (int s = 0; s < Tile::kStages; s++) {
            barrier_init(full + 8 * s, 1);
            barrier_init(empty + 8 * s, kMultipliers);
        }
        for (int turn = 0; turn < 2; turn++) barrier_init(judged + 8 * turn, 1);
        barrier_init_done();
    }
    __syncthreads();
    wait_for_kernels_ahead();

    const int slice = (int)blockIdx.x % p.slices;
    const int tiles = p.tiles_i * p.tiles_j, stride = (int)gridDim.x / p.slices;
    const int steps = (int)((p.k + Scheme::kStageK - 1) / Scheme::kStageK);
    const int first_step = first_step_of<Tile>(steps, slice, p.slices);
    const int end_step = first_step_of<Tile>(steps, slice + 1, p.slices);
    /* What fits into the ring is copied before anyone knows whether the tile is wanted. */
    const int sure_step = min(first_step + Tile::kStages, end_step);
    int turn = 0; /* tiles so far; two verdicts can be under way, each with its barrier */

    if (warpgroup == 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
        if (threadIdx.x == 0) {
            int stage = 0;
            uint32_t phase = 0;
            for (int t = (int)blockIdx.x / p.slices; t < tiles; t += stride) {
                int ti, tj;
                place_of_tile(p, t, &ti, &tj);
                for (int step = first_step; step < end_step; step++) {
                    if (step == sure_step) {
                        barrier_wait(judged + 8 * (turn & 1), turn / 2 & 1);
                        if (!wanted[turn & 1]) break;
                    }
                    const uint32_t to = ring + stage * Tile::kStageBytes, here = full + 8 * stage;
                    const int k =
                        step * Scheme::kStageK * (Scheme::kInterleaved ? Scheme::kPlanes : 1);
                    barrier_wait(empty + 8 * stage, phase ^ 1);
                    barrier_expect(here, Tile::kStageBytes);
                    copy_box(to, &map_j, here, k, tj * kTileJ);
                    copy_box(to + Tile::kBytesJ, &map_i, here, k, ti * Tile::kI);
                    if (++stage == Tile::kStages) {
                        stage = 0;
                        phase ^= 1;
                    }
                }
                turn++;
            }
        }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
        constexpr int kRegisters = Tile::kWidth / 2, kPerBlock = kTile / 2;
        constexpr int kSteps = Tile::kStepsPerTile;
        static_assert(kTogether % kSteps == 0, "steps together begin with new scales");
        const int multiplier = warpgroup - 1, thread = threadIdx.x % kWarpgroup;
        const int k_tiles = (int)tiles_of(p.k);
        const bool whole = p.k % kTile == 0;
        float sum[Tile::kHalves][kRegisters], chain[kRegisters];
        bool left = false; /* are there blocks that are not stored? */
        int stage = 0;
        uint32_t phase = 0;
        auto advance = [&] {
            if (++stage == Tile::kStages) {
                stage = 0;
                phase ^= 1;
            }
        };
        for (int t = (int)blockIdx.x / p.slices; t < tiles; t += stride) {
            int ti, tj;
            place_of_tile(p, t, &ti, &tj);
            /* Tiles beyond the matrix have no words: theirs are those of the last one. */
            const int last_tile_i = (int)tiles_of(p.m) - 1, last_tile_j = (int)tiles_of(p.n) - 1;
            const int tile_j = min(tj * kMultipliers + multiplier, last_tile_j);
            const int other_j = min(tj * kMultipliers + 1 - multiplier, last_tile_j);
            const uint32_t *const words_j = p.b.words + (int64_t)tile_j * k_tiles;
            auto words_i = [&](int b) { /* an operand's tiles are counted in int */
                                        return p.a.words +
                                               min(ti * Tile::kBlocksI + b, last_tile_i) * k_tiles;
            };
            int limit[Tile::kBlocksI];
            uint32_t stored = 0; /* a bit for each block of 64 rows i */
            bool any = false;    /* is one stored by this warpgroup or the other? */
            {
                const uint32_t *words[Tile::kBlocksI + 2];
                tile_row row[Tile::kBlocksI + 2];
#pragma unroll
                for (int b = 0; b < Tile::kBlocksI; b++) words[b] = words_i(b);
                words[Tile::kBlocksI] = words_j;
                words[Tile::kBlocksI + 1] = p.b.words + (int64_t)other_j * k_tiles;
                read_tile_rows(words, k_tiles, whole, row);
                const tile_row &j = row[Tile::kBlocksI], &other = row[Tile::kBlocksI + 1];
#pragma unroll
                for (int b = 0; b < Tile::kBlocksI; b++) {
                    limit[b] = row[b].most + j.most;
                    any |= (Scheme::kWays >> way_of(row[b], other, p.k) & 1) != 0;
                    if (Scheme::kWays >> way_of(row[b], j, p.k) & 1) stored |= 1u << b;
                }
                left |= stored != (1u << Tile::kBlocksI) - 1;
                any |= stored != 0;
            }
            if (multiplier == 0 && thread == 0) {
                wanted[turn & 1] = any;
                barrier_arrive(judged + 8 * (turn & 1));
            }
            turn++;

#pragma unroll
            for (int h = 0; h < Tile::kHalves; h++)
#pragma unroll
                for (int r = 0; r < kRegisters; r++) sum[h][r] = 0.0f;
            if (stored == 0) { /* all of it is for the end */
                for (int step = first_step; step < (any ? end_step : sure_step); step++) {
                    barrier_wait(full + 8 * stage, phase);
                    sync_warpgroup(multiplier); /* nobody still waits for this phase */
                    if (thread == 0) barrier_arrive(empty + 8 * stage);
                    advance();
                }
                continue;
            }
            /* The words of the next 64 k are on their way while these 64 are multiplied. */
            uint32_t word_j = read_word(words_j + first_step / kSteps), word_i[Tile::kBlocksI];
#pragma unroll
            for (int b = 0; b < Tile::kBlocksI; b++)
                word_i[b] = read_word(words_i(b) + first_step / kSteps);
            float scale[Tile::kBlocksI];
            auto next_scales = [&](int step) {
#pragma unroll
                for (int b = 0; b < Tile::kBlocksI; b++)
                    scale[b] = scale_of(word_i[b], word_j, limit[b]);
                const int next = min(step / kSteps + 1, k_tiles - 1);
                word_j = read_word(words_j + next);
#pragma unroll
                for (int b = 0; b < Tile::kBlocksI; b++) word_i[b] = read_word(words_i(b) + next);
            };
            auto release = [&](int of_stage) {
                if (thread == 0) barrier_arrive(empty + 8 * of_stage);
            };
            if constexpr (Tile::kHalves == 1) {
                /* Two chains by turns: while one is added, the products of the other go on. */
                float other[kRegisters], times = 0.0f;
                auto begin = [&](float(&of)[kRegisters]) {
                    barrier_wait(full + 8 * stage, phase);
                    multiply_step<Tile>(of, ring + stage * Tile::kStageBytes, multiplier, 0);
                };
                auto add = [&](const float(&of)[kRegisters]) {
#pragma unroll
                    for (int r = 0; r < kRegisters; r++) sum[0][r] = fmaf(of[r], times, sum[0][r]);
                };
                int step = first_step;
                for (; step + kTogether <= end_step; step += kTogether) {
                    int before = 0; /* the stage of the chain before */
#pragma unroll
                    for (int s = 0; s < kTogether; s++) {
                        const bool even = s % 2 == 0;
                        begin(even ? chain : other);
                        if (s > 0) {
                            products_wait<1>(even ? other : chain);
                            release(before);
                            add(even ? other : chain);
                        }
                        if (s % kSteps == 0) {
                            next_scales(step + s);
                            times = scale[0];
                        }
                        before = stage;
                        advance();
                    }
                    products_wait<0>(other);
                    release(before);
                    add(other);
                }
                for (; step < end_step; step++) {
                    if (step % kSteps == 0) next_scales(step);
                    times = scale[0];
                    begin(chain);
                    products_wait<0>(chain);
                    release(stage);
                    advance();
                    add(chain);
                }
            } else {
                bool ones[Tile::kHalves]; /* are all scales of a half 1? */
                for (int step = first_step; step < end_step; step++) {
                    if (step % kSteps == 0) {
                        next_scales(step);
#pragma unroll
                        for (int h = 0; h < Tile::kHalves; h++) {
                            ones[h] = true;
#pragma unroll
                            for (int b = 0; b < Tile::kBlocksPerHalf; b++)
                                ones[h] &= scale[h * Tile::kBlocksPerHalf + b] == 1.0f;
                        }
                    }
                    barrier_wait(full + 8 * stage, phase);
#pragma unroll
                    for (int h = 0; h < Tile::kHalves; h++) {
                        multiply_step<Tile>(chain, ring + stage * Tile::kStageBytes, multiplier, h);
                        products_wait<0>(chain);
                        if (h == Tile::kHalves - 1) release(stage);
                        /* Mostly all scales are 1, and adding takes less power. */
                        if (ones[h]) {
#pragma unroll
                            for (int r = 0; r < kRegisters; r++) sum[h][r] += chain[r];
                        } else {
#pragma unroll
                            for (int r = 0; r < kRegisters; r++)
                                sum[h][r] =
                                    fmaf(chain[r], scale[h * Tile::kBlocksPerHalf + r / kPerBlock],
                                         sum[h][r]);
                        }
                    }
                    advance();
                }
            }

            if constexpr (Tile::kSliced)
                if (p.slices > 1 && !last_to_come(p, t, slice, multiplier, sum[0])) continue;
#pragma unroll
            for (int h = 0; h < Tile::kHalves; h++)
                store_half<Tile>(p, sum[h], limit + h * Tile::kBlocksPerHalf,
                                 stored >> h * Tile::kBlocksPerHalf,
                                 (int64_t)ti * Tile::kI + h * Tile::kWidth,
                                 (int64_t)tj * kTileJ + multiplier * 64);
        }
        if (any_multiplier(left)) do_rest<Tile>(p, ring, raw + (ring - shared_address(raw)), slice);
    }
#endif
}

#endif
