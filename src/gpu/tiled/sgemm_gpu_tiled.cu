/*
 * sgemm_gpu_tiled.cu - tiles of C in registers, slabs of A and B in shared memory.
 *
 * Accepts   any m, n, k, transposes, leading dimensions and alignment
 * Threads   256 per block, 128 if tiles are small; a block owns one tile of C and walks along k in
 *           slabs of 8. Slabs are kept as [l][i] and [l][j], in a ring of 4: while one is
 *           multiplied, the next ones arrive (cp.async; plain loads before compute capability 8.0).
 * Warp      8 x 4 threads; a thread owns groups of 4 x 4 elements, so that it reads shared memory
 *           16 bytes at a time, and reads the fragments of step l+1 while it multiplies step l.
 * Order     product_order.h, but a vector product's segment is one chain, too
 * Traffic   k * (1/tile rows + 1/tile columns) loads per element of C; tiles that run at the same
 *           time are near each other in C, so that the L2 cache serves most of them
 *
 * Copies are 4 bytes each, so that one code serves every alignment; they are some 4 % of the
 * instructions. If an operand's neighbours in memory are neighbours in k, 8 threads copy 8 of them,
 * and the pitch of a slab (tile edge + 4) spreads their stores over all banks.
 */
#include <cuda_pipeline_primitives.h>
#include <stdint.h>

#include "gpu/kernels.h"
#include "gpu/launch.cuh"
#include "gpu/sgemm.cuh"
#include "gpu/slab.cuh"

/* ---- Tiles of C, and loading ---- */

/*
 * f64/product.cuh loads with fewer registers. That code would make small products 4 to 16 % slower
 * here (H100).
 */

constexpr int kSlab = 8;  /* steps of k per slab */
constexpr int kSlabs = 4; /* slabs in the ring */

/* Threads of a warp along the rows and columns of C. */
constexpr int kLanesM = 8, kLanesN = 4;
static_assert(kLanesM * kLanesN == 32, "a warp is 32 threads");

/* A tile: warps along m and n, and elements of C per thread along m and n. */
template <int WarpsM, int WarpsN, int PerThreadM, int PerThreadN>
struct tiled_tile {
    static constexpr int kThreads = 32 * WarpsM * WarpsN;
    static constexpr int kResident = 256 / kThreads; /* blocks per multiprocessor to make room for:
                                                        8 warps may have 255 registers each */
    static constexpr int kThreadM = PerThreadM, kThreadN = PerThreadN;
    static constexpr int kWarpM = kLanesM * PerThreadM, kWarpN = kLanesN * PerThreadN;
    static constexpr int kWarpsN = WarpsN;
    static constexpr int kM = WarpsM * kWarpM, kN = WarpsN * kWarpN;
    static_assert(PerThreadM % kGroup == 0 && PerThreadN % kGroup == 0, "fragments are float4");
};

using large_tile = tiled_tile<2, 4, 8, 8>; /* 128 x 128 */
using small_tile = tiled_tile<1, 4, 8, 4>; /* 64 x 64 */

template <int Edge>
using slab_ring = float[kSlabs][kSlab][kPitch<Edge>];

/*
 * Element (i, l) of an operand: i along the edge of the tile, l along k. AlongK: neighbours in
 * memory are neighbours in l; else in i. All threads of the block take part; each copies kCopies
 * elements of a slab, at equal distances in memory and in the slab.
 */
template <int Edge, int Threads, bool AlongK>
struct tiled_loader {
    static constexpr int kCopies = Edge * kSlab / Threads;
    static constexpr int kStepI = AlongK ? Threads / kSlab : 0;
    static constexpr int kStepL = AlongK ? 0 : Threads / Edge;
    static_assert(AlongK ? Threads % (kSlab * 4) == 0 && Edge % (Threads / kSlab) == 0
                         : Threads % Edge == 0 && kSlab % (Threads / Edge) == 0,
                  "the threads cover a slab in whole steps");
    static_assert(!AlongK || (Edge % 32 == 0 && kSlab == 8),
                  "8 x 4 elements of a warp's copy fall into 32 banks");

    const float *next;      /* this thread's first element of the next slab */
    int64_t step, advance;  /* elements from copy to copy, from slab to slab */
    int64_t i_left, l_left; /* elements from this thread's first one to the end of the matrix */
    int place;              /* this thread's first element in a slab */
    float fill;             /* for elements outside */
    bool edge;              /* the tile runs over the end of the matrix */

