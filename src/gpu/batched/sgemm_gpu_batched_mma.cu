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
#include "gpu/batched/least_kernel.cuh"
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

/* Bytes of the workspace before the sums of parts of k: of the lists that were sent. */
static size_t list_bytes(const duo_batch *batch)
{
    return (duo_batch_list_bytes(batch) + 255) / 256 * 256;
}

/* How tiles of `down` rows cut a batch, and the sums of the parts of k. */
struct k_parts {
    duo_batched_cut cut;
    int64_t floats; /* of a part's sums */
    size_t bytes;   /* of all sums; 0: k has one part */
    k_parts(const duo_call *call, const duo_batch *batch, int down, const duo_launch *how)
    {
        const duo_batched_device device = device_of(how);
        cut = duo_batched_cut_of(call->m, call->n, call->k, batch->count, down, &device);
        floats = call->m * call->n * batch->count;
        bytes = cut.parts > 1 ? (size_t)(cut.parts * floats) * sizeof(float) : 0;
    }
};

/* A product alone, with k whole. */
static batch_k_parts alone(const tile_batch &batch) { return {batch, 1, batch.p.k, 0}; }

/* Tiles of Down x 128. */
template <int Down>
struct wgmma {
    template <class Source>
    static cudaError_t queue(const Source &source, const duo_call *call, const duo_batch *batch,
                             const duo_launch *how)
    {
        const bool turn = source.batch.turned;
        const int a = turn ? DUO_B : DUO_A, b = turn ? DUO_A : DUO_B;
        tensor_maps maps = {};
        const bool boxes = make_map(&maps.a, call, batch, a, Down) &&
                           make_map(&maps.b, call, batch, b, kWgmmaEdge);
        const int tiles = source.tiles();
        return boxes ? wgmma_kernel<Down, true, Source>::queue(source, tiles, maps, how)
                     : wgmma_kernel<Down, false, Source>::queue(source, tiles, maps, how);
    }
    /* The parts' sums go to the workspace, then to C. */
    static cudaError_t launch_parts(const tile_batch &whole, const k_parts &k, const duo_call *call,
                                    const duo_batch *batch, const duo_launch *how)
    {
        float *const sums = reinterpret_cast<float *>(how->workspace + list_bytes(batch));
        batch_k_parts source = {whole, (int)k.cut.parts, k.cut.slabs * kSquare, k.floats};
        tile_batch &part = source.batch;
        part.p.c = sums;
        part.p.ldc = call->m;
        part.p.alpha = 1.0f;
        part.p.beta = 0.0f;
        part.places.list[DUO_C] = nullptr;
        part.places.step[DUO_C] = call->m * call->n * (int64_t)sizeof(float);
        const k_sums all = {sgemm_problem_of(call), places_of(batch, how->workspace), sums,
                            (int)k.cut.parts, k.floats};
        const cudaError_t error = queue(source, call, batch, how);
        return error == cudaSuccess ? queue_add_parts(all, how) : error;
    }
    static cudaError_t launch(const duo_call *call, const duo_batch *batch, const duo_launch *how)
    {
        const k_parts k(call, batch, Down, how);
        one_batch source;
        if (!tensor_batch_of(call, batch, how->workspace, Down, kWgmmaEdge, k.cut.turned,
                             &source.batch))
            return cudaErrorInvalidValue;
        if (k.bytes > 0 && list_bytes(batch) + k.bytes <= how->workspace_bytes)
            return launch_parts(source.batch, k, call, batch, how);
        if (batch->count == 1) return queue(alone(source.batch), call, batch, how);
        return queue(source, call, batch, how);
    }
    static cudaError_t load()
    {
        cudaError_t error = wgmma_kernel<Down, true, one_batch>::load();
        if (error == cudaSuccess) error = wgmma_kernel<Down, false, one_batch>::load();
        if (error == cudaSuccess) error = wgmma_kernel<Down, true, batch_k_parts>::load();
        if (error == cudaSuccess) error = wgmma_kernel<Down, false, batch_k_parts>::load();
        return error;
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
    if (batch->count == 1) return Warps::queue(alone(source.batch), source.batch.all, how);
    return Warps::queue(source, source.batch.all, how);
}

/* ---- Which of them ---- */

static cudaError_t (*const launches[])(const duo_call *, const duo_batch *, const duo_launch *) = {
    launch_warps<warps_1>,  launch_warps<warps_2>,  launch_warps<warps_4>,  launch_warps<warps_8>,
    launch_warps<strips_1>, launch_warps<strips_2>, launch_warps<strips_4>, launch_warps<strips_8>,
    wgmma<32>::launch,      wgmma<64>::launch,      wgmma<96>::launch,      wgmma<128>::launch};
static_assert(sizeof launches / sizeof launches[0] == DUO_BATCHED_KERNELS - DUO_BATCHED_TENSOR,
              "by duo_batched_kernel");

/* DUO_BATCHED_KERNELS: none takes it. */
static duo_batched_kernel kernel_of(const duo_call *call, const duo_batch *batch,
                                    const duo_launch *how)
{
    const kernel_choice choice =
        least_kernel<DUO_BATCHED_TENSOR, DUO_BATCHED_KERNELS>(call, batch, device_of(how));
    return isfinite(choice.microseconds) ? choice.kernel : DUO_BATCHED_KERNELS;
}

static size_t workspace(const duo_call *call, const duo_batch *batch, const duo_launch *how)
{
    const double least = duo_batched_parts(call->m, 128) * duo_batched_parts(call->n, 128) *
                         (double)batch->count; /* tiles */
    if (2.0 * least > DUO_BATCHED_ROUNDS * (double)how->multiprocessors) return 0;
    const duo_batched_kernel kernel = kernel_of(call, batch, how);
    if (kernel < DUO_BATCHED_WGMMA_32 || kernel == DUO_BATCHED_KERNELS) return 0;
    const k_parts k(call, batch, duo_batched_wgmma_rows(kernel), how);
    return k.bytes > 0 ? list_bytes(batch) + k.bytes : 0;
}

static cudaError_t launch(const duo_call *call, const duo_batch *batch, const duo_launch *how)
{
    const duo_batched_kernel kernel = kernel_of(call, batch, how);
    if (kernel == DUO_BATCHED_KERNELS) return cudaErrorNotSupported;
    return launches[kernel - DUO_BATCHED_TENSOR](call, batch, how);
}

template <class Warps>
static cudaError_t load_warps()
{
    const cudaError_t error = Warps::template load<one_batch>();
    return error == cudaSuccess ? Warps::template load<batch_k_parts>() : error;
}

static cudaError_t load()
{
    int capability = 0;
    cudaError_t error = current_capability(&capability);
    if (error != cudaSuccess || capability < DUO_BATCHED_WARPS_CAPABILITY) return error;
    error = look_for_tiles(warps_1::kernel<one_batch>, wgmma_kernel<32, true, one_batch>::kernel);
    if (error == cudaSuccess) error = load_warps<warps_1>();
    if (error == cudaSuccess) error = load_warps<warps_2>();
    if (error == cudaSuccess) error = load_warps<warps_4>();
    if (error == cudaSuccess && shared_of_block(capability) >= warps_8::kBytes)
        error = load_warps<warps_8>();
    if (error == cudaSuccess) error = load_warps<strips_1>();
    if (error == cudaSuccess) error = load_warps<strips_2>();
    if (error == cudaSuccess) error = load_warps<strips_4>();
    if (error == cudaSuccess && shared_of_block(capability) >= strips_8::kBytes)
        error = load_warps<strips_8>();
    if (error != cudaSuccess || capability != DUO_BATCHED_WGMMA_CAPABILITY) return error;
    error = load_add_parts();
    if (error == cudaSuccess) error = wgmma<32>::load();
    if (error == cudaSuccess) error = wgmma<64>::load();
    if (error == cudaSuccess) error = wgmma<96>::load();
    if (error == cudaSuccess) error = wgmma<128>::load();
    return error;
}

bool duo_batched_has_wgmma(void) { return !__atomic_load_n(&no_wgmma_tiles, __ATOMIC_RELAXED); }

const duo_gpu_batch duo_sgemm_gpu_batched_mma = {
    .launch = launch, .load = load, .workspace = workspace};
