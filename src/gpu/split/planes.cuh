/*
 * split/planes.cuh - operands as sums of 16-bit planes: the schemes, the layout of the planes, and
 * the word of facts of each tile. split/split_pass.cuh writes both.
 */
#ifndef DUO_SPLIT_PLANES_CUH
#define DUO_SPLIT_PLANES_CUH

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

#include "gpu/sgemm.cuh"
#include "gpu/split/schemes.h"

/* ---- Schemes ---- */

/*
 * The schemes: the planes into which an element is split, and their products.
 *
 * All magnitudes of a tile are below 2 * 2^kShift. An element x becomes
 *     fp16x3   hi + lo: the nearest fp16, and the nearest fp16 to the rest. From 2^-2 on x keeps 22
 *              bits; below, it may lose an absolute 2^-25, and is called lossy if it does. The
 *              products are lo hi + hi lo + hi hi.
 *     fp16x1   hi: the nearest fp16. From 2^-14 on x keeps 11 bits, as many as TF32 has; below, it
 *              loses an absolute 2^-25 at most, and is called lossy unless it is 0.
 *     bf16x6   hi + mid + lo: the nearest bf16 each time, all 24 bits, down to 2^-32. The products
 *              are hi lo + lo hi + mid mid + hi mid + mid hi + hi hi; each of the three omitted
 *              ones is at most 2^-24 of the largest.
 */

#define SCHEME_NUMBERS(name, planes, products, stage_k, cluster)                                   \
    struct name##_numbers {                                                                        \
        static constexpr int kPlanes = planes, kProducts = products, kStageK = stage_k,            \
                             kCluster = cluster;                                                   \
    };
DUO_SCHEME_LIST(SCHEME_NUMBERS)
#undef SCHEME_NUMBERS

/* The cheapest way in which a 64 x 64 block of C may be computed; later ones are at least as
 * accurate. split/guard.cuh decides. */
enum duo_way {
    DUO_WAY_FP16X3, /* by fp16x3; or by fp16x1 if that has written the words */
    DUO_WAY_BF16X6,
    DUO_WAY_EXACT /* only fp32: Inf, NaN, or magnitudes too far apart for any scaling */
};

/* The ways of blocks that a kernel has left to others, a bit for each. */
constexpr uint32_t kPendingBf16 = 1u << DUO_WAY_BF16X6, kPendingExact = 1u << DUO_WAY_EXACT;

struct fp16x3 : fp16x3_numbers {
    using element = __half;
    static constexpr int kShift = 14;
    static constexpr int kKept = 16; /* elements from 2^(kShift - kKept) on are never lossy */
    static constexpr bool kInterleaved = true;              /* 32 k of each plane in turn */
    static constexpr uint32_t kWays = 1u << DUO_WAY_FP16X3; /* of blocks it may store */
    static constexpr int kSplitResident = 4; /* blocks of sgemm_split per multiprocessor, at most */
    /* The planes that are multiplied, smallest products first. */
    static __device__ __forceinline__ constexpr int plane_of_a(int product) { return product == 0; }
    static __device__ __forceinline__ constexpr int plane_of_b(int product) { return product == 1; }
};

struct fp16x1 : fp16x1_numbers {
    using element = __half;
    static constexpr int kShift = 14, kKept = 28;
    static constexpr bool kInterleaved = true;
    static constexpr uint32_t kWays = 1u << DUO_WAY_FP16X3;
    static constexpr int kSplitResident = 6;
    static __device__ __forceinline__ constexpr int plane_of_a(int) { return 0; }
    static __device__ __forceinline__ constexpr int plane_of_b(int) { return 0; }
};

struct bf16x6 : bf16x6_numbers {
    using element = __nv_bfloat16;
    static constexpr int kShift = 48, kKept = 16;
    static constexpr bool kInterleaved = false;
    static constexpr uint32_t kWays = 1u << DUO_WAY_FP16X3 | 1u << DUO_WAY_BF16X6;
    static constexpr int kSplitResident = 5;
    static __device__ __forceinline__ constexpr int plane_of_a(int product)
    {
        return product == 0 ? 2 : product == 2 || product == 3 ? 1 : 0;
    }
    static __device__ __forceinline__ constexpr int plane_of_b(int product)
    {
        return product == 1 ? 2 : product == 2 || product == 4 ? 1 : 0;
    }
};

/* ---- Layout and words ---- */