    __device__ tiled_loader(const float *matrix, int64_t ld, int64_t first, int64_t extent,
                            int64_t k, float with)
        : fill(with)
    {
        const int t = threadIdx.x;
        const int i = AlongK ? t / kSlab : t % Edge, l = AlongK ? t % kSlab : t / Edge;
        next = matrix + (AlongK ? l + (first + i) * ld : first + i + l * ld);
        step = AlongK ? kStepI * ld : kStepL * ld;
        advance = AlongK ? kSlab : kSlab * ld;
        i_left = extent - first - i;
        l_left = k - l;
        place = l * kPitch<Edge> + i;
        edge = extent - first < Edge;
    }

    /* Starts the copy of the next slab. `whole`: all its l are inside the matrix. */
    __device__ __forceinline__ void load(float (*slab)[kPitch<Edge>], bool whole)
    {
        constexpr int kStepPlace = kStepL * kPitch<Edge> + kStepI;
        float *const to = &slab[0][0] + place;
        const float *from = next;
        if (whole && !edge) {
#pragma unroll
            for (int copy = 0; copy < kCopies; copy++, from += step)
                __pipeline_memcpy_async(to + copy * kStepPlace, from, sizeof(float));
        } else {
            /* Steps outside k change no sum (kFillA, kFillB). Sums of other elements outside are
             * outside C. */
#pragma unroll
            for (int copy = 0; copy < kCopies; copy++, from += step) {
                if (copy * kStepI < i_left && copy * kStepL < l_left)
                    __pipeline_memcpy_async(to + copy * kStepPlace, from, sizeof(float));
                else
                    to[copy * kStepPlace] = fill;
            }
        }
        next += advance;
        l_left -= kSlab;
    }
};

/* ---- Kernel ---- */

template <class Tile, bool TransA, bool TransB>
static __global__ void __launch_bounds__(Tile::kThreads, Tile::kResident)
    sgemm_tiled(sgemm_problem p)
{
    __shared__ __align__(16) slab_ring<Tile::kM> a_ring;
    __shared__ __align__(16) slab_ring<Tile::kN> b_ring;

    const int tiles_m = (int)((p.m + Tile::kM - 1) / Tile::kM);
    const int tiles_n = (int)((p.n + Tile::kN - 1) / Tile::kN);
    int tile_m, tile_n;
    place_of_tile<kTilesTogether>(tiles_m, tiles_n, blockIdx.x, &tile_m, &tile_n);
    const int64_t first_i = (int64_t)tile_m * Tile::kM, first_j = (int64_t)tile_n * Tile::kN;

    tiled_loader<Tile::kM, Tile::kThreads, TransA> a_loader(p.a, p.lda, first_i, p.m, p.k, kFillA);
    tiled_loader<Tile::kN, Tile::kThreads, !TransB> b_loader(p.b, p.ldb, first_j, p.n, p.k, kFillB);

    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int i = warp / Tile::kWarpsN * Tile::kWarpM + lane_of_8(lane) * kGroup;
    const int j = warp % Tile::kWarpsN * Tile::kWarpN + lane_of_4(lane) * kGroup;
    constexpr int kStrideM = kLanesM * kGroup, kStrideN = kLanesN * kGroup;

    float sum[Tile::kThreadN][Tile::kThreadM] = {}, total[Tile::kThreadN][Tile::kThreadM];
    float a[2][Tile::kThreadM], b[2][Tile::kThreadN];

    const int64_t slabs = (p.k + kSlab - 1) / kSlab, whole_slabs = p.k / kSlab;
    int64_t loaded = 0;
    auto load_next = [&](int slot) {
        if (loaded < slabs) {
            a_loader.load(a_ring[slot], loaded < whole_slabs);
            b_loader.load(b_ring[slot], loaded < whole_slabs);
        }
        loaded++;
        __pipeline_commit(); /* also an empty one: a wait counts commits */
    };
    auto wait_for_next = [&] {
        __pipeline_wait_prior(kSlabs - 2);
        __syncthreads();
    };
    auto read_step = [&](int buffer, int slot, int l) {
        read_fragment(a[buffer], &a_ring[slot][l][i], kStrideM);
        read_fragment(b[buffer], &b_ring[slot][l][j], kStrideN);
    };

#pragma unroll
    for (int slot = 0; slot < kSlabs - 1; slot++) load_next(slot);
    wait_for_next();
    read_step(0, 0, 0);

    int slot = 0, freed = kSlabs - 1; /* the slot being multiplied; the one before it */
#pragma unroll
    for (int n = 0; n < Tile::kThreadN; n++)
#pragma unroll
        for (int m = 0; m < Tile::kThreadM; m++) total[n][m] = slabs > 0 ? kNoSegment : 0.0f;
    for (int64_t s = 0; s < slabs; s++) {
#pragma unroll
        for (int l = 0; l < kSlab; l++) {
            if (l == kSlab - 1) {
                /* After the last slab this reads values that are not used. */
                freed = slot;
                slot = slot + 1 == kSlabs ? 0 : slot + 1;
                wait_for_next();
            }
            read_step((l + 1) % 2, slot, (l + 1) % kSlab);
            /* All threads are past the barrier above, so done with the slot before this one. */
            if (l == 0) load_next(freed);
#pragma unroll
            for (int n = 0; n < Tile::kThreadN; n++)
#pragma unroll
                for (int m = 0; m < Tile::kThreadM; m++)
                    sum[n][m] = fmaf(a[l % 2][m], b[l % 2][n], sum[n][m]);
        }
        if ((s + 1) % (DUO_SEGMENT / kSlab) > 0 && s + 1 < slabs) continue; /* in a segment */
#pragma unroll
        for (int n = 0; n < Tile::kThreadN; n++)
#pragma unroll
            for (int m = 0; m < Tile::kThreadM; m++) {
                total[n][m] += sum[n][m];
                sum[n][m] = 0.0f;
            }
    }

    const bool aligned = columns_aligned(p.c, p.ldc);
    auto renew = [&](float sum_of, float old) { return blend(p.alpha, sum_of, p.beta, old); };
#pragma unroll
    for (int n = 0; n < Tile::kThreadN; n++) {
        const int64_t column = first_j + j + n / kGroup * kStrideN + n % kGroup;
        if (column >= p.n) continue;
#pragma unroll
        for (int g = 0; g < Tile::kThreadM / kGroup; g++) {
            const int64_t row = first_i + i + g * kStrideM;
            const float group_sum[kGroup] = {total[n][kGroup * g], total[n][kGroup * g + 1],
                                             total[n][kGroup * g + 2], total[n][kGroup * g + 3]};
            update_four(p.c + (row + column * p.ldc), group_sum, p.beta, p.m - row, aligned, renew);
        }
    }
}

