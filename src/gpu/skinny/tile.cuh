/*
 * skinny/tile.cuh - tiles of the skinny products, and their slabs in shared memory.
 *
 * A tile of C, or of its transpose, is the sum of products of slabs of X and Y. A slab has the
 * elements (e, l), e along the edge of the tile, for a few l along k. A slab of X is kept as it
 * lies in memory, a slab of Y as rows of one l.
 */
#ifndef DUO_SKINNY_TILE_CUH
#define DUO_SKINNY_TILE_CUH

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

#endif
