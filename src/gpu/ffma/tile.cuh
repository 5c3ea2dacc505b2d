/*
 * ffma/tile.cuh - what sgemm_gpu_ffma.cu is made of: its tiles, the way of A and B into shared
 * memory, a step of the multiplication, and the way of the sums to C.
 */
#ifndef DUO_FFMA_TILE_CUH
#define DUO_FFMA_TILE_CUH

#include <cuda_pipeline_primitives.h>

#include "gpu/sgemm.cuh"
#include "gpu/slab.cuh"

constexpr int kThreads = 256; /* per block */
constexpr int kResident = 2;  /* blocks per multiprocessor: 128 registers per thread */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 860
constexpr int kLeastBlocks = 1; /* compiled for 7.5 or 8.0, two would spill */
#else
constexpr int kLeastBlocks = kResident;
#endif
constexpr int kSlab = 16; /* steps of k per slab */
constexpr int kSlabs = 4; /* slabs in the ring */

/* Threads of a warp along the rows and columns of C. */
constexpr int kLanesM = 4, kLanesN = 8;
static_assert(kLanesM * kLanesN == 32, "a warp is 32 threads");

/* Elements of C per thread, and per warp. */
constexpr int kThreadM = 8, kThreadN = 8;
constexpr int kWarpM = kLanesM * kThreadM, kWarpN = kLanesN * kThreadN;
static_assert(kThreadM % kGroup == 0 && kThreadN % kGroup == 0, "fragments are float4");

/*
 * A tile: warps along m, n and the steps of a slab. A thread multiplies its elements in zigzag, so
 * that of two operands the register file delivers one only now and then, Abreast columns at a time:
 * with these numbers the compiler finds registers whose banks seldom collide (10 to 20 % of the FMA
 * on sm_90a instead of up to 60 %).
 */
template <int WarpsM, int WarpsN, int WarpsL, int Abreast>
struct ffma_tile {
    static constexpr int kWarpsM = WarpsM, kWarpsN = WarpsN, kWarpsL = WarpsL, kAbreast = Abreast;
    static constexpr int kM = WarpsM * kWarpM, kN = WarpsN * kWarpN;
    static constexpr int kSteps = kSlab / WarpsL; /* of a slab, for one warp */
    static constexpr int kSlabFloats = kSlab * (kPitch<kM> + kPitch<kN>);
    static constexpr int kRingFloats = kSlabs * kSlabFloats;
    static_assert(32 * WarpsM * WarpsN * WarpsL == kThreads, "the warps are those of a block");
    static_assert(kSteps % 2 == 0, "two fragment buffers take turns");
    static_assert((WarpsL & (WarpsL - 1)) == 0 && WarpsL / 2 * kM * kN <= kRingFloats,
                  "the sums of half the warps fit into the ring");
    static_assert(kN * kPitch<kM> <= kRingFloats, "the tile fits into the ring");
};

using large_tile = ffma_tile<4, 2, 1, 1>;   /* 128 x 128 */
using tallest_tile = ffma_tile<8, 1, 1, 1>; /* 256 x 64 */
using widest_tile = ffma_tile<2, 4, 1, 1>;  /* 64 x 256 */
using tall_tile = ffma_tile<4, 1, 2, 2>;    /* 128 x 64 */
using wide_tile = ffma_tile<2, 2, 2, 2>;    /* 64 x 128 */
using small_tile = ffma_tile<2, 1, 4, 1>;   /* 64 x 64 */

/* How an operand is copied: 16 bytes along the edge of the tile, 4 bytes along it, or, where its
 * neighbours in memory are neighbours in k, 4 bytes along k. */
enum copy_kind { kVectors, kAlongEdge, kAlongK };

/*
 * One operand's way into shared memory: element (i, l), i along the edge of the tile, l along k.
 * All threads take part. Of what lies outside the matrix, i may hold anything, for it enters only
 * sums outside C; l before the first one of a matrix must be 0.
 */
