/*
 * skinny/column.cuh - the sums of a segment for tiles of one column of C.
 *
 * Each element of X is needed once, so it does not go through shared memory. Lanes read it where it
 * lies, at any alignment. They read the next steps while they multiply those before.
 *
 * Order     as of the other tiles of vector products: a segment has DUO_CHAINS chains. They are
 *           added in pairs 4, 2 and 1 apart
 */
#ifndef DUO_SKINNY_COLUMN_CUH
#define DUO_SKINNY_COLUMN_CUH

#include "gpu/sgemm.cuh"
#include "gpu/skinny/problem.cuh"

/* The steps of a segment that are inside, and Y there. */
struct column_segment {
    int64_t first;
    int steps;
    const float *y; /* of the first step */
    int64_t y_step;
    __device__ __forceinline__ column_segment(const skinny_problem &p, int64_t segment)
    {
        first = segment * p.segment;
        steps = p.steps_from(first);
        y_step = p.y_along_k ? 1 : p.ldy;
        y = p.y + first * y_step;
    }
};

/* X along k: eight lanes have the chains of a row. The rows of a warp go to its groups of lanes in
 * turn. */
template <class Tile>
struct column_along_k {
    static constexpr int kRows = Tile::kThreadRows, kChains = Tile::kChains;
    static constexpr int kAtOnce = Tile::kStepsAtOnce, kSteps = kAtOnce * kChains;
    struct part {
        float x[kAtOnce][kRows], y[kAtOnce];
    };
    const float *x, *y;
    int64_t row_step, y_step;
    int row, inside, chain; /* the lane's first row, its rows inside, its chain */
    bool all_inside;
    float sum[kRows];

    __device__ __forceinline__ column_along_k(const skinny_problem &p, const skinny_block &block,
                                              const skinny_place<Tile> &me, const column_segment &s)
        : sum{}
    {
        row = me.lane_m;
        chain = me.chain;
        const int left = (int)min(block.rows_left, (int64_t)Tile::kRows) - row;
        inside = max((left + Tile::kLanesM - 1) / Tile::kLanesM, 0);
        all_inside = inside == kRows;
        x = p.x + ((block.first_row + row) * p.ldx + s.first + chain);
        y = s.y + chain * s.y_step;
        row_step = Tile::kLanesM * p.ldx;
        y_step = kChains * s.y_step;
    }
    template <bool Whole>
    __device__ __forceinline__ void read(part &to, int left)
    {
#pragma unroll
        for (int u = 0; u < kAtOnce; u++) {
            const bool there = Whole || u * kChains + chain < left;
            to.y[u] = there ? y[u * y_step] : kFillB;
#pragma unroll
            for (int r = 0; r < kRows; r++)
                to.x[u][r] =
                    Whole || (there && r < inside) ? x[r * row_step + u * kChains] : kFillA;
        }
        x += kSteps;
        y += kAtOnce * y_step;
    }
    __device__ __forceinline__ void multiply(const part &by)
    {
#pragma unroll
        for (int u = 0; u < kAtOnce; u++)
#pragma unroll
            for (int r = 0; r < kRows; r++) sum[r] = fmaf(by.x[u][r], by.y[u], sum[r]);
    }
    __device__ __forceinline__ void store(float (&sums)[Tile::kPitch])
    {
#pragma unroll
        for (int distance = kChains / 2; distance > 0; distance /= 2)
#pragma unroll
            for (int r = 0; r < kRows; r++) sum[r] += __shfl_xor_sync(~0u, sum[r], distance);
        if (chain > 0) return;
#pragma unroll
        for (int r = 0; r < kRows; r++) sums[row + r * Tile::kLanesM] = sum[r];
    }
};

/* X along its rows: neighbouring lanes have neighbouring rows. A lane has some chains of its row,
 * neighbours in k. The lanes of a warp read Y together. */
template <class Tile>
struct column_along_rows {
    static constexpr int kRows = Tile::kRows, kChains = Tile::kChains;
    static constexpr int kOwn = Tile::kThreadRows; /* chains */
    static constexpr int kAtOnce = Tile::kStepsAtOnce, kSteps = kAtOnce * kChains;
    static_assert(kRows * kChains == 32 * kOwn && kSteps <= 32, "shares of a warp");
    struct part {
        float x[kAtOnce][kOwn], y; /* y: of the lane's number, from the first step on */
    };
    const float *x, *y;
    int64_t ldx, y_step;
    int row, lane, chain; /* the lane's row, its number, its first chain */
    bool inside, all_inside;
    float sum[kOwn];

    __device__ __forceinline__ column_along_rows(const skinny_problem &p, const skinny_block &block,
                                                 const skinny_place<Tile> &me,
                                                 const column_segment &s)
        : sum{}
    {
        lane = me.thread;
        chain = lane / kRows * kOwn;
        row = lane % kRows;
        inside = row < block.rows_left;
        all_inside = block.rows_left >= kRows;
        ldx = p.ldx;
        x = p.x + (block.first_row + row + (s.first + chain) * ldx);
        y = s.y + lane * s.y_step;
        y_step = s.y_step;
    }
    template <bool Whole>
    __device__ __forceinline__ void read(part &to, int left)
    {
        to.y = lane < (Whole ? kSteps : min(left, kSteps)) ? *y : kFillB;
#pragma unroll
        for (int u = 0; u < kAtOnce; u++)
#pragma unroll
            for (int i = 0; i < kOwn; i++)
                to.x[u][i] = Whole || (inside && u * kChains + chain + i < left)
                                 ? x[(u * kChains + i) * ldx]
                                 : kFillA;
        x += kSteps * ldx;
        y += kSteps * y_step;
    }
    __device__ __forceinline__ void multiply(const part &by)
    {
#pragma unroll
        for (int u = 0; u < kAtOnce; u++)
#pragma unroll
            for (int i = 0; i < kOwn; i++)
                sum[i] = fmaf(by.x[u][i], __shfl_sync(~0u, by.y, u * kChains + i + chain), sum[i]);
    }
    __device__ __forceinline__ void store(float (&sums)[Tile::kPitch])
    {
#pragma unroll
        for (int distance = kChains / 2; distance > 0; distance /= 2)
#pragma unroll
            for (int i = 0; i < (distance < kOwn ? distance : kOwn); i++)
                sum[i] += distance < kOwn ? sum[(i + distance) % kOwn]
                                          : __shfl_xor_sync(~0u, sum[i], distance / kOwn * kRows);
        if (chain == 0) sums[row] = sum[0];
    }
};

/* The sums of a team, which is a warp, over a segment. */
template <class Tile, class Column>
static __device__ __forceinline__ void
sum_column(const skinny_problem &p, const skinny_block &block, const skinny_place<Tile> &me,
           float (&sums)[Tile::kPitch], int64_t segment)
{
    static_assert(Tile::kWarps == 1, "a warp has all rows of the tile");
    const column_segment s(p, segment);
    Column column(p, block, me, s);
    typename Column::part even, odd;
    auto read = [&](typename Column::part &to, int left) {
        if (column.all_inside && left >= Column::kSteps)
            column.template read<true>(to, left);
        else
            column.template read<false>(to, left);
    };
    read(even, s.steps);
#pragma unroll 1
    for (int left = s.steps; left > 0; left -= 2 * Column::kSteps) {
        read(odd, left - Column::kSteps);
        column.multiply(even);
        read(even, left - 2 * Column::kSteps);
        column.multiply(odd);
    }
    column.store(sums);
}

#endif
