/*
 * split/product.cuh - shared by the two kernels that multiply planes: the problem, the scales, and
 * how a warp's sums enter C.
 *
 * C is column-major, and the tensor cores want pairs of neighbours along the second operand of a
 * product: so the rows of a product are columns j of C (planes of B), its columns are rows i
 * (planes of A).
 *
 * Sums of a 64 x 64 block are kept in units of 2^(limit - 2 kShift), where `limit` is the largest
 * exponent of the tiles of its rows, plus the largest of its columns. The scales that bring the
 * products of two tiles to these units are powers of two up to 1, for all magnitudes.
 */
#ifndef DUO_SPLIT_PRODUCT_CUH
#define DUO_SPLIT_PRODUCT_CUH

#include "gpu/sgemm.cuh"
#include "gpu/split/guard.cuh"

constexpr int kStepK = 32; /* k of a stage of the ring in shared memory */

struct tensor_problem {
    operand_planes a, b;
    float *c;
    int64_t m, n, k, ldc;
    float alpha, beta;
    int tiles_i, tiles_j;
};

static __device__ __forceinline__ uint32_t read_word(const uint32_t *word)
{
    uint32_t value;
    asm volatile("ld.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
    return value;
}

/* The scale of the products of two tiles: 2^(their exponents - limit), or 0 if that is no float.
 * The biases of the exponents cancel. */
static __device__ __forceinline__ float scale_of(uint32_t word_a, uint32_t word_b, int limit)
{
    const int e = (int)(word_a & kWordExponent) + (int)(word_b & kWordExponent) - limit + 127;
    return __int_as_float(max(e, 0) << 23);
}

/* ---- Shared memory by 32-bit address ---- */

static __device__ __forceinline__ void store_shared(uint32_t to, uint4 v)
{
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(v.x), "r"(v.y), "r"(v.z),
                 "r"(v.w)
                 : "memory");
}

/* The place in shared memory of a row's chunk of 16 bytes, with rows of 64 bytes: swizzled like the
 * tensor copy, so that reading eight rows at once uses all banks. */
constexpr int kChunkBytes = 16, kRowBytes = kStepK * 2;
static __device__ __forceinline__ uint32_t place_of_chunk(int row, int chunk)
{
    return (uint32_t)(row * kRowBytes + (chunk ^ (row / 2 & 3)) * kChunkBytes);
}

/* ---- C ---- */

/* Four neighbours of a column of C, all inside, as 16 bytes. alpha is not 0 here. If C is not read,
 * -0 is added, which does not change a product. */
static __device__ __forceinline__ void store_whole_four(const tensor_problem &p, float *c,
                                                        const float (&sum)[4])
{
    float4 more = make_float4(-0.0f, -0.0f, -0.0f, -0.0f);
    if (p.beta != 0.0f) {
        const float4 old = *reinterpret_cast<const float4 *>(c);
        more = make_float4(p.beta * old.x, p.beta * old.y, p.beta * old.z, p.beta * old.w);
    }
    *reinterpret_cast<float4 *>(c) =
        make_float4(fmaf(p.alpha, sum[0], more.x), fmaf(p.alpha, sum[1], more.y),
                    fmaf(p.alpha, sum[2], more.z), fmaf(p.alpha, sum[3], more.w));
}

/* The unit of the sums, as two factors, so that no product overflows or underflows half way.
 * `limit` has the bias of an exponent twice. */
struct unit {
    float first, second;
    template <class Scheme>
    static __device__ __forceinline__ unit of(Scheme, int limit)
    {
        const int e = min(max(limit - 2 * kExponentBias - 2 * Scheme::kShift, -252), 254);
        return {power_of_two(e / 2), power_of_two(e - e / 2)};
    }
};

/*
 * Stores 16 rows i and 16 columns j of C, from two products of 16 x 8 of a warp. Of each product
 * lane l has rows 2 (l % 4) and the next one in columns l / 4 and l / 4 + 8. Pairs of lanes
 * exchange halves, so that each has four neighbours in i. Plain: all are inside and aligned. That
 * code is kept short, since it runs once and is not in the instruction cache.
 */
