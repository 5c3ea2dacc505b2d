/*
 * sgemm_wgmma.cuh - C from split operands: a persistent kernel of warpgroup matrix products.
 *
 * Accepts   any m, n, k, ldc and alignment of C; planes and words of sgemm_planes.cuh
 * Threads   384 per block: one warpgroup copies (a thread of it), two multiply. A block walks tiles
 *           of C, each warpgroup owning 64 columns of it
 * Copies    stages of 32 k of both operands, in a ring that runs on from tile to tile
 * Order     for every 32 k the products of the planes, smallest first, in one chain of tensor-core
 *           sums; that sum times the scale of its tiles is added to fp32 registers by one FMA. A
 *           tensor core truncates to 25 bits below its largest term, so a chain must be short: this
 *           promotion is what makes the result better than a chain of fp32 FMAs
 * Guard     each block of 64 x 64 of C is stored only if its way (sgemm_guard.cuh) is one of those
 *           asked for; where one is not, `pending` says so to the kernels behind. Of a tile without
 *           such blocks no more is copied than was on its way before that was known
 * Split-K   where small tiles are fewer than multiprocessors, several blocks share a tile of C, each
 *           a range of k. All leave their sums in the workspace, and the last to come adds them up,
 *           in the order of the ranges
 *
 * The rows of a warpgroup's product are columns j of C, its columns are rows i: see sgemm_tiles.cuh.
 */
#ifndef DUO_SGEMM_WGMMA_CUH
#define DUO_SGEMM_WGMMA_CUH

#include "sgemm_tiles.cuh"
#include "wgmma.cuh"

constexpr int kWarpgroup = 128;           /* threads */
constexpr int kMultipliers = 2;           /* warpgroups */
constexpr int kTileJ = 64 * kMultipliers; /* columns of C in a tile of it */
constexpr int kWgmmaThreads = kWarpgroup * (1 + kMultipliers);

/* A tile of C: kTileJ columns x Halves * Width rows; Stages in the ring. */
template <class Scheme_, int Width_, int Halves_, int Stages_>
struct wgmma_tile {
    using Scheme = Scheme_;
    static constexpr int kWidth = Width_, kHalves = Halves_, kStages = Stages_;
    static constexpr int kI = kWidth * kHalves;
    static constexpr bool kSliced = kHalves == 1; /* may k be cut? Large tiles are for many tiles */
    static constexpr int kBlocksI = kI / kTile, kBlocksPerHalf = kWidth / kTile;
    static constexpr int kRowBytes = Scheme::kInterleaved ? 128 : 64;
    static constexpr int kCopies = Scheme::kInterleaved ? 1 : Scheme::kPlanes;
    static constexpr int kBytesJ = kTileJ * kRowBytes * kCopies;
    static constexpr int kBytesI = kI * kRowBytes * kCopies;
    static constexpr int kStageBytes = kBytesJ + kBytesI;
    static constexpr int kAlignment = 1024; /* of a stage: the swizzle repeats */
    static constexpr int kSharedBytes = kStageBytes * kStages + kAlignment + 16 * kStages + 16;
    static_assert(kStageBytes % kAlignment == 0, "every stage is aligned");
    static_assert(kSharedBytes <= 227 * 1024, "a block of compute capability 9.0 has 227 KiB");
    static_assert(kWidth % kTile == 0, "a scale belongs to 64 rows");

    /* From the start of an operand's part of a stage to a plane's 16 k, in units of 16 bytes. */
    static __device__ __forceinline__ constexpr uint64_t offset(int rows, int plane, int step)
    {
        return (uint64_t)(((Scheme::kInterleaved ? plane * 64 : plane * rows * kRowBytes) +
                           step * 32) >>
                          4);
    }
};

struct wgmma_problem : tensor_problem {
    int slices;        /* ranges of k that are multiplied apart */
    uint32_t *tickets; /* 0 between launches; for each tile and warpgroup */
    float *partials;
};

/* The first step of a slice: whole tiles of k. */
static __device__ __forceinline__ int first_step_of(int steps, int slice, int slices)
{
    constexpr int kSteps = kTile / kStepK;
    const int tiles = (steps + kSteps - 1) / kSteps;
    return min((int)((int64_t)tiles * slice / slices) * kSteps, steps);
}

