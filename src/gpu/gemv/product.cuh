/* gemv/product.cuh - the kernel: a tile of C over a range of k. */
#ifndef DUO_GEMV_PRODUCT_CUH
#define DUO_GEMV_PRODUCT_CUH

#include <cuda_pipeline_primitives.h>

#include "gpu/add_ranges.cuh"
#include "gpu/gemv/along_k.cuh"
#include "gpu/gemv/along_rows.cuh"
#include "gpu/launch.cuh"
#include "gpu/sgemm.cuh"

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
