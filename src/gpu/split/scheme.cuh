/*
 * split/scheme.cuh - the schemes: the planes into which an element is split, and their products.
 *
 * All magnitudes of a tile are below 2 * 2^kShift (split/planes.cuh). An element x becomes
 *     fp16x3   hi + lo: the nearest fp16, and the nearest fp16 to the rest. From 2^-2 on x keeps 22
 *              bits; below, it may lose an absolute 2^-25, and is called lossy if it does. The
 *              products are lo hi + hi lo + hi hi.
 *     fp16x1   hi: the nearest fp16. From 2^-14 on x keeps 11 bits, as many as TF32 has; below, it
 *              loses an absolute 2^-25 at most, and is called lossy unless it is 0.
 *     bf16x6   hi + mid + lo: the nearest bf16 each time, all 24 bits, down to 2^-32. The products
 *              are hi lo + lo hi + mid mid + hi mid + mid hi + hi hi; each of the three omitted
 *              ones is at most 2^-24 of the largest.
 */
#ifndef DUO_SPLIT_SCHEME_CUH
#define DUO_SPLIT_SCHEME_CUH

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

#include "gpu/split/schemes.h"

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
    static constexpr bool kInterleaved = true; /* 32 k of each plane in turn (split/planes.cuh) */
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

#endif
