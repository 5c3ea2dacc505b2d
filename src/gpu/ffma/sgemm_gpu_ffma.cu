/*
 * sgemm_gpu_ffma.cu - only fp32 FMA, with tiles of C shared evenly among the multiprocessors.
 *
 * Accepts   any m, n, k, transposes, leading dimensions and alignment
 * Threads   64 to 256 per block. A block computes a tile of C, or a run of segments that may begin
 *           and end inside tiles; slabs of A and B pass through a ring of 4 in shared memory as
 *           [l][i] and [l][j] (cp.async; plain loads before compute capability 8.0).
 * Warp      4 x 8 threads; a thread owns groups of 4 x 4 elements, so that it reads shared memory
 *           16 bytes at a time. It reads the fragments of the next step, in tiles up to 64 x 64 of
 *           the one after it, while it multiplies.
 * Order     product_order.h, but a vector product's segment is one chain, too
 * Traffic   k * (1/tile rows + 1/tile columns) loads per element of C; tiles that run at the same
 *           time are near each other in C, so that the L2 cache serves most of them
 *
 * Tiles seldom divide evenly among the multiprocessors. The part that divides evenly is computed in
 * whole tiles, a block each. The segments of the rest are cut into equal runs, regardless of where
 * tiles begin or end. If several blocks share a tile, the sums of its segments go to the workspace,
 * and a second kernel adds them in order.
 *
 * Operands that cannot be copied 16 bytes at a time are packed ahead, into the workspace, if that
 * is expected to pay (ffma/plan.cuh).
 */
#include "gpu/ffma/plan.cuh"
#include "gpu/launch.cuh"

/*
 * Shared memory per block. Blocks that start before the kernel ahead has ended go where it has left
 * room. With one block for each multiprocessor, some would get two and others none. So these blocks
 * ask for more shared memory than they need.
 */
static size_t bytes_to_ask_for(const plan &x, const duo_launch *how)
{
    const bool early = how->capability >= kDependentLaunches;
    const bool one_each = x.shares.whole + x.runs <= how->multiprocessors;
    return early && one_each ? bytes_alone(*x.tile, how->capability) : x.tile->shared_bytes;
}

static cudaError_t queue_plan(const duo_call *call, const duo_launch *how, plan &x)
{
    sgemm_problem p = sgemm_problem_of(call);
    float *workspace = reinterpret_cast<float *>(how->workspace);
    size_t left = how->workspace_bytes - (size_t)bytes_of(x);
    x.shares.parts = workspace;
    workspace += bytes_of(x) / (int64_t)sizeof(float);
    copy_kind kind[2];
    for (int i = DUO_A; i <= DUO_B; i++) {
        const packing o = packing_of(call, i, workspace);
        kind[i] = kind_of(o);
        if (!worth_packing(call, how, i, kind[i]) || packed_bytes(o) > left) continue;
        const cudaError_t error =
            queue_kernel_behind(sgemm_ffma_pack, (unsigned)pack_blocks(o), kThreads, 0, how, o);
        if (error != cudaSuccess) return error;
        kind[i] = kVectors;
        (i == DUO_A ? p.a : p.b) = o.to;
        (i == DUO_A ? p.lda : p.ldb) = o.to_ld;
        workspace += packed_bytes(o) / sizeof(float);
        left -= packed_bytes(o);
    }
    const cudaError_t error = queue_kernel_behind(
        x.tile->product[kind[DUO_A]][kind[DUO_B]], (unsigned)(x.shares.whole + x.runs),
        x.tile->threads, bytes_to_ask_for(x, how), how, p, x.shares);
    if (error != cudaSuccess || x.runs == 0) return error;
    const int64_t threads = x.shared_tiles * x.tile->edge_m * x.tile->edge_n / kGroup;
    return after_c_changed(queue_kernel_behind(x.tile->add, (unsigned)(threads / kThreads),
                                               kThreads, 0, how, p, x.shares));
}

static size_t workspace(const duo_call *call, const duo_launch *how)
{
    plan x;
    if (!choose(call, how, SIZE_MAX, &x)) return 0;
    size_t bytes = (size_t)bytes_of(x);
    for (int i = DUO_A; i <= DUO_B; i++) {
        const packing o = packing_of(call, i, nullptr);
        if (worth_packing(call, how, i, kind_of(o))) bytes += packed_bytes(o);
    }
    return bytes;
}

static cudaError_t launch(const duo_call *call, const duo_launch *how)
{
    plan x;
    if (!choose(call, how, how->workspace_bytes, &x)) return cudaErrorInvalidValue;
    return queue_plan(call, how, x);
}

/* A tile is not used, and not loaded, if its ring has no room on this device. */
static cudaError_t load()
{
    int capability = 0;
    cudaError_t error = current_capability(&capability);
    if (error == cudaSuccess) error = load_kernel(sgemm_ffma_pack);
    for (const tile_kernels &tile : tiles) {
        if (error == cudaSuccess && resident(tile, capability) == 0) continue;
        const size_t most =
            capability >= kDependentLaunches ? bytes_alone(tile, capability) : tile.shared_bytes;
        for (int kind = 0; kind < 9 && error == cudaSuccess; kind++)
            error = load_kernel_with(tile.product[kind / 3][kind % 3], most);
        if (error == cudaSuccess) error = load_kernel(tile.add);
    }
    return error;
}

const duo_gpu_algorithm duo_sgemm_gpu_ffma = {
    .launch = launch,
    .load = load,
    .workspace = workspace,
    .packed_bytes = nullptr,
    .pack = nullptr,
};
