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
constexpr int kStrip = 8, kStripRunBytes = kStrip * 4;
/* Shifted squares and strips need room for one chunk more in each run. */
constexpr int kSquareRoom = kSquare * (kRunBytes + 16),
              kStripRoom = kSquare * (kStripRunBytes + 16);

/* An operand of one product: `rows` rows of k elements, which are neighbours in memory along k or
 * along rows. shifted: not all runs begin on 16 bytes (below). */
struct square_source {
    const float *x;
    int64_t ld;
    int rows, k;
    bool along_k, shifted;
};

/* Floats from 16 bytes to x. */
static __host__ __device__ __forceinline__ int shift_of(const float *x)
{
    return (int)(reinterpret_cast<uintptr_t>(x) / sizeof(float) % 4);
}

/* Along k this is the 128-byte swizzle, which wgmma reads; along rows the four k that a lane of
 * mma.sync and its neighbours read are in different banks. Tensor: always the swizzle, as tensor
 * copies have it. */
template <bool Tensor = false>
static __device__ __forceinline__ int turn_of(bool along_k, int run)
{
    return along_k || Tensor ? run & 7 : run << 1 & 6;
}

/*
 * A lane's copies of squares, one after the other along k: chunks of 16 bytes that begin on 16; the
 * lanes of a warp share out several runs at once. Rows: 32, or 8: a strip of 8 rows. Its runs are 8
 * rows with their k, or 32 k with their 8 rows: then 32 bytes, which are not turned. All tiles of a
 * product read the same strip at the same time. So strips stay in the L1 cache: else many
 * multiprocessors would wait for few lines of the L2 cache.
 *
 * If not all runs begin on 16 bytes, the square is shifted. Then chunks begin up to three floats
 * before their run. They lie in shared memory as they do in memory, so the run's first element
 * stands up to three floats behind the place of the run. A run has one more chunk. It is not
 * turned. What a chunk reads before its run is in the same 16 bytes, so there is memory.
 */
template <int Rows = kSquare>
struct square_copies {
    static constexpr bool kCached = Rows == kStrip;
    const float *from; /* this lane's first chunk of the next square */
    int64_t ld, step;  /* from run to run; from square to square */
    int rows, k;       /* inside, from the next square on */
    int place;         /* this lane's first element in its run; negative: before it */
    uint32_t to;       /* and bytes from the square to its place there */
    bool along_k, shifted;

