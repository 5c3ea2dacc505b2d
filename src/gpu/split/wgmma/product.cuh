/*
 * split/wgmma/product.cuh - C from split operands: a persistent kernel of warpgroup matrix products.
 *
 * Accepts   any m, n, k, ldc and alignment of C; planes and words of split/planes.cuh
 * Threads   384 per block: one warpgroup copies (a thread of it), two multiply. A block walks tiles
 *           of C, each warpgroup owning 64 columns of it
 * Copies    stages of kStageK k of both operands, in a ring that runs on from tile to tile.
 *           Blocks of a cluster have neighbours along the columns, and share the copies of rows i
 * Order     for every kStageK k the products of the planes, smallest first, in one chain of tensor-core
 *           sums; that sum times the scale of its tiles is added to fp32 registers by one FMA. A
 *           tensor core truncates to 25 bits below its largest term, so a chain must be short: this
 *           promotion is what makes the result better than a chain of fp32 FMAs
 * Guard     each block of 64 x 64 of C is stored only if its way (split/guard.cuh) is one of those
 *           asked for; the others are done at the end, by split/wgmma/refused_blocks.cuh. Of a tile without blocks to
 *           store no more is copied than was on its way before that was known
 * Split-K   where small tiles are fewer than multiprocessors, several blocks share a tile of C, each
 *           a range of k. All leave their sums in the workspace, and the last to come adds them up,
 *           in the order of the ranges
 *
 * The rows of a warpgroup's product are columns j of C, its columns are rows i: see split/product.cuh.
 */
#ifndef DUO_SPLIT_WGMMA_PRODUCT_CUH
#define DUO_SPLIT_WGMMA_PRODUCT_CUH

#include <type_traits>

#include "gpu/split/wgmma/refused_blocks.cuh"

