/*
 * batched/wgmma_store.cuh - how the sums of Hopper's warpgroup matrix products enter C of a batch.
 *
 * Element (i, j) of a warp's 16 columns j: lane j % 8 * 4 + i % 8 / 2, sum i / 8 * 4 + j / 8 * 2 +
 * i % 2.
 */
#ifndef DUO_BATCHED_WGMMA_STORE_CUH
#define DUO_BATCHED_WGMMA_STORE_CUH

#include <type_traits>

#include "gpu/batched/wgmma_slabs.cuh"
#include "gpu/sgemm.cuh"

/* Of a thread, of 64 columns. */
template <int Down>
using wgmma_sums = float[Down / 2];

/* Which 16 columns j a warp has, of its warpgroup's 64: eight, `next` from one to the next, and
 * eight that are `half` further. Together, or apart in a square of 32 (slab_rows). */
struct warp_columns {
    int first, next, half;
    __device__ __forceinline__ warp_columns(int warp, bool apart)
        : first(apart ? warp / 2 * kSquare + warp % 2 * 2 : warp * 16), next(apart ? kQuarters : 1),
          half(apart ? 1 : 8)
    {
    }
};

/* Stores a warp's sums, of 16 columns j and Down rows i. A lane has pairs, neighbours in i. It
 * reads many elements before it writes the first: reads behind a write wait. */
template <int Down>
struct warp_store {
    static constexpr int kOctets = Down / 8;        /* of a column */
    static constexpr int kColumns = 8, kPitch = 40; /* of the warp's floats of shared memory */

    float *c; /* of the tile's first column and the warp's first row */
    int64_t ldc;
    float alpha, beta;
    int rows, columns; /* inside */
    float *shared;
    int next, half; /* warp_columns */
    static_assert(4 * kColumns * kPitch <= 2 * doubtful_tile::kSlab, "of four warps");

    template <bool Reads>
    __device__ __forceinline__ float blended(float sum, float old) const
    {
        return Reads ? fmaf(alpha, sum, beta * old) : alpha * sum;
    }
    template <bool Reads>
    __device__ __forceinline__ float4 blended(const float4 &sum, const float4 &old) const
    {
        return make_float4(blended<Reads>(sum.x, old.x), blended<Reads>(sum.y, old.y),
                           blended<Reads>(sum.z, old.z), blended<Reads>(sum.w, old.w));
    }
    /* 32 neighbours of a column at once, for which lanes exchange their sums. Width: floats of a
     * store. Whole: all is inside. */
    template <bool Reads, bool Whole, int Width>
    __device__ __forceinline__ void in_columns(const wgmma_sums<Down> &sum) const
    {
        constexpr int kStores = kColumns / Width; /* of a lane */
        using vector = std::conditional_t<Width == 4, float4, float>;
        const int lane = threadIdx.x % 32, own = lane * Width % 32, column = lane * Width / 32;
        float *const to = shared + lane / 4 * kPitch + lane % 4 * 2;
        const float *const from = shared + column * kPitch + own;
        const int64_t further = Width * next * ldc;
#pragma unroll
        for (int h = 0; h < 2; h++) {
            float *at = c + own + (h * half + column * next) * ldc;
            const int left = (columns - h * half + next - 1) / next;
#pragma unroll
            for (int first = 0; first < kOctets; first += 4, at += 32) {
                const bool inside = Whole || first * 8 + lane < rows;
#pragma unroll
                for (int x = 0; x < 4; x++) {
                    const float *const two = sum + (first + x) * 4 + h * 2;
                    *reinterpret_cast<float2 *>(to + x * 8) = make_float2(two[0], two[1]);
                }
                __syncwarp();
                vector old[kStores] = {};
#pragma unroll
                for (int y = 0; Reads && y < kStores; y++)
                    if (Whole || (inside && y < left))
                        old[y] = *reinterpret_cast<const vector *>(at + y * further);
#pragma unroll
                for (int y = 0; y < kStores; y++) {
                    const vector one = *reinterpret_cast<const vector *>(from + y * Width * kPitch);
                    if (Whole || (inside && y < left))
                        *reinterpret_cast<vector *>(at + y * further) = blended<Reads>(one, old[y]);
                }
                __syncwarp();
            }
        }
    }
    template <bool Reads>
    __device__ __forceinline__ void in_columns(const wgmma_sums<Down> &sum) const
    {
        if (columns <= 0) return;
        const bool whole = rows >= Down && columns > 7 * next + half;
        if (whole && columns_aligned(c, ldc))
            in_columns<Reads, true, 4>(sum);
        else if (whole)
            in_columns<Reads, true, 1>(sum);
        else
            in_columns<Reads, false, 1>(sum);
    }
    /* C's columns are rows i: eight lanes store eight neighbours. */
    template <bool Reads>
    __device__ __forceinline__ void turned(const wgmma_sums<Down> &sum) const
    {
        constexpr int kAtOnce = 2; /* octets */
        const int lane = threadIdx.x % 32, i = lane % 4 * 2, j = lane / 4 * next;
#pragma unroll
        for (int x = 0; x < kOctets; x += kAtOnce) {
            float old[kAtOnce][4] = {};
            float *const at = c + (j + (i + x * 8) * ldc);
            auto inside = [&](int y, int r) {
                return (x + y) * 8 + i + r % 2 < rows && j + r / 2 * half < columns;
            };
#pragma unroll
            for (int y = 0; Reads && y < kAtOnce; y++)
#pragma unroll
                for (int r = 0; r < 4; r++)
                    if (inside(y, r)) old[y][r] = at[(y * 8 + r % 2) * ldc + r / 2 * half];
#pragma unroll
            for (int y = 0; y < kAtOnce; y++)
#pragma unroll
                for (int r = 0; r < 4; r++)
                    if (inside(y, r))
                        at[(y * 8 + r % 2) * ldc + r / 2 * half] =
                            blended<Reads>(sum[(x + y) * 4 + r], old[y][r]);
        }
    }
    __device__ __forceinline__ void all(const wgmma_sums<Down> &sum, bool turn) const
    {
        if (turn) {
            if (beta == 0.0f)
                turned<false>(sum);
            else
                turned<true>(sum);
            return;
        }
        if (beta == 0.0f)
            in_columns<false>(sum);
        else
            in_columns<true>(sum);
    }
};

#endif
