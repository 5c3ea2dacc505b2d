/*
 * batched/large_tiles.cuh - each block computes a tile of 128 x 128 of one product's C, with the
 * parts of sgemm_gpu_ffma.
 */
#ifndef DUO_BATCHED_LARGE_TILES_CUH
#define DUO_BATCHED_LARGE_TILES_CUH

#include "gpu/batched/places.cuh"
#include "gpu/ffma/multiply.cuh"
#include "gpu/ffma/store.cuh"
#include "gpu/launch.cuh"

template <class Tile, copy_kind KindA, copy_kind KindB>
static __global__ void __launch_bounds__(kThreads, kLeastBlocks)
    sgemm_large_tiles(sgemm_problem p, tile_shares shares, batch_places places)
{
    extern __shared__ float4 memory[];
    float *const ring = reinterpret_cast<float *>(memory);
    const thread_place<Tile> me;
    slab_run run(shares);
    run.tile = blockIdx.x % shares.whole; /* only whole tiles */
    run.first = 0;
    run.last = shares.slabs;
    int64_t first_i, first_j;
    find_tile<Tile::kM, Tile::kN>(shares, run.tile, &first_i, &first_j);
    thread_sums sum = {};
    wait_for_kernels_ahead();
    places.find(p, blockIdx.x / shares.whole);
    multiply_slabs<Tile, KindA, KindB>(sum, p, ring, me, first_i, first_j, 0, shares.slabs,
                                       shares.slabs);
    let_next_kernel_start();
    scale_sums(sum, p.alpha);
    add_warps<Tile>(sum, memory, me.warp_l);
    store_tile<Tile>(p, shares, run, sum, ring, me, first_i, first_j);
}

#endif
