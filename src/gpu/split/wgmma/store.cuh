/* split/wgmma/store.cuh - stores sums to C; if k is cut, through the workspace. */
#ifndef DUO_SPLIT_WGMMA_STORE_CUH
#define DUO_SPLIT_WGMMA_STORE_CUH

#include <type_traits>

#include "gpu/split/wgmma/tile.cuh"

/*
 * Leaves a warpgroup's sums of its slice of tile t in the workspace. The last warpgroup gets true
 * and the sums of all slices, added in the order of the slices; the others get false.
 */
template <int Registers>
static __device__ __forceinline__ bool last_to_come(const wgmma_problem &p, int t, int slice,
                                                    int multiplier, float (&sum)[Registers])
{
    __shared__ uint32_t come[kMultipliers];
    constexpr int kFours = Registers / 4;
    const int thread = threadIdx.x % kWarpgroup, place = t * kMultipliers + multiplier;
    float4 *const mine = reinterpret_cast<float4 *>(p.partials) +
                         (int64_t)place * p.slices * kFours * kWarpgroup + thread;
#pragma unroll
    for (int f = 0; f < kFours; f++)
        __stcg(mine + (slice * kFours + f) * kWarpgroup,
               make_float4(sum[4 * f], sum[4 * f + 1], sum[4 * f + 2], sum[4 * f + 3]));
    __threadfence();
    sync_warpgroup(multiplier);
    if (thread == 0) come[multiplier] = atomicAdd(p.tickets + place, 1u);
    sync_warpgroup(multiplier);
    if ((int)come[multiplier] != p.slices - 1) return false;
    __threadfence();
    if (thread == 0) p.tickets[place] = 0;
#pragma unroll
    for (int r = 0; r < Registers; r++) sum[r] = 0.0f;
    for (int s = 0; s < p.slices; s++) {
#pragma unroll
        for (int f = 0; f < kFours; f++) {
            const float4 part = __ldcg(mine + (s * kFours + f) * kWarpgroup);
            sum[4 * f] += part.x;
            sum[4 * f + 1] += part.y;
            sum[4 * f + 2] += part.z;
            sum[4 * f + 3] += part.w;
        }
    }
    return true;
}

/* Stores a warpgroup's sums of kWidth rows i and 64 columns j; `stored`: a bit for each 64 rows. */
template <class Tile, int Registers>
static __device__ __forceinline__ void store_half(const tensor_problem &p,
                                                  const float (&sum)[Registers], const int *limit,
                                                  uint32_t stored, int64_t first_i, int64_t first_j)
{
    const int warp = threadIdx.x % kWarpgroup / 32;
    const bool aligned = columns_aligned(p.c, p.ldc);
    auto store = [&](auto plain) {
#pragma unroll
        for (int g = 0; g < Tile::kWidth / 8; g += 2)
            store_square<plain.value>(
                p, &sum[4 * g], unit::of(typename Tile::Scheme(), limit[g / 8]), first_i + g * 8,
                first_j + warp * 16, (stored >> (g / 8) & 1) != 0, aligned);
    };
    if (!aligned && p.beta == 0.0f) {
#pragma unroll
        for (int g = 0; g < Tile::kWidth / 8; g += 2)
            store_unaligned(p, &sum[4 * g], unit::of(typename Tile::Scheme(), limit[g / 8]),
                            first_i + g * 8, first_j + warp * 16, (stored >> (g / 8) & 1) != 0);
    } else if (aligned && first_i + Tile::kWidth <= p.m && first_j + 64 <= p.n)
        store(std::true_type());
    else
        store(std::false_type());
}

#endif
