/*
 * gemv/along_k.cuh - a warp's part of X times Y if neighbours in memory are neighbours in k.
 *
 * Lanes lie along k; each has four steps of eight rows, so that Y is read from shared memory once
 * for eight elements of X. The four steps are neighbours if ldx is a multiple of four, wherever X
 * begins: the order of additions must not depend on where X begins.
 */
#ifndef DUO_GEMV_ALONG_K_CUH
#define DUO_GEMV_ALONG_K_CUH

#include "gpu/gemv/block.cuh"

/*
 * Adds Count values over 32 lanes. The sum of value i ends in lane i * 32 / Count; or, with more
 * values than lanes, that of value lane * Count / 32 + i in v[i]. At each step a lane gives half of
 * its values to another, as long as it has two.
 */
template <int Count, int Distance = 16, int Room>
static __device__ __forceinline__ void add_lanes(float (&v)[Room], int lane)
{
    static_assert((Count & (Count - 1)) == 0 && Count <= Room, "values are halved");
    if constexpr (Count == 1) {
        v[0] += __shfl_xor_sync(0xffffffffu, v[0], Distance);
    } else {
        const bool upper = (lane & Distance) != 0;
#pragma unroll
        for (int i = 0; i < Count / 2; i++) {
            const float kept = upper ? v[i + Count / 2] : v[i];
            const float sent = upper ? v[i] : v[i + Count / 2];
            v[i] = kept + __shfl_xor_sync(0xffffffffu, sent, Distance);
        }
    }
    if constexpr (Distance > 1) add_lanes<Count == 1 ? 1 : Count / 2, Distance / 2>(v, lane);
}

template <int Columns, bool Neighbours>
struct gemv_along_k {
    static constexpr int kColumns = Columns;
    static constexpr int kRows = kGroups, kSteps = 32 * kGroup; /* of a batch */
    /* Floats of Y in shared memory from one l, one column to the next. */
    static constexpr int kStepOfL = 1, kStepOfColumn = kChunk;
    static constexpr int kStep = Neighbours ? 1 : 32; /* between a lane's four steps */

    const float *next; /* of X: the thread's first element of the next batch */
    int64_t ldx;
    bool wide; /* 16-byte loads */
    float x[kRows][kGroup];
    float sum[Columns * kRows];

    __device__ __forceinline__ gemv_along_k(const gemv_problem &p, int64_t first_row,
                                            int64_t first_l)
        : ldx(p.ldx), wide(Neighbours && p.aligned)
    {
        next = p.x + (first_row * ldx + first_l + first());
#pragma unroll
        for (int i = 0; i < Columns * kRows; i++) sum[i] = 0.0f;
    }

    /* The lane's first step of a batch. */
    static __device__ __forceinline__ int first()
    {
        const int lane = threadIdx.x % 32;
        return Neighbours ? kGroup * lane : lane;
    }

    /* Starts to load a batch with `inside` steps inside; the next batch is `steps` further. */
    __device__ __forceinline__ void load(int inside, int steps)
    {
        const bool whole = inside >= kSteps;
        if (wide && whole) {
#pragma unroll
            for (int r = 0; r < kRows; r++) read_neighbours(x[r], next + r * ldx);
        } else if (whole) {
            load_singly<true>(inside);
        } else {
            load_singly<false>(inside);
        }
        next += steps;
    }
    template <bool Whole>
    __device__ __forceinline__ void load_singly(int inside)
    {
#pragma unroll
        for (int r = 0; r < kRows; r++)
#pragma unroll
            for (int q = 0; q < kGroup; q++)
                x[r][q] = Whole || first() + q * kStep < inside ? next[r * ldx + q * kStep] : 0.0f;
    }

    /* Multiplies the batch; y is the Y of its first step. */
    __device__ __forceinline__ void multiply(const float *y)
    {
        const float *const from = y + first();
#pragma unroll
        for (int j = 0; j < Columns; j++) {
            float of_y[kGroup];
            if constexpr (Neighbours) {
                read_neighbours(of_y, from + j * kChunk);
            } else {
#pragma unroll
                for (int q = 0; q < kGroup; q++) of_y[q] = from[j * kChunk + q * kStep];
            }
#pragma unroll
            for (int r = 0; r < kRows; r++)
#pragma unroll
                for (int q = 0; q < kGroup; q++)
                    sum[j * kRows + r] = fmaf(x[r][q], of_y[q], sum[j * kRows + r]);
        }
    }

    /* Stores the warp's sums, column by column: to[row + kRows * column]. All lanes must call. */
    __device__ __forceinline__ void leave(float *to)
    {
        constexpr int kSums = Columns * kRows, kEach = kSums > 32 ? kSums / 32 : 1;
        constexpr int kLanes = kSums < 32 ? 32 / kSums : 1; /* with the same sum */
        const int lane = threadIdx.x % 32;
        add_lanes<kSums>(sum, lane);
        if (lane % kLanes > 0) return;
#pragma unroll
        for (int i = 0; i < kEach; i++) to[lane / kLanes * kEach + i] = sum[i];
    }
};

#endif
