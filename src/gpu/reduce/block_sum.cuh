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

#endif
