/* gemv/product.cuh - the kernel of sgemm_gpu_gemv: a tile of C over a range of k. */
#ifndef DUO_GEMV_PRODUCT_CUH
#define DUO_GEMV_PRODUCT_CUH

#include <cuda_pipeline_primitives.h>
#include <stdint.h>

#include "gpu/add_ranges.cuh"
#include "gpu/launch.cuh"
#include "gpu/sgemm.cuh"

/* ---- The problem, and the parts of a block and its warps ---- */

constexpr int kThreads = 256, kWarps = kThreads / 32;
constexpr int kMostColumns = 8;
constexpr int kGroup = 4;    /* elements of X in a 16-byte load */
constexpr int kGroups = 8;   /* loads that a thread has under way at once */
constexpr int kChunk = 1024; /* steps of k for which a block keeps Y in shared memory */

/* Blocks per multiprocessor that the registers must allow. */
constexpr int blocks_for(int columns) { return columns == 1 ? 3 : 2; }

struct gemv_problem {
    const float *x, *y;
    float *c;
    int64_t rows, k, ldx, ldy;
    int64_t row_step, column_step; /* of C */
    int columns;
    bool y_along_k;  /* neighbours in memory are neighbours in k */
    bool aligned;    /* columns of X in memory begin on 16 bytes, as the first one does */
    int warps_m_log; /* warps of a block along rows; the others share k */
    int tiles;       /* of C */
    int ranges;
    int64_t range; /* of k, per block */
    float *slots;  /* with several ranges: add_ranges.cuh */
    unsigned *tickets;
    float alpha, beta;
};

/* The place of a block and its warp. */
struct gemv_place {
    int tile, range, warp_m, warp_k;
    int64_t first, steps; /* of k: the block's first step, and how many it has */

    /* Computed again after the last batch, since registers are scarce before. The number is
     * volatile: else the compiler would keep the values. */
    __device__ __forceinline__ explicit gemv_place(const gemv_problem &p)
    {
        int number;
        asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(number));
        const int warp = threadIdx.x / 32;
        tile = number % p.tiles;
        range = number / p.tiles;
        warp_m = warp & ((1 << p.warps_m_log) - 1);
        warp_k = warp >> p.warps_m_log;
        first = range * p.range;
        steps = p.k - first < p.range ? p.k - first : p.range;
    }
};

/*
 * The rows of a warp begin at a multiple of Rows, its turn. The last warp's begin earlier, so that
 * all are inside C. Another warp also has the rows before the turn, and stores them.
 */
template <int Rows>
static __device__ __forceinline__ int64_t turn_of(const gemv_problem &p, int tile, int warp_m)
{
    return (((int64_t)tile << p.warps_m_log) + warp_m) * Rows;
}
template <int Rows>
static __device__ __forceinline__ int64_t first_row_of(const gemv_problem &p, int64_t turn)
{
    return turn < p.rows - Rows ? turn : p.rows - Rows;
}

/* The address is a multiple of Count floats, or of 4. */
template <int Count>
static __device__ __forceinline__ void read_neighbours(float (&v)[Count], const float *from)
{
    if constexpr (Count % 4 == 0) {
#pragma unroll
        for (int i = 0; i < Count; i += 4) {
            const float4 w = *reinterpret_cast<const float4 *>(from + i);
            v[i] = w.x, v[i + 1] = w.y, v[i + 2] = w.z, v[i + 3] = w.w;
        }
    } else if constexpr (Count == 2) {
        const float2 w = *reinterpret_cast<const float2 *>(from);
        v[0] = w.x, v[1] = w.y;
    } else {
        static_assert(Count == 1, "a power of two");
        v[0] = *from;
    }
}

/* ---- Neighbours in k ---- */

/*
 * A warp's part of X times Y if neighbours in memory are neighbours in k.
 *
 * Lanes lie along k; each has four steps of eight rows, so that Y is read from shared memory once
 * for eight elements of X. The four steps are neighbours if ldx is a multiple of four, wherever X
 * begins: the order of additions must not depend on where X begins.
 */

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

/* ---- Neighbours in rows ---- */

/*
 * A warp's part of X times Y if neighbours in memory are rows of X.
 *
 * LanesM lanes lie along rows, with four rows each; the warp has 32 / LanesM groups of them, which
 * share k. Y is kept as rows of one l; all lanes of a group read a row together.
 */

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

/* ---- Kernel ---- */

/*
 * Starts to copy Y from step `first` on: `left` steps, at most a chunk. Steps past the end become
 * zero as far as a batch reaches. Columns past the last stay as they are: they enter only sums
 * outside C.
 */
template <class Part>
static __device__ __forceinline__ void load_y(float *to, const gemv_problem &p, int64_t first,
                                              int64_t left)
{
    constexpr int kColumns = Part::kColumns;
    const int inside = left < kChunk ? (int)left : kChunk;
    const int end = (inside + Part::kSteps - 1) / Part::kSteps * Part::kSteps;
    auto copy = [&](int l, int j, const float *from) {
        float *const here = to + (l * Part::kStepOfL + j * Part::kStepOfColumn);
        if (l < inside)
            __pipeline_memcpy_async(here, from, sizeof(float));
        else
            *here = 0.0f;
    };
    if (p.y_along_k) {
        const float *from = p.y + first;
#pragma unroll 1
        for (int j = 0; j < p.columns; j++, from += p.ldy)
            for (int l = threadIdx.x; l < end; l += kThreads) copy(l, j, from + l);
    } else {
        const int j = threadIdx.x % kColumns;
        if (j < p.columns)
            for (int l = threadIdx.x / kColumns; l < end; l += kThreads / kColumns)
                copy(l, j, p.y + ((first + l) * p.ldy + j));
    }
    __pipeline_commit();
}

