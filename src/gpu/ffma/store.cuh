/* ffma/store.cuh - stores a tile's sums to C, or to the workspace if they are a part. */
#ifndef DUO_FFMA_STORE_CUH
#define DUO_FFMA_STORE_CUH

#include "gpu/ffma/tile.cuh"
#include "gpu/sgemm.cuh"

/* The new element of C from a sum that is scaled by alpha. `old` counts only if beta != 0. */
static __device__ __forceinline__ float settle(float sum, float beta, float old)
{
    return beta == 0.0f ? sum : fmaf(beta, old, sum);
}

/* Scaled here and not when a sum enters C: so from here on sums have registers in the order of the
 * stores, and before here registers that suit the multiplications. */
static __device__ __forceinline__ void scale_sums(thread_sums &sum, float alpha)
{
#pragma unroll
    for (int n = 0; n < kThreadN; n++)
#pragma unroll
        for (int m = 0; m < kThreadM; m++) sum[n][m] *= alpha;
}

/* For warps that share the steps of a slab: the upper half hands its sums to the lower half,
 * through the ring, until the first warps have all. */
template <class Tile>
static __device__ __forceinline__ void add_warps(thread_sums &sum, float4 *ring, int warp_l)
{
#pragma unroll
    for (int half = Tile::kWarpsL / 2; half > 0; half /= 2) {
        __syncthreads();
        float4 *const sums = ring + threadIdx.x % (half * kThreads / Tile::kWarpsL);
        constexpr int kApart = kThreads / Tile::kWarpsL;
#pragma unroll
        for (int n = 0; n < kThreadN; n++)
#pragma unroll
            for (int g = 0; g < kThreadM; g += kGroup) {
                float4 *const v = sums + (n * (kThreadM / kGroup) + g / kGroup) * half * kApart;
                if (warp_l >= half && warp_l < 2 * half)
                    *v = make_float4(sum[n][g], sum[n][g + 1], sum[n][g + 2], sum[n][g + 3]);
            }
        __syncthreads();
#pragma unroll
        for (int n = 0; n < kThreadN; n++)
#pragma unroll
            for (int g = 0; g < kThreadM; g += kGroup) {
                if (warp_l < half) {
                    const float4 v = sums[(n * (kThreadM / kGroup) + g / kGroup) * half * kApart];
                    sum[n][g] += v.x;
                    sum[n][g + 1] += v.y;
                    sum[n][g + 2] += v.z;
                    sum[n][g + 3] += v.w;
                }
            }
    }
}

/* Where sums go, with room for `rows` and `columns`; all columns begin on 16 bytes. */
struct tile_target {
    float *first;
    int64_t ld, rows, columns;
};

template <class Tile>
static __device__ __forceinline__ void store_sums(const tile_target &to, const thread_sums &sum,
                                                  const thread_place<Tile> &me)
{
#pragma unroll
    for (int n = 0; n < kThreadN; n++) {
        const int tile_j = me.j + n / kGroup * me.kStrideN + n % kGroup;
        if (tile_j >= to.columns) continue;
#pragma unroll
        for (int g = 0; g < kThreadM / kGroup; g++) {
            const int tile_i = me.i + g * me.kStrideM;
            const float *const four = &sum[n][kGroup * g];
            write_four(to.first + (tile_i + tile_j * to.ld),
                       make_float4(four[0], four[1], four[2], four[3]), to.rows - tile_i, true);
        }
    }
}

/* Stores a tile from the ring to C, for columns of any alignment: a warp reads and writes
 * neighbours. A thread reads many elements before it writes the first: reads behind a write
 * wait. */
template <class Tile>
static __device__ __forceinline__ void store_from_ring(const sgemm_problem &p, const float *ring,
                                                       int64_t first_i, int64_t first_j)
{
    constexpr int kStep = kThreads / Tile::kM, kAtOnce = 16; /* columns of a thread */
    const int tile_i = threadIdx.x % Tile::kM, columns = (int)min(p.n - first_j, (int64_t)Tile::kN);
    if (first_i + tile_i >= p.m) return;
    float *const c = p.c + (first_i + tile_i + first_j * p.ldc);
#pragma unroll 1
    for (int first = threadIdx.x / Tile::kM; first < columns; first += kAtOnce * kStep) {
        float old[kAtOnce] = {};
        if (p.beta != 0.0f) {
#pragma unroll
            for (int s = 0; s < kAtOnce; s++)
                if (first + s * kStep < columns) old[s] = c[(first + s * kStep) * p.ldc];
        }
#pragma unroll
        for (int s = 0; s < kAtOnce; s++) {
            const int tile_j = first + s * kStep;
            if (tile_j < columns)
                c[tile_j * p.ldc] =
                    settle(ring[tile_j * kPitch<Tile::kM> + tile_i], p.beta, old[s]);
        }
    }
}

/* The tile goes to C; if it is a part, to the workspace; if C has to be read or its columns do not
 * begin on 16 bytes, to the ring, and from there to C. */
template <class Tile>
static __device__ __forceinline__ void store_tile(const sgemm_problem &p, const tile_shares &shares,
                                                  const slab_run &run, const thread_sums &sum,
                                                  float *ring, const thread_place<Tile> &me,
                                                  int64_t first_i, int64_t first_j)
{
    const bool part = run.first > 0 || run.last < shares.slabs;
    const bool by_ring = !part && (p.beta != 0.0f || !columns_aligned(p.c, p.ldc));
    tile_target to = {p.c + (first_i + first_j * p.ldc), p.ldc, p.m - first_i, p.n - first_j};
    if (part || by_ring) {
        float *const parts =
            shares.parts +
            part_of(run.tile - shares.whole, blockIdx.x - shares.whole) * (Tile::kM * Tile::kN);
        to = {part ? parts : ring, part ? Tile::kM : kPitch<Tile::kM>, Tile::kM, Tile::kN};
    }
    if (by_ring) __syncthreads(); /* all threads are done with the slabs */
    if (me.warp_l == 0) store_sums<Tile>(to, sum, me);
    if (by_ring) {
        __syncthreads();
        store_from_ring<Tile>(p, ring, first_i, first_j);
    }
}

#endif
