/*
 * batched/elements.cuh - the kernels of batches that have little work for an element of C. These
 * are vector products, and products of few k.
 *
 * Accepts   any m, n, k, transposes, leading dimensions and alignment; C of all products has fewer
 *           than 2^32 elements
 * Threads   256 per block, which count elements, lanes or tiles: i before j before the product
 * Order     product_order.h
 */
#ifndef DUO_BATCHED_ELEMENTS_CUH
#define DUO_BATCHED_ELEMENTS_CUH

#include <type_traits>

#include "gpu/batched/places.cuh"
#include "gpu/batched/plan.h"
#include "gpu/launch.cuh"
#include "gpu/sgemm.cuh"

constexpr int kElementThreads = 256;

/* Floats from an element of op(A) or op(B) to the next one along i, j or k. */
struct element_steps {
    int64_t a_i, a_k, b_j, b_k;
};

struct element_batch {
    sgemm_problem p; /* of the first product */
    batch_places places;
    element_steps step;
    uint32_t down;            /* elements along i that threads count */
    uint32_t of_product, all; /* what threads count */
};

/* ---- Vector products: a thread or eight lanes for each element ---- */

/* One lane has all chains of an element; or eight lanes have one each: neighbours, or, so that
 * neighbours read neighbouring elements, of eight warps (ByWarps). */
