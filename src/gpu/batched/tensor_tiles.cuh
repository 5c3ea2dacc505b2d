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

/* ---- Which kernels there are ---- */

/* Compiled for another architecture than the device's, kernels may be empty: tiles by warps before
 * 8.0, tiles by wgmma but for 9.0a. Read and set by the __atomic functions. */
static bool no_warp_tiles, no_wgmma_tiles;

/* Finds that out on the current device, by a kernel of each. */
template <class Warps, class Wgmma>
static cudaError_t look_for_tiles(Warps *warps, Wgmma *wgmma)
{
    constexpr int kFewRegisters = 32; /* an empty kernel has fewer */
    int capability = 0;
    cudaFuncAttributes of_warps = {}, of_wgmma = {};
    cudaError_t error = current_capability(&capability);
    if (error == cudaSuccess)
        error = cudaFuncGetAttributes(&of_warps, reinterpret_cast<const void *>(warps));
    if (error == cudaSuccess)
        error = cudaFuncGetAttributes(&of_wgmma, reinterpret_cast<const void *>(wgmma));
    if (error != cudaSuccess) return error;
    if (capability >= DUO_BATCHED_WARPS_CAPABILITY && of_warps.numRegs < kFewRegisters)
        __atomic_store_n(&no_warp_tiles, true, __ATOMIC_RELAXED);
    if (capability == DUO_BATCHED_WGMMA_CAPABILITY && of_wgmma.numRegs < kFewRegisters)
        __atomic_store_n(&no_wgmma_tiles, true, __ATOMIC_RELAXED);
    return cudaSuccess;
}

/* The device as the plan sees it: of a capability for which there are kernels. */
static inline duo_batched_device device_of(const duo_launch *how)
{
    int capability = how->capability;
    if (__atomic_load_n(&no_warp_tiles, __ATOMIC_RELAXED))
        capability = min(capability, DUO_BATCHED_WARPS_CAPABILITY - 1);
    if (__atomic_load_n(&no_wgmma_tiles, __ATOMIC_RELAXED))
        capability = min(capability, DUO_BATCHED_WGMMA_CAPABILITY - 1);
    return {how->multiprocessors, capability, shared_of_block(how->capability), how->memory_rate};
}

/* ---- Tiles ---- */

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
    static __device__ __forceinline__ square_source source(const float *x, int64_t ld, int64_t rows,
                                                           int64_t k, bool along_k)
    {
        const uintptr_t bits = reinterpret_cast<uintptr_t>(x) | ld * sizeof(float);
        return {x, ld, (int)rows, (int)k, along_k, bits % 16 != 0};
    }
    __device__ __forceinline__ square_source a(const tile_batch &batch) const
    {
        return source(p.a, p.lda, p.m, p.k, batch.along_k_a);
    }
    __device__ __forceinline__ square_source b(const tile_batch &batch) const
    {
        return source(p.b, p.ldb, p.n, p.k, batch.along_k_b);
    }
};

#endif