/* An element of a tile. Neighbours in C have neighbouring numbers. */
template <class Part>
struct gemv_element {
    int row, column;

    __device__ __forceinline__ gemv_element(const gemv_problem &p, int e)
    {
        const int rows = Part::kRows << p.warps_m_log;
        row = p.row_step == 1 ? e & (rows - 1) : e / p.columns;
        column = p.row_step == 1 ? e / rows : e % p.columns;
    }
    /* Where the first warps along k leave its sum. */
    __device__ __forceinline__ int place() const
    {
        return row / Part::kRows * (Part::kRows * Part::kColumns) + column * Part::kRows +
               row % Part::kRows;
    }
    /* Its address in C; nullptr: it is another warp's. */
    __device__ __forceinline__ float *in_c(const gemv_problem &p, int tile) const
    {
        const int64_t turn = turn_of<Part::kRows>(p, tile, row / Part::kRows);
        const int64_t row_of_c = first_row_of<Part::kRows>(p, turn) + row % Part::kRows;
        return row_of_c < turn ? nullptr : p.c + (row_of_c * p.row_step + column * p.column_step);
    }
};

/* Adds the warps' `sums` and stores them to C; with several ranges the tile's last block does
 * so. */
template <class Part>
static __device__ __forceinline__ void add_and_store(const gemv_problem &p, float *sums)
{
    const gemv_place at(p);
    const int elements = (p.columns * Part::kRows) << p.warps_m_log;
    const int of_warps = (Part::kColumns * Part::kRows) << p.warps_m_log; /* with the same k */
    auto sum_of = [&](int e) -> float & { return sums[gemv_element<Part>(p, e).place()]; };
#pragma unroll 1
    for (int e = threadIdx.x; e < elements; e += kThreads) {
        float *const first = &sum_of(e);
        float sum = *first;
        for (int warp_k = 1; warp_k < kWarps >> p.warps_m_log; warp_k++)
            sum += first[warp_k * of_warps];
        *first = sum;
    }
    if (p.ranges > 1 &&
        !add_ranges<kThreads>(p.slots + (int64_t)at.tile * p.ranges * elements, p.tickets + at.tile,
                              at.range, p.ranges, elements, sums, sum_of))
        return;
#pragma unroll 1
    for (int e = threadIdx.x; e < elements; e += kThreads) {
        float *const c = gemv_element<Part>(p, e).in_c(p, at.tile);
        if (c == nullptr) continue;
        *c = blend(p.alpha, sum_of(e), p.beta, p.beta == 0.0f ? 0.0f : *c);
    }
}

template <class Part>
static __global__ void __launch_bounds__(kThreads, blocks_for(Part::kColumns))
    sgemm_gemv(gemv_problem p)
{
    constexpr int kSteps = Part::kSteps;
    __shared__ __align__(16) float shared[Part::kColumns * kChunk]; /* Y, then the warps' sums */
    static_assert(kChunk >= kWarps * Part::kRows && kChunk >= kThreads, "room for the sums");
    static_assert(kChunk % (kWarps * kSteps) == 0, "whole batches of all warps");
    const gemv_place at(p);
    const int warps_k = kWarps >> p.warps_m_log, before = at.warp_k * kSteps;
    /* Batches of this warp that are not yet multiplied, and steps of its last one. */
    int batches = (int)((at.steps + kSteps - 1) / kSteps) - at.warp_k; /* to the block's last one */
    batches = batches > 0 ? (batches + warps_k - 1) >> (3 - p.warps_m_log) : 0;
    const int64_t left = at.steps - before - (int64_t)(batches - 1) * warps_k * kSteps;
    const int last = left < kSteps ? (int)left : kSteps;
    const int chunks = (int)((at.steps + kChunk - 1) / kChunk);
    const int64_t row = first_row_of<Part::kRows>(p, turn_of<Part::kRows>(p, at.tile, at.warp_m));
    Part part(p, row, at.first + before);
    auto load_next = [&]() {
        if (batches > 0) part.load(batches > 1 ? kSteps : last, warps_k * kSteps);
    };

    wait_for_kernels_ahead();
    load_y<Part>(shared, p, at.first, at.steps);
    load_next();
#pragma unroll 1
    for (int chunk = 0; chunk < chunks; chunk++) {
        if (chunk > 0) {
            __syncthreads(); /* all threads are done with the chunk before */
            const gemv_place again(p);
            const int64_t done = (int64_t)chunk * kChunk;
            load_y<Part>(shared, p, again.first + done, again.steps - done);
        }
        __pipeline_wait_prior(0);
        __syncthreads();
#pragma unroll 1
        for (int l = before; l < kChunk && batches > 0; l += warps_k * kSteps) {
            part.multiply(shared + l * Part::kStepOfL);
            batches--;
            load_next();
        }
    }
    let_next_kernel_start();
    __syncthreads(); /* from here on the memory of Y holds sums */
    part.leave(shared + threadIdx.x / 32 * (Part::kColumns * Part::kRows));
    __syncthreads();
    add_and_store<Part>(p, shared);
}

#endif