/* Of one of the warpgroups that multiply. */
static __device__ __forceinline__ void sync_warpgroup(int multiplier)
{
    if (multiplier == 0)
        asm volatile("bar.sync 1, %0;" ::"n"(kWarpgroup) : "memory");
    else
        asm volatile("bar.sync 2, %0;" ::"n"(kWarpgroup) : "memory");
}

/*
 * Leaves a warpgroup's sums of its slice of tile t in the workspace. The last of all slices to come
 * gets the sums of all, added in their order; the others get false.
 */
template <int Registers>
static __device__ __forceinline__ bool last_to_come(const wgmma_problem &p, int t, int slice,
                                                    int multiplier, float (&sum)[Registers])
{
    __shared__ uint32_t come[kMultipliers];
    constexpr int kFours = Registers / 4;
    const int thread = threadIdx.x % kWarpgroup, place = t * kMultipliers + multiplier;
    float4 *const mine = reinterpret_cast<float4 *>(p.partials) +
                         (int64_t)place * p.slices * kFours * kWarpgroup + thread;
#pragma unroll
    for (int f = 0; f < kFours; f++)
        __stcg(mine + (slice * kFours + f) * kWarpgroup,
               make_float4(sum[4 * f], sum[4 * f + 1], sum[4 * f + 2], sum[4 * f + 3]));
    __threadfence();
    sync_warpgroup(multiplier);
    if (thread == 0) come[multiplier] = atomicAdd(p.tickets + place, 1u);
    sync_warpgroup(multiplier);
    if ((int)come[multiplier] != p.slices - 1) return false;
    __threadfence();
    if (thread == 0) p.tickets[place] = 0;
#pragma unroll
    for (int r = 0; r < Registers; r++) sum[r] = 0.0f;
    for (int s = 0; s < p.slices; s++) {
#pragma unroll
        for (int f = 0; f < kFours; f++) {
            const float4 part = __ldcg(mine + (s * kFours + f) * kWarpgroup);
            sum[4 * f] += part.x;
            sum[4 * f + 1] += part.y;
            sum[4 * f + 2] += part.z;
            sum[4 * f + 3] += part.w;
        }
    }
    return true;
}

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
    __shared__ bool wanted[2]; /* the tile and the one before it, by turns */
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
    if (p.when != nullptr && (read_word(p.when) & kPendingBf16) == 0) return;

    const int slice = (int)blockIdx.x % p.slices;
    const int tiles = p.tiles_i * p.tiles_j, stride = (int)gridDim.x / p.slices;
    const int steps = (int)((p.k + kStepK - 1) / kStepK);
    const int first_step = first_step_of(steps, slice, p.slices);
    const int end_step = first_step_of(steps, slice + 1, p.slices);
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
                        if (!*const_cast<volatile bool *>(&wanted[turn & 1])) break;
                    }
                    const uint32_t to = ring + stage * Tile::kStageBytes, here = full + 8 * stage;
                    const int k = step * (Scheme::kInterleaved ? 2 * kStepK : kStepK);
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
        const int multiplier = warpgroup - 1, thread = threadIdx.x % kWarpgroup, lane = thread % 32;
        const int k_tiles = (int)tiles_of(p.k);
        const bool whole = p.k % kTile == 0;
        float sum[Tile::kHalves][kRegisters], chain[kRegisters];
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
            const uint32_t *const words_j = p.words_b + (int64_t)tile_j * k_tiles;
            int place_i[Tile::kBlocksI], limit[Tile::kBlocksI];
            uint32_t stored = 0; /* a bit for each block of 64 rows i */
            bool any = false;    /* is one stored by this warpgroup or the other? */
            {
                const tile_row j = read_tile_row(words_j, k_tiles, whole);
                const tile_row other =
                    read_tile_row(p.words_b + (int64_t)other_j * k_tiles, k_tiles, whole);
                uint32_t left = 0;
#pragma unroll
                for (int b = 0; b < Tile::kBlocksI; b++) {
                    const int tile_i = min(ti * Tile::kBlocksI + b, last_tile_i);
                    place_i[b] = tile_i * k_tiles; /* the tiles of an operand are counted in int */
                    const tile_row i = read_tile_row(p.words_a + place_i[b], k_tiles, whole);
                    const duo_way way = way_of(i, j, p.k);
                    limit[b] = i.most + j.most;
                    any |= (p.ways >> way_of(i, other, p.k) & 1) != 0;
                    if (p.ways >> way & 1)
                        stored |= 1u << b;
                    else
                        left |= way == DUO_WAY_EXACT ? kPendingExact : kPendingBf16;
                }
                if (left != 0 && lane == 0 && p.pending != nullptr) atomicOr(p.pending, left);
                any |= stored != 0;
            }
            if (multiplier == 0 && thread == 0) {
                *const_cast<volatile bool *>(&wanted[turn & 1]) = any;
                barrier_arrive(judged + 8 * (turn & 1));
            }
            turn++;

