/*
 * reduce/piece_sum.cuh - one thread block sums a piece: 2^p neighbouring blocks of 1024 elements.
 *
 * Its 8 warps take the blocks in turn, so that the thread block reads one stretch of memory from
 * beginning to end, half a block ahead of its additions. The sums of the blocks go to shared memory
 * and are added there in adjacent pairs.
 */
#ifndef DUO_REDUCE_PIECE_SUM_CUH
#define DUO_REDUCE_PIECE_SUM_CUH

#include "gpu/reduce/block_sum.cuh"

constexpr int kThreads = 256, kWarps = kThreads / 32;
constexpr int kPart = 128 * kWarps; /* blocks with sums in shared memory at a time */

static_assert((kPart & (kPart - 1)) == 0 && kPart >= 32, "a part is a whole tree");

/* The vectors in pieces, one for each thread block. */
struct pieces : vectors {
    int piece; /* blocks of elements per thread block: a power of two, kWarps or more */
};

/*
 * Puts the sums of a warp's blocks into their places in `sums`: blocks first, first + kWarps, first
 * + 2 kWarps, ..., `count` of them. Blocks beyond the vectors have sum 0.
 */
template <class Leaf, class Value, load_policy Policy>
static __device__ __forceinline__ void sum_blocks(const pieces &in, int64_t first, int count,
                                                  double *sums)
{
    const int thread = threadIdx.x % 32;
    bool finite = true;
    int i = 0;
    if (Policy != kStrided) {
        const int64_t whole = (in.n / kBlock - first + kWarps - 1) / kWarps;
        const int wholes = whole < count ? (int)whole : count; /* may be negative */
        const float *x = in.x + first * kBlock + thread, *y = in.y + first * kBlock + thread;
        loaded<Leaf, 16> low, high;
        if (wholes > 0) load_half<Policy>(low, x, y);
#pragma unroll 1
        for (; i < wholes; i++) {
            load_half<Policy>(high, x + 512, y + 512);
            Value v = group_sum<Value>(low, 0);
            v = add(v, group_sum<Value>(low, 8));
            x += kWarps * kBlock;
            y += kWarps * kBlock;
            if (i + 1 < wholes) load_half<Policy>(low, x, y);
            v = add(v, group_sum<Value>(high, 0));
            const double sum = add_lanes(add(v, group_sum<Value>(high, 8)));
            if (thread == 0) sums[i * kWarps] = sum;
            finite = finite && isfinite(sum);
        }
    }
#pragma unroll 1
    for (; i < count; i++) {
        const int64_t element = (first + i * kWarps) * kBlock;
        const double sum = element < in.n ? block_sum<Leaf, Value>(in, element) : 0.0;
        if (thread == 0) sums[i * kWarps] = sum;
        finite = finite && isfinite(sum);
    }
    if (finite || sizeof(Value) == sizeof(double)) return;
    __syncwarp();
#pragma unroll 1
    for (i = 0; i < count; i++) {
        if (isfinite(sums[i * kWarps])) continue;
        const double sum = block_sum<Leaf, double>(in, (first + i * kWarps) * kBlock);
        __syncwarp(); /* every thread has looked at the sum */
        if (thread == 0) sums[i * kWarps] = sum;
    }
}

/* Sums `count` values in shared memory in adjacent pairs; every thread of the calling warp gets the
 * sum. count: a power of two. The values are overwritten. */
static __device__ __forceinline__ double sum_of_shared(double *value, int count)
{
    const int thread = threadIdx.x % 32, each = count / 32;
    double *const own = value + thread * each;
    for (int step = 1; step < each; step *= 2)
        for (int i = 0; i < each; i += 2 * step) own[i] = add(own[i], own[i + step]);
    double sum = each > 0 ? own[0] : thread < count ? value[thread] : 0.0;
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) sum = add_across(sum, distance);
    return sum;
}

/*
 * Adds sums in adjacent pairs as they come. Thread L of the warp keeps the sum of the last run of
 * 2^L until the next such run is complete.
 */
struct pair_sum {
    double waiting = 0.0;

    /* Adds the sum with this index (0, 1, 2, ...); every thread of the warp has it. Returns the sum
     * of the largest run that ends here. */
    __device__ __forceinline__ double add_next(int index, double sum)
    {
        int level = 0;
        for (; index >> level & 1; level++) sum = add(__shfl_sync(kWholeWarp, waiting, level), sum);
        if (threadIdx.x % 32 == level) waiting = sum;
        return sum;
    }
};

/* Sum of the thread block's piece; valid in the first warp. Every thread must call. */
template <class Leaf, class Value, load_policy Policy>
static __device__ __forceinline__ double piece_sum(const pieces &in)
{
    __shared__ double sums[kPart];
    const int warp = threadIdx.x / 32, part = in.piece < kPart ? in.piece : kPart;
    const int64_t first = (int64_t)blockIdx.x * in.piece;
    pair_sum pairs;
    double sum = 0.0;
    for (int done = 0; done < in.piece; done += part) {
        if (done > 0) __syncthreads(); /* the sums before were added */
        sum_blocks<Leaf, Value, Policy>(in, first + done + warp, part / kWarps, sums + warp);
        __syncthreads();
        if (warp == 0) sum = pairs.add_next(done / part, sum_of_shared(sums, part));
    }
    return sum;
}

#endif