template <int Edge, copy_kind Kind>
struct ffma_loader {
    static constexpr bool kWide = Kind == kVectors, kTurned = Kind == kAlongK;
    /* Threads along i; elements between the copies of a thread along i and l; copies along both. */
    static constexpr int kAcross = kWide ? Edge / kGroup : kTurned ? kThreads / 8 : 32;
    static constexpr int kStepI = kWide ? Edge : kAcross, kStepL = kThreads / kAcross;
    static constexpr int kCopiesI = Edge / kStepI, kCopiesL = kSlab / kStepL;
    static_assert(kCopiesI * kStepI == Edge && kCopiesL * kStepL == kSlab && kCopiesL > 0,
                  "the threads cover a slab in whole steps");
    static_assert(!kTurned || kStepL == 8, "8 x 4 elements of a warp fall into 32 banks");

    const float *next; /* this thread's first element of the next slab */
    int64_t ld;
    int copies_i; /* inside the matrix */
    int place;    /* of this thread's first element in a slab */
    int l;        /* likewise */

    __device__ ffma_loader(const float *matrix, int64_t matrix_ld, int64_t first, int64_t extent,
                           int64_t first_l)
    {
        const int t = threadIdx.x;
        const int i = kTurned ? t / kStepL : t % kAcross * (kWide ? kGroup : 1);
        l = kTurned ? t % kStepL : t / kAcross;
        const int64_t left = extent - first - i;
        ld = matrix_ld;
        place = l * kPitch<Edge> + i;
        copies_i = left >= Edge ? kCopiesI : left <= 0 ? 0 : (int)(left + kStepI - 1) / kStepI;
        next = matrix + (kTurned ? first_l + l + (first + i) * ld : first + i + (first_l + l) * ld);
    }

    /* Starts the copy of the next slab, from its step `from_l` on; zeros stand in for the steps
     * before. Neighbours in memory are copied one after the other. */
    template <bool Whole>
    __device__ __forceinline__ void load(float *slab, int from_l)
    {
        constexpr int kRows = kTurned ? kCopiesI : kCopiesL;
        constexpr int kPerRow = kTurned ? kCopiesL : kCopiesI;
        const float *row = next;
#pragma unroll
        for (int r = 0; r < kRows; r++, row += (kTurned ? kStepI : kStepL) * ld) {
#pragma unroll
            for (int c = 0; c < kPerRow; c++) {
                const int copy_i = kTurned ? r : c, copy_l = kTurned ? c : r;
                float *const to = slab + place + copy_l * kStepL * kPitch<Edge> + copy_i * kStepI;
                if (!Whole && l + copy_l * kStepL < from_l) {
#pragma unroll
                    for (int e = 0; e < (kWide ? kGroup : 1); e++) to[e] = 0.0f;
                } else if (copy_i < copies_i) {
                    __pipeline_memcpy_async(to, row + c * (kTurned ? kStepL : kStepI),
                                            (kWide ? kGroup : 1) * sizeof(float));
                }
            }
        }
        next += kTurned ? kSlab : kSlab * ld;
    }
};

/* sum += a * b', in zigzag. */
template <int Abreast>
static __device__ __forceinline__ void multiply_step(float (&sum)[kThreadN][kThreadM],
                                                     const float (&a)[kThreadM],
                                                     const float (&b)[kThreadN])
{
    static_assert(kThreadN % (2 * Abreast) == 0, "columns turn back and forth");
#pragma unroll
    for (int first = 0; first < kThreadN; first += Abreast)
#pragma unroll
        for (int x = 0; x < kThreadM * Abreast; x++) {
            const int row = x / Abreast, side = x % Abreast;
            const int m = first / Abreast % 2 == 0 ? row : kThreadM - 1 - row;
            const int n = first + (row % 2 == 0 ? side : Abreast - 1 - side);
            sum[n][m] = fmaf(a[m], b[n], sum[n][m]);
        }
}

/* The new element of C; the sum is scaled by alpha. `old` counts only where beta != 0. */
static __device__ __forceinline__ float settle(float sum, float beta, float old)
{
    return beta == 0.0f ? sum : fmaf(beta, old, sum);
}

/* Where a tile goes: rows and columns from its first element on, all columns on 16 bytes. */
struct tile_target {
    float *first;
    int64_t ld, rows, columns;
    float beta;
};

static __device__ __forceinline__ float4 add(float4 a, float4 b)
{
    return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

#endif
