/*
 * skinny/tile.cuh - tiles of the skinny products, and their slabs in shared memory.
 *
 * A tile of C, or of its transpose, is the sum of products of slabs of X and Y. A slab has the
 * elements (e, l), e along the edge of the tile, for a few l along k. A slab of X is kept as it
 * lies in memory, a slab of Y as rows of one l.
 */
#ifndef DUO_SKINNY_TILE_CUH
#define DUO_SKINNY_TILE_CUH

#include <cuda_pipeline_primitives.h>
#include <stdint.h>

#include "gpu/sgemm.cuh"
#include "gpu/skinny/plan.h"
#include "gpu/slab.cuh"

/* A line of DUO_SKINNY_TILE_LIST. */
template <bool AlongK, int Columns, int Rows, int LanesN, int Chains, int Warps, int Slab,
          int Slabs, int Warps8>
struct skinny_tile {
    static constexpr int kThreadRows = Rows, kThreadColumns = Columns, kSums = Rows * Columns;
    static constexpr int kChains = Chains, kLanesN = LanesN, kLanesM = 32 / (LanesN * Chains);
    static constexpr int kColumns = Columns * LanesN, kWarpRows = kLanesM * Rows;
    static constexpr duo_skinny_tile kLine = {Columns, Rows, LanesN, Chains,
                                              Warps,   Slab, Slabs,  Warps8};
    static constexpr int kColumnsCopied = duo_skinny_columns_copied(&kLine);
    static constexpr int kRows = Warps * kWarpRows;
    static constexpr int kWarps = Warps, kThreads = 32 * Warps;
    static constexpr int kSlab = Slab, kSlabs = Slabs, kWarps8 = Warps8;
    static constexpr bool kAlongK = AlongK;                    /* of X */
    static constexpr bool kDirect = duo_skinny_direct(&kLine); /* X does not go through slabs */
    static constexpr int kStepsAtOnce = duo_skinny_steps_at_once(&kLine, AlongK);
    static constexpr int kPitch = kRows + 1; /* of sums: no bank conflicts in either direction */
    static constexpr int kFloats = kColumns * kPitch;
    static_assert(Chains == 1 || Chains == DUO_CHAINS, "a segment's chains");
    static_assert(DUO_SEGMENT % kSlab == 0 && kSlab % (Chains * kGroup) == 0, "slabs of a segment");
    static_assert(kSlabs >= 2 && DUO_SKINNY_WARPS % Warps == 0, "rings and teams");
};

/*
 * A slab of X is kept as it lies in memory. Along k: each row of the tile with its l. Else: each l
 * with the tile's rows. More floats spread over the banks what lanes read together: 4 neighbours of
 * several rows, or 8 neighbours for 8 chains.
 */
template <class Tile>
constexpr int kPitchX = Tile::kAlongK ? Tile::kSlab + (Tile::kChains > 1 ? 2 * kGroup : kGroup)
                                      : Tile::kRows + (Tile::kChains > 1 ? kGroup : 0);
template <class Tile>
constexpr int kFloatsX = (Tile::kAlongK ? Tile::kRows : Tile::kSlab) * kPitchX<Tile>;
template <class Tile>
constexpr int kPitchY = Tile::kColumns % kGroup == 0 ? Tile::kColumns + kGroup : Tile::kColumns;

/* A team's ring; at the end of its segment, its sums; then slots of other blocks. */
template <class Tile, bool Direct = Tile::kDirect>
union slabs {
    struct {
        __align__(16) float x[Tile::kSlabs][kFloatsX<Tile>];
        __align__(16) float y[Tile::kSlabs][Tile::kSlab * kPitchY<Tile>];
    };
    float sums[Tile::kColumns][Tile::kPitch];
};
template <class Tile>
union slabs<Tile, true> {
    float sums[Tile::kColumns][Tile::kPitch];
    __align__(16) float slots[DUO_SKINNY_DIRECT_BYTES / sizeof(float)];
};

template <int Count>
struct __align__(Count * 4) floats
{
    float v[Count];
};

/* The row of the tile that is a thread's r-th: rows go to lanes in turn, four neighbours at a time
 * or one. */
