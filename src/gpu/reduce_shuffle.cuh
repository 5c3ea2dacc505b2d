/*
 * reduce_shuffle.cuh - sums in one launch and in the one order that the CPU's lanes use too.
 *
 * Accepts   any n in [1, 2^36], any increment, any alignment
 * Threads   256 per thread block; a warp sums runs of 2^r blocks of 1024 elements, one after the
 *           other. The last thread block to finish adds what the others left (a ticket tells it).
 * Order     docs/numerics.md. Element i = 1024 b + 256 q + 128 h + 16 r + l.
 *           float32, per lane l:  A(r) = a(r) + a(r+4),  T = (A(0) + A(2)) + (A(1) + A(3)),
 *                                 G(q) = T(h=0) + T(h=1),  V = ((G(0) + G(1)) + G(2)) + G(3)
 *           float64: the 16 lanes by halving (8, 4, 2, 1), then the blocks in adjacent pairs, an
 *           odd one moving up, as in a tree padded with zeros; at last one rounding.
 *           A block whose sum is not finite is summed once more, in float64 throughout.
 * Traffic   4 n bytes per vector, read once
 *
 * Thread t of a warp loads elements 32 j + t: 4-byte loads that are whole 128-byte lines for unit
 * increments and serve every alignment. On the H100 they beat 16-byte loads by 10 %. Thread t then
 * holds lane t % 16, rows t / 16 + 0, 2, 4, 6, and one exchange across 16 threads completes T.
 *
 * Nothing may be contracted or reordered: every addition and product is an intrinsic that rounds to
 * nearest.
 */
#ifndef DUO_REDUCE_SHUFFLE_CUH
#define DUO_REDUCE_SHUFFLE_CUH

#include "kernels.h"
#include "launch.cuh"

constexpr int kThreads = 256, kWarps = kThreads / 32;
constexpr int kBlock = 1024;                                /* elements */
constexpr int kPartialsPerThread = DUO_PARTIALS / kThreads; /* for the last thread block */
constexpr int64_t kLongest = (int64_t)1 << 36;
constexpr unsigned kWholeWarp = 0xffffffffu;

static_assert(kWarps == 8 && kPartialsPerThread == 8, "the trees below have these widths");
static_assert(kLongest / kBlock / kWarps / DUO_PARTIALS <= INT32_MAX, "a run's length is an int");

struct reduction {
    const float *x, *y; /* logical first elements; y of sdot alone */
    int64_t n, incx, incy;
    int run; /* blocks per warp, a power of two */
    double *partials;
    unsigned *counter;
    float *result;
    uint64_t *slot; /* not NULL: the result goes here, with the ticket */
    uint32_t ticket;
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

/* T of 128 elements, of which this thread has every other row of its lane. */
template <class Leaf, class Value>
static __device__ __forceinline__ Value column_sum(const float *x, const float *y)
{
    const Value even =
        add(Leaf::template of<Value>(x[0], y[0]), Leaf::template of<Value>(x[2], y[2]));
    const Value odd =
        add(Leaf::template of<Value>(x[1], y[1]), Leaf::template of<Value>(x[3], y[3]));
    return add_across(add(even, odd), 16);
}

/* One block of the vectors, and how many elements are left from its first one on. */
struct block_view {
    const float *x, *y;
    int64_t incx, incy;
    int left; /* 1 .. kBlock */
};

/*
 * Sum of a block, in every thread of the warp; the whole warp must call. Whole: all its elements
 * exist and lie side by side. Missing elements count as +0, which in the end changes no bit.
 */
template <class Leaf, class Value, bool Whole>
static __device__ __forceinline__ double block_sum(const block_view &in)
{
    constexpr int kQuarters = 2 / Leaf::kVectors; /* so that 16 loads are on their way at once */
    const int lane = threadIdx.x % 32;
    const int64_t x_step = Whole ? 32 : 32 * in.incx, y_step = Whole ? 32 : 32 * in.incy;
    const float *from_x = in.x + (Whole ? lane : lane * in.incx);
    const float *from_y = in.y + (Whole ? lane : lane * in.incy);
    Value v = 0;
#pragma unroll
    for (int q = 0; q < 4; q += kQuarters) {
        float x[8 * kQuarters], y[8 * kQuarters];
#pragma unroll
        for (int j = 0; j < 8 * kQuarters; j++, from_x += x_step, from_y += y_step) {
            const bool there = Whole || lane + 256 * q + 32 * j < in.left;
            /* Read once: not worth a place in the caches. */
            x[j] = there ? __ldcs(from_x) : 0.0f;
            y[j] = there && Leaf::kVectors == 2 ? __ldcs(from_y) : 0.0f;
        }
#pragma unroll
        for (int c = 0; c < kQuarters; c++) {
            const Value g = add(column_sum<Leaf, Value>(x + 8 * c, y + 8 * c),
                                column_sum<Leaf, Value>(x + 8 * c + 4, y + 8 * c + 4));
            v = q + c == 0 ? g : add(v, g);
        }
    }
    double sum = v;
#pragma unroll
    for (int distance = 8; distance > 0; distance /= 2) sum = add_across(sum, distance);
    return sum;
}

/* Rare blocks, kept out of the loop: they would cost it registers. */
template <class Leaf, class Value>
static __device__ __noinline__ double rare_block_sum(const float *x, const float *y, int64_t incx,
                                                     int64_t incy, int left)
{
    return block_sum<Leaf, Value, false>({x, y, incx, incy, left});
}

/* ---- Many blocks ---- */

/*
 * Sums in adjacent pairs as they come. Thread L of the warp keeps the sum of the last finished 2^L
 * blocks until their neighbours to the right are there too.
 */
struct pair_sum {
    double waiting = 0.0;