#if defined(__CUDA_ARCH_FEAT_SM90_ALL) || !defined(__CUDA_ARCH__)
#define DUO_HAS_WGMMA 1
#else
#define DUO_HAS_WGMMA 0
#endif

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
            barrier_init(empty + 8 * s, kMultipliers * Tile::kCluster);
        }
        for (int turn = 0; turn < 2; turn++) barrier_init(judged + 8 * turn, 1);
        barrier_init_done();
    }
    if constexpr (Tile::kCluster > 1)
        sync_cluster();
    else
        __syncthreads();
    wait_for_kernels_ahead();

    const cluster_walk<Tile> walk(p);
    const int slice = (int)blockIdx.x % p.slices, rank = (int)blockIdx.x % Tile::kCluster;
    static_assert(Tile::kCluster == 1 || !Tile::kSliced, "blocks of a cluster have the same k");
    const int steps = (int)((p.k + Scheme::kStageK - 1) / Scheme::kStageK);
    const int first_step = first_step_of<Tile>(steps, slice, p.slices);
    const int end_step = first_step_of<Tile>(steps, slice + 1, p.slices);
    /* What fits into the ring is copied before anyone knows whether the tile is wanted. */
    const int sure_step = min(first_step + Tile::kStages, end_step);
    int turn = 0; /* tiles so far; two verdicts can be under way, each with its barrier */

    if (warpgroup == 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x == 0) {
            int stage = 0;
            uint32_t phase = 0;
            for (int t = walk.first; t < walk.end; t += walk.stride) {
                int ti, tj;
                walk.place(p, t, &ti, &tj);
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
                    const uint32_t box = to + Tile::kBytesJ + rank * Tile::kBytesBox;
                    const int row = ti * Tile::kI + rank * Tile::kBoxI;
                    if constexpr (Tile::kCluster == 1)
                        copy_box(box, &map_i, here, k, row);
                    else
                        copy_box_to((1 << Tile::kCluster) - 1, box, &map_i, here, k, row);
                    if (++stage == Tile::kStages) {
                        stage = 0;
                        phase ^= 1;
                    }
                }
                turn++;
            }
        }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        constexpr int kRegisters = Tile::kWidth / 2, kPerBlock = kTile / 2;
        constexpr int kSteps = Tile::kStepsPerTile;
        static_assert(kSteps <= 2, "each step has new scales, or each second one");
        const int multiplier = warpgroup - 1, thread = threadIdx.x % kWarpgroup, lane = thread % 32;
        const int k_tiles = (int)tiles_of(p.k);
        const bool whole = p.k % kTile == 0;
        float sum[Tile::kHalves][kRegisters], chain[kRegisters];
        bool left = false; /* are there blocks that are not stored? */
        const uint32_t j_rows = rows_at(ring + multiplier * 64 * Tile::kRowBytes);
        const uint32_t i_rows = rows_at(ring + Tile::kBytesJ);
        int stage = 0;
        uint32_t phase = 0, at = 0; /* of the stage in the ring, in units of 16 bytes */
        auto advance = [&] {
            at += Tile::kStageBytes / 16;
            if (++stage == Tile::kStages) {
                stage = 0;
                at = 0;
                phase ^= 1;
            }
        };
        /* In all blocks of the cluster the stage may be filled again. */
        auto release = [&](int of_stage) {
            if constexpr (Tile::kCluster == 1) {
                if (thread == 0) barrier_arrive(empty + 8 * of_stage);
            } else {
                if (thread < Tile::kCluster) barrier_arrive_in(empty + 8 * of_stage, thread);
            }
        };
        for (int t = walk.first; t < walk.end; t += walk.stride) {
            int ti, tj;
            walk.place(p, t, &ti, &tj);
            /* Tiles beyond the matrix have no words: theirs are those of the last one. */
            const int last_tile_i = (int)tiles_of(p.m) - 1, last_tile_j = (int)tiles_of(p.n) - 1;
            const int tile_j = min(tj * kMultipliers + multiplier, last_tile_j);
            const uint32_t *const words_j = p.b.words + (int64_t)tile_j * k_tiles;
            auto words_i = [&](int b) { /* an operand's tiles are counted in int */
                                        return p.a.words +
                                               min(ti * Tile::kBlocksI + b, last_tile_i) * k_tiles;
            };
            /*
             * The words of the 64 k after next are on their way while the next scales are known. Each
             * lane has one: of rows i, then of columns j. (Were all in each, the compiler would move
             * them to uniform registers, and so wait for them, at once.)
             */
            const uint32_t *words = words_j;
#pragma unroll
            for (int b = 0; b < Tile::kBlocksI; b++)
                if (lane == b) words = words_i(b);
            const uint32_t *const last_word = words + k_tiles - 1;
            words += first_step / kSteps;
            uint32_t word = read_word(words);
            int limit[Tile::kBlocksI];
            uint32_t stored = 0; /* a bit for each block of 64 rows i */
            bool any = false;    /* is one stored by any warpgroup of the cluster? */
            {
                constexpr int kOthers = kMultipliers * Tile::kCluster - 1; /* warpgroups */
                const uint32_t *all[Tile::kBlocksI + 1 + kOthers];
                tile_row row[Tile::kBlocksI + 1 + kOthers];
#pragma unroll
                for (int b = 0; b < Tile::kBlocksI; b++) all[b] = words_i(b);
                all[Tile::kBlocksI] = words_j;
#pragma unroll
                for (int o = 1; o <= kOthers; o++) {
                    const int other_j = min((tj * kMultipliers + multiplier) ^ o, last_tile_j);
                    all[Tile::kBlocksI + o] = p.b.words + (int64_t)other_j * k_tiles;
                }
                read_tile_rows(all, k_tiles, whole, row);
                const tile_row &j = row[Tile::kBlocksI];
#pragma unroll
                for (int b = 0; b < Tile::kBlocksI; b++) {
                    limit[b] = row[b].most + j.most;
#pragma unroll
                    for (int o = 1; o <= kOthers; o++)
                        any |= (Scheme::kWays >> way_of(row[b], row[Tile::kBlocksI + o], p.k) &
                                1) != 0;
                    if (Scheme::kWays >> way_of(row[b], j, p.k) & 1) stored |= 1u << b;
                }
                left |= stored != (1u << Tile::kBlocksI) - 1;
                any |= stored != 0;
            }
            if (multiplier == 0 && thread == 0 && sure_step < end_step) { /* else nobody waits */
                wanted[turn & 1] = any;
                barrier_arrive(judged + 8 * (turn & 1));
            }
            turn++;
            if constexpr (!Tile::kTwoChains) sync_multipliers(); /* see keep_apart */

#pragma unroll
            for (int h = 0; h < Tile::kHalves; h++)
#pragma unroll
                for (int r = 0; r < kRegisters; r++) sum[h][r] = 0.0f;
            if (stored == 0) { /* all of it is for the end */
                for (int step = first_step; step < (any ? end_step : sure_step); step++) {
                    barrier_wait(full + 8 * stage, phase);
                    sync_warpgroup(multiplier); /* nobody still waits for this phase */
                    release(stage);
                    advance();
                }
                continue;
            }
            float my_scale; /* lane b: of rows i of block b */
            bool ones;      /* are all scales 1? Mostly they are */
            int my_limit = 0;
#pragma unroll
            for (int b = 0; b < Tile::kBlocksI; b++)
                if (lane == b) my_limit = limit[b];
            /* Of the next 64 k. */
            auto judge = [&] {
                my_scale = scale_of(word, __shfl_sync(~0u, word, Tile::kBlocksI), my_limit);
                ones = __all_sync(~0u, lane >= Tile::kBlocksI || my_scale == 1.0f) != 0;
                if (words != last_word) words++;
                word = read_word(words);
            };
            auto take_scales = [&](float(&scale)[Tile::kBlocksI]) {
#pragma unroll
                for (int b = 0; b < Tile::kBlocksI; b++) scale[b] = __shfl_sync(~0u, my_scale, b);
            };
            judge();
            if constexpr (Tile::kTwoChains) {
                /* Two chains by turns: while one is added, the products of the other go on. A slice has
                 * steps. */
                float other[kRegisters], scale[Tile::kBlocksI] = {}, before[Tile::kBlocksI];
                constexpr std::integral_constant<int, 0> zero;
                constexpr std::integral_constant<int, 1> one;
                int stage_before = 0;
                auto begin = [&](auto side) {
                    float(&of)[kRegisters] = side.value == 0 ? chain : other;
                    barrier_wait(full + 8 * stage, phase);
                    multiply_step<Tile>(of, j_rows + at, i_rows + at, 0);
#pragma unroll
                    for (int b = 0; b < Tile::kBlocksI; b++) before[b] = scale[b];
                    if (side.value % kSteps == 0) {
                        take_scales(scale);
                        judge();
                    }
                };
                /* Adds the chain of the step before; `pending` others are not waited for. */
                auto add = [&](auto side, auto pending, const float(&times)[Tile::kBlocksI]) {
                    float(&of)[kRegisters] = side.value == 0 ? chain : other;
                    products_wait<pending.value>(of);
                    release(stage_before);
#pragma unroll
                    for (int r = 0; r < kRegisters; r++)
                        sum[0][r] = fmaf(of[r], times[r / kPerBlock], sum[0][r]);
                };
                auto next = [&] {
                    stage_before = stage;
                    advance();
                };
                begin(zero);
                next();
                int step = first_step + 1;
#pragma unroll 1
                for (; step + 2 <= end_step; step += 2) {
                    begin(one);
                    add(zero, one, before);
                    next();
                    begin(zero);
                    add(one, one, before);
                    next();
                }
                if (step < end_step) {
                    begin(one);
                    add(zero, one, before);
                    next();
                    add(one, zero, scale);
                } else {
                    add(zero, zero, scale);
                }
            } else {
                /* Steps until the next with other kinds of scales. The code of those without stays small:
                 * it is all that the innermost instruction cache holds. */
                int step = first_step;
                keep_apart(multiplier, full + 8 * stage, phase);
                auto multiply = [&](auto scaled) {
                    float scale[Tile::kBlocksI];
                    if constexpr (scaled.value) take_scales(scale);
#pragma unroll 1
                    do {
                        barrier_wait(full + 8 * stage, phase);
#pragma unroll
                        for (int h = 0; h < Tile::kHalves; h++) {
                            multiply_step<Tile>(chain, j_rows + at, i_rows + at, h);
                            if (h == 0 && step % kSteps == 0) judge();
                            products_wait<0>(chain);
                            if (h == Tile::kHalves - 1) release(stage);
#pragma unroll
                            for (int r = 0; r < kRegisters; r++)
                                if constexpr (scaled.value)
                                    sum[h][r] = fmaf(
                                        chain[r], scale[h * Tile::kBlocksPerHalf + r / kPerBlock],
                                        sum[h][r]);
                                else
                                    sum[h][r] += chain[r];
                        }
                        advance();
                    } while (++step < end_step && (step % kSteps != 0 || (!scaled.value && ones)));
                };
                while (step < end_step)
                    if (ones)
                        multiply(std::false_type());
                    else
                        multiply(std::true_type());
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
    if constexpr (Tile::kCluster > 1) sync_cluster(); /* nobody's barriers are needed any more */
#endif
}

#endif
