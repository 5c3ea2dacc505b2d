/* ffma/store.cuh - stores a tile's sums. */
#ifndef DUO_FFMA_STORE_CUH
#define DUO_FFMA_STORE_CUH

#include "gpu/ffma/tile.cuh"
#include "gpu/sgemm.cuh"

/* Stores a thread's sums of a whole tile; all its columns begin on 16 bytes. */
template <class Tile>
static __device__ __forceinline__ void
store_sums(float *tile, int64_t ld, const thread_sums<Tile> &sum, const thread_place<Tile> &me)
{
    float *const first = tile + (me.i + me.j * ld);
#pragma unroll
    for (int n = 0; n < Tile::kThreadN; n++)
#pragma unroll
        for (int g = 0; g < Tile::kThreadM / kGroup; g++) {
            const float *const four = &sum[n][kGroup * g];
            const int64_t column = n / kGroup * me.kStrideN + n % kGroup;
            *reinterpret_cast<float4 *>(first + (g * me.kStrideM + column * ld)) =
                make_float4(four[0], four[1], four[2], four[3]);
        }
}

/* Stores a tile from the ring to C, for columns of any alignment: a warp reads and writes
 * neighbours. A thread reads many elements before it writes the first: reads behind a write
 * wait. */
template <class Tile>
static __device__ __forceinline__ void store_from_ring(const sgemm_problem &p, const float *ring,
                                                       int64_t first_i, int64_t first_j)
{
    constexpr int kStep = Tile::kThreads / Tile::kM, kAtOnce = 16; /* columns of a thread */
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
                    blend(p.alpha, ring[tile_j * kPitch<Tile::kM> + tile_i], p.beta, old[s]);
        }
    }
}

/* The tile goes to C; unless it is whole, C is not read and its columns begin on 16 bytes, through
 * the ring. */
template <class Tile>
static __device__ __forceinline__ void store_tile(const sgemm_problem &p, thread_sums<Tile> &total,
                                                  float *ring, const thread_place<Tile> &me,
                                                  int64_t first_i, int64_t first_j)
{
    if (p.beta == 0.0f && columns_aligned(p.c, p.ldc) && p.m - first_i >= Tile::kM &&
        p.n - first_j >= Tile::kN) {
#pragma unroll
        for (int n = 0; n < Tile::kThreadN; n++)
#pragma unroll
            for (int m = 0; m < Tile::kThreadM; m++)
                total[n][m] = blend(p.alpha, total[n][m], 0.0f, 0.0f);
        store_sums<Tile>(p.c + (first_i + first_j * p.ldc), p.ldc, total, me);
        return;
    }
    __syncthreads(); /* all threads are done with the slabs */
    store_sums<Tile>(ring, kPitch<Tile::kM>, total, me);
    __syncthreads();
    store_from_ring<Tile>(p, ring, first_i, first_j);
}

#endif
