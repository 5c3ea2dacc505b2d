/*
 * batched/tile_batches.cuh - batches that are cut into tiles, and the batch of a tile: the only
 * one, or one of several groups.
 */
#ifndef DUO_BATCHED_TILE_BATCHES_CUH
#define DUO_BATCHED_TILE_BATCHES_CUH

#include <utility>

#include "gpu/batched/places.cuh"
#include "gpu/batched/plan.h"
#include "gpu/ffma/multiply.cuh"

/* A batch, cut into tiles: one product's follow each other, along i first. */
struct tile_batch {
    sgemm_problem p; /* of the first product */
    batch_places places;
    bool along_k_a, along_k_b; /* neighbours in memory are neighbours in k */
    copy_kind kind_a, kind_b;  /* for tiles by FMA */
    int down;                  /* tiles along i */
    int of_product, all;       /* tiles */
    bool turned;               /* A and B, i and j are exchanged, but not C */

    /* For tiles in doubt: any alignment will do. */
    __device__ __forceinline__ copy_kind slow_kind_a() const
    {
        return along_k_a ? kAlongK : kAlongEdge;
    }
    __device__ __forceinline__ copy_kind slow_kind_b() const
    {
        return along_k_b ? kAlongK : kAlongEdge;
    }
};

/* Vectors only where alignment is known: kernels by FMA do not look at it. */
static inline copy_kind kind_of(const duo_call *call, const duo_batch *batch, int i)
{
    if (duo_batched_wide(call, batch, i) && !batch->unread[i]) return kVectors;
    return duo_call_along_k(call, i) ? kAlongK : kAlongEdge;
}

/* The same product with A and B, i and j exchanged; but not C. */
static __host__ __device__ __forceinline__ sgemm_problem turned(const sgemm_problem &p)
{
    sgemm_problem q = p;
    q.a = p.b;
    q.b = p.a;
    q.m = p.n;
    q.n = p.m;
    q.lda = p.ldb;
    q.ldb = p.lda;
    return q;
}

/* For tiles of down x across elements; sent: as in places_of; turn: of op(B)' op(A)'. False: there
 * are too many tiles. */
static inline bool tile_batch_of(const duo_call *call, const duo_batch *batch, const void *sent,
                                 int down, int across, bool turn, tile_batch *b)
{
    const int a_is = turn ? DUO_B : DUO_A, b_is = turn ? DUO_A : DUO_B;
    *b = {};
    b->p = sgemm_problem_of(call);
    b->places = places_of(batch, sent);
    if (turn) {
        b->p = turned(b->p);
        std::swap(b->places.list[DUO_A], b->places.list[DUO_B]);
        std::swap(b->places.step[DUO_A], b->places.step[DUO_B]);
    }
    const int64_t tiles_i = (b->p.m + down - 1) / down, tiles_j = (b->p.n + across - 1) / across;
    if (tiles_i * tiles_j > INT32_MAX / batch->count) return false;
    b->along_k_a = duo_call_along_k(call, a_is);
    b->along_k_b = duo_call_along_k(call, b_is);
    b->kind_a = kind_of(call, batch, a_is);
    b->kind_b = kind_of(call, batch, b_is);
    b->down = (int)tiles_i;
    b->of_product = (int)(tiles_i * tiles_j);
    b->all = b->of_product * (int)batch->count;
    b->turned = turn;
    return true;
}
/* For tiles of this edge. */
static inline bool tile_batch_of(const duo_call *call, const duo_batch *batch, const void *sent,
                                 int edge, tile_batch *b)
{
    return tile_batch_of(call, batch, sent, edge, edge, false, b);
}

/* ---- Where a kernel finds the batch of a tile ---- */

/* kSmallInDoubt: is a tile in doubt if it has an element too small for TF32 (least_element)? To
 * look for these takes a twentieth more time. Products alone do. */
struct one_batch {
    static constexpr bool kSmallInDoubt = false;
    tile_batch batch;
    __host__ __device__ __forceinline__ int tiles() const { return batch.all; }
    __device__ __forceinline__ const tile_batch &find(int &) const { return batch; }
    __device__ __forceinline__ int64_t first_k(int) const { return 0; }
};

/* A batch with k in parts; or a product alone, with one part or several. Parts have arrays of sums
 * without gaps, of all products: the first part's, then the second's. */
struct batch_k_parts {
    static constexpr bool kSmallInDoubt = true;
    tile_batch batch; /* its C is of the first part */
    int parts;
    int64_t k;      /* of a part; the last one may have less */
    int64_t floats; /* of a part's sums */

    __host__ __device__ __forceinline__ int tiles() const { return batch.all * parts; }
    __device__ __forceinline__ int64_t first_k(int number) const { return number % parts * k; }

    /* The batch of this part; `number` becomes the tile's number in it. */
    __device__ __forceinline__ tile_batch find(int &number) const
    {
        tile_batch part = batch;
        const int64_t first = first_k(number);
        const int64_t a = first * (batch.along_k_a ? 1 : batch.p.lda);
        const int64_t b = first * (batch.along_k_b ? 1 : batch.p.ldb);
        part.p.k = min(k, batch.p.k - first);
        part.p.c += number % parts * floats;
        part.p.a += a; /* if there is no list; then its addresses are moved */
        part.p.b += b;
        if (batch.places.list[DUO_A] != nullptr)
            part.places.step[DUO_A] += a * (int64_t)sizeof(float);
        if (batch.places.list[DUO_B] != nullptr)
            part.places.step[DUO_B] += b * (int64_t)sizeof(float);
        number /= parts;
        return part;
    }
};

/* Groups, in device memory. Their tiles are numbered one group after the other. */
struct batch_groups {
    static constexpr bool kSmallInDoubt = false;
    const tile_batch *group;
    const int *end; /* of each group's tiles */
    int groups, all;
    __device__ __forceinline__ int tiles() const { return all; }

    /* The batch of tile `number`, which becomes the tile's number in it. All lanes of the warp call
     * this for the same tile: each step of the search leaves one part of 32. */
    __device__ __forceinline__ tile_batch find(int &number) const
    {
        int first = 0, step = groups;
        do {
            step = (step + 31) / 32;
            const int last = first + ((int)threadIdx.x % 32 + 1) * step - 1; /* of a lane's part */
            const unsigned behind = __ballot_sync(~0u, number < end[min(last, groups - 1)]);
            first += (__ffs(behind) - 1) * step;
        } while (step > 1);
        if (first > 0) number -= end[first - 1];
        return group[first];
    }
};

#endif
