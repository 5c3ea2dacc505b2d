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

#include "gpu/slab.cuh"

constexpr int kThreads = 256, kWarps = kThreads / 32;

constexpr int power_of_two_from(int n)
{
    int power = 1;
    while (power < n) power *= 2;
    return power;
}

/*
 * A tile. A warp's lanes lie along rows, columns and k; a thread has Rows x Columns elements of C.
 * The block's warps lie along rows and k; each lane multiplies Steps of the l in a slab.
 */
template <int Columns, int Rows, int LanesN, int LanesK, int WarpsM, int Steps, int Slabs,
          int Resident>
struct skinny_tile {
    static constexpr int kThreadRows = Rows, kThreadColumns = Columns;
    static constexpr int kLanesK = LanesK, kLanesN = LanesN, kLanesM = 32 / (LanesN * LanesK);
    static constexpr int kColumns = Columns * LanesN, kWarpRows = kLanesM * Rows;
    static constexpr int kColumnsCopied = power_of_two_from(kColumns);
    static constexpr int kWarpsM = WarpsM, kWarpsK = kWarps / WarpsM;
    static constexpr int kRows = WarpsM * kWarpRows;
    static constexpr int kSteps = Steps, kSlab = kWarpsK * LanesK * Steps;
    static constexpr int kSlabs = Slabs;
    static constexpr int kSums = Rows * Columns;
    static constexpr int kResident = Resident; /* blocks per multiprocessor to make room for */
    static constexpr int kUnderWay = Resident == 1 ? Slabs - 1 : 1; /* slabs of each, in the plan */
    static_assert(LanesK > 1 || Steps % kGroup == 0, "X along k is read 4 steps at a time");
};

/* A slab of X is kept as it lies in memory. Along k: each row of the tile with its l; 4 more floats
 * per row spread the rows over the banks. Else: each l with the tile's rows. */
template <class Tile, bool AlongK>
constexpr int kPitchX = AlongK ? Tile::kSlab + kGroup : Tile::kRows;
template <class Tile, bool AlongK>
constexpr int kFloatsX = (AlongK ? Tile::kRows : Tile::kSlab) * kPitchX<Tile, AlongK>;
template <class Tile>
constexpr int kPitchY = Tile::kColumns % kGroup == 0 ? Tile::kColumns + kGroup : Tile::kColumns;

template <class Tile, bool AlongK>
struct slabs {
    __align__(16) float x[Tile::kSlabs][kFloatsX<Tile, AlongK>];
    __align__(16) float y[Tile::kSlabs][Tile::kSlab * kPitchY<Tile>];
};

template <int Count>
struct __align__(Count * 4) floats
{
    float v[Count];
};

/* The row of the tile that is a thread's r-th: rows go to lanes in turn, four neighbours at a time
 * or one. */
template <class Tile, bool AlongK>
static __device__ __forceinline__ int row_of(int warp_m, int lane_m, int r)
{
    constexpr int kRun =
        AlongK || Tile::kThreadRows < kGroup ? (AlongK ? 1 : Tile::kThreadRows) : kGroup;
    return warp_m * Tile::kWarpRows + r / kRun * kRun * Tile::kLanesM + lane_m * kRun + r % kRun;
}

