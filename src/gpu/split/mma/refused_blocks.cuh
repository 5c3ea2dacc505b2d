/*
 * split/mma/refused_blocks.cuh - the kernel behind split/mma/product.cuh, for blocks that the guard
 * refused to fp16x3: it computes some by fp32 FMA, and writes the planes that bf16x6 needs for
 * others.
 *
 * Mostly there is nothing to do; one launch finds that out.
 *
 * Threads   256 per block. A block walks the 64 x 64 blocks of C, reads their words like the kernel
 *           before it, and computes a block if its way is one of exact_ways
 */
#ifndef DUO_SPLIT_MMA_REFUSED_BLOCKS_CUH
#define DUO_SPLIT_MMA_REFUSED_BLOCKS_CUH

#include "gpu/split/exact.cuh"
#include "gpu/split/split_pass.cuh"

static_assert(kExactThreads == kSplitThreads, "one kernel does both");

struct refused_problem {
    tensor_problem multiply;
    split_problem split;
    uint32_t exact_ways;     /* of blocks to be computed here, a bit for each */
    const uint32_t *pending; /* the ways of blocks that were refused */
};

static __device__ __forceinline__ void exact_blocks(const refused_problem &e)
{
    __shared__ exact_slab slab;
    const tensor_problem &p = e.multiply;
    const int k_tiles = (int)tiles_of(p.k);
    const int64_t blocks_i = tiles_of(p.m), blocks = blocks_i * tiles_of(p.n);
    for (int64_t block = blockIdx.x; block < blocks; block += gridDim.x) {
        const int64_t block_i = block % blocks_i, block_j = block / blocks_i;
        const uint32_t *const words[2] = {p.a.words + block_i * k_tiles,
                                          p.b.words + block_j * k_tiles};
        tile_row row[2];
        read_tile_rows(words, k_tiles, p.k % kTile == 0, row);
        if (e.exact_ways >> way_of(row[0], row[1], p.k) & 1) /* all warps alike */
            exact_block(p, block_i, block_j, slab, (int)threadIdx.x, [] { __syncthreads(); });
    }
}

static __global__ void __launch_bounds__(kExactThreads, 1) sgemm_refused(refused_problem e)
{
    let_next_kernel_start();
    wait_for_kernels_ahead();
    const uint32_t pending = *e.pending;
    if (pending & e.exact_ways) exact_blocks(e);
    if (pending & ~e.exact_ways & kPendingBf16)
        for (unsigned tile = blockIdx.x; tile < e.split.tiles; tile += gridDim.x)
            split_tile_of<bf16x6>(e.split, tile, false);
}

#endif
