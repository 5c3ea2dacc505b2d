/*
 * batched/wgmma_rows.cuh - how the warps that multiply read op(B) of a slab.
 */
#ifndef DUO_BATCHED_WGMMA_ROWS_CUH
#define DUO_BATCHED_WGMMA_ROWS_CUH

#include "gpu/batched/wgmma_slabs.cuh"

constexpr int kSteps = kSquare / 8; /* of k, of a slab */

/* A lane's elements of the 16 columns j of its warp, of a slab copied as Way says.
 *
 * Of a slab in quarters a warp reads runs of one quarter at once. Along k these are
 * columns, so a warp has columns apart (warp_columns); else they are k, which products take in
 * another order (split_lane). */
template <class Slab, slab_way Way>
struct slab_rows {
    float x[kSteps][2][2];
    /* Bytes from a slab's place to the lane's first element; to be added for quarters, a byte each:
     * how far their runs begin behind their places. */
    struct place {
        uint32_t first, shifts;
    };
    static __device__ __forceinline__ place place_of(const square_source &o, int pitch, int warp,
                                                     int lane)
    {
        const int first = warp % 2 * 16; /* row of its square */
        const bool shifted = Way != kByBoxes && o.shifted;
        const uint32_t square = warp / 2 * Slab::room(o.along_k, shifted);
        if (!shifted) return {square + lane_of_rows<true>(o.along_k, first, lane), 0};
        if (Way == kByChunks) return {square + lane_of_shifted<kSquare>(o, first, lane), 0};
        uint32_t shifts = 0;
#pragma unroll
        for (int q = 0; q < kQuarters; q++) shifts |= shift_of(o.x + q * o.ld) * 4 << 8 * q;
        if (o.along_k) { /* from the warp's first quarter on */
            const int quarter = warp % 2 * 2;
            return {square + Slab::run(true, pitch, quarter + lane / 4 * kQuarters) + lane % 4 * 4,
                    shifts >> 8 * quarter};
        }
        return {square + Slab::run(false, pitch, lane % 4 * 8) + (first + lane / 4) * 4, shifts};
    }
    template <bool AlongK>
    __device__ __forceinline__ void load_quarters(uint32_t at, uint32_t shifts, int pitch)
    {
#pragma unroll
        for (int step = 0; step < kSteps; step++)
#pragma unroll
            for (int g = 0; g < 2; g++)
#pragma unroll
                for (int h = 0; h < 2; h++) {
                    const int quarter = AlongK ? g : step;
                    const uint32_t run =
                        at + (shifts >> 8 * quarter & 15) + quarter * Slab::quarter(AlongK, pitch);
                    x[step][g][h] =
                        load_shared(run + (AlongK ? step * 32 + h * 16 : h * pitch + g * 32));
                }
    }
    /* As split_lane::leave_inside. */
    __device__ __forceinline__ void leave_inside(int left)
    {
        if (left >= kSquare) return;
#pragma unroll
        for (int step = 0; step < kSteps; step++)
#pragma unroll
            for (int h = 0; h < 2; h++)
                if (step + 4 * h + 8 * (int)(threadIdx.x % 4) >= left)
                    x[step][0][h] = x[step][1][h] = 0.0f;
    }
    template <bool AlongK>
    __device__ __forceinline__ void load_as(uint32_t at, uint32_t shifts, int pitch, bool shifted)
    {
        if (Way == kByQuarters && shifted) {
            load_quarters<AlongK>(at, shifts, pitch);
        } else if (Way == kByChunks && shifted) {
#pragma unroll
            for (int step = 0; step < kSteps; step++)
                load_shifted<kSquare>(x[step], at, AlongK, step);
        } else {
#pragma unroll
            for (int step = 0; step < kSteps; step++) load_rows<true>(x[step], at, AlongK, step);
        }
    }
    __device__ __forceinline__ void load(uint32_t at, uint32_t shifts, int pitch, bool along_k,
                                         bool shifted)
    {
        if (along_k)
            load_as<true>(at, shifts, pitch, shifted);
        else
            load_as<false>(at, shifts, pitch, shifted);
    }
};

#endif
