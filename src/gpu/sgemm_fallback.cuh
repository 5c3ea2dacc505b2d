/*
 * sgemm_fallback.cuh - what the guard keeps from the first kernel: blocks of C by fp32 FMA, and
 * the planes of bf16x6. Mostly there is nothing to do, and one launch finds that out.
 *
 * Threads   256 per block. A block walks the 64 x 64 blocks of C, looks at their words as the kernel
 *           before it did, and computes those of exact_ways from the operands themselves
 * Order     one FMA chain over l = 0 .. k-1 per element: Inf and NaN come out as in reference BLAS
 */
#ifndef DUO_SGEMM_FALLBACK_CUH
#define DUO_SGEMM_FALLBACK_CUH

#include "sgemm_guard.cuh"

constexpr int kExactThreads = 256, kExactStep = 16; /* k at a time */
constexpr int kExactEdge = 4;                       /* elements of C per thread, along i and j */

static_assert(kExactThreads == kSplitThreads, "one kernel does both");

static __device__ __forceinline__ void exact_blocks(const fallback_problem &e)
{
    __shared__ float a[kExactStep][kTile + 1], b[kExactStep][kTile + 1];
    const sgemm_problem &p = e.product;
    const uint32_t *const words_a = e.split.operand[0].words, *const words_b =
                                                                  e.split.operand[1].words;
    const int k_tiles = (int)tiles_of(p.k), t = threadIdx.x;
    const int64_t blocks_i = tiles_of(p.m), blocks = blocks_i * tiles_of(p.n);
    const int i = t % 16 * kExactEdge, j = t / 16 * kExactEdge;
    for (int64_t block = blockIdx.x; block < blocks; block += gridDim.x) {
        const int64_t block_i = block % blocks_i, block_j = block / blocks_i;
        const tile_row rows = read_tile_row(words_a + block_i * k_tiles, k_tiles, p.k % kTile == 0);
        const tile_row columns =
            read_tile_row(words_b + block_j * k_tiles, k_tiles, p.k % kTile == 0);
        if ((e.exact_ways >> way_of(rows, columns, p.k) & 1) == 0) continue; /* all warps alike */
        const int64_t first_i = block_i * kTile, first_j = block_j * kTile;
        float sum[kExactEdge][kExactEdge] = {};
        for (int64_t first = 0; first < p.k; first += kExactStep) {
            __syncthreads();
            for (int x = t; x < kExactStep * kTile; x += kExactThreads) {
                const int al = e.transa ? x % kExactStep : x / kTile;
                const int ai = e.transa ? x / kExactStep : x % kTile;
                const int bl = e.transb ? x / kTile : x % kExactStep;
                const int bj = e.transb ? x % kTile : x / kExactStep;
                const int64_t gi = first_i + ai, gal = first + al, gj = first_j + bj,
                              gbl = first + bl;
                a[al][ai] = gi < p.m && gal < p.k
                                ? p.a[e.transa ? gal + gi * p.lda : gi + gal * p.lda]
                                : 0.0f;
                b[bl][bj] = gj < p.n && gbl < p.k
                                ? p.b[e.transb ? gj + gbl * p.ldb : gbl + gj * p.ldb]
                                : 0.0f;
            }
            __syncthreads();
#pragma unroll
            for (int l = 0; l < kExactStep; l++)
#pragma unroll
                for (int y = 0; y < kExactEdge; y++)
#pragma unroll
                    for (int x = 0; x < kExactEdge; x++)
                        sum[y][x] = fmaf(a[l][i + x], b[l][j + y], sum[y][x]);
        }
#pragma unroll
        for (int y = 0; y < kExactEdge; y++)
#pragma unroll
            for (int x = 0; x < kExactEdge; x++) {
                const int64_t gi = first_i + i + x, gj = first_j + j + y;
                if (gi >= p.m || gj >= p.n) continue;
                float *const c = p.c + gi + gj * p.ldc;
                *c = blend(p.alpha, sum[y][x], p.beta, p.beta == 0.0f ? 0.0f : *c);
            }
    }
}

static __global__ void __launch_bounds__(kExactThreads, 1) sgemm_fallback(fallback_problem e)
{
    let_next_kernel_start();
    wait_for_kernels_ahead();
    const uint32_t pending = *e.split.control;
    if (pending & e.exact_ways) exact_blocks(e);
    if (pending & ~e.exact_ways & kPendingBf16)
        for (unsigned tile = blockIdx.x; tile < e.split.tiles; tile += gridDim.x)
            split_tile_of<bf16x6>(e.split, tile, false);
}

#endif
