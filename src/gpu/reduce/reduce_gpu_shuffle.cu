/*
 * reduce_gpu_shuffle.cu - sasum, ssum and sdot in one launch, in the same order as the CPU's lanes;
 * and the same in float64 throughout.
 *
 * Accepts   any n in [1, 2^36], any increment, any alignment
 * Threads   256 per thread block, which sums one piece: 2^p neighbouring blocks of 8192 elements
 *           (reduce/block_sum.cuh). A counter tells the last thread block; it adds the sums of all.
 * Order     numerics.md: the blocks in adjacent pairs, as in a tree padded with zeros; an odd
 *           one moves up. One rounding at the end. If a block's sum is not finite, it is summed
 *           once more, in float64 throughout. sdot rounds each product to float32 first.
 * Traffic   4 n bytes per vector, read once
 *
 * The sum of a block, and every addition: reduce/block_sum.cuh.
 */
#include "gpu/kernels.h"
#include "gpu/launch.cuh"
#include "gpu/reduce/block_sum.cuh"

constexpr int64_t kLongest = (int64_t)1 << 36; /* elements */

static_assert(DUO_PARTIALS % (2 * kThreads) == 0, "the last thread block loads them in pairs");
static_assert(kLongest / kBlock <= INT32_MAX, "a block's number is an int");
static_assert(kLongest / kBlock / DUO_PARTIALS <= kParts * kPart, "a piece has kParts");

struct reduction : pieces {
    double *partials;
    unsigned *counter;
    float *result;
    uint64_t *pinned_result; /* not NULL: the result goes here, with the ticket */
    uint32_t ticket;
    double *unrounded; /* else, if not NULL: the sum goes here, not rounded */
};

/* ---- The sums of the thread blocks ---- */

/* Sums the thread blocks' partial sums; each thread loads 2 * Pairs. Valid in the first warp. Every
 * thread must call. */
template <int Pairs>
static __device__ __forceinline__ double sum_of_partials(const double *partials, int count)
{
    __shared__ double sums[kWarps];
    const int first = threadIdx.x * 2 * Pairs;
    double p[Pairs];
#pragma unroll
    for (int i = 0; i < Pairs; i++) {
        double2 pair = {0.0, 0.0};
        if (first + 2 * i < count)
            pair = __ldcg(reinterpret_cast<const double2 *>(partials + first) + i);
        p[i] = add(pair.x, first + 2 * i + 1 < count ? pair.y : 0.0);
    }
#pragma unroll
    for (int width = Pairs / 2; width > 0; width /= 2)
#pragma unroll
        for (int i = 0; i < Pairs / 2; i++)
            if (i < width) p[i] = add(p[2 * i], p[2 * i + 1]);
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) p[0] = add_across(p[0], distance);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = p[0];
    __syncthreads();
    return threadIdx.x < 32 ? sum_of_shared(sums, kWarps) : 0.0;
}

/* Stores the result, rounded once, or the unrounded sum of a piece; one thread calls. Adding 0.0
 * turns -0 into +0. */
static __device__ __forceinline__ void publish(const reduction &in, double sum)
{
    const float rounded = __double2float_rn(__dadd_rn(sum, 0.0));
    const unsigned bits = isnan(rounded) ? 0x7fc00000u : __float_as_uint(rounded);
    /* One store, so that a reader that sees the ticket sees the value. It publishes nothing else,
     * so it needs no fence. The value depends on every load of this launch, so those are done. */
    if (in.pinned_result != nullptr)
        *reinterpret_cast<volatile uint64_t *>(in.pinned_result) = (uint64_t)in.ticket << 32 | bits;
    else if (in.unrounded != nullptr)
        *in.unrounded = sum;
    else
        *in.result = __uint_as_float(bits);
}

/* ---- The kernel ---- */

/*
 * Thread blocks per multiprocessor that the registers must allow: the most with which nothing
 * spills from sm_75 to sm_120. (Three instead of four take 1.17 times as long with vectors of 16 to
 * 64 MiB in L2, H100.)
 */
template <class Leaf, class Value>
constexpr int kRoom = Leaf::kVectors == 1 && sizeof(Value) == sizeof(float) ? 4 : 2;