/*
 * An operand is op(A) by rows i or op(B) by columns j: `rows` runs of k elements, in tiles of 64
 * rows x 64 k. A tile is scaled by a power of two: its largest magnitude becomes less than 2 *
 * 2^kShift and at least 1/8 of that, so that tiles of similar magnitudes mostly have the same
 * scale. Then each element is split by its scheme. In a plane k is contiguous, for any layout and
 * alignment of the operand, and zeros fill it up to whole tiles:
 *     fp16x3   a row is, for each 32 k, 32 hi then 32 lo: 128 bytes, read by one copy
 *     fp16x1   a row is k elements; one copy reads 64
 *     bf16x6   plane after plane; in each a row is k elements
 */

constexpr int kTile = 64; /* rows, and k, of a tile of an operand */

/* One operand, as stored and as planes. */
struct operand_planes {
    const float *x;
    int64_t ld, rows, k;
    bool along_k; /* neighbours in memory are neighbours in k; else in the row's number */
    void *planes;
    uint32_t *words;    /* [tile of rows][tile of k] */
    int64_t plane_rows; /* of a whole plane, in whole tiles; these rows may be a range of it */
};

static __host__ __device__ __forceinline__ int64_t tiles_of(int64_t size)
{
    return (size + kTile - 1) / kTile;
}

/* From a plane to the next, if they are not interleaved. */
static __host__ __device__ __forceinline__ int64_t plane_elements(const operand_planes &o)
{
    return o.plane_rows * tiles_of(o.k) * kTile;
}

/* ---- The word of a tile ---- */

/*
 * bits 0..8    exponent + kExponentBias: magnitudes are below 2 * 2^exponent; 0: the tile is all
 *              zeros
 * bits 9..15   the most small elements in a row that is not all zeros. Small: less than 2^-7 of
 *              2^kShift after scaling; elements beyond k do not count
 * bit 16       some element is lossy in fp16x1 or fp16x3, or, in words written with bf16x6, could
 *              be so in fp16x3
 * bit 17       some element is infinite or NaN
 * bit 18       some row that belongs to the matrix is all zeros
 * bit 19       some element is faint: less than 2^-80 of 2^kShift after scaling, too little even
 *              for bf16x6
 */
constexpr int kExponentBias = 200; /* 1 <= exponent + bias < 512 for every float but zero */
constexpr int kExponentGrain = 4;  /* exponent + bias + 1 is a multiple of it */
constexpr int kWordSmallShift = 9;
constexpr uint32_t kWordExponent = 511, kWordSmall = 127u << kWordSmallShift, kWordLossy = 1u << 16,
                   kWordNonFinite = 1u << 17, kWordZeroRow = 1u << 18, kWordFaint = 1u << 19;

/* floor(log2) of a magnitude by its bits, subnormals too. */
static __device__ __forceinline__ int exponent_of(uint32_t magnitude)
{
    return magnitude >= 1u << 23 ? (int)(magnitude >> 23) - 127 : -118 - __clz((int)magnitude);
}
static __device__ __forceinline__ float power_of_two(int e) /* -126 <= e <= 127 */
{
    return __int_as_float((e + 127) << 23);
}

/* Scales a tile to 2^kShift by two factors, because the scale may be 2^163, which is no float. If
 * one factor is enough, the other is 1. */
struct tile_scale {
    float first, second;
    template <class Scheme>
    static __device__ __forceinline__ tile_scale of(Scheme, int exponent)
    {
        const int up = Scheme::kShift - max(exponent, -149); /* of a tile of zeros: any */
        return {power_of_two(min(up, 100)), power_of_two(max(up - 100, 0))};
    }
    __device__ __forceinline__ float times(float x) const { return x * first * second; }
};

static __device__ __forceinline__ uint32_t warp_max(uint32_t value)
{
#if __CUDA_ARCH__ >= 800
    return __reduce_max_sync(~0u, value);
#else
    for (int lane = 16; lane > 0; lane /= 2) value = max(value, __shfl_xor_sync(~0u, value, lane));
    return value;
#endif
}

static __device__ __forceinline__ uint32_t warp_or(uint32_t value)
{
#if __CUDA_ARCH__ >= 800
    return __reduce_or_sync(~0u, value);
#else
    for (int lane = 16; lane > 0; lane /= 2) value |= __shfl_xor_sync(~0u, value, lane);
    return value;
#endif
}

#endif