/* X for a few steps: x[step][row]. */
template <class Tile, bool AlongK, int Steps>
static __device__ __forceinline__ void read_x(float (&x)[Steps][Tile::kThreadRows],
                                              const float *slab, int warp_m, int lane_m, int l)
{
    constexpr int kPitch = kPitchX<Tile, AlongK>;
    if (AlongK) {
#pragma unroll
        for (int r = 0; r < Tile::kThreadRows; r++) {
            const int at = row_of<Tile, AlongK>(warp_m, lane_m, r) * kPitch + l;
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
                const int at = row_of<Tile, AlongK>(warp_m, lane_m, r) + (l + q) * kPitch;
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
    return LanesN == 1 ? 0 : LanesN == 2 ? lane >> 1 & 1 : (lane >> 1 & 1) | (lane >> 2 & 2);
}
template <int LanesN>
static __device__ __forceinline__ int row_lane(int lane)
{
    if (LanesN == 1) return lane;
    if (LanesN == 2) return (lane & 1) | (lane >> 1 & ~1);
    return (lane & 1) | (lane >> 1 & 2) | (lane >> 2 & ~3);
}

/* ---- Loading an operand into shared memory, along either dimension ---- */

/*
 * Element (e, l), e along the edge of the tile, l along k. All threads of the block take part; each
 * copies parts of Width neighbours in memory, at equal distances in memory and in the slab.
 * Elements outside along k become zero, in both operands at the same l. Elements outside along the
 * edge stay undefined: they enter only sums outside C.
 */
template <int Edge, int Slab>
struct skinny_loader {
    static_assert(Edge <= kThreads && (Slab <= kThreads || Edge == 1), "parts at equal distances");

    const float *next;     /* this thread's first part of the next slab */
    int64_t step, advance; /* elements from part to part, from slab to slab */
    int place, step_place; /* in the slab */
    int parts;             /* this thread's, those inside along the edge */
    bool along_k;

    /* Where a thread's parts are. Computed again when needed: registers are scarce. */
    struct walk {
        int e, l, step_e, step_l;
    };
    __device__ __forceinline__ walk walk_of(int width) const
    {
        const int run = (along_k ? Slab : Edge) / width; /* parts; a power of two */
        const int inner = threadIdx.x % run * width, outer = threadIdx.x / run;
        /* If a run of neighbours has more parts than the block has threads, it is the only run. */
        const int step_inner = run > kThreads ? kThreads * width : 0;
        const int step_outer = run > kThreads ? 0 : kThreads / run;
        return along_k ? walk{outer, inner, step_outer, step_inner}
                       : walk{inner, outer, step_inner, step_outer};
    }

    /* pitch_e, pitch_l: floats of the slab from one e, one l to the next. */
    __device__ skinny_loader(const float *matrix, int64_t ld, bool neighbours_in_k, int width,
                             int64_t first_e, int64_t extent, int64_t first_l, int pitch_e,
                             int pitch_l)
    {
        along_k = neighbours_in_k;
        const walk w = walk_of(width);
        const int64_t ld_e = along_k ? ld : 1, ld_l = along_k ? 1 : ld;
        next = matrix + ((first_e + w.e) * ld_e + (first_l + w.l) * ld_l);
        step = w.step_e * ld_e + w.step_l * ld_l;
        advance = Slab * ld_l;
        place = w.e * pitch_e + w.l * pitch_l;
        step_place = w.step_e * pitch_e + w.step_l * pitch_l;
        const int left = extent - first_e < Edge ? (int)(extent - first_e) : Edge;
        parts = 0;
        for (int part = threadIdx.x; part < Edge * Slab / width && w.e + parts * w.step_e < left;
             part += kThreads)
            parts++;
    }

    /* Starts the copy of the next slab; l_left of its steps are inside the matrix. */
    template <int Width>
    __device__ __forceinline__ void load(float *slab, int64_t l_left)
    {
        constexpr int kParts = (Edge * Slab / Width + kThreads - 1) / kThreads;
        const float *from = next;
        float *to = slab + place;
        if (l_left >= Slab) {
#pragma unroll
            for (int part = 0; part < kParts; part++, from += step, to += step_place)
                if (part < parts) __pipeline_memcpy_async(to, from, Width * sizeof(float));
        } else {
            const walk w = walk_of(Width);
#pragma unroll 1
            for (int part = 0; part < parts; part++, from += step, to += step_place)
                load_end<Width>(to, from, l_left - (w.l + part * w.step_l));
        }
        next += advance;
    }

    /* A part of the last slab; l_left: steps from its first element to the end of the matrix. */
    template <int Width>
    __device__ __forceinline__ void load_end(float *to, const float *from, int64_t l_left)
    {
        if (l_left >= (along_k ? Width : 1)) {
            __pipeline_memcpy_async(to, from, Width * sizeof(float));
            return;
        }
#pragma unroll 1
        for (int i = 0; i < Width; i++) {
            if (i < l_left)
                __pipeline_memcpy_async(to + i, from + i, sizeof(float));
            else
                to[i] = 0.0f;
        }
    }
};

#endif
