/*
 * sgemm_gpu_batched_mma.cu - many products of one shape in one launch, as accurate as fp32's, on
 * the tensor cores: each operand is split on its way into two parts of TF32, and three products of
 * these are added.
 *
 * Accepts   compute capability 8.0 and higher; k >= 20 or 32 (docs/numerics.md); alpha other than
 *           0; any m, n, transposes, leading dimensions, strides and alignment
 * Kernels   tiles of 32, 64, 96 or 128 by 128 (batched/wgmma_tiles.cuh, on compute capability 9.0);
 *           of 32 x 32, or up to 8 rows or columns by 32, by 1 to 8 warps (batched/warp_tiles.cuh):
 *           whichever is predicted to take least
 */
#include "gpu/batched/plan.h"
#include "gpu/batched/warp_tiles.cuh"
#include "gpu/batched/wgmma_tiles.cuh"
#include "gpu/kernels.h"
#include "gpu/launch.cuh"
#include "gpu/split/wgmma/tensor_map.cuh"

/* Makes the map of an operand's matrices, in boxes of 32 k; and of all rows of a tile if neighbours
 * in memory are neighbours in k, else of 32. False: tensor copies cannot read it. */
static bool make_map(CUtensorMap *map, const duo_call *call, const duo_batch *batch, int i,
                     int rows)
{
    const duo_operand &o = call->operand[i];
    const bool along_k = duo_call_along_k(call, i), shared = batch->stride[i] == 0;
    decltype(&cuTensorMapEncodeTiled) encode;
    if (!duo_batched_boxes(call, batch, i) || encode_function(&encode) != cudaSuccess) return false;
    const cuuint64_t column = (cuuint64_t)o.ld * sizeof(float);
    const cuuint64_t sizes[3] = {(cuuint64_t)o.rows, (cuuint64_t)o.columns,
                                 shared ? 1 : (cuuint64_t)batch->count};
    const cuuint64_t strides[2] = {column,
                                   shared ? column : (cuuint64_t)batch->stride[i] * sizeof(float)};
    const cuuint32_t box[3] = {kSquare, (cuuint32_t)(along_k ? rows : kSquare), 1};
    const cuuint32_t steps[3] = {1, 1, 1};
    return encode(map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 3, o.address, sizes, strides, box, steps,
                  CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                  CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

/* Tiles of Down x 128. */
template <int Down>
struct wgmma {
    using by_boxes = wgmma_kernel<Down, true, one_batch>;
    using by_chunks = wgmma_kernel<Down, false, one_batch>;

    static cudaError_t launch(const duo_call *call, const duo_batch *batch, const duo_launch *how)
    {
        const bool turn = duo_batched_turned(call->m, call->n, Down);
        const int a = turn ? DUO_B : DUO_A, b = turn ? DUO_A : DUO_B;
        one_batch source;
        tensor_maps maps = {};
        if (!tensor_batch_of(call, batch, how->workspace, Down, kWgmmaEdge, turn, &source.batch))
            return cudaErrorInvalidValue;
        const bool boxes = make_map(&maps.a, call, batch, a, Down) &&
                           make_map(&maps.b, call, batch, b, kWgmmaEdge);
        return boxes ? by_boxes::queue(source, source.batch.all, maps, how)
                     : by_chunks::queue(source, source.batch.all, maps, how);
    }
    static cudaError_t load()
    {
        const cudaError_t error = by_boxes::load();
        return error == cudaSuccess ? by_chunks::load() : error;
    }
};

template <class Warps>
static cudaError_t launch_warps(const duo_call *call, const duo_batch *batch, const duo_launch *how)
{
    constexpr int kDown = Warps::Tile::kDown;
    const bool turn = kDown == kStrip && call->m > kStrip;
    one_batch source;
    if (!tensor_batch_of(call, batch, how->workspace, kDown, kSquare, turn, &source.batch))
        return cudaErrorInvalidValue;
    return Warps::queue(source, source.batch.all, how);
}

/* ---- Which of them ---- */

static cudaError_t (*const launches[])(const duo_call *, const duo_batch *, const duo_launch *) = {
    launch_warps<warps_1>,  launch_warps<warps_2>,  launch_warps<warps_4>,  launch_warps<warps_8>,
    launch_warps<strips_1>, launch_warps<strips_2>, launch_warps<strips_4>, launch_warps<strips_8>,
    wgmma<32>::launch,      wgmma<64>::launch,      wgmma<96>::launch,      wgmma<128>::launch};
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
    error = warps_1::load<one_batch>();
    if (error == cudaSuccess) error = warps_2::load<one_batch>();
    if (error == cudaSuccess) error = warps_4::load<one_batch>();
    if (error == cudaSuccess && shared_of_block(capability) >= warps_8::kBytes)
        error = warps_8::load<one_batch>();
    if (error == cudaSuccess) error = strips_1::load<one_batch>();
    if (error == cudaSuccess) error = strips_2::load<one_batch>();
    if (error == cudaSuccess) error = strips_4::load<one_batch>();
    if (error == cudaSuccess && shared_of_block(capability) >= strips_8::kBytes)
        error = strips_8::load<one_batch>();
    if (error != cudaSuccess || capability != DUO_BATCHED_WGMMA_CAPABILITY) return error;
    error = wgmma<32>::load();
    if (error == cudaSuccess) error = wgmma<64>::load();
    if (error == cudaSuccess) error = wgmma<96>::load();
    if (error == cudaSuccess) error = wgmma<128>::load();
    return error;
}

const duo_gpu_batch duo_sgemm_gpu_batched_mma = {.launch = launch, .load = load};
