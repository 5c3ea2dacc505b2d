/*
 * batched/squares.cuh - squares of 32 x 32 elements of an operand in shared memory, 4 KiB each, and
 * strips of 8 rows x 32 k: how a warp copies and reads them.
 *
 * A square is 32 runs of 32 neighbours in memory: a run is a row with its k, or a k with its rows.
 * In shared memory a run is 128 bytes, eight chunks of 16, and chunk c of run r is at c ^
 * turn_of(r), so that kernels use all banks when they read across runs. Outside the operand there
 * are zeros.
 */
#ifndef DUO_BATCHED_SQUARES_CUH
#define DUO_BATCHED_SQUARES_CUH

#include "gpu/split/mma/instructions.cuh"

constexpr int kSquare = 32, kRunBytes = kSquare * 4, kSquareBytes = kSquare * kRunBytes;
constexpr int kStrip = 8, kStripRunBytes = kStrip * 4, kStripBytes = kSquare * kStripRunBytes;

/* An operand of one product: `rows` rows of k elements, which are neighbours in memory along k or
 * along rows. width: floats that one copy may take, 4, 2 or 1. */
struct square_source {
    const float *x;
    int64_t ld;
    int rows, k, width;
    bool along_k;
};

/* Along k this is the 128-byte swizzle, which wgmma reads; along rows the four k that a lane of
 * mma.sync and its neighbours read are in different banks. Tensor: always the swizzle, as tensor
 * copies have it. */
template <bool Tensor = false>
static __device__ __forceinline__ int turn_of(bool along_k, int run)
{
    return along_k || Tensor ? run & 7 : run << 1 & 6;
}

/* A lane's copies of squares, one after the other along k. Each takes `width` neighbours of a run;
 * the lanes of a warp share out several runs at once. Rows: 32, or 8: a strip of 8 rows, 1 KiB. Its
 * runs are 8 rows with their k, or 32 k with their 8 rows: then 32 bytes, which are not turned. */
template <int Rows = kSquare, bool Tensor = false>
struct square_copies {
    const float *from; /* this lane's first element of the next square */
    int64_t ld, step;  /* from run to run; from square to square */
    int rows, k;       /* inside, from the next square on */
    int width, place;  /* this lane's: of the first element in its run */
    uint32_t to;       /* and bytes from the square to its place there */
    bool along_k;

    static constexpr uint32_t kRowsBytes = Rows * 4; /* of a run along rows */

    /* From the square of first_row and first_k on. Without rows inside it copies nothing. */
    __device__ __forceinline__ void begin(const square_source &o, int first_row, int first_k,
                                          int lane)
    {
        const int lanes = (o.along_k ? kSquare : Rows) / o.width, run = lane / lanes;
        ld = o.ld;
        width = o.width;
        along_k = o.along_k;
        place = lane % lanes * width;
        const bool turned = along_k || Rows == kSquare;
        const int chunk = turned ? place / 4 ^ turn_of<Tensor>(along_k, run) : place / 4;
        to = (uint32_t)(run * (along_k ? kRunBytes : kRowsBytes) + chunk * 16 + place % 4 * 4);
        rows = o.rows - first_row;
        k = o.k - first_k;
        step = along_k ? kSquare : kSquare * ld;
        from = o.x + (along_k ? (first_row + run) * ld + (first_k + place)
                              : (first_k + run) * ld + (first_row + place));
    }
    /* Runs: that the warp copies at once. */
    template <int Width, int Runs>
    __device__ __forceinline__ void copy_by(uint32_t square) const
    {
        constexpr bool kShort = Runs != Width; /* runs along rows of a strip */
        constexpr uint32_t kBytes = kShort ? kRowsBytes : kRunBytes;
        const float *at = from;
        /* Run r + Runs c is turned like run r and, besides, by what c decides. */
        auto place_of = [&](int c) {
            const uint32_t turned = kShort    ? 0
                                    : along_k ? turn_of<Tensor>(true, Runs * c)
                                              : turn_of<Tensor>(false, Runs * c);
            return (square + to ^ turned * 16) + Runs * c * kBytes;
        };
        if (rows >= Rows && k >= kSquare) {
#pragma unroll
            for (int c = 0; c < Rows / Width; c++, at += Runs * ld)
                copy_async<Width * 4>(place_of(c), at);
            return;
        }
        const int run = to / kBytes, runs = along_k ? rows : k;
        const bool in_run = place < (along_k ? k : rows); /* whole copies are inside, or nothing */
#pragma unroll 4
        for (int c = 0; c < Rows / Width; c++, at += Runs * ld) {
            const bool inside = in_run && run + Runs * c < runs;
            copy_async_inside<Width * 4>(place_of(c), inside ? at : from, inside);
        }
    }
    template <int Width>
    __device__ __forceinline__ void copy_by(uint32_t square) const
    {
        if (along_k || Rows == kSquare)
            copy_by<Width, Width>(square);
        else
            copy_by<Width, Width * kSquare / Rows>(square);
    }
    /* The next square, and goes on to the one that is `squares` further. */
    __device__ __forceinline__ void copy(uint32_t square, int squares)
    {
        if (rows > 0) {
            if (width == 4)
                copy_by<4>(square);
            else if (width == 2)
                copy_by<2>(square);
            else
                copy_by<1>(square);
        }
        from += squares * step;
        k -= squares * kSquare;
    }
};