    /* Bytes from run to run. */
    static __device__ __forceinline__ uint32_t pitch(bool along_k, bool shifted)
    {
        return (along_k ? kRunBytes : Rows * 4) + (shifted ? 16 : 0);
    }
    /* From the square of first_row and first_k on. Without rows inside it copies nothing. */
    __device__ __forceinline__ void begin(const square_source &o, int first_row, int first_k,
                                          int lane)
    {
        const int chunks = (o.along_k ? kSquare : Rows) / 4;
        const int run = lane / chunks, chunk = lane % chunks;
        const float *const start = o.x + (o.along_k ? (first_row + run) * o.ld + first_k
                                                    : (first_k + run) * o.ld + first_row);
        ld = o.ld;
        along_k = o.along_k;
        shifted = o.shifted;
        place = chunk * 4 - (shifted ? shift_of(start) : 0);
        from = start + place;
        const int turn = !shifted && (along_k || Rows == kSquare) ? turn_of(along_k, run) : 0;
        to = run * pitch(along_k, shifted) + (chunk ^ turn) * 16;
        rows = o.rows - first_row;
        k = o.k - first_k;
        step = along_k ? kSquare : kSquare * ld;
    }
    /* Runs: that the warp copies at once. Turned: run r + Runs c is turned like run r and, besides,
     * by what c decides. */
    template <int Runs, bool Turned>
    __device__ __forceinline__ void copy_chunks(uint32_t square, int lane) const
    {
        constexpr int kCopies = Runs == 4 ? Rows / Runs : kSquare / Runs;
        const uint32_t bytes = pitch(Runs == 4, !Turned && shifted);
        const int limit = along_k ? k : rows, runs = (along_k ? rows : k) - lane / (32 / Runs);
        const float *at = from;
        const bool whole = rows >= Rows && k >= kSquare;
#pragma unroll
        for (int c = 0; c < kCopies; c++, at += Runs * ld) {
            const uint32_t turned = !Turned   ? 0
                                    : along_k ? turn_of(true, Runs * c)
                                              : turn_of(false, Runs * c);
            const uint32_t place_of = (square + to ^ turned * 16) + Runs * c * bytes;
            if (whole)
                copy_async<kCached>(place_of, at);
            else
                copy_async_part<kCached>(place_of, at, Runs * c < runs ? limit - place : 0);
        }
    }
    /* The last chunk of a shifted run: a lane has one run. */
    __device__ __forceinline__ void copy_last(uint32_t square, int lane) const
    {
        const int length = along_k ? kSquare : Rows, chunks = length / 4;
        const float *const run = from - place - lane / chunks * ld + lane * ld;
        const int shift = shift_of(run), limit = along_k ? k : rows, runs = along_k ? rows : k;
        if (along_k && lane >= Rows) return;
        copy_async_part<kCached>(square + lane * pitch(along_k, true) + length * 4,
                                 run + (length - shift),
                                 lane < runs ? min(limit, length) - (length - shift) : 0);
    }
    /* The next square, and goes on to the one that is `squares` further. */
    __device__ __forceinline__ void copy(uint32_t square, int squares, int lane)
    {
        if (rows > 0) {
            if (shifted) {
                if (along_k || Rows == kSquare)
                    copy_chunks<4, false>(square, lane);
                else
                    copy_chunks<16, false>(square, lane);
                copy_last(square, lane);
            } else if (along_k || Rows == kSquare) {
                copy_chunks<4, true>(square, lane);
            } else {
                copy_chunks<16, false>(square, lane);
            }
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

/* The same two functions for shifted squares, and strips if Rows is 8. Rows, or k, that are 4 apart
 * are shifted alike. */
template <int Rows>
static __device__ __forceinline__ uint32_t lane_of_shifted(const square_source &o, int first,
                                                           int lane)
{
    const int row = first + lane / 4, k = lane % 4;
    const uint32_t pitch = square_copies<Rows>::pitch(o.along_k, true);
    return (o.along_k ? row * pitch + k * 4 : k * pitch + row * 4) +
           shift_of(o.x + (o.along_k ? row : k) * o.ld) * 4;
}
template <int Rows, int Groups>
static __device__ __forceinline__ void load_shifted(float (&x)[Groups][2], uint32_t at,
                                                    bool along_k, int step)
{
    constexpr uint32_t kAlongK = kRunBytes + 16, kAlongRows = Rows * 4 + 16; /* pitches */
#pragma unroll
    for (int g = 0; g < Groups; g++)
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const int l = step * 8 + h * 4;
            asm volatile("ld.shared.f32 %0, [%1];"
                         : "=f"(x[g][h])
                         : "r"(at + (along_k ? g * 8 * kAlongK + l * 4 : g * 32 + l * kAlongRows))
                         : "memory");
        }
}

/* ---- x = hi + lo, both with the 11 bits of TF32 ---- */

/* The least element, 0 counting as the largest: below 2^-113 lo would lose bits, as TF32 has none
 * below 2^-136. */
struct least_element {
    static constexpr uint32_t kLeast = 14u << 24; /* 2^-113, the sign shifted out */
    uint32_t bits = ~0u;

    static __device__ __forceinline__ uint32_t of(float x) { return 2 * __float_as_uint(x) - 1; }
    template <class Array>
    __device__ __forceinline__ void look(const Array &array)
    {
#pragma unroll
        for (int e = 0; e < (int)(sizeof array / sizeof(float)); e++)
            bits = min(bits, of(reinterpret_cast<const float *>(&array)[e]));
    }
    __device__ __forceinline__ bool is_small() const { return bits < kLeast - 1; }
};

/* hi is x rounded, lo the rest. The tensor cores ignore the bits of lo beyond TF32: at most one, of
 * 2^-23 x. If x is Inf or NaN, hi or lo is a NaN. */
static __device__ __forceinline__ void split_tf32(float x, float &hi, float &lo)
{
    constexpr uint32_t kHalf = 0x1000, kKept = 0xffffe000;
    hi = __uint_as_float((__float_as_uint(x) + kHalf) & kKept);
    lo = x - hi;
}

#endif
