/*
 * sgemm_gpu_mma.cu - products as accurate as fp32's, from three products of fp16 planes, on the
 * tensor cores of any architecture.
 *
 * Accepts   compute capability 7.5 and higher; k >= 64, on Hopper 20, where the error bound begins
 *           to hold (docs/reference/numerics.md): not to be lowered for speed
 * Hopper    the product is a batch of one (batched/sgemm_gpu_batched_mma.cu), from three products
 *           of TF32: one launch, which splits the operands on their way. If that code is missing,
 *           as elsewhere
 * Order     split/mma/product.cuh. Blocks of C that the guard refuses to fp16x3: by bf16x6; blocks
 *           that it refuses to bf16x6, too: by fp32 FMA. Turing has no bf16: there all refused
 *           blocks by fp32 FMA
 */
#include "gpu/batched/plan.h"
#include "gpu/kernels.h"
#include "gpu/split/mma/product.cuh"
#include "gpu/split/patches.cuh"
#include "gpu/split/product.cuh"
#include "gpu/split/split_pass.cuh"

/* ---- Refused blocks ---- */

/*
 * The kernel behind split/mma/product.cuh, for blocks that the guard refused to fp16x3: it computes
 * some by fp32 FMA, and writes the planes that bf16x6 needs for others.
 *
 * Mostly there is nothing to do; one launch finds that out.
 *
 * Threads   256 per block. A block walks the 64 x 64 blocks of C, reads their words like the kernel
 *           before it, and computes a block if its way is one of exact_ways
 */

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

/* ---- Running ---- */

constexpr int kLeastCapability = 75, kLeastBf16 = 80;

/* True also on a later device that runs code compiled for Turing. */
static bool bf16_absent; /* read and set by the __atomic functions */

template <class Scheme>
static cudaError_t queue_mma(mma_problem p, const duo_launch *how)
{
    const int64_t tiles_i = tiles_of(p.m), tiles_j = tiles_of(p.n);
    if (tiles_i * tiles_j > INT32_MAX) return cudaErrorInvalidValue;
    p.tiles_i = (int)tiles_i;
    p.tiles_j = (int)tiles_j;
    return queue_kernel_behind(sgemm_mma<Scheme>, (unsigned)(tiles_i * tiles_j), kMmaThreads,
                               mma_stage<Scheme>::kSharedBytes, how, p);
}

static cudaError_t queue_kernels(const patch &p, const duo_launch *how)
{
    const bool bf16 =
        how->capability >= kLeastBf16 && !__atomic_load_n(&bf16_absent, __ATOMIC_RELAXED);
    const mma_problem first = {p.multiply, fp16x3::kWays, p.pending, nullptr};
    const mma_problem rest = {p.multiply, kPendingBf16, nullptr, p.pending};
    const refused_problem fallback = {
        p.multiply, p.split, bf16 ? kPendingExact : kPendingExact | kPendingBf16, p.pending};
    cudaError_t error = duo_queue_split_fp16x3(p, how);
    if (error == cudaSuccess) error = queue_mma<fp16x3>(first, how);
    if (error != cudaSuccess) return error;
    error = queue_kernel_behind(sgemm_refused, (unsigned)how->multiprocessors, kExactThreads, 0,
                                how, fallback);
    if (error == cudaSuccess && bf16) error = queue_mma<bf16x6>(rest, how);
    return after_c_changed(error);
}

static cudaError_t load()
{
    cudaError_t error = duo_sgemm_gpu_fp16x3.load(); /* both use its kernels */
    if (error == cudaSuccess) error = load_kernel(sgemm_mma<fp16x3>);
    if (error == cudaSuccess) error = load_kernel(sgemm_refused);
    cudaFuncAttributes found = {};
    if (error == cudaSuccess) error = cudaFuncGetAttributes(&found, sgemm_mma<bf16x6>);
    if (error == cudaSuccess && found.ptxVersion < kLeastBf16)
        __atomic_store_n(&bf16_absent, true, __ATOMIC_RELAXED);
    return error;
}

static bool is_batch(const duo_launch *how)
{
    return how->capability == DUO_BATCHED_WGMMA_CAPABILITY && duo_batched_has_wgmma();
}

static size_t workspace(const duo_call *call, const duo_launch *how)
{
    if (is_batch(how)) {
        const duo_batch one = duo_batch_of_one();
        return duo_sgemm_gpu_batched_mma.workspace(call, &one, how);
    }
    return patch_bytes(call, call->m, call->n, bf16x6::kPlanes, how);
}

static cudaError_t launch(const duo_call *call, const duo_launch *how)
{
    if (how->capability < kLeastCapability) return cudaErrorNotSupported;
    if (is_batch(how)) {
        const duo_batch one = duo_batch_of_one();
        return duo_sgemm_gpu_batched_mma.launch(call, &one, how);
    }
    return queue_product<bf16x6>(call, how, queue_kernels);
}

const duo_gpu_algorithm duo_sgemm_gpu_mma = {
    .launch = launch,
    .load = load,
    .workspace = workspace,
    .packed_bytes = nullptr,
    .pack = nullptr,
};
