/*
 * gemv/along_rows.cuh - a warp's part of X times Y if neighbours in memory are rows of X.
 *
 * LanesM lanes lie along rows, with four rows each; the warp has 32 / LanesM groups of them, which
 * share k. Y is kept as rows of one l; all lanes of a group read a row together.
 */
#ifndef DUO_GEMV_ALONG_ROWS_CUH
#define DUO_GEMV_ALONG_ROWS_CUH

#include "gpu/gemv/block.cuh"

template <int Columns, int LanesM>
struct gemv_along_rows {
    static constexpr int kColumns = Columns, kLanesK = 32 / LanesM;
    static constexpr int kRows = LanesM * kGroup, kSteps = kLanesK * kGroups; /* of a batch */
    /* Floats of Y in shared memory from one l, one column to the next. */
    static constexpr int kStepOfL = Columns, kStepOfColumn = 1;

    const float *next; /* of X: the thread's first element of the next batch */
    int64_t ldx;
    int lane_m, lane_k;
    bool wide; /* 16-byte loads */
    float x[kGroups][kGroup];
    float sum[kGroup][Columns];

    __device__ __forceinline__ gemv_along_rows(const gemv_problem &p, int64_t first_row,
                                               int64_t first_l)
        : ldx(p.ldx), lane_m(threadIdx.x % LanesM), lane_k(threadIdx.x % 32 / LanesM),
          wide(p.aligned && first_row % kGroup == 0)
    {
        next = p.x + (first_row + (wide ? kGroup * lane_m : lane_m) + (first_l + lane_k) * ldx);
#pragma unroll
        for (int r = 0; r < kGroup; r++)
#pragma unroll
            for (int j = 0; j < Columns; j++) sum[r][j] = 0.0f;
    }

    /* Starts to load a batch with `inside` steps inside; the next batch is `steps` further. */
    __device__ __forceinline__ void load(int inside, int steps)
    {
        const bool whole = inside >= kSteps;
        if (wide && whole)
            load_batch<true, true>(inside);
        else if (wide)
            load_batch<true, false>(inside);
        else if (whole)
            load_batch<false, true>(inside);
        else
            load_batch<false, false>(inside);
        next += steps * ldx;
    }
    template <bool Wide, bool Whole>
    __device__ __forceinline__ void load_batch(int inside)
    {
        const float *from = next;
#pragma unroll
        for (int u = 0; u < kGroups; u++, from += kLanesK * ldx) {
            const bool load = Whole || lane_k + u * kLanesK < inside;
            if (Wide) {
                float4 v = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
                if (load) v = *reinterpret_cast<const float4 *>(from);
                x[u][0] = v.x, x[u][1] = v.y, x[u][2] = v.z, x[u][3] = v.w;
            } else {
#pragma unroll
                for (int r = 0; r < kGroup; r++) x[u][r] = load ? from[r * LanesM] : 0.0f;
            }
        }
    }

    /* Multiplies the batch; y is the Y of its first step. */
    __device__ __forceinline__ void multiply(const float *y)
    {
#pragma unroll
        for (int u = 0; u < kGroups; u++) {
            float of_y[Columns];
            read_neighbours(of_y, y + (lane_k + u * kLanesK) * Columns);
#pragma unroll
            for (int r = 0; r < kGroup; r++)
#pragma unroll
                for (int j = 0; j < Columns; j++) sum[r][j] = fmaf(x[u][r], of_y[j], sum[r][j]);
        }
    }

    /* Stores the warp's sums, column by column: to[row + kRows * column]. All lanes must call. */
    __device__ __forceinline__ void leave(float *to)
    {
#pragma unroll
        for (int distance = 16; distance >= LanesM; distance /= 2)
#pragma unroll
            for (int r = 0; r < kGroup; r++)
#pragma unroll
                for (int j = 0; j < Columns; j++)
                    sum[r][j] += __shfl_xor_sync(0xffffffffu, sum[r][j], distance);
        if (lane_k > 0) return;
#pragma unroll
        for (int r = 0; r < kGroup; r++)
#pragma unroll
            for (int j = 0; j < Columns; j++)
                to[(wide ? kGroup * lane_m + r : lane_m + r * LanesM) + j * kRows] = sum[r][j];
    }
};

#endif