#pragma unroll
            for (int h = 0; h < Tile::kHalves; h++)
#pragma unroll
                for (int r = 0; r < kRegisters; r++) sum[h][r] = 0.0f;
            if (stored == 0) { /* all of it is for other kernels */
                for (int step = first_step; step < (any ? end_step : sure_step); step++) {
                    barrier_wait(full + 8 * stage, phase);
                    sync_warpgroup(multiplier); /* nobody still waits for this phase */
                    if (thread == 0) barrier_arrive(empty + 8 * stage);
                    advance();
                }
                continue;
            }
            /* The words of the next 64 k are on their way while these 64 are multiplied. */
            uint32_t word_j = read_word(words_j + first_step / 2), word_i[Tile::kBlocksI];
#pragma unroll
            for (int b = 0; b < Tile::kBlocksI; b++)
                word_i[b] = read_word(p.words_a + place_i[b] + first_step / 2);
            float scale[Tile::kBlocksI];
            uint32_t ones = 0; /* a bit for each half whose scales are all 1 */
            for (int step = first_step; step < end_step; step++) {
                if (step % 2 == 0) {
                    ones = (1u << Tile::kHalves) - 1;
#pragma unroll
                    for (int b = 0; b < Tile::kBlocksI; b++) {
                        scale[b] = scale_of(word_i[b], word_j, limit[b]);
                        if (scale[b] != 1.0f) ones &= ~(1u << b / Tile::kBlocksPerHalf);
                    }
                    const int next = min(step / 2 + 1, k_tiles - 1);
                    word_j = read_word(words_j + next);
#pragma unroll
                    for (int b = 0; b < Tile::kBlocksI; b++)
                        word_i[b] = read_word(p.words_a + place_i[b] + next);
                }
                const uint32_t here = ring + stage * Tile::kStageBytes;
                const uint64_t j_rows =
                    kDescriptor<Tile::kRowBytes> | (here + multiplier * 64 * Tile::kRowBytes) >> 4;
                barrier_wait(full + 8 * stage, phase);
#pragma unroll
                for (int h = 0; h < Tile::kHalves; h++) {
                    const uint64_t i_rows =
                        kDescriptor<Tile::kRowBytes> |
                        (here + Tile::kBytesJ + h * Tile::kWidth * Tile::kRowBytes) >> 4;
                    products_begin();
#pragma unroll
                    for (int q = 0; q < Scheme::kProducts; q++)
#pragma unroll
                        for (int s = 0; s < kStepK / 16; s++)
                            product(chain, j_rows + Tile::offset(kTileJ, Scheme::plane_of_b(q), s),
                                    i_rows + Tile::offset(Tile::kI, Scheme::plane_of_a(q), s),
                                    q + s != 0, typename Scheme::element());
                    products_commit();
                    products_wait(chain);
                    if (h == Tile::kHalves - 1 && thread == 0) barrier_arrive(empty + 8 * stage);
                    /* Mostly all scales are 1, and adding takes less power. */
                    if (ones >> h & 1) {
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

            const int64_t first_i = (int64_t)ti * Tile::kI;
            const int64_t first_j = (int64_t)tj * kTileJ + multiplier * 64;
            const bool aligned = reinterpret_cast<uintptr_t>(p.c) % 16 == 0 && p.ldc % 4 == 0;
            if constexpr (Tile::kSliced)
                if (p.slices > 1 && !last_to_come(p, t, slice, multiplier, sum[0])) continue;
#pragma unroll
            for (int h = 0; h < Tile::kHalves; h++)
#pragma unroll
                for (int g = 0; g < Tile::kWidth / 8; g += 2) {
                    const int b = h * Tile::kBlocksPerHalf + g / 8;
                    store_square(p, &sum[h][4 * g], unit::of(Scheme(), limit[b]),
                                 first_i + h * Tile::kWidth + g * 8, first_j + thread / 32 * 16,
                                 (stored >> b & 1) != 0, aligned);
                }
        }
    }
#endif
}

#endif
