/*
 * reduce/block_sum.cuh - a thread block sums blocks of 8192 elements in the documented order, one
 * after the other.
 *
 * Order     docs/reference/numerics.md. Element i = 8192 b + 2048 p + 256 q + 128 h + 16 r + l.
 *           float32, per lane l:  A(r) = a(r) + a(r+4),  T = (A(0) + A(2)) + (A(1) + A(3)),
 *                                 G(q) = T(h=0) + T(h=1),
 *                                 V(p) = the eight G in adjacent pairs
 *           float64: ((V(0) + V(1)) + V(2)) + V(3), then the 16 lanes by halving (8, 4, 2, 1).
 *
 * Each of the 8 warps sums an eighth of a block: half of a V. Thread t of a warp loads elements
 * 32 j + t: 4-byte loads, which fill whole 128-byte lines for unit increments and serve every
 * alignment. Thread t then holds lane t % 16, rows t / 16 + 0, 2, 4, 6, and one exchange across 16
 * threads completes T. The eighths meet in shared memory.
 *
 * Nothing may be contracted or reordered: every addition and product is an intrinsic that rounds to
 * nearest.
 */
#ifndef DUO_REDUCE_BLOCK_SUM_CUH
#define DUO_REDUCE_BLOCK_SUM_CUH

#include <stdint.h>

constexpr int kThreads = 256, kWarps = kThreads / 32;
constexpr int kLanes = 16;
constexpr int kBlock = 8192, kEighth = kBlock / kWarps; /* elements */
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

/* ---- An eighth of a block, by one warp ---- */

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

