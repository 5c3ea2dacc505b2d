/*
 * split/split_pass.cuh - the kernel that writes the planes and words of both operands.
 *
 * Accepts   any extent, k, leading dimension, alignment and order of an operand
 * Threads   256 per block; a block splits a tile of 64 rows x 64 k
 * Traffic   4 bytes read and 2 per plane written for each element, and a word for each tile
 *
 * Large operands are bound by memory, small ones by instructions.
 */
#ifndef DUO_SPLIT_SPLIT_PASS_CUH
#define DUO_SPLIT_SPLIT_PASS_CUH

#include "gpu/launch.cuh"
#include "gpu/split/split_tile.cuh"

/*
 * Blocks per multiprocessor that the registers must allow: kFewResident if all tiles run at once;
 * else the scheme's number, which was fastest on an H200 by 5 to 20 %.
 */
constexpr int kFewResident = 4;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
constexpr int kMostResident = 2; /* Turing would have room for 4 with few registers, which spill */
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 900
constexpr int kMostResident = 8;
#else
constexpr int kMostResident = 4; /* with fewer registers some code spills */
#endif

struct split_problem {
    operand_planes operand[2];
    unsigned tiles_of_first, tiles;    /* to be split, of the first operand and of both */
    unsigned k_tiles, k_tiles_inverse; /* tiles along k, and 2^32 / k_tiles or a little less */
    uint32_t *control;                 /* NULL, or kControlBytes to clear here (struct panel) */
};
static inline split_problem split_of(const operand_planes &first, const operand_planes &second,
                                     int64_t tiles_of_first, int64_t tiles, uint32_t *control)
{
    const unsigned k_tiles = (unsigned)tiles_of(first.k);
    return {{first, second}, (unsigned)tiles_of_first, (unsigned)tiles,
            k_tiles,         UINT32_MAX / k_tiles,     control};
}
constexpr size_t kControlBytes = 4096; /* the pending ways, then a ticket for each tile */

/* Splits a tile; tiles of both operands are counted together. The operand is not found by an index
 * into the problem: for that, an array of parameters would be copied to local memory. */
template <class Scheme>
static __device__ __forceinline__ void split_tile_of(const split_problem &p, unsigned tile,
                                                     bool words)
{
    const bool second = tile >= p.tiles_of_first;
    const operand_planes o = second ? p.operand[1] : p.operand[0];
    split_tile<Scheme>(o, second ? tile - p.tiles_of_first : tile, p.k_tiles, p.k_tiles_inverse,
                       words);
}

template <class Scheme, int Resident>
static __global__ void __launch_bounds__(kSplitThreads,
                                         Resident < kMostResident ? Resident : kMostResident)
    sgemm_split(split_problem p)
{
    let_next_kernel_start();
    wait_for_kernels_ahead();
    if (blockIdx.x == 0 && p.control != nullptr)
        for (unsigned x = threadIdx.x; x < kControlBytes / sizeof(uint32_t); x += kSplitThreads)
            p.control[x] = 0;
    if (blockIdx.x < p.tiles) split_tile_of<Scheme>(p, blockIdx.x, true);
}

#endif