template <class Leaf, class Value, load_policy Policy>
static __global__ void __launch_bounds__(kThreads, (kRoom<Leaf, Value>))
    reduce_shuffle(const __grid_constant__ reduction in)
{
    wait_for_kernels_ahead();
    let_next_kernel_start();
    double sum = piece_sum<Leaf, Value, Policy>(in);
    if (gridDim.x == 1) {
        if (threadIdx.x == 0) publish(in, sum);
        return;
    }

    __shared__ bool last;
    if (threadIdx.x == 0) {
        in.partials[blockIdx.x] = sum;
        last = is_last(in.counter, gridDim.x);
    }
    __syncthreads();
    if (!last) return;
    constexpr int kFew = 2 * 2 * kThreads; /* fewer loads, 0.2 us less */
    const int count = (int)gridDim.x;
    sum = count <= kFew ? sum_of_partials<2>(in.partials, count)
                        : sum_of_partials<DUO_PARTIALS / kThreads / 2>(in.partials, count);
    if (threadIdx.x == 0) publish(in, sum);
}

/* ---- Launching ---- */

/*
 * Blocks of elements per thread block. More of them, up to 16, keep its loads flowing, as long as
 * every multiprocessor has two thread blocks. Beyond that, more thread blocks even out their ends,
 * as long as there is room for their sums. (H200, n = 2^20 .. 2^28: within 0.5 % of the best power
 * of two at each.)
 */
static inline int blocks_per_piece(int64_t blocks, int multiprocessors)
{
    const int64_t enough = 2 * (int64_t)multiprocessors, most = DUO_PARTIALS;
    int piece = 1;
    while ((blocks - 1) / piece + 1 > (piece < 16 ? enough : most)) piece *= 2;
    return piece;
}

template <class Leaf, class Value>
static cudaError_t queue_reduction(const duo_call *call, const duo_launch *how)
{
    const duo_operand *const x = &call->operand[DUO_X];
    const duo_operand *const y = &call->operand[Leaf::kVectors == 2 ? DUO_Y : DUO_X];
    if (call->n > kLongest) return cudaErrorInvalidValue;

    reduction in;
    in.x = x->address;
    in.y = y->address;
    in.n = call->n;
    in.incx = x->ld;
    in.incy = y->ld;
    in.partials = how->partials;
    in.counter = how->counters;
    in.result = call->operand[DUO_RESULT].address;
    in.pinned_result = how->pinned_result;
    in.ticket = how->ticket;
    in.unrounded = call->unrounded;

    const int64_t blocks = (in.n + kBlock - 1) / kBlock;
    in.piece = blocks_per_piece(blocks, how->multiprocessors);
    const unsigned grid = (unsigned)((blocks + in.piece - 1) / in.piece);
    if (in.n == 1) in.incx = in.incy = 1;
    const bool unit = in.incx == 1 && in.incy == 1;
    const bool fits = in.n * (int64_t)sizeof(float) * Leaf::kVectors <= how->cache_bytes;
    return queue_kernel_behind(!unit  ? reduce_shuffle<Leaf, Value, kStrided>
                               : fits ? reduce_shuffle<Leaf, Value, kCached>
                                      : reduce_shuffle<Leaf, Value, kStreamed>,
                               grid, kThreads, 0, how, in);
}

template <class Leaf, class Value>
static cudaError_t load_reduction()
{
    cudaError_t error = load_kernel(reduce_shuffle<Leaf, Value, kStreamed>);
    if (error == cudaSuccess) error = load_kernel(reduce_shuffle<Leaf, Value, kCached>);
    return error != cudaSuccess ? error : load_kernel(reduce_shuffle<Leaf, Value, kStrided>);
}

template <class Leaf, class Value>
constexpr duo_gpu_algorithm kReduction = {
    .launch = queue_reduction<Leaf, Value>,
    .load = load_reduction<Leaf, Value>,
    .workspace = nullptr,
    .packed_bytes = nullptr,
    .pack = nullptr,
};

/* ---- The algorithms ---- */

const duo_gpu_algorithm duo_sasum_gpu_shuffle = kReduction<absolute_leaf, float>;

const duo_gpu_algorithm duo_sasum_gpu_float64 = kReduction<absolute_leaf, double>;

const duo_gpu_algorithm duo_ssum_gpu_shuffle = kReduction<plain_leaf, float>;

const duo_gpu_algorithm duo_ssum_gpu_float64 = kReduction<plain_leaf, double>;

const duo_gpu_algorithm duo_sdot_gpu_shuffle = kReduction<product_leaf, float>;

const duo_gpu_algorithm duo_sdot_gpu_float64 = kReduction<product_leaf, double>;