/* Two groups: half of the thread's loads for an eighth. */
template <class Value, class Leaf>
static __device__ __forceinline__ Value pair_sum(const loaded<Leaf, 16> &in)
{
    const Value low = group_sum<Value>(in, 0);
    return add(low, group_sum<Value>(in, 8));
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

/* Half an eighth: neighbouring elements. */
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
 * Sum of the eighth that begins at element `first`, for any increments and any length; missing
 * elements count as +0, which changes no bit.
 */
template <class Leaf, class Value>
static __device__ __forceinline__ Value eighth_sum(const vectors &in, int64_t first)
{
    int64_t element = first + threadIdx.x % 32;
    const float *x = in.x + element * in.incx, *y = in.y + element * in.incy;
    Value v = 0, low = 0;
#pragma unroll 1
    for (int q = 0; q < 4; q++) {
        if (q % 2 == 0 && first + 256 * q >= in.n) break;
        loaded<Leaf, 8> group;
#pragma unroll
        for (int j = 0; j < 8; j++, element += 32, x += 32 * in.incx, y += 32 * in.incy) {
            group.x[j] = element < in.n ? load<kStrided>(x) : 0.0f;
            if (Leaf::kVectors == 2) group.y[j] = element < in.n ? load<kStrided>(y) : 0.0f;
        }
        const Value g = group_sum<Value>(group, 0);
        if (q % 2 == 0)
            low = g;
        else
            v = q == 1 ? add(low, g) : add(v, add(low, g));
    }
    return v;
}

/* Lanes of a block's eighths. */
template <class Value>
using eighths = Value[kWarps][kLanes];

/* A thread's lane of a block, from the eighths' lanes. */
template <class Value>
static __device__ __forceinline__ double lane_sum(const eighths<Value> &of)
{
    const int lane = threadIdx.x % kLanes;
    double sum = add(of[0][lane], of[1][lane]);
#pragma unroll
    for (int i = 2; i < kWarps; i += 2) sum = add(sum, (double)add(of[i][lane], of[i + 1][lane]));
    return sum;
}

/* The sum of 16 lanes, by halving, in all of 16 threads. */
static __device__ __forceinline__ double add_lanes(double sum)
{
#pragma unroll
    for (int distance = kLanes / 2; distance > 0; distance /= 2) sum = add_across(sum, distance);
    return sum;
}

/* ---- A thread block sums a piece ---- */

/*
 * One thread block sums a piece: 2^p neighbouring blocks.
 *
 * It takes the blocks in turn, so that it reads one stretch of memory from beginning to end, half a
 * block ahead of its additions. The lanes of up to 16 blocks wait in shared memory; then two
 * blocks' lanes are added by each warp, and the blocks in adjacent pairs.
 */

constexpr int kPart = 2 * kWarps; /* blocks with lanes in shared memory at a time */
constexpr int kParts = 128;       /* of the longest piece */

static_assert((kPart & (kPart - 1)) == 0, "a part is a whole tree");

/* The vectors in pieces, one for each thread block. */
struct pieces : vectors {
    int piece; /* blocks per thread block: a power of two */
};

/* Puts the lanes of a warp's eighth of block i into their places. */
template <class Value>
static __device__ __forceinline__ void put(eighths<Value> *lanes, int i, Value v)
{
    const int warp = threadIdx.x / 32, thread = threadIdx.x % 32;
    if (thread < kLanes) lanes[i][warp][thread] = v;
}

/* The lanes of a warp's eighths of blocks first + i to first + count - 1, whole or not. It is not
 * inline, or it would take registers from the loop over whole ones. */
template <class Leaf, class Value>
static __device__ __noinline__ void sum_any_eighths(const vectors &in, int first, int i, int count,
                                                    eighths<Value> *lanes)
{
    const int warp = threadIdx.x / 32;
#pragma unroll 1
    for (; i < count; i++)
        put(lanes, i, eighth_sum<Leaf, Value>(in, (int64_t)(first + i) * kBlock + warp * kEighth));
}

/* How many of blocks first, first + 1, ... have a whole eighth for the warp, at most `count`. */
static __device__ __forceinline__ int whole_eighths(const pieces &in, int first, int count)
{
    const int64_t own = (int64_t)first * kBlock + threadIdx.x / 32 * kEighth; /* first element */
    const int64_t whole = (in.n - own + kBlock - kEighth) / kBlock;           /* may be negative */
    return (int)max((int64_t)0, min(whole, (int64_t)count));
}

/* The lanes of a warp's eighths of `count` blocks from block `first` on. Blocks beyond the vectors
 * have sum 0. */
template <class Leaf, class Value, load_policy Policy>
static __device__ __forceinline__ void sum_eighths(const pieces &in, int first, int count,
                                                   eighths<Value> *lanes)
{
    if (Policy != kStrided) {
        const int warp = threadIdx.x / 32, thread = threadIdx.x % 32;
        const int64_t own = (int64_t)first * kBlock + warp * kEighth + thread;
        const float *x = in.x + own, *y = in.y + own;
        loaded<Leaf, 16> low, high;
        int left = whole_eighths(in, first, count);
        if (left > 0) load_half<Policy>(low, x, y);
        eighths<Value> *to = lanes;
#pragma unroll 1
        for (; left > 0; left--) {
            load_half<Policy>(high, x + kEighth / 2, y + kEighth / 2);
            const Value v = pair_sum<Value>(low);
            x += kBlock;
            y += kBlock;
            if (left > 1) load_half<Policy>(low, x, y);
            put(to++, 0, add(v, pair_sum<Value>(high)));
        }
    }
    const int done = Policy == kStrided ? 0 : whole_eighths(in, first, count);
    if (done < count) sum_any_eighths<Leaf, Value>(in, first, done, count, lanes);
}

/* Sums blocks first, first + 1, ... that have no finite sum once more, in float64 throughout. Every
 * thread must call, when all have added the lanes. */
template <class Leaf>
static __device__ __noinline__ void sum_anew(const vectors &in, int first, int count, double *sums)
{
    __shared__ eighths<double> lanes[1];
#pragma unroll 1
    for (int i = 0; i < count; i++) {
        if (isfinite(sums[i])) continue;
        sum_any_eighths<Leaf, double>(in, first + i, 0, 1, lanes);
        __syncthreads();
        const double sum = add_lanes(lane_sum(lanes[0]));
        if (threadIdx.x == 0) sums[i] = sum;
        __syncthreads();
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

/* Sum of the thread block's piece; valid in the first warp. Every thread must call. */
template <class Leaf, class Value, load_policy Policy>
static __device__ __forceinline__ double piece_sum(const pieces &in)
{
    __shared__ eighths<Value> lanes[kPart];
    __shared__ double sums[kPart], of_parts[kParts];
    __shared__ int done; /* blocks, in shared memory: the loop over blocks needs every register */
    const int warp = threadIdx.x / 32, block = threadIdx.x / kLanes; /* whose lanes are added */
    if (threadIdx.x == 0) done = 0;
    __syncthreads();
#pragma unroll 1
    do {
        const int part = in.piece < kPart ? in.piece : kPart;
        const int first = (int)blockIdx.x * in.piece + done;
        sum_eighths<Leaf, Value, Policy>(in, first, part, lanes);
        __syncthreads();
        bool finite = true;
        if (2 * warp < part) { /* whole warps: they exchange their lanes */
            const double of_block = add_lanes(block < part ? lane_sum(lanes[block]) : 0.0);
            finite = isfinite(of_block);
            if (block < part && threadIdx.x % kLanes == 0) sums[block] = of_block;
        }
        if (threadIdx.x == 0) done += kPart;
        if (__syncthreads_or(!finite) && sizeof(Value) < sizeof(double))
            sum_anew<Leaf>(in, (int)blockIdx.x * in.piece + done - kPart, part, sums);
        if (warp > 0) continue;
        const double sum = sum_of_shared(sums, part);
        if (threadIdx.x == 0) of_parts[done / kPart - 1] = sum;
    } while (done < in.piece);
    if (warp > 0) return 0.0;
    __syncwarp();
    return in.piece <= kPart ? of_parts[0] : sum_of_shared(of_parts, in.piece / kPart);
}

#endif