    /* Adds the sum of block `index` (0, 1, 2, ...), which every thread of the warp has, and returns
     * the sum of the largest run that it ends. */
    __device__ __forceinline__ double add_next(int index, double sum)
    {
        int level = 0;
        for (; index >> level & 1; level++) sum = add(__shfl_sync(kWholeWarp, waiting, level), sum);
        if (threadIdx.x % 32 == level) waiting = sum;
        return sum;
    }
};

/* Sum over the thread block of what the warps hold in their first threads, in adjacent pairs; valid
 * in the first warp. Every thread must call; the next call must be behind a barrier. */
static __device__ __forceinline__ double sum_of_warps(double warp_sum)
{
    __shared__ double sums[kWarps];
    const int thread = threadIdx.x % 32;
    if (thread == 0) sums[threadIdx.x / 32] = warp_sum;
    __syncthreads();
    if (threadIdx.x >= 32) return 0.0;
    double sum = sums[thread % kWarps];
#pragma unroll
    for (int distance = 1; distance < kWarps; distance *= 2) sum = add_across(sum, distance);
    return sum;
}

/* Sum of what the thread blocks left in memory; valid in the first warp. Every thread must call. */
static __device__ __forceinline__ double sum_of_partials(const double *partials, int count)
{
    const int first = threadIdx.x * kPartialsPerThread;
    double p[kPartialsPerThread];
#pragma unroll
    for (int i = 0; i < kPartialsPerThread; i++)
        p[i] = first + i < count ? __ldcg(partials + first + i) : 0.0;
#pragma unroll
    for (int width = kPartialsPerThread / 2; width > 0; width /= 2)
#pragma unroll
        for (int i = 0; i < width; i++) p[i] = add(p[2 * i], p[2 * i + 1]);
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) p[0] = add_across(p[0], distance);
    return sum_of_warps(p[0]);
}

/* Rounds once and hands the result out; one thread calls. Adding 0.0 turns -0 into +0. */
static __device__ __forceinline__ void publish(const reduction &in, double sum)
{
    const float rounded = __double2float_rn(__dadd_rn(sum, 0.0));
    const unsigned bits = isnan(rounded) ? 0x7fc00000u : __float_as_uint(rounded);
    /* One store, so that whoever sees the ticket sees the value; it publishes nothing else, so no
     * fence is due. The value came from every load of this launch: those are done. */
    if (in.slot != nullptr)
        *reinterpret_cast<volatile uint64_t *>(in.slot) = (uint64_t)in.ticket << 32 | bits;
    else
        *in.result = __uint_as_float(bits);
}

/* ---- The kernel ---- */

/* Thread blocks per multiprocessor to make room for; 0: the compiler's own choice of registers, at
 * most 64 for unit increments. So chosen that nothing spills from sm_75 to sm_120: 3 and 4 spill
 * with unit increments (sm_90a), 0 spills without (sm_120). */
