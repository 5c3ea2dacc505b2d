/*
 * sgemm_gpu_batched_mma.cu - many products of one shape in one launch, as accurate as fp32's, on
 * the tensor cores: each operand is split on its way into two parts of TF32, and three products of
 * these are added.
 *
 * Accepts   compute capability 8.0 and higher; k >= 20 or 32 (docs/numerics.md); alpha other than
 *           0; any m, n, transposes, leading dimensions, strides and alignment
 * Kernels   tiles of 128 x 128 (batched/wgmma_tiles.cuh, on compute capability 9.0), or of 32 x 32
 *           by 1 to 8 warps (batched/warp_tiles.cuh): whichever is predicted to take least
 */
#include "gpu/batched/plan.h"
#include "gpu/batched/warp_tiles.cuh"
#include "gpu/batched/wgmma_tiles.cuh"
#include "gpu/kernels.h"
#include "gpu/launch.cuh"

static bool tensor_batch_of(const duo_call *call, const duo_batch *batch, const duo_launch *how,
                            int edge, tensor_batch *b)
{
    const int64_t down = (call->m + edge - 1) / edge, across = (call->n + edge - 1) / edge;
    if (call->m > INT32_MAX || call->n > INT32_MAX || call->k > INT32_MAX - kSquare ||
        down * across > INT32_MAX / batch->count)
        return false;
    *b = {};
    b->p = sgemm_problem_of(call);
    b->places = places_of(batch, how);
    b->along_k_a = duo_call_along_k(call, DUO_A);
    b->along_k_b = duo_call_along_k(call, DUO_B);
    b->width_a = duo_batched_width(call, batch, DUO_A);
    b->width_b = duo_batched_width(call, batch, DUO_B);
    b->down = (int)down;
    b->of_product = (int)(down * across);
    b->all = b->of_product * (int)batch->count;
    return true;
}

static cudaError_t launch_wgmma(const duo_call *call, const duo_batch *batch, const duo_launch *how)
{
    tensor_batch b;
    if (!tensor_batch_of(call, batch, how, kWgmmaEdge, &b)) return cudaErrorInvalidValue;
    const int blocks = b.all < how->multiprocessors ? b.all : how->multiprocessors;
    return queue_kernel_behind(sgemm_wgmma_tiles, (unsigned)blocks, kWgmmaThreads, kWgmmaRingBytes,
                               how, b);
}

/* Warps for a tile, tiles of a block, and blocks of a multiprocessor. */
template <int Warps, int Tiles, int Blocks>
struct warps {
    static constexpr auto kernel = sgemm_warp_tiles<Warps, Tiles, Blocks>;
    static constexpr size_t kBytes = (size_t)Warps * Tiles * kWarpBytes;

    static cudaError_t launch(const duo_call *call, const duo_batch *batch, const duo_launch *how)
    {
        tensor_batch b;
        if (!tensor_batch_of(call, batch, how, kSquare, &b)) return cudaErrorInvalidValue;
        return queue_kernel_behind(kernel, (unsigned)((b.all - 1) / Tiles + 1), 32 * Warps * Tiles,
                                   kBytes, how, b);
    }
    static cudaError_t load() { return load_kernel_with(kernel, kBytes); }
};
using warps_1 = warps<1, 4, 3>;
using warps_2 = warps<2, 2, 3>;
using warps_4 = warps<4, 1, 3>;
using warps_8 = warps<8, 1, 1>;
static_assert(warps_8::kBytes == DUO_BATCHED_WARPS_8_BYTES, "as the plan knows them");

/* ---- Which of them ---- */

static cudaError_t (*const launches[])(const duo_call *, const duo_batch *, const duo_launch *) = {
    warps_1::launch, warps_2::launch, warps_4::launch, warps_8::launch, launch_wgmma};
static_assert(sizeof launches / sizeof launches[0] == DUO_BATCHED_KERNELS - DUO_BATCHED_TENSOR,
              "by duo_batched_kernel");

static cudaError_t launch(const duo_call *call, const duo_batch *batch, const duo_launch *how)
{
    const duo_batched_size size = duo_batched_size_of(call, batch);
    const duo_batched_device device = {how->multiprocessors, how->capability,
                                       shared_of_block(how->capability)};
    double microseconds;
    const duo_batched_kernel kernel =
        duo_batched_least(&size, &device, DUO_BATCHED_TENSOR, DUO_BATCHED_KERNELS, &microseconds);
    if (!isfinite(microseconds)) return cudaErrorNotSupported;
    return launches[kernel - DUO_BATCHED_TENSOR](call, batch, how);
}

static cudaError_t load()
{
    int capability = 0;
    cudaError_t error = current_capability(&capability);
    if (error != cudaSuccess || capability < DUO_BATCHED_WARPS_CAPABILITY) return error;
    error = warps_1::load();
    if (error == cudaSuccess) error = warps_2::load();
    if (error == cudaSuccess) error = warps_4::load();
    if (error == cudaSuccess && shared_of_block(capability) >= warps_8::kBytes)
        error = warps_8::load();
    if (error == cudaSuccess && capability == DUO_BATCHED_WGMMA_CAPABILITY)
        error = load_kernel_with(sgemm_wgmma_tiles, kWgmmaRingBytes);
    return error;
}

const duo_gpu_batch duo_sgemm_gpu_batched_mma = {.launch = launch, .load = load};