template <int Lanes, bool ByWarps>
static __global__ void __launch_bounds__(kElementThreads)
    sgemm_batched_vectors(const __grid_constant__ element_batch batch)
{
    static_assert(Lanes == 1 || Lanes == DUO_CHAINS, "all chains, or one");
    static_assert(!ByWarps || (Lanes == DUO_CHAINS && kElementThreads == 32 * DUO_CHAINS),
                  "a chain for each warp");
    constexpr int kChains = DUO_CHAINS / Lanes, kAtOnce = Lanes == 1 ? 2 : 4;
    __shared__ float of_warp[ByWarps ? DUO_CHAINS : 1][32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const uint32_t thread =
        blockIdx.x * (kElementThreads / Lanes) + (ByWarps ? (uint32_t)lane : threadIdx.x / Lanes);
    const int first_chain = ByWarps ? warp : threadIdx.x % Lanes;
    const uint32_t number = min(thread, batch.all - 1);
    const uint32_t product = number / batch.of_product, within = number % batch.of_product;
    const uint32_t i = within % batch.down, j = within / batch.down;
    const element_steps &step = batch.step;
    sgemm_problem p = batch.p;
    wait_for_kernels_ahead();
    batch.places.find(p, product);
    const float *a = p.a + i * step.a_i + first_chain * step.a_k;
    const float *b = p.b + j * step.b_j + first_chain * step.b_k;
    float total = p.k > 0 ? kNoSegment : 0.0f;
    for (int64_t first = 0; first < p.k; first += DUO_SEGMENT) {
        const int steps = (int)min(p.k - first, (int64_t)DUO_SEGMENT);
        const int groups = steps / DUO_CHAINS, left = steps % DUO_CHAINS - first_chain;
        float chain[kChains] = {};
        /* Reads of several groups are under way before one is used. */
        auto multiply = [&](auto groups_at_once) {
            constexpr int kGroups = decltype(groups_at_once)::value;
            float x[kGroups][kChains], y[kGroups][kChains];
#pragma unroll
            for (int q = 0; q < kGroups; q++)
#pragma unroll
                for (int z = 0; z < kChains; z++) {
                    x[q][z] = a[(q * DUO_CHAINS + z) * step.a_k];
                    y[q][z] = b[(q * DUO_CHAINS + z) * step.b_k];
                }
#pragma unroll
            for (int q = 0; q < kGroups; q++)
#pragma unroll
                for (int z = 0; z < kChains; z++) chain[z] = fmaf(x[q][z], y[q][z], chain[z]);
            a += kGroups * DUO_CHAINS * step.a_k;
            b += kGroups * DUO_CHAINS * step.b_k;
        };
        int g = 0;
#pragma unroll 1
        for (; g + kAtOnce <= groups; g += kAtOnce)
            multiply(std::integral_constant<int, kAtOnce>());
#pragma unroll 1
        for (; g < groups; g++) multiply(std::integral_constant<int, 1>());
#pragma unroll
        for (int z = 0; z < kChains; z++)
            if (z < left) chain[z] = fmaf(a[z * step.a_k], b[z * step.b_k], chain[z]);
        auto add_halves = [](float(&x)[DUO_CHAINS]) {
#pragma unroll
            for (int half = DUO_CHAINS / 2; half > 0; half /= 2)
#pragma unroll
                for (int z = 0; z < half; z++) x[z] += x[z + half];
        };
        if constexpr (ByWarps) {
            float all[DUO_CHAINS];
            of_warp[warp][lane] = chain[0];
            __syncthreads();
#pragma unroll
            for (int z = 0; z < DUO_CHAINS; z++) all[z] = of_warp[z][lane];
            __syncthreads();
            add_halves(all);
            total += all[0];
        } else if constexpr (Lanes == 1) {
            add_halves(chain);
            total += chain[0];
        } else {
#pragma unroll
            for (int half = DUO_CHAINS / 2; half > 0; half /= 2)
                chain[0] += __shfl_xor_sync(~0u, chain[0], half);
            total += chain[0];
        }
    }
    let_next_kernel_start();
    if (thread >= batch.all || first_chain != 0) return;
    float *const c = p.c + i + j * p.ldc;
    *c = blend(p.alpha, total, p.beta, p.beta == 0.0f ? 0.0f : *c);
}

/* ---- Few k: a thread has several columns j of one row i ---- */

constexpr int kOuterColumns = DUO_BATCHED_OUTER_COLUMNS;

template <int Steps>
static __global__ void __launch_bounds__(kElementThreads)
    sgemm_batched_outer(const __grid_constant__ element_batch batch)
{
    constexpr int kColumns = kOuterColumns;
    const uint32_t number = blockIdx.x * kElementThreads + threadIdx.x;
    const element_steps &step = batch.step;
    sgemm_problem p = batch.p;
    wait_for_kernels_ahead();
    if (number >= batch.all) return;
    const uint32_t product = number / batch.of_product, within = number % batch.of_product;
    const uint32_t i = within % batch.down;
    const int64_t j = (int64_t)(within / batch.down) * kColumns;
    const int k = (int)p.k, columns = (int)min(p.n - j, (int64_t)kColumns);
    batch.places.find(p, product);
    const float *const b = p.b + j * step.b_j;
    float *const c = p.c + i + j * p.ldc;
    float a[Steps], old[kColumns] = {};
#pragma unroll
    for (int l = 0; l < Steps; l++) a[l] = l < k ? p.a[i * step.a_i + l * step.a_k] : kFillA;
    if (p.beta != 0.0f)
#pragma unroll
        for (int x = 0; x < kColumns; x++)
            if (x < columns) old[x] = c[x * p.ldc];
    let_next_kernel_start();
#pragma unroll
    for (int x = 0; x < kColumns; x++) {
        float sum = 0.0f;
        if (x >= columns) break;
#pragma unroll
        for (int l = 0; l < Steps; l++)
            sum = fmaf(a[l], l < k ? b[x * step.b_j + l * step.b_k] : kFillB, sum);
        c[x * p.ldc] = blend(p.alpha, sum, p.beta, old[x]);
    }
}

/* ---- Few k, at least 1: a warp has 64 x 64 elements, a lane two rows i ---- */

constexpr int kOuterEdge = DUO_BATCHED_OUTER_EDGE, kOuterWarps = kElementThreads / 32;

template <int Steps>
static __global__ void __launch_bounds__(kElementThreads)
    sgemm_batched_outer_tiles(const __grid_constant__ element_batch batch)
{
    constexpr int kRows = kOuterEdge / 32, kAtOnce = 4; /* of a lane; columns */
    /* From column to column. The gap lets eight lanes store 16 bytes each into all banks if op(B)'s
     * columns are neighbours; with 4 steps, two by two. */
    constexpr int kPitch = Steps < 4 ? Steps : Steps + 4;
    __shared__ alignas(16) float columns_of[kOuterWarps][kOuterEdge][kPitch];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const uint32_t number = blockIdx.x * kOuterWarps + warp;
    const element_steps &step = batch.step;
    sgemm_problem p = batch.p;
    wait_for_kernels_ahead();
    if (number >= batch.all) return;
    const uint32_t product = number / batch.of_product, within = number % batch.of_product;
    const int64_t i = (int64_t)(within % batch.down) * kOuterEdge + lane;
    const int64_t j = (int64_t)(within / batch.down) * kOuterEdge;
    const int k = (int)p.k, columns = (int)min(p.n - j, (int64_t)kOuterEdge);
    batch.places.find(p, product);
    float a[kRows][Steps];
    bool inside[kRows];
#pragma unroll
    for (int r = 0; r < kRows; r++) {
        inside[r] = i + r * 32 < p.m;
#pragma unroll
        for (int l = 0; l < Steps; l++)
            a[r][l] = inside[r] && l < k ? p.a[(i + r * 32) * step.a_i + l * step.a_k] : kFillA;
    }
    float(&b)[kOuterEdge][kPitch] = columns_of[warp];
    const float *const from = p.b + j * step.b_j;
    if (step.b_j == 1) {
#pragma unroll(Steps < 16 ? 2 : 1)
        for (int x = lane; x < kOuterEdge; x += 32) {
            float column[Steps];
#pragma unroll
            for (int l = 0; l < Steps; l++)
                column[l] = x < columns && l < k ? from[x + l * step.b_k] : kFillB;
            if constexpr (Steps < 4)
#pragma unroll
                for (int l = 0; l < Steps; l++) b[x][l] = column[l];
            else
#pragma unroll
                for (int l = 0; l < Steps; l += 4)
                    *reinterpret_cast<float4 *>(&b[x][l]) =
                        make_float4(column[l], column[l + 1], column[l + 2], column[l + 3]);
        }
    } else {
#pragma unroll
        for (int x = lane / Steps; x < kOuterEdge; x += 32 / Steps)
            b[x][lane % Steps] =
                x < columns && lane % Steps < k ? from[lane % Steps + x * step.b_j] : kFillB;
    }
    __syncwarp();
    let_next_kernel_start();
    float *c = p.c + i + j * p.ldc;
#pragma unroll 1
    for (int first = 0; first < columns; first += kAtOnce, c += kAtOnce * p.ldc) {
        float old[kAtOnce][kRows] = {};
        if (p.beta != 0.0f)
#pragma unroll
            for (int x = 0; x < kAtOnce; x++)
#pragma unroll
                for (int r = 0; r < kRows; r++)
                    if (inside[r] && first + x < columns) old[x][r] = c[x * p.ldc + r * 32];
        float sum[kAtOnce][kRows] = {};
#pragma unroll
        for (int x = 0; x < kAtOnce; x++)
#pragma unroll
            for (int l = 0; l < Steps; l++)
#pragma unroll
                for (int r = 0; r < kRows; r++)
                    sum[x][r] = fmaf(a[r][l], b[first + x][l], sum[x][r]);
#pragma unroll
        for (int x = 0; x < kAtOnce; x++)
#pragma unroll
            for (int r = 0; r < kRows; r++) {
                /* blend without branches; -0 changes no product */
                const float more = p.beta != 0.0f ? p.beta * old[x][r] : -0.0f;
                const float value = one_nan(fmaf(p.alpha, sum[x][r], more));
                if (inside[r] && first + x < columns) c[x * p.ldc + r * 32] = value;
            }
    }
}

#endif
