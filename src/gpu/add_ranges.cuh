/*
 * add_ranges.cuh - adds a tile's sums over all ranges of k, in the last of its blocks to arrive.
 *
 * A second kernel would cost another launch. Each block leaves the sums of its range in its slot of
 * the workspace and takes a ticket. The last block adds the slots. This pays only if they are few
 * and short: one block reads far more slowly than the whole device.
 *
 * Order     the same whichever block is last: a thread's slots in their order, then shares of
 *           threads by halving
 */
#ifndef DUO_ADD_RANGES_CUH
#define DUO_ADD_RANGES_CUH

#include <stdint.h>

#include "gpu/launch.cuh"

constexpr int kSlotsAtOnce = 8; /* slots that a thread reads before it adds them */

/* Threads that share the slots of an element, if elements are few: a power of two. */
static __host__ __device__ inline int slot_shares(int threads, int elements, int slots)
{
    int shares = 1;
    while (2 * shares * elements <= threads && slots > kSlotsAtOnce * shares) shares *= 2;
    return shares;
}

/* How often a thread waits for slots, at most. */
static inline double slot_rounds(int threads, int elements, int64_t slots)
{
    const int64_t at_once = kSlotsAtOnce * slot_shares(threads, elements, (int)slots);
    return (double)((elements + threads - 1) / threads * ((slots + at_once - 1) / at_once));
}

/* The sum of every `step`-th slot from the first on; `slot`: the element in slot 0. */
static __device__ __forceinline__ float sum_of_slots(const float *slot, int first, int step,
                                                     int slots, int elements)
{
    float sum = 0.0f;
#pragma unroll 1
    for (int s = first; s < slots; s += kSlotsAtOnce * step) {
        float v[kSlotsAtOnce];
#pragma unroll
        for (int i = 0; i < kSlotsAtOnce; i++)
            v[i] = s + i * step < slots ? __ldcg(slot + (int64_t)(s + i * step) * elements) : 0.0f;
#pragma unroll
        for (int i = 0; i < kSlotsAtOnce; i++) sum += v[i];
    }
    return sum;
}

/*
 * Every block of a tile brings sum(e) of each element e, in shared memory. The last block gets true
 * and the sums over all ranges there; the others get false. `slots` and `ticket` are the tile's.
 * scratch has room for a float of each thread, and may be the memory of the sums. All threads of
 * the block must call.
 */
template <int Threads, class Sum>
static __device__ __forceinline__ bool add_ranges(float *slots, unsigned *ticket, int range,
                                                  int ranges, int elements, float *scratch, Sum sum)
{
    float *const own = slots + (int64_t)range * elements;
    for (int e = threadIdx.x; e < elements; e += Threads) __stcg(own + e, sum(e));
    __syncthreads();
    const bool last = threadIdx.x == 0 && is_last(ticket, ranges);
    if (!__syncthreads_or(last)) return false;

    const int shares = slot_shares(Threads, elements, ranges);
    if (shares == 1) {
        for (int e = threadIdx.x; e < elements; e += Threads)
            sum(e) = sum_of_slots(slots + e, 0, 1, ranges, elements);
    } else {
        const int per_share = Threads / shares, share = threadIdx.x / per_share;
        const int e = threadIdx.x % per_share;
        float total = 0.0f;
        if (e < elements) total = sum_of_slots(slots + e, share, shares, ranges, elements);
        for (int half = shares / 2; half > 0; half /= 2) {
            scratch[threadIdx.x] = total;
            __syncthreads();
            if (share < half) total += scratch[threadIdx.x + half * per_share];
            __syncthreads();
        }
        if (share == 0 && e < elements) sum(e) = total;
    }
    __syncthreads();
    return true;
}

/* The same with a constant number of elements, so a thread reads all its elements of a slot at
 * once. Threads or Elements is a multiple of the other. */
template <int Threads, int Elements, class Sum>
static __device__ __forceinline__ bool add_tile_ranges(float *slots, unsigned *ticket, int range,
                                                       int ranges, float *scratch, Sum sum)
{
    constexpr int kEach = Elements > Threads ? Elements / Threads : 1;
    constexpr int kShares = Elements < Threads ? Threads / Elements : 1;
    static_assert(Elements * kShares == Threads * kEach, "threads share all alike");
    const int first = threadIdx.x % (Threads / kShares), share = threadIdx.x / (Threads / kShares);
    if (share == 0)
#pragma unroll
        for (int i = 0; i < kEach; i++)
            slots[range * Elements + first + i * Threads] = sum(first + i * Threads);
    __syncthreads();
    const bool last = threadIdx.x == 0 && is_last(ticket, ranges);
    if (!__syncthreads_or(last)) return false;

    float total[kEach] = {};
#pragma unroll 4
    for (int slot = share; slot < ranges; slot += kShares)
#pragma unroll
        for (int i = 0; i < kEach; i++)
            total[i] += __ldcg(slots + slot * Elements + first + i * Threads);
    for (int half = kShares / 2; half > 0; half /= 2) {
        scratch[threadIdx.x] = total[0];
        __syncthreads();
        if (share < half) total[0] += scratch[threadIdx.x + half * Elements];
        __syncthreads();
    }
    if (share == 0)
#pragma unroll
        for (int i = 0; i < kEach; i++) sum(first + i * Threads) = total[i];
    __syncthreads();
    return true;
}

#endif