template <bool Plain>
static __device__ __forceinline__ void store_square(const tensor_problem &p, const float *sum,
                                                    const unit &scale, int64_t first_i,
                                                    int64_t first_j, bool stored, bool aligned)
{
    const int lane = threadIdx.x % 32, odd = lane & 1;
#pragma unroll
    for (int e = 0; e < 2; e++) {
        const float mine0 = odd ? sum[4 + 2 * e] : sum[2 * e],
                    mine1 = odd ? sum[5 + 2 * e] : sum[1 + 2 * e];
        const float theirs0 = odd ? sum[2 * e] : sum[4 + 2 * e],
                    theirs1 = odd ? sum[1 + 2 * e] : sum[5 + 2 * e];
        const float got0 = __shfl_xor_sync(~0u, theirs0, 1),
                    got1 = __shfl_xor_sync(~0u, theirs1, 1);
        float four[4] = {odd ? got0 : mine0, odd ? got1 : mine1, odd ? mine0 : got0,
                         odd ? mine1 : got1};
#pragma unroll
        for (int x = 0; x < 4; x++) four[x] = four[x] * scale.first * scale.second;
        const int64_t i = first_i + odd * 8 + (lane & 2) * 2;
        const int64_t j = first_j + lane / 4 + 8 * e;
        float *const c = p.c + i + j * p.ldc;
        if constexpr (Plain) {
            if (stored) store_whole_four(p, c, four);
        } else if (j < p.n && stored) {
            update_four(c, four, p.beta, p.m - i, aligned, [&](float sum_of, float old) {
                return blend(p.alpha, sum_of, p.beta, old);
            });
        }
    }
}

/*
 * The same if columns of C do not begin on 16 bytes, and C is not read. Lanes of two neighbouring
 * columns exchange an element each: so eight lanes store eight neighbours of one column, in at most
 * two sectors of 32 bytes, and then eight of the other. A lane's four neighbours would be stored
 * one by one, each time into 20 sectors per warp. But if C is read, four reads at a time outweigh
 * that (H100: 96 us and 128 for 1669 x 1949 x 1566).
 */
static __device__ __forceinline__ void store_unaligned(const tensor_problem &p, const float *sum,
                                                       const unit &scale, int64_t first_i,
                                                       int64_t first_j, bool stored)
{
    const int lane = threadIdx.x % 32, odd = lane / 4 & 1;
    const int64_t i = first_i + lane % 4 * 2 + odd;
    auto store = [&](float *c, float value) {
        *c = blend(p.alpha, value * scale.first * scale.second, 0.0f, 0.0f);
    };
#pragma unroll
    for (int e = 0; e < 2; e++) {
        const int64_t j = first_j + lane / 8 * 2 + 8 * e;
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const float *const two = sum + 4 * half + 2 * e;
            const float got = __shfl_xor_sync(~0u, odd ? two[0] : two[1], 4);
            float *const c = p.c + i + 8 * half + j * p.ldc;
            const bool inside = stored && i + 8 * half < p.m;
            if (inside && j < p.n) store(c, odd ? got : two[0]);
            if (inside && j + 1 < p.n) store(c + p.ldc, odd ? two[1] : got);
        }
    }
}

/* ---- A block of C by fp32 FMA ---- */

/*
 * Computes a 64 x 64 block of C from the operands themselves, by fp32 FMA.
 *
 * Threads   256, synchronized by `sync`: a block, or two warpgroups of one
 * Order     for each element an FMA chain over the kExactStep l of a slab; the chains of
 *           kExactSlabs slabs are added, and these sums are added: errors grow with k / 256, not
 *           with k. Inf and NaN in the operands give the results of one chain. Whether a sum
 *           overflows on the way may depend on the order
 */

constexpr int kExactThreads = 256, kExactStep = 16; /* k at a time */
constexpr int kExactSlabs = 16;
constexpr int kExactEdge = 4; /* elements of C per thread, along i and j: a float4 of the slab */
static_assert(kExactThreads * kExactEdge * kExactEdge == kTile * kTile, "a thread has a square");

struct exact_slab {
    static constexpr int kPitch = kTile + kExactEdge; /* rows are aligned to 16 bytes */
    alignas(16) float a[kExactStep][kPitch], b[kExactStep][kPitch];
};