template <class Tile>
static __device__ __forceinline__ int row_of(int warp, int lane_m, int r)
{
    constexpr int kRun = Tile::kAlongK                ? 1
                         : Tile::kThreadRows < kGroup ? Tile::kThreadRows
                                                      : kGroup;
    return warp * Tile::kWarpRows + r / kRun * kRun * Tile::kLanesM + lane_m * kRun + r % kRun;
}

/* X for a few steps: x[step][row]. */
template <class Tile, int Steps>
static __device__ __forceinline__ void read_x(float (&x)[Steps][Tile::kThreadRows],
                                              const float *slab, int warp, int lane_m, int l)
{
    constexpr int kPitch = kPitchX<Tile>;
    if (Tile::kAlongK) {
#pragma unroll
        for (int r = 0; r < Tile::kThreadRows; r++) {
            const int at = row_of<Tile>(warp, lane_m, r) * kPitch + l;
            const auto v = *reinterpret_cast<const floats<Steps> *>(slab + at);
#pragma unroll
            for (int q = 0; q < Steps; q++) x[q][r] = v.v[q];
        }
    } else {
        constexpr int kRun = Tile::kThreadRows < kGroup ? Tile::kThreadRows : kGroup;
#pragma unroll
        for (int q = 0; q < Steps; q++)
#pragma unroll
            for (int r = 0; r < Tile::kThreadRows; r += kRun) {
                const int at = row_of<Tile>(warp, lane_m, r) + (l + q) * kPitch;
                const auto v = *reinterpret_cast<const floats<kRun> *>(slab + at);
#pragma unroll
                for (int i = 0; i < kRun; i++) x[q][r + i] = v.v[i];
            }
    }
}

template <int Columns>
static __device__ __forceinline__ void read_y(float (&y)[Columns], const float *from)
{
    constexpr int kWidth = Columns % kGroup == 0 ? kGroup : Columns % 2 == 0 ? 2 : 1;
#pragma unroll
    for (int j = 0; j < Columns; j += kWidth) {
        const auto v = *reinterpret_cast<const floats<kWidth> *>(from + j);
#pragma unroll
        for (int i = 0; i < kWidth; i++) y[j + i] = v.v[i];
    }
}

/*
 * A lane's place along the columns, and along the rows. Each leaves out some low bits of the lane's
 * number, so that neighbouring lanes read the same 16 bytes; shared memory serves those together.
 */
template <int LanesN>
static __device__ __forceinline__ int column_lane(int lane)
{
    static_assert(LanesN == 1 || LanesN == 4 || LanesN == 8, "lanes along columns");
    return LanesN == 1 ? 0 : LanesN == 4 ? lane_of_4(lane) : lane_of_8(lane);
}
template <int LanesN>
static __device__ __forceinline__ int row_lane(int lane)
{
    return LanesN == 1 ? lane : LanesN == 4 ? lane_of_8(lane) : lane_of_4(lane);
}

/* ---- Loading an operand into shared memory, along either dimension ---- */

/* An address in shared memory: 32 bits, to which the compiler adds constants for nothing. */
using shared_address = unsigned;

/* Starts a copy to shared memory; L2 gets the 256 bytes around. A slab has short runs of
 * neighbours, and memory hands out long ones sooner. */
template <int Width>
static __device__ __forceinline__ void copy_async(shared_address to, const float *from)
{
#if __CUDA_ARCH__ >= 800
    if constexpr (Width == kGroup)
        asm volatile("cp.async.cg.shared.global.L2::256B [%0], [%1], 16;" ::"r"(to), "l"(from)
                     : "memory");
    else
        asm volatile("cp.async.ca.shared.global.L2::256B [%0], [%1], 4;" ::"r"(to), "l"(from)
                     : "memory");
#else
    using copied = floats<Width>;
    *static_cast<copied *>(__cvta_shared_to_generic(to)) = *reinterpret_cast<const copied *>(from);
#endif
}

/* Where a thread's parts of the next slab are. */
struct skinny_parts {
    const float *next;    /* the first one */
    int first_e, first_l; /* its place in the slab */
    int inside;           /* elements inside along the edge */
};

