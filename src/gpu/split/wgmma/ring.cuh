/*
 * split/wgmma/ring.cuh - what split/wgmma/product.cuh and its end, split/wgmma/refused_blocks.cuh, are made of: a tile of C and its
 * ring in shared memory, the warpgroups that multiply, 32 k of a tile, and the way of the sums to C.
 */
#ifndef DUO_SPLIT_WGMMA_RING_CUH
#define DUO_SPLIT_WGMMA_RING_CUH

#include <type_traits>

#include "gpu/split/product.cuh"
#include "gpu/split/wgmma/instructions.cuh"

constexpr int kWarpgroup = 128;           /* threads */
constexpr int kMultipliers = 2;           /* warpgroups */
constexpr int kTileJ = 64 * kMultipliers; /* columns of C in a tile of it */
constexpr int kMultiplyingThreads = kWarpgroup * kMultipliers;
constexpr int kWgmmaThreads = kWarpgroup + kMultiplyingThreads;

/*
 * A tile of C: kTileJ columns x Halves * Width rows; Stages in the ring. A cluster of blocks has neighbours
 * along the columns: their rows i are the same, and each block copies a part of them for all, which
 * spares the L2 cache, and power.
 */
template <class Scheme_, int Width_, int Halves_, int Stages_, int Cluster_ = 1>
struct wgmma_tile {
    using Scheme = Scheme_;
    static constexpr int kWidth = Width_, kHalves = Halves_, kStages = Stages_, kCluster = Cluster_;
    static constexpr int kI = kWidth * kHalves;
    static constexpr bool kSliced = kI == kTile;     /* may k be cut? Few tiles are small ones */
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
    int slices;        /* ranges of k that are multiplied apart */
    uint32_t *tickets; /* 0 between launches; for each tile and warpgroup */
    float *partials;
};

/* The tiles of a block are numbers first, first + stride, ... of its cluster's walk. */
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
    /* Where it is in C; with a cluster, perhaps behind the last column. */
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

/* Of one of the warpgroups that multiply. */
static __device__ __forceinline__ void sync_warpgroup(int multiplier)
{
    if (multiplier == 0)
        asm volatile("bar.sync 1, %0;" ::"n"(kWarpgroup) : "memory");
    else
        asm volatile("bar.sync 2, %0;" ::"n"(kWarpgroup) : "memory");
}

/* Of all that multiply. */
static __device__ __forceinline__ void sync_multipliers()
{
    asm volatile("bar.sync 3, %0;" ::"n"(kMultiplyingThreads) : "memory");
}
static __device__ __forceinline__ bool any_multiplier(bool mine)
{
    uint32_t any;
    asm volatile("{\n"
                 ".reg .pred p;\n"
                 "setp.ne.u32 p, %1, 0;\n"
                 "bar.red.or.pred p, 3, %2, p;\n"
                 "selp.u32 %0, 1, 0, p;\n"
                 "}\n"
                 : "=r"(any)
                 : "r"((uint32_t)mine), "n"(kMultiplyingThreads)
                 : "memory");
    return any != 0;
}

static __device__ __forceinline__ uint32_t clock_now()
{
    uint32_t now;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(now)::"memory");
    return now;
}

/*
 * Lets the second warpgroup begin a tile some clocks after the first, longer than a chain takes to be added.
 * Each then adds while the other's products go on, and they keep the distance. Were they to begin at once,
 * both would add at once, and the tensor cores pause meanwhile: one clock of seven with fp16x3 (H200, commit
 * 3b99d1e: 300 were too few, 500 did as well).
 */
constexpr uint32_t kApart = 384; /* clocks */
static __device__ __forceinline__ void keep_apart(int multiplier, uint32_t first_stage_full,
                                                  uint32_t phase)
{
    if (multiplier == 0) return;
    barrier_wait(first_stage_full, phase);
    const uint32_t start = clock_now();
    while (clock_now() - start < kApart) continue;
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

/*
 * kStageK k of half h of a tile, the scheme's products First .. End - 1, of the 64 rows j and the tile's
 * rows i of a stage (rows_at): `chain` is under way until products_wait.
 */
template <class Tile, int First, int End, int Registers>
static __device__ __forceinline__ void multiply_planes(float (&chain)[Registers], uint32_t j_rows,
                                                       uint32_t i_rows, int h)
{
    using Scheme = typename Tile::Scheme;
    constexpr uint64_t kLayout = kDescriptor<Tile::kRowBytes>;
    const int row = h * Tile::kWidth;
    const uint32_t half =
        i_rows + (row / Tile::kBoxI * Tile::kBytesBox + row % Tile::kBoxI * Tile::kRowBytes) / 16;
    products_begin();
#pragma unroll
    for (int q = First; q < End; q++)
#pragma unroll
        for (int s = 0; s < Scheme::kStageK / 16; s++)
            product(chain, kLayout | (j_rows + Tile::offset(kTileJ, Scheme::plane_of_b(q), s)),
                    kLayout | (half + Tile::offset(Tile::kBoxI, Scheme::plane_of_a(q), s)),
                    q > First || s > 0, typename Scheme::element());
    products_commit();
}

/* All of its products. */
template <class Tile, int Registers>
static __device__ __forceinline__ void multiply_step(float (&chain)[Registers], uint32_t j_rows,
                                                     uint32_t i_rows, int h)
{
    multiply_planes<Tile, 0, Tile::Scheme::kProducts>(chain, j_rows, i_rows, h);
}

/* A warpgroup's sums of kWidth rows i and 64 columns j; `stored`: a bit for each 64 rows. */
template <class Tile, int Registers>
static __device__ __forceinline__ void store_half(const tensor_problem &p,
                                                  const float (&sum)[Registers], const int *limit,
                                                  uint32_t stored, int64_t first_i, int64_t first_j)
{
    const int warp = threadIdx.x % kWarpgroup / 32;
    const bool aligned = columns_aligned(p.c, p.ldc);
    auto store = [&](auto plain) {
#pragma unroll
        for (int g = 0; g < Tile::kWidth / 8; g += 2)
            store_square<plain.value>(
                p, &sum[4 * g], unit::of(typename Tile::Scheme(), limit[g / 8]), first_i + g * 8,
                first_j + warp * 16, (stored >> (g / 8) & 1) != 0, aligned);
    };
    if (aligned && first_i + Tile::kWidth <= p.m && first_j + 64 <= p.n)
        store(std::true_type());
    else
        store(std::false_type());
}

#endif
