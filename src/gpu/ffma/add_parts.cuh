/*
 * ffma/add_parts.cuh - the second kernel: C from the parts of tiles that several blocks shared.
 */
#ifndef DUO_FFMA_ADD_PARTS_CUH
#define DUO_FFMA_ADD_PARTS_CUH

#include "gpu/ffma/store.cuh"
#include "gpu/launch.cuh"

static __device__ __forceinline__ float4 add(float4 a, float4 b)
{
    return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

/*
 * A thread has a group of four elements of C. With Ways > 1 that many threads share a group, and
 * each adds every Ways-th part of it: for few tiles of many parts.
 */
template <class Tile, int Ways>
static __global__ void __launch_bounds__(kThreads)
    sgemm_ffma_add(sgemm_problem p, tile_shares shares)
{
    constexpr int kGroups = kThreads / Ways; /* per block */
    constexpr int kTile = Tile::kM * Tile::kN, kBlocks = kTile / (kGroup * kGroups);
    __shared__ float4 sums[Ways][kGroups];
    const int shared_tile = blockIdx.x / kBlocks;
    const int64_t begin = (int64_t)shared_tile * shares.slabs;
    const int run_first = (int)(begin / shares.share);
    const int run_last = (int)((begin + shares.slabs - 1) / shares.share);
    wait_for_kernels_ahead();
    if (run_first == run_last) return; /* one block had the whole tile, and wrote C */

    const int way = threadIdx.x / kGroups, group = threadIdx.x % kGroups;
    const int at = (blockIdx.x % kBlocks * kGroups + group) * kGroup;
    const float *const parts = shares.parts + part_of(shared_tile, 0) * kTile + at;
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll 8
    for (int run = run_first + way; run <= run_last; run += Ways)
        sum = add(sum, *reinterpret_cast<const float4 *>(parts + (int64_t)run * kTile));
    let_next_kernel_start();
    if (Ways > 1) {
        sums[way][group] = sum;
        __syncthreads();
        if (way > 0) return;
#pragma unroll
        for (int w = 1; w < Ways; w++) sum = add(sum, sums[w][group]);
    }
    int64_t i, j;
    find_tile<Tile::kM, Tile::kN>(shares, shares.whole + shared_tile, &i, &j);
    i += at % Tile::kM;
    j += at / Tile::kM;
    if (j >= p.n) return;
    const float four[kGroup] = {sum.x, sum.y, sum.z, sum.w};
    update_four(p.c + (i + j * p.ldc), four, p.beta, p.m - i, columns_aligned(p.c, p.ldc),
                [&](float x, float old) { return settle(x, p.beta, old); });
}

#endif
