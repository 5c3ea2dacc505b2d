/*
 * sgemm_gpu_batched_mma.cu - many products of one shape in one launch, as accurate as fp32's, on
 * the tensor cores: each operand is split on its way into two parts of TF32, and three products of
 * these are added.
 *
 * Accepts   compute capability 8.0 and higher; k >= 20 or 32 (docs/numerics.md); alpha other than
 *           0; any m, n, transposes, leading dimensions, strides and alignment
 * Kernels   tiles of 128 x 128 or 96 x 128 (batched/wgmma_tiles.cuh, on compute capability 9.0); of
 *           32 x 32, or up to 8 rows or columns by 32, by 1 to 8 warps (batched/warp_tiles.cuh):
 *           whichever is predicted to take least
 */
#include <utility>

#include "gpu/batched/plan.h"
#include "gpu/batched/warp_tiles.cuh"
#include "gpu/batched/wgmma_tiles.cuh"
#include "gpu/kernels.h"
#include "gpu/launch.cuh"
#include "gpu/split/wgmma/tensor_map.cuh"

/* For tiles of down x across elements; turned: of op(B)' op(A)'. */
static bool tensor_batch_of(const duo_call *call, const duo_batch *batch, const duo_launch *how,
                            int down, int across, bool turn, tensor_batch *b)
{
    const int a_is = turn ? DUO_B : DUO_A, b_is = turn ? DUO_A : DUO_B;
    *b = {};
    b->p = sgemm_problem_of(call);
    b->places = places_of(batch, how);
    if (turn) {
        b->p = turned(b->p);
        std::swap(b->places.list[DUO_A], b->places.list[DUO_B]);
        std::swap(b->places.step[DUO_A], b->places.step[DUO_B]);
    }
    const int64_t tiles_i = (b->p.m + down - 1) / down, tiles_j = (b->p.n + across - 1) / across;
    if (call->m > INT32_MAX || call->n > INT32_MAX || call->k > INT32_MAX - kSquare ||
        tiles_i * tiles_j > INT32_MAX / batch->count)
        return false;
    b->along_k_a = duo_call_along_k(call, a_is);
    b->along_k_b = duo_call_along_k(call, b_is);
    b->width_a = duo_batched_width(call, batch, a_is);
    b->width_b = duo_batched_width(call, batch, b_is);
    b->down = (int)tiles_i;
    b->of_product = (int)(tiles_i * tiles_j);
    b->all = b->of_product * (int)batch->count;
    b->turned = turn;
    return true;
}

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
    static constexpr auto by_boxes = sgemm_wgmma_tiles<Down, true>,
                          by_elements = sgemm_wgmma_tiles<Down, false>;

    static cudaError_t launch(const duo_call *call, const duo_batch *batch, const duo_launch *how)
    {
        tensor_batch b;
        tensor_maps maps = {};
        if (!tensor_batch_of(call, batch, how, Down, kWgmmaEdge, false, &b))
            return cudaErrorInvalidValue;
        const int blocks = b.all < how->multiprocessors ? b.all : how->multiprocessors;
        const bool boxes = make_map(&maps.a, call, batch, DUO_A, Down) &&
                           make_map(&maps.b, call, batch, DUO_B, kWgmmaEdge);
        return queue_kernel_behind(boxes ? by_boxes : by_elements, (unsigned)blocks, kBatchThreads,
                                   kWgmmaRingBytes, how, b, maps);
    }
    static cudaError_t load()
    {
        const cudaError_t error = load_kernel_with(by_boxes, kWgmmaRingBytes);
        return error == cudaSuccess ? load_kernel_with(by_elements, kWgmmaRingBytes) : error;
    }
};

/* Warps for a tile, tiles of a block, and blocks of a multiprocessor. */
template <class Tile, int Warps, int Tiles, int Blocks>
struct warps {
    static constexpr auto kernel = sgemm_warp_tiles<Tile, Warps, Tiles, Blocks>;
    static constexpr size_t kBytes = (size_t)Warps * Tiles * Tile::kBytes;

    static cudaError_t launch(const duo_call *call, const duo_batch *batch, const duo_launch *how)
    {
        tensor_batch b;
        const bool turn = Tile::kDown == kStrip && call->m > kStrip;
        if (!tensor_batch_of(call, batch, how, Tile::kDown, kSquare, turn, &b))
            return cudaErrorInvalidValue;
        return queue_kernel_behind(kernel, (unsigned)((b.all - 1) / Tiles + 1), 32 * Warps * Tiles,
                                   kBytes, how, b);
    }
    static cudaError_t load() { return load_kernel_with(kernel, kBytes); }
};
using square_tile = warp_tile<kSquare, 2>;
using warps_1 = warps<square_tile, 1, 4, 3>;
using warps_2 = warps<square_tile, 2, 2, 3>;
using warps_4 = warps<square_tile, 4, 1, 3>;
using warps_8 = warps<square_tile, 8, 1, 1>;
static_assert(warps_8::kBytes == DUO_BATCHED_WARPS_8_BYTES, "as the plan knows them");
using strip_tile = warp_tile<kStrip, 3>;
using strips_1 = warps<strip_tile, 1, 4, 3>;
using strips_2 = warps<strip_tile, 2, 2, 3>;
using strips_4 = warps<strip_tile, 4, 1, 3>;
using strips_8 = warps<strip_tile, 8, 1, 1>;
static_assert(strips_8::kBytes == DUO_BATCHED_STRIPS_8_BYTES && kStrip == DUO_BATCHED_STRIP,
              "as the plan knows them");

/* ---- Which of them ---- */

static cudaError_t (*const launches[])(const duo_call *, const duo_batch *, const duo_launch *) = {
    warps_1::launch,  warps_2::launch,  warps_4::launch,  warps_8::launch,   strips_1::launch,
    strips_2::launch, strips_4::launch, strips_8::launch, wgmma<96>::launch, wgmma<128>::launch};
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
    if (error == cudaSuccess) error = strips_1::load();
    if (error == cudaSuccess) error = strips_2::load();
    if (error == cudaSuccess) error = strips_4::load();
    if (error == cudaSuccess && shared_of_block(capability) >= strips_8::kBytes)
        error = strips_8::load();
    if (error == cudaSuccess && capability == DUO_BATCHED_WGMMA_CAPABILITY)
        error = wgmma<96>::load();
    if (error == cudaSuccess && capability == DUO_BATCHED_WGMMA_CAPABILITY)
        error = wgmma<128>::load();
    return error;
}

const duo_gpu_batch duo_sgemm_gpu_batched_mma = {.launch = launch, .load = load};
