/*
 * reduce/block_sum.cuh - one warp sums a block of 1024 elements in the documented order.
 *
 * Order     docs/numerics.md. Element i = 1024 b + 256 q + 128 h + 16 r + l.
 *           float32, per lane l:  A(r) = a(r) + a(r+4),  T = (A(0) + A(2)) + (A(1) + A(3)),
 *                                 G(q) = T(h=0) + T(h=1),  V = ((G(0) + G(1)) + G(2)) + G(3)
 *           float64: the 16 lanes by halving (8, 4, 2, 1).
 *
 * Thread t of a warp loads elements 32 j + t: 4-byte loads, which fill whole 128-byte lines for
 * unit increments and serve every alignment. Thread t then holds lane t % 16, rows t / 16 + 0, 2,
 * 4, 6, and one exchange across 16 threads completes T.
 *
 * Nothing may be contracted or reordered: every addition and product is an intrinsic that rounds to
 * nearest.
 */
#ifndef DUO_REDUCE_BLOCK_SUM_CUH
#define DUO_REDUCE_BLOCK_SUM_CUH

#include <stdint.h>

constexpr int kBlock = 1024; /* elements */
constexpr unsigned kWholeWarp = 0xffffffffu;

struct vectors {
    const float *x, *y; /* logical first elements; y only for sdot */
    int64_t n, incx, incy;
};

/* ---- Leaves ---- */

static __device__ __forceinline__ float product(float x, float y) { return __fmul_rn(x, y); }
static __device__ __forceinline__ double product(double x, double y) { return __dmul_rn(x, y); }

struct plain_leaf {
    static constexpr int kVectors = 1;
    template <class Value>
    static __device__ __forceinline__ Value of(float x, float)
    {
        return static_cast<Value>(x);
    }
};

struct absolute_leaf {
    static constexpr int kVectors = 1;
    template <class Value>
    static __device__ __forceinline__ Value of(float x, float)
    {
        return static_cast<Value>(fabsf(x));
    }
};

struct product_leaf {
    static constexpr int kVectors = 2;
    template <class Value>
    static __device__ __forceinline__ Value of(float x, float y)
    {
        return product(static_cast<Value>(x), static_cast<Value>(y));
    }
};

/* ---- One block of elements, by one warp ---- */

static __device__ __forceinline__ float add(float a, float b) { return __fadd_rn(a, b); }
static __device__ __forceinline__ double add(double a, double b) { return __dadd_rn(a, b); }

/* Adds the value of the thread `distance` away; both get the sum. The whole warp must call. */
template <class Value>
static __device__ __forceinline__ Value add_across(Value v, int distance)
{
    return add(v, __shfl_xor_sync(kWholeWarp, v, distance));
}

/* A thread's part of 32 Count elements: those at 32 j + t for j < Count. */
template <class Leaf, int Count>
struct loaded {
    float x[Count], y[Leaf::kVectors == 2 ? Count : 1];

    __device__ __forceinline__ float y_at(int j) const { return Leaf::kVectors == 2 ? y[j] : 0.0f; }
};

/* T of 128 elements, from load j on. This thread has every other row of its lane. */
template <class Value, class Leaf, int Count>
static __device__ __forceinline__ Value column_sum(const loaded<Leaf, Count> &in, int j)
{
    const Value even = add(Leaf::template of<Value>(in.x[j], in.y_at(j)),
                           Leaf::template of<Value>(in.x[j + 2], in.y_at(j + 2)));
    const Value odd = add(Leaf::template of<Value>(in.x[j + 1], in.y_at(j + 1)),
                          Leaf::template of<Value>(in.x[j + 3], in.y_at(j + 3)));
    return add_across(add(even, odd), 16);
}

/* G of 256 elements */
template <class Value, class Leaf, int Count>
static __device__ __forceinline__ Value group_sum(const loaded<Leaf, Count> &in, int j)
{
    return add(column_sum<Value>(in, j), column_sum<Value>(in, j + 4));
}

/* Sums the 16 lanes of a block, in every thread. */
template <class Value>
static __device__ __forceinline__ double add_lanes(Value lane)
{
    double sum = lane;
#pragma unroll
    for (int distance = 8; distance > 0; distance /= 2) sum = add_across(sum, distance);
    return sum;
}

/* How a kernel loads. */
enum load_policy {
    kStreamed, /* unit increments, more data than the L2 cache holds: not to be kept there */
    kCached,   /* unit increments */
    kStrided   /* any increments */
};

template <load_policy Policy>
static __device__ __forceinline__ float load(const float *p)
{
    return Policy == kCached ? __ldcg(p) : __ldcs(p);
}

/* Half a block of neighbouring elements. */
template <load_policy Policy, class Leaf>
static __device__ __forceinline__ void load_half(loaded<Leaf, 16> &to, const float *x,
                                                 const float *y)
{
#pragma unroll
    for (int j = 0; j < 16; j++) {
        to.x[j] = load<Policy>(x + 32 * j);
        if (Leaf::kVectors == 2) to.y[j] = load<Policy>(y + 32 * j);
    }
}

/*
 * Sum of the block that begins at element `first`, for any increments and any length above 0;
 * missing elements count as +0, which changes no bit. Not inline: that would take registers from
 * the loop over whole blocks.
 */
template <class Leaf, class Value>
static __device__ __noinline__ double block_sum(const vectors &in, int64_t first)
{
    int64_t element = first + threadIdx.x % 32;
    const float *x = in.x + element * in.incx, *y = in.y + element * in.incy;
    Value v = 0;
#pragma unroll 1
    for (int q = 0; q < 4 && first + 256 * q < in.n; q++) {
        loaded<Leaf, 8> group;
#pragma unroll
        for (int j = 0; j < 8; j++, element += 32, x += 32 * in.incx, y += 32 * in.incy) {
            group.x[j] = element < in.n ? load<kStrided>(x) : 0.0f;
            if (Leaf::kVectors == 2) group.y[j] = element < in.n ? load<kStrided>(y) : 0.0f;
        }
        const Value g = group_sum<Value>(group, 0);
        v = q == 0 ? g : add(v, g);
    }
    return add_lanes(v);
}

/* ---- A thread block sums a piece ---- */

/*
 * One thread block sums a piece: 2^p neighbouring blocks of 1024 elements.
 *
 * Its 8 warps take the blocks in turn, so that the thread block reads one stretch of memory from
 * beginning to end, half a block ahead of its additions. The sums of the blocks go to shared memory
 * and are added there in adjacent pairs.
 */

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
