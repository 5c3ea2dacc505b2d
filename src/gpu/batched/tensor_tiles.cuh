/*
 * batched/tensor_tiles.cuh - what the kernels of sgemm_gpu_batched_mma share: tiles, and the
 * operands that they read.
 *
 * As in split/product.cuh, the rows of a tensor-core product are columns j of C (op(B)), its
 * columns are rows i (op(A)).
 */
#ifndef DUO_BATCHED_TENSOR_TILES_CUH
#define DUO_BATCHED_TENSOR_TILES_CUH

#include "gpu/batched/small_tiles.cuh"
#include "gpu/batched/squares.cuh"
#include "gpu/batched/tile_batches.cuh"

/* For tiles of down x across elements (tile_batch_of). False: sizes are too large. */
static inline bool tensor_batch_of(const duo_call *call, const duo_batch *batch, const void *sent,
                                   int down, int across, bool turn, tile_batch *b)
{
    return call->m <= INT32_MAX && call->n <= INT32_MAX && call->k <= INT32_MAX - kSquare &&
           tile_batch_of(call, batch, sent, down, across, turn, b);
}

/* A tile: its product, and its first element of C. */
struct tensor_tile {
    sgemm_problem p;
    int i, j;
    /* Down x Across: the elements of a tile, along i and j. */
    template <int Down, int Across = Down>
    static __device__ __forceinline__ tensor_tile of(const tile_batch &batch, int number)
    {
        tensor_tile tile = {batch.p, 0, 0};
        const int product = number / batch.of_product, within = number % batch.of_product;
        batch.places.find(tile.p, product);
        tile.i = within % batch.down * Down;
        tile.j = within / batch.down * Across;
        return tile;
    }
    static __device__ __forceinline__ bool shifted(const float *x, int64_t ld)
    {
        return (reinterpret_cast<uintptr_t>(x) | ld * sizeof(float)) % 16 != 0;
    }
    __device__ __forceinline__ square_source a(const tile_batch &batch) const
    {
        return {p.a,
                p.lda,
                (int)p.m,
                (int)p.k,
                width_at(p.a, batch.width_a),
                batch.along_k_a,
                shifted(p.a, p.lda)};
    }
    __device__ __forceinline__ square_source b(const tile_batch &batch) const
    {
        return {p.b,
                p.ldb,
                (int)p.n,
                (int)p.k,
                width_at(p.b, batch.width_b),
                batch.along_k_b,
                shifted(p.b, p.ldb)};
    }
};

#endif
