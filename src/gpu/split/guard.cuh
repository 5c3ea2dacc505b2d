/*
 * split/guard.cuh - the way in which a 64 x 64 block of C may be computed.
 *
 * Each warp on the device decides for itself, from the words (split/planes.cuh) of the tiles of 64
 * rows of op(A) and 64 columns of op(B). Every kernel with the same words decides alike.
 *
 * fp16x3 is safe if all tiles are dense: in each tile no row of A has more than s small elements
 * and no column of B more than t, with s + t < 40. Then for any row and column at least 25 of the
 * 64 l have both factors >= 2^7 (tiles are scaled to 2^14), so that sum |a||b| >= 25 * 2^14. Lossy
 * elements are small, and each loses at most 2^-25, times a factor below 2^15: together less than
 * 40 * 2^-10, which is 1.6 * 2^-24 sum |a||b|. A last tile of fewer k is dense by the same shares.
 * If it is not dense, it is still safe if at least 4 tiles come before it and none of them has a
 * smaller scale: then it loses at most 128 * 2^-10 in their scale, or 1.3 * 2^-24 of their sum.
 *
 * fp16x3 is also safe if no element is lossy. Then tiles may lie 100 exponents apart: all planes
 * are multiples of 2^-24, so that products are multiples of 2^-48, and of 2^-148 after the scale of
 * the farthest tile: no bit is lost.
 *
 * fp16x1 has words of its own, and is safe for the same reasons: its lossy elements are below
 * 2^-14, so they are small, and also lose at most 2^-25. Other elements are rounded by less than
 * 2^-11 of themselves, which DUO_MATH_TF32 allows. If no element is lossy, no product is below
 * 2^-28, and none below 2^-128 after the scale of the farthest tile: a subnormal sum of them is
 * rounded by 2^-150, which is 2^-22 of it.
 *
 * bf16x6 is safe if no element is faint: then products are at least 2^-64 (tiles are scaled to
 * 2^48), and 2^-122 after the scale of the farthest tile, 58 exponents away, so none underflows;
 * sums stay below 2^98 k. Tiles that are dense or not lossy may lie further apart: products that
 * could underflow there are less than the sums' own rounding.
 */
#ifndef DUO_SPLIT_GUARD_CUH
#define DUO_SPLIT_GUARD_CUH

#include "gpu/split/planes.cuh"

/* Summary of the words of 64 rows, a tile for each 64 k. */
struct tile_row {
    int most, least;       /* the largest and the smallest biased exponent of nonzero tiles */
    int smalls;            /* the most small elements in a row of a whole tile */
    uint32_t flags;        /* of any tile */
    int last, last_smalls; /* the last tile's exponent and small elements */
};

constexpr int kNoTile = 1 << 20; /* `least` if all tiles are zero */

/* Reads Rows runs of words at once, so that all are under way together. A whole warp calls; every
 * lane gets the answers. `whole`: k is a whole number of tiles. */
template <int Rows>
static __device__ __forceinline__ void
read_tile_rows(const uint32_t *const (&words)[Rows], int k_tiles, bool whole, tile_row (&row)[Rows])
{
    const int lane = threadIdx.x % 32;
    uint32_t most[Rows] = {}, smalls[Rows] = {}, flags[Rows] = {}, not_least[Rows] = {}, last[Rows];
#pragma unroll
    for (int r = 0; r < Rows; r++) last[r] = words[r][k_tiles - 1];
#pragma unroll 1
    for (int tile = lane; tile < k_tiles; tile += 32) {
        uint32_t word[Rows];
#pragma unroll
        for (int r = 0; r < Rows; r++) word[r] = words[r][tile];
#pragma unroll
        for (int r = 0; r < Rows; r++) {
            const uint32_t exponent = word[r] & kWordExponent;
            most[r] = max(most[r], exponent);
            if (exponent != 0) not_least[r] = max(not_least[r], kNoTile - exponent);
            if (whole || tile < k_tiles - 1) smalls[r] = max(smalls[r], word[r] & kWordSmall);
            flags[r] |= word[r];
        }
    }
#pragma unroll
    for (int r = 0; r < Rows; r++) {
        row[r].most = (int)warp_max(most[r]);
        row[r].least = kNoTile - (int)warp_max(not_least[r]);
        row[r].smalls = (int)(warp_max(smalls[r]) >> kWordSmallShift);
        row[r].flags = warp_or(flags[r]);
        row[r].last = (int)(last[r] & kWordExponent);
        row[r].last_smalls = (int)((last[r] & kWordSmall) >> kWordSmallShift);
    }
}

/* The way for the block of these rows of A and columns of B. */
static __device__ __forceinline__ duo_way way_of(const tile_row &a, const tile_row &b, int64_t k)
{
    /* All numbers: see above. kFarthest: exponents of products of tiles, from the largest one
     * down. */
    constexpr int kFarthest = 100, kFarthestBf16 = 58;
    constexpr int kLeastTiles = 4;
    constexpr float kSmallShare = 0.625f; /* 40 of 64 */
    const uint32_t flags = a.flags | b.flags;
    if (flags & kWordNonFinite) return DUO_WAY_EXACT;
    if (a.most == 0 || b.most == 0) return DUO_WAY_FP16X3; /* all zeros */
    const int farthest = a.most - a.least + b.most - b.least;
    if (farthest > kFarthest) return DUO_WAY_EXACT;
    if ((flags & (kWordLossy | kWordFaint)) == 0) return DUO_WAY_FP16X3;
    const int in_last = (int)(k % kTile);
    const bool dense = k < kTile || a.smalls + b.smalls < kTile * kSmallShare;
    const bool last_dense = in_last == 0 || a.last_smalls + b.last_smalls < in_last * kSmallShare;
    const bool last_minor = k >= kLeastTiles * kTile && (flags & kWordZeroRow) == 0 &&
                            a.last + b.last <= a.least + b.least;
    if (dense && (last_dense || last_minor)) return DUO_WAY_FP16X3;
    return flags & kWordFaint || farthest > kFarthestBf16 ? DUO_WAY_EXACT : DUO_WAY_BF16X6;
}

#endif