/* ---- Fragments of tensor-core products, 8 k at a time ---- */

/* Bytes from a square's start to the first element that a lane reads. The warp reads rows from
 * `first` on, which is 0 or 16. */
template <bool Tensor = false>
static __device__ __forceinline__ uint32_t lane_of_rows(bool along_k, int first, int lane)
{
    if (along_k) {
        const int row = first + (lane & 7) + (lane >> 4) * 8, half = lane >> 3 & 1;
        return (uint32_t)(row * kRunBytes + (half ^ turn_of(true, row)) * 16);
    }
    const int row = lane / 4, k = lane % 4, chunk = (first + row) / 4;
    return (uint32_t)(k * kRunBytes + (chunk ^ turn_of<Tensor>(false, k)) * 16 + row % 4 * 4);
}
/* The same of a strip. */
static __device__ __forceinline__ uint32_t lane_of_strip(bool along_k, int lane)
{
    const int row = lane / 4, k = lane % 4;
    return (uint32_t)(along_k ? row * kRunBytes + turn_of(true, row) * 16 + k * 4
                              : k * kStripRunBytes + row * 4);
}

/* Groups of 8 rows, 8 k from 8 * step on: x[g][h] is element (8 g + l / 4, 4 h + l % 4) of lane l.
 * at: the square's address and lane_of_rows; one group: the strip's and lane_of_strip. */
template <bool Tensor = false, int Groups>
static __device__ __forceinline__ void load_rows(float (&x)[Groups][2], uint32_t at, bool along_k,
                                                 int step)
{
    static_assert(Groups % 2 == 0 || Groups == 1, "two groups are loaded at once, or a strip");
    auto load = [](float &to, uint32_t from) {
        asm volatile("ld.shared.f32 %0, [%1];" : "=f"(to) : "r"(from) : "memory");
    };
    if constexpr (Groups == 1) {
#pragma unroll
        for (int h = 0; h < 2; h++)
            load(x[0][h],
                 along_k ? at ^ (step * 32 + h * 16) : at + (step * 8 + h * 4) * kStripRunBytes);
    } else if (along_k) {
#pragma unroll
        for (int g = 0; g < Groups; g += 2) {
            uint32_t d[4];
            load_matrices(d, (at ^ step * 32) + g * 8 * kRunBytes);
#pragma unroll
            for (int q = 0; q < 4; q++) x[g + q / 2][q % 2] = __uint_as_float(d[q]);
        }
    } else {
#pragma unroll
        for (int g = 0; g < Groups; g++)
#pragma unroll
            for (int h = 0; h < 2; h++)
                load(x[g][h],
                     (at ^ g * 32 ^ (Tensor ? h * 64 : 0)) + (step * 8 + h * 4) * kRunBytes);
    }
}

/* ---- x = hi + lo, both with the 11 bits of TF32 ---- */

/* hi is x rounded, lo the rest. The tensor cores ignore the bits of lo beyond TF32: at most one, of
 * 2^-23 x. If x is Inf or NaN, hi or lo is a NaN. */
static __device__ __forceinline__ void split_tf32(float x, float &hi, float &lo)
{
    constexpr uint32_t kHalf = 0x1000, kKept = 0xffffe000;
    hi = __uint_as_float((__float_as_uint(x) + kHalf) & kKept);
    lo = x - hi;
}

#endif