template <class Tile>
static int64_t tiles(const sgemm_problem &p)
{
    return ((p.m + Tile::kM - 1) / Tile::kM) * ((p.n + Tile::kN - 1) / Tile::kN);
}

/* The busiest multiprocessor's share of C, in elements. */
template <class Tile>
static int64_t largest_share(const sgemm_problem &p, int multiprocessors)
{
    return (tiles<Tile>(p) + multiprocessors - 1) / multiprocessors * Tile::kM * Tile::kN;
}

/*
 * An element costs more in the small tile: per FMA it reads twice as much from L2 and 1.5 times as
 * much from shared memory, and has 1.2 times the instructions (sm_90a). An estimate from these.
 */
constexpr double kSmallTileCost = 1.25;

template <class Tile>
static void (*const kernel[2][2])(sgemm_problem) = {
    {sgemm_tiled<Tile, false, false>, sgemm_tiled<Tile, false, true>},
    {sgemm_tiled<Tile, true, false>, sgemm_tiled<Tile, true, true>},
};

template <class Tile>
static cudaError_t queue_tiles(const duo_call *call, const sgemm_problem &p, const duo_launch *how)
{
    const int64_t blocks = tiles<Tile>(p);
    if (blocks > INT32_MAX / kTilesTogether) return cudaErrorInvalidValue;
    return queue_kernel(kernel<Tile>[call->transa][call->transb], (unsigned)blocks, Tile::kThreads,
                        how, p);
}

static cudaError_t launch(const duo_call *call, const duo_launch *how)
{
    const sgemm_problem p = sgemm_problem_of(call);
    const double large = (double)largest_share<large_tile>(p, how->multiprocessors);
    const double small = (double)largest_share<small_tile>(p, how->multiprocessors);
    return small * kSmallTileCost < large ? queue_tiles<small_tile>(call, p, how)
                                          : queue_tiles<large_tile>(call, p, how);
}

static cudaError_t load()
{
    const cudaError_t error = load_layouts(kernel<large_tile>);
    return error == cudaSuccess ? load_layouts(kernel<small_tile>) : error;
}

const duo_gpu_algorithm duo_sgemm_gpu_tiled = {
    .launch = launch,
    .load = load,
    .workspace = nullptr,
    .packed_bytes = nullptr,
    .pack = nullptr,
};