/* A thread's loads of 64 rows x kExactStep k of an operand: neighbouring threads load neighbours in
 * memory. */
struct exact_loads {
    static constexpr int kLoads = kExactStep * kTile / kExactThreads;
    float x[kLoads];

    static __device__ __forceinline__ int l(const operand_planes &o, int load, int t)
    {
        const int place = load * kExactThreads + t;
        return o.along_k ? place % kExactStep : place / kTile;
    }
    static __device__ __forceinline__ int row(const operand_planes &o, int load, int t)
    {
        const int place = load * kExactThreads + t;
        return o.along_k ? place / kExactStep : place % kTile;
    }
    __device__ __forceinline__ void load(const operand_planes &o, int64_t first_row,
                                         int64_t first_k, int t)
    {
#pragma unroll
        for (int i = 0; i < kLoads; i++) {
            const int64_t r = first_row + row(o, i, t), k = first_k + l(o, i, t);
            x[i] = r < o.rows && k < o.k ? o.x[o.along_k ? k + r * o.ld : r + k * o.ld] : 0.0f;
        }
    }
    __device__ __forceinline__ void store(float (&to)[kExactStep][exact_slab::kPitch],
                                          const operand_planes &o, int t) const
    {
#pragma unroll
        for (int i = 0; i < kLoads; i++) to[l(o, i, t)][row(o, i, t)] = x[i];
    }
};

static __device__ __forceinline__ void read_edge(float (&to)[kExactEdge], const float *from)
{
    const float4 v = *reinterpret_cast<const float4 *>(from);
    to[0] = v.x;
    to[1] = v.y;
    to[2] = v.z;
    to[3] = v.w;
}

using exact_square = float[kExactEdge][kExactEdge];

/* to += from; from = 0 */
static __device__ __forceinline__ void move_square(exact_square &to, exact_square &from)
{
#pragma unroll
    for (int y = 0; y < kExactEdge; y++)
#pragma unroll
        for (int x = 0; x < kExactEdge; x++) {
            to[y][x] += from[y][x];
            from[y][x] = 0.0f;
        }
}

/* t: the thread's number among the 256. */
template <class Sync>
static __device__ __forceinline__ void exact_block(const tensor_problem &p, int64_t block_i,
                                                   int64_t block_j, exact_slab &slab, int t,
                                                   Sync sync)
{
    const int64_t first_i = block_i * kTile, first_j = block_j * kTile;
    const int i = t % 16 * kExactEdge, j = t / 16 * kExactEdge;
    exact_square sum = {}, slabs = {}, chain = {};
    exact_loads a, b; /* of the next slab */
    a.load(p.a, first_i, 0, t);
    b.load(p.b, first_j, 0, t);
    int slab_of_sum = 0;
    for (int64_t first = 0; first < p.k; first += kExactStep) {
        sync();
        a.store(slab.a, p.a, t);
        b.store(slab.b, p.b, t);
        sync();
        a.load(p.a, first_i, first + kExactStep, t);
        b.load(p.b, first_j, first + kExactStep, t);
#pragma unroll
        for (int l = 0; l < kExactStep; l++) {
            float of_a[kExactEdge], of_b[kExactEdge];
            read_edge(of_a, &slab.a[l][i]);
            read_edge(of_b, &slab.b[l][j]);
#pragma unroll
            for (int y = 0; y < kExactEdge; y++)
#pragma unroll
                for (int x = 0; x < kExactEdge; x++)
                    chain[y][x] = fmaf(of_a[x], of_b[y], chain[y][x]);
        }
        move_square(slabs, chain);
        if (++slab_of_sum == kExactSlabs) {
            move_square(sum, slabs);
            slab_of_sum = 0;
        }
    }
    move_square(sum, slabs);
#pragma unroll
    for (int y = 0; y < kExactEdge; y++)
#pragma unroll
        for (int x = 0; x < kExactEdge; x++) {
            const int64_t gi = first_i + i + x, gj = first_j + j + y;
            if (gi >= p.m || gj >= p.n) continue;
            float *const c = p.c + gi + gj * p.ldc;
            *c = blend(p.alpha, sum[y][x], p.beta, p.beta == 0.0f ? 0.0f : *c);
        }
}

#endif
