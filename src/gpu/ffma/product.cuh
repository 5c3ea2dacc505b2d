/* ffma/product.cuh - the kernel that multiplies: tiles of C, or parts of them. */
#ifndef DUO_FFMA_PRODUCT_CUH
#define DUO_FFMA_PRODUCT_CUH

#include "gpu/ffma/multiply.cuh"
#include "gpu/ffma/store.cuh"
#include "gpu/launch.cuh"

template <class Tile, copy_kind KindA, copy_kind KindB>
static __global__ void __launch_bounds__(kThreads, kLeastBlocks)
    sgemm_ffma(sgemm_problem p, tile_shares shares)
{
    extern __shared__ float4 memory[];
    float *const ring = reinterpret_cast<float *>(memory);
    const thread_place<Tile> me;
    slab_run run(shares);

    wait_for_kernels_ahead();
    for (;;) {
        int64_t first_i, first_j;
        find_tile<Tile::kM, Tile::kN>(shares, run.tile, &first_i, &first_j);
        thread_sums sum = {};
        multiply_slabs<Tile, KindA, KindB>(sum, p, ring, me, first_i, first_j, run.first, run.last,
                                           shares.slabs);
        if (run.ends()) let_next_kernel_start(); /* no earlier: see bytes_to_ask_for() */
        scale_sums(sum, p.alpha);
        add_warps<Tile>(sum, memory, me.warp_l);
        store_tile<Tile>(p, shares, run, sum, ring, me, first_i, first_j);

        if (!run.next(shares)) return;
        __syncthreads(); /* before the ring is refilled */
    }
}

#endif
