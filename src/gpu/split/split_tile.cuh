/*
 * split/split_tile.cuh - a tile of an operand, 64 rows x 64 k: measured, scaled, split, stored.
 *
 * Threads   a block of 256
 */
#ifndef DUO_SPLIT_SPLIT_TILE_CUH
#define DUO_SPLIT_SPLIT_TILE_CUH

#include "gpu/split/load_tile.cuh"

/* ---- Measuring ---- */

/* 2^e as the bits of a magnitude, 0 below the least subnormal. */
static __device__ __forceinline__ uint32_t magnitude_bits(int e) /* e < 128 */
{
    return e >= -126 ? (uint32_t)(e + 127) << 23 : e >= -149 ? 1u << (e + 149) : 0;
}

/* -1 if |x| < limit, else 0. */
static __device__ __forceinline__ int minus_below(float x, float limit)
{
    int mask;
    asm("set.lt.s32.f32 %0, %1, %2;" : "=r"(mask) : "f"(fabsf(x)), "f"(limit));
    return mask;
}

/* Facts of a tile that the warps of the block tell each other. */
struct tile_facts {
    uint32_t warp_largest[kSplitWarps], warp_least[kSplitWarps];
    uint32_t smalls, flags; /* of the tile's word */
};

/*
 * The magnitudes of a tile, as bits, which have the order of the values: the largest (NaN is larger
 * than all others); and the least nonzero one, minus 1. (0 minus 1 is the largest of all, so zeros
 * do not count.)
 */
struct tile_range {
    uint32_t largest = 0, least = ~0u;

    __device__ __forceinline__ tile_range(const tile_values &value, tile_facts &facts)
    {
        const int t = threadIdx.x;
#pragma unroll
        for (int i = 0; i < kRuns; i++)
#pragma unroll
            for (int j = 0; j < kRun; j++) {
                const uint32_t magnitude = __float_as_uint(value[i][j]) & 0x7fffffffu;
                largest = max(largest, magnitude);
                least = min(least, magnitude - 1);
            }
        largest = warp_max(largest);
        least = ~warp_max(~least);
        if (t % 32 == 0) {
            facts.warp_largest[t / 32] = largest;
            facts.warp_least[t / 32] = least;
        }
        if (t == 0) facts.smalls = facts.flags = 0;
        __syncthreads();
#pragma unroll
        for (int w = 0; w < kSplitWarps; w++) {
            largest = max(largest, facts.warp_largest[w]);
            least = min(least, facts.warp_least[w]);
        }
    }
    __device__ __forceinline__ bool finite() const { return largest < 0x7f800000u; }
    /* The exponent of the tile: floor(log2) of the largest, rounded up in steps of
     * kExponentGrain. */
    __device__ __forceinline__ int exponent() const
    {
        return ((finite() ? exponent_of(largest) : 127) + kExponentBias | kExponentGrain - 1) -
               kExponentBias;
    }
    /* Is a nonzero element less than 2^-below of 2^exponent? */
    __device__ __forceinline__ bool any(int below) const
    {
        return least < max(magnitude_bits(exponent() - below), 1u) - 1;
    }
};

/* The rows of a tile in which this thread has a part: the most small elements of one, and whether
 * one is all zeros. */
struct row_facts {
    int most_small = 0;
    bool zero_row = false;

    __device__ __forceinline__ row_facts(const tile_values &value, const tile_part &part,
                                         float small)
    {
#pragma unroll
        for (int i = 0; i < kRuns; i++) {
            int minus_smalls = 0;
            uint32_t bits = 0;
#pragma unroll
            for (int j = 0; j < kRun; j++) {
                minus_smalls += minus_below(value[i][j], small);
                bits |= __float_as_uint(value[i][j]);
            }
            /* Of the row: upper half: threads with a nonzero element; lower half: small
             * elements. */
            uint32_t counts = ((bits & 0x7fffffffu) != 0 ? 1u << 16 : 0) - minus_smalls;
#pragma unroll
            for (int lane = 1; lane < kLanesPerRow; lane *= 2)
                counts += __shfl_xor_sync(~0u, counts, lane);
            /* Elements beyond k are zeros, but do not count as small. Rows beyond the matrix are
             * all zeros, and do not count at all. */
            if (counts >> 16 != 0)
                most_small = max(most_small, (int)(counts & 0xffff) - (kTile - part.ks));
            else
                zero_row |= part.row + i * kRowStep < part.rows;
        }
    }
};

/* ---- Storing ---- */

static __device__ __forceinline__ void scale_tile(tile_values &value, const tile_scale &scale)
{
#pragma unroll
    for (int i = 0; i < kRuns; i++)
#pragma unroll
        for (int j = 0; j < kRun; j++) value[i][j] *= scale.first;
    if (scale.second != 1.0f)
#pragma unroll
        for (int i = 0; i < kRuns; i++)
#pragma unroll
            for (int j = 0; j < kRun; j++) value[i][j] *= scale.second;
}

/* Stores to the planes. Look: returns whether an element is lossy. */
template <class Scheme, bool Look>
static __device__ __forceinline__ bool store_tile(const tile_values &value, const operand_planes &o,
                                                  const tile_part &part, int64_t pitch)
{
    bool lossy = false;
#pragma unroll
    for (int i = 0; i < kRuns; i++)
        lossy |= store_run<Look>(Scheme(), o, part.first_row + part.row + i * kRowStep, pitch,
                                 part.first_k + part.run, value[i]);
    return lossy;
}

/* ---- The tile ---- */

/* words: write its word, too. */
template <class Scheme>
static __device__ __forceinline__ void split_tile(const operand_planes &o, unsigned tile,
                                                  unsigned k_tiles, unsigned k_tiles_inverse,
                                                  bool words)
{
    __shared__ tile_facts facts;
    const tile_part part(o, tile, k_tiles, k_tiles_inverse);
    tile_values value;
    load_tile(value, o, part);

    const tile_range range(value, facts);
    const int exponent = range.exponent();
    const bool look = range.any(Scheme::kKept);
    const float small = __uint_as_float(max(magnitude_bits(exponent - 7), 1u)); /* 0 is small */
    const row_facts rows(value, part, small);

    scale_tile(value, tile_scale::of(Scheme(), exponent));
    const int64_t pitch = (int64_t)k_tiles * kTile;
    const bool lossy = look ? store_tile<Scheme, true>(value, o, part, pitch)
                            : store_tile<Scheme, false>(value, o, part, pitch);

    const uint32_t warp_small = warp_max((uint32_t)rows.most_small);
    const uint32_t warp_flags = (__any_sync(~0u, lossy) ? kWordLossy : 0) |
                                (range.any(80) ? kWordFaint : 0) |
                                (__any_sync(~0u, rows.zero_row) ? kWordZeroRow : 0);
    if (threadIdx.x % 32 == 0) {
        atomicMax(&facts.smalls, warp_small);
        atomicOr(&facts.flags, warp_flags);
    }
    __syncthreads(); /* also: no thread still reads this tile in shared memory */
    if (threadIdx.x == 0 && words)
        o.words[tile] = (range.largest == 0 ? 0 : (uint32_t)(exponent + kExponentBias)) |
                        facts.smalls << kWordSmallShift | facts.flags |
                        (range.finite() ? 0 : kWordNonFinite);
}

#endif
