/*
 * batched/tensor_tiles.cuh - what the kernels of sgemm_gpu_batched_mma share: the problem and its
 * tiles.
 *
 * As in split/product.cuh, the rows of a tensor-core product are columns j of C (op(B)), its
 * columns are rows i (op(A)).
 */
#ifndef DUO_BATCHED_TENSOR_TILES_CUH
#define DUO_BATCHED_TENSOR_TILES_CUH

#include "gpu/batched/places.cuh"
#include "gpu/batched/small_tiles.cuh"
#include "gpu/batched/squares.cuh"

/* A batch, cut into tiles: one product's follow each other, along i first. */
struct tensor_batch {
    sgemm_problem p; /* of the first product */
    batch_places places;
    bool along_k_a, along_k_b; /* neighbours in memory are neighbours in k */
    int width_a, width_b;      /* floats of a copy */
    int down;                  /* tiles along i */
    int of_product, all;       /* tiles */
    bool turned;               /* A and B, i and j are exchanged, but not C */

    /* For tiles that are computed by FMA. */
    __device__ __forceinline__ copy_kind kind_a() const { return along_k_a ? kAlongK : kAlongEdge; }
    __device__ __forceinline__ copy_kind kind_b() const { return along_k_b ? kAlongK : kAlongEdge; }
};

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

/* A tile: its product, and its first element of C. */
struct tensor_tile {
    sgemm_problem p;
    int i, j;
    /* Down x Across: the elements of a tile, along i and j. */
    template <int Down, int Across = Down>
    static __device__ __forceinline__ tensor_tile of(const tensor_batch &batch, int number)
    {
        tensor_tile tile = {batch.p, 0, 0};
        const int product = number / batch.of_product, within = number % batch.of_product;
        batch.places.find(tile.p, product);
        tile.i = within % batch.down * Down;
        tile.j = within / batch.down * Across;
        return tile;
    }
    __device__ __forceinline__ square_source a(const tensor_batch &batch) const
    {
        return {p.a, p.lda, (int)p.m, (int)p.k, batch.width_a, batch.along_k_a};
    }
    __device__ __forceinline__ square_source b(const tensor_batch &batch) const
    {
        return {p.b, p.ldb, (int)p.n, (int)p.k, batch.width_b, batch.along_k_b};
    }
};

#endif