constexpr int kRoomUnit = 0, kRoomStrided = 3;

template <class Leaf, bool UnitIncrements>
static __global__ void __launch_bounds__(kThreads, UnitIncrements ? kRoomUnit : kRoomStrided)
    reduce_shuffle(const __grid_constant__ reduction in)
{
    const int64_t run = ((int64_t)blockIdx.x * kWarps + threadIdx.x / 32) * in.run;
    pair_sum pairs;
    double sum = 0.0;
    for (int b = 0; b < in.run; b++) {
        const int64_t first = (run + b) * kBlock, left = in.n - first;
        sum = 0.0;
        if (left > 0) {
            const block_view block = {in.x + first * (UnitIncrements ? 1 : in.incx),
                                      in.y + first * (UnitIncrements ? 1 : in.incy),
                                      UnitIncrements ? 1 : in.incx, UnitIncrements ? 1 : in.incy,
                                      left < kBlock ? (int)left : kBlock};
            if (!UnitIncrements)
                sum = block_sum<Leaf, float, false>(block);
            else if (left >= kBlock)
                sum = block_sum<Leaf, float, true>(block);
            else
                sum = rare_block_sum<Leaf, float>(block.x, block.y, 1, 1, block.left);
            if (!isfinite(sum))
                sum = rare_block_sum<Leaf, double>(block.x, block.y, block.incx, block.incy,
                                                   block.left);
        }
        sum = pairs.add_next(b, sum);
    }
    sum = sum_of_warps(sum);

    if (gridDim.x == 1) {
        if (threadIdx.x == 0) publish(in, sum);
        return;
    }

    __shared__ bool last;
    if (threadIdx.x == 0) {
        in.partials[blockIdx.x] = sum;
        __threadfence(); /* the partial sum is visible before its ticket is drawn */
        last = atomicInc(in.counter, gridDim.x - 1) == gridDim.x - 1; /* the last one leaves 0 */
    }
    __syncthreads();
    if (!last) return;
    __threadfence(); /* all tickets are drawn before the partial sums are read */
    sum = sum_of_partials(in.partials, (int)gridDim.x);
    if (threadIdx.x == 0) publish(in, sum);
}

/* ---- run ---- */

/*
 * Blocks per warp: the fewest with which the partial sums fit. Short runs keep every multiprocessor
 * busy from n = 2^20 on and even out the work; 2048 thread blocks fill an H100 three times over, and
 * the last one gets their sums with 8 loads per thread, all on their way at once. (With up to 8192
 * partial sums the launch took 3 us longer than a bare read of the same data, for n >= 2^26.)
 */
static inline int blocks_per_warp(int64_t blocks)
{
    int run = 1;
    while ((int64_t)run * kWarps * DUO_PARTIALS < blocks) run *= 2;
    return run;
}

template <class Leaf>
static int queue_reduction(const duo_call *call, const duo_launch *how)
{
    const duo_operand *const x = &call->operand[DUO_X];
    const duo_operand *const y = &call->operand[Leaf::kVectors == 2 ? DUO_Y : DUO_X];
    if (call->n > kLongest) return (int)cudaErrorInvalidValue;

    reduction in;
    in.x = x->address;
    in.y = y->address;
    in.n = call->n;
    in.incx = x->ld;
    in.incy = y->ld;
    in.partials = how->partials;
    in.counter = how->counter;
    in.result = call->operand[DUO_RESULT].address;
    in.slot = how->slot;
    in.ticket = how->ticket;

    const int64_t blocks = (in.n + kBlock - 1) / kBlock;
    in.run = blocks_per_warp(blocks);
    const int64_t per_thread_block = (int64_t)in.run * kWarps;
    const unsigned grid = (unsigned)((blocks + per_thread_block - 1) / per_thread_block);
    const bool unit = in.n == 1 || (in.incx == 1 && in.incy == 1);
    return queue_kernel(unit ? reduce_shuffle<Leaf, true> : reduce_shuffle<Leaf, false>, grid,
                        kThreads, how->stream, in);
}

template <class Leaf>
static int load_reduction()
{
    const int error = load_kernel(reduce_shuffle<Leaf, true>);
    return error != 0 ? error : load_kernel(reduce_shuffle<Leaf, false>);
}

#endif
