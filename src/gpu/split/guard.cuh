/*
 * split/guard.cuh - which way a 64 x 64 block of C may be computed.
 *
 * Decided from the words of the tiles (split/planes.cuh) of 64 rows of op(A) and 64 columns of
 * op(B), on the device, by each warp for itself; every kernel that looks at the same words decides
 * alike.
 *
 * Why fp16x3 is safe where nothing is lossy or everything is dense: say that in each tile no row of
 * A has more than s, none of B more than t small elements, s + t < 40. Then for any row and column
 * at least 25 of 64 l have both factors >= 2^7 (in tiles scaled to 2^14), so that there sum |a||b|
 * >= 25 * 2^14. Lossy elements are small, and each loses at most 2^-25 times less than 2^15: all of
 * them less than 40 * 2^-10, or 1.6 * 2^-24 sum |a||b|. A last tile of fewer k is dense by the same
 * shares. If too few of its elements are large it still is safe where its scale is no larger than
 * that of any tile before it and these are 4 at least: what it loses is then at most 128 * 2^-10 in
 * their scale, or 1.3 * 2^-24 of their sum.
 *
 * Where nothing is lossy tiles may lie 100 exponents apart: all planes are multiples of 2^-24 then,
 * so that products are of 2^-48, and of 2^-148 after the scale of the farthest tile: no bit is
 * lost.
 *
 * fp16x1 has words of its own, and the same reasons: what it calls lossy is below 2^-14, so it is
 * small, and loses at most 2^-25 as well. All else is rounded by less than 2^-11 of itself, which
 * DUO_MATH_TF32 allows. Where nothing is lossy no product is below 2^-28, nor below 2^-128 after
 * the scale of the farthest tile: a sum of them that is subnormal is rounded by 2^-150, 2^-22 of
 * it.
 *
 * And bf16x6 where nothing is faint: products are at least 2^-64 then (tiles scaled to 2^48), and
 * 2^-122 after the scale of the farthest tile, so that none underflows; sums stay below 2^98 k.
 * What is dense or not lossy may lie further apart: what could underflow there is lost in the sums.
 */
#ifndef DUO_SPLIT_GUARD_CUH
#define DUO_SPLIT_GUARD_CUH

#include "gpu/split/planes.cuh"

/* What the words of 64 rows say together. */
struct tile_row {
    int most, least; /* exponents with bias of the largest and the smallest tile that is not zero */
    int smalls;      /* of whole tiles */
    uint32_t flags;
    int last, last_smalls; /* of the last tile where it is not whole */
};

constexpr int kNoTile = 1 << 20; /* `least` where all tiles are zero */

/* Of Rows runs of words at once, so that all are on their way together. By a whole warp; every lane
 * gets the answers. `whole`: k is whole tiles. */
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

/* The best way for the block where these rows of A and columns of B meet. */
static __device__ __forceinline__ duo_way way_of(const tile_row &a, const tile_row &b, int64_t k)
{
    constexpr int kFarthest = 100; /* exponents of tiles' products, from the largest one down */
    constexpr int kFarthestBf16 = 58;
    constexpr int kLeastTiles = 4;
    constexpr float kSmallShare = 0.625f;
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