/*
 * Element (e, l), e along the edge of the tile, l along k. All threads of the team take part; each
 * copies parts of Width neighbours in memory, at equal distances along either dimension. Elements
 * outside along k become `fill`. Elements outside along the edge stay undefined: they enter only
 * sums outside C. Neighbouring threads copy neighbours in memory. If their places in the slab are
 * no neighbours, 8 threads copy 8 of them: these places fall into different banks.
 */
template <int Edge, int Slab, int Threads, int PitchE, int PitchL, bool AlongK, int Width>
struct skinny_loader {
    static constexpr int kRun = (AlongK ? Slab : Edge) / Width; /* parts that are neighbours */
    static constexpr bool kTurned = (AlongK ? PitchL : PitchE) != 1;
    static constexpr int kMost = kTurned ? 8 : Threads;
    static constexpr int kTogether = kRun < kMost ? kRun : kMost; /* threads along a run */
    static constexpr int kEach = kRun / kTogether;                /* parts of a thread in a run */
    static constexpr int kStepIn = kTogether * Width, kStepOut = Threads / kTogether;
    static constexpr int kParts = Edge * Slab / Width / Threads;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
    static constexpr int kUnrolled = kParts < 16 ? kParts : 16; /* registers hold what is copied */
#else
    static constexpr int kUnrolled = kParts;
#endif
    static_assert(kEach * kTogether == kRun && kStepOut * kTogether == Threads, "equal distances");
    static_assert(kParts * Threads * Width == Edge * Slab, "threads copy equally many");

    /* A part's distances from the thread's first one. */
    static __device__ constexpr int in(int part) { return part % kEach * kStepIn; }
    static __device__ constexpr int out(int part) { return part / kEach * kStepOut; }
    static __device__ constexpr int e(int part) { return AlongK ? out(part) : in(part); }
    static __device__ constexpr int l(int part) { return AlongK ? in(part) : out(part); }
    static __device__ constexpr int place(int e, int l)
    {
        return (int)sizeof(float) * (e * PitchE + l * PitchL);
    }

    /* x: the element (0, 0) of the first slab. */
    static __device__ __forceinline__ skinny_parts begin(const float *x, int64_t ld,
                                                         int64_t edge_left, int thread)
    {
        const int in = thread % kTogether * Width, out = thread / kTogether;
        const int inside = edge_left < Edge ? (int)edge_left : Edge;
        return {x + (in + out * ld), AlongK ? out : in, AlongK ? in : out, inside};
    }

    /* Starts the copy of the next slab; l_left of its steps are inside the matrix. */
    static __device__ __forceinline__ void load(skinny_parts &parts, int64_t ld,
                                                shared_address slab, int l_left, float fill)
    {
        const float *from = parts.next;
        const shared_address to = slab + place(parts.first_e, parts.first_l);
        const int e_left = parts.inside - parts.first_e;
        if (l_left >= Slab) {
#pragma unroll(kUnrolled)
            for (int part = 0; part < kParts; part++) {
                if (part > 0 && part % kEach == 0) from += kStepOut * ld;
                if (e(part) < e_left)
                    copy_async<Width>(to + place(e(part), l(part)), from + in(part));
            }
        } else {
#pragma unroll 1
            for (int part = 0; part < kParts; part++)
                if (e(part) < e_left)
                    load_end(to + place(e(part), l(part)), from + (in(part) + out(part) * ld),
                             l_left - (parts.first_l + l(part)), fill);
        }
        parts.next += AlongK ? Slab : Slab * ld;
    }

    /* A part of the last slab; l_left: steps from its first element to the end of the matrix. */
    static __device__ __forceinline__ void load_end(shared_address to, const float *from,
                                                    int l_left, float fill)
    {
        if (l_left >= (AlongK ? Width : 1)) {
            copy_async<Width>(to, from);
            return;
        }
#pragma unroll 1
        for (int i = 0; i < Width; i++, from++, to += sizeof(float)) {
            if (i < l_left)
                copy_async<1>(to, from);
            else
                *static_cast<float *>(__cvta_shared_to_generic(to)) = fill;
        }
    }
};

#endif
