/*
 * split/exact.cuh - computes a 64 x 64 block of C from the operands themselves, by fp32 FMA.
 *
 * Threads   256, synchronized by `sync`: a block, or two warpgroups of one
 * Order     for each element an FMA chain over the kExactStep l of a slab; the chains of
 *           kExactSlabs slabs are added, and these sums are added: errors grow with k / 256, not
 *           with k. Inf and NaN in the operands give the results of one chain. Whether a sum
 *           overflows on the way may depend on the order
 */
#ifndef DUO_SPLIT_EXACT_CUH
#define DUO_SPLIT_EXACT_CUH

#include "gpu/split/product.cuh"

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
