/*
 * skinny/add_ranges.cuh - a tile's sum over all ranges of k, by the last of its blocks to come.
 *
 * A second kernel would cost another launch. Each block leaves its sums in its slot of the
 * workspace, kRows x kColumns floats with rows as neighbours, and takes a ticket.
 *
 * Order     `together` neighbouring ranges are added by the last of their blocks, then those sums
 *           likewise, whichever block is last: a thread's slots in their order, then shares of
 *           threads by halving
 */
#ifndef DUO_ADD_RANGES_CUH
#define DUO_ADD_RANGES_CUH

#include "gpu/last_to_come.cuh"
#include "gpu/skinny/block.cuh"

/* after.tile becomes the sum of `count` slots, `stride` floats apart; as many columns as are
 * inside. Several threads share the slots of an element where elements are few. */
template <class Tile>
static __device__ __forceinline__ void add_slots(sums<Tile> &after, const float *slot, int count,
                                                 int64_t stride, int columns)
{
    constexpr int kLeastSlots = 4; /* for a thread */
    constexpr int kWidth = sums<Tile>::kWidth;
    const int units = columns * Tile::kRows / kWidth;
    int shares = 1;
    while (2 * shares * units <= kThreads && count > kLeastSlots * shares) shares *= 2;
    const int per_share = kThreads / shares, share = threadIdx.x / per_share;
    for (int first = 0; first < units; first += per_share) {
        const int unit = first + threadIdx.x % per_share;
        floats<kWidth> sum = {};
        if (unit < units) {
#pragma unroll 4
            for (int s = share; s < count; s += shares) {
                const float *const from = slot + s * stride + unit * kWidth;
                if constexpr (kWidth == 4) {
                    const float4 v = __ldcg(reinterpret_cast<const float4 *>(from));
                    sum.v[0] += v.x, sum.v[1] += v.y, sum.v[2] += v.z, sum.v[3] += v.w;
                } else {
                    sum.v[0] += __ldcg(from);
                }
            }
        }
        for (int half = shares / 2; half > 0; half /= 2) {
            after.share[threadIdx.x] = sum;
            __syncthreads();
            if (share < half)
#pragma unroll
                for (int i = 0; i < kWidth; i++)
                    sum.v[i] += after.share[threadIdx.x + half * per_share].v[i];
            __syncthreads();
        }
        if (share == 0 && unit < units)
#pragma unroll
            for (int i = 0; i < kWidth; i++)
                after.tile[unit * kWidth / Tile::kRows][unit * kWidth % Tile::kRows + i] = sum.v[i];
    }
}

/* Every block of the tile brings its range's sums in after.tile. The last to come gets true, and
 * the sums over all ranges there; the others get false. */
template <class Tile>
static __device__ __forceinline__ bool add_ranges(const skinny_problem &p,
                                                  const skinny_block &block, sums<Tile> &after)
{
    __shared__ bool last;
    constexpr int kSlot = Tile::kRows * Tile::kColumns; /* floats */
    float *const slots = p.partial + (int64_t)block.tile * p.ranges * kSlot;
    unsigned *const tickets = p.tickets + block.tile * p.ranges;
    const int columns =
        block.columns_left < Tile::kColumns ? (int)block.columns_left : Tile::kColumns;
    int ticket = 0; /* of those with the same first range; there are as many as ranges */
    for (int stride = 1; stride < p.ranges; stride *= p.together) {
        const int mine = block.range / stride * stride;
        const int first = mine / (stride * p.together) * (stride * p.together);
        const int end = min(first + stride * p.together, p.ranges);
        const int count = (end - first + stride - 1) / stride;
        float *const slot = slots + mine * kSlot;
        for (int e = threadIdx.x; e < columns * Tile::kRows; e += kThreads)
            __stcg(slot + e, after.tile[e / Tile::kRows][e % Tile::kRows]);
        __syncthreads();
        if (threadIdx.x == 0) last = is_last(tickets + first + ticket++, count);
        __syncthreads();
        if (!last) return false;
        add_slots<Tile>(after, slots + first * kSlot, count, (int64_t)stride * kSlot, columns);
        __syncthreads();
    }
    return true;
}

#endif
