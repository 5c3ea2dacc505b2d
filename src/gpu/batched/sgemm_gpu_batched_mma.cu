/*
 * sgemm_gpu_batched_mma.cu - many products of one shape in one launch, as accurate as fp32's, on
 * the tensor cores: each operand is split on its way into two parts of TF32, and three products of
 * these are added.
 *
 * Accepts   compute capability 8.0 and higher; k >= 20 or 32 (numerics.md); alpha other than
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

/* Makes the maps of an operand's matrices for slabs of Rows rows. False: tensor copies cannot read
 * it. */
template <int Rows>
static bool make_maps(operand_maps *maps, const duo_call *call, const duo_batch *batch, int i)
{
    const duo_operand &o = call->operand[i];
    const bool along_k = duo_call_along_k(call, i), shifted = duo_batched_shifted(call, batch, i);
    const bool runs_on = duo_batched_runs_on(call, batch, i);
    const int64_t products = batch->stride[i] == 0 || runs_on ? 1 : batch->count;
    maps->shifted = shifted;
    maps->columns = runs_on ? (int)(batch->stride[i] / o.ld) : 0;
    decltype(&cuTensorMapEncodeTiled) encode;
    if (!duo_batched_boxes(call, batch, i) || encode_function(&encode) != cudaSuccess) return false;
    const int quarters = shifted ? kQuarters : 1;
    const int rows = (int)min((int64_t)Rows, along_k ? o.columns : o.rows); /* of any tile */
    int run = kSquare, runs = (along_k ? Rows : kSquare) / quarters; /* floats of one; of a box */
    if (shifted && along_k) {
        run = kSquare + 4;
        runs = (rows + kQuarters - 1) / kQuarters;
    } else if (shifted) {
        run = (rows + 6) / 8 * 8 + 4; /* and 3: runs are shifted. So lanes use all banks */
    }
    maps->pitch = run * (int)sizeof(float);
    maps->bytes = shifted ? quarters * runs * maps->pitch : Rows * kRunBytes;
    const cuuint64_t column = (cuuint64_t)o.ld * sizeof(float) * quarters;
    const cuuint64_t strides[2] = {
        column, products == 1 ? column : (cuuint64_t)batch->stride[i] * sizeof(float)};
    const cuuint32_t box[3] = {(cuuint32_t)run, (cuuint32_t)runs, 1};
    const cuuint32_t steps[3] = {1, 1, 1};
    const int64_t all = o.columns + maps->columns * (batch->count - 1);
    for (int q = 0; q < quarters; q++) {
        const int64_t first = q < all ? q : 0; /* a column; if there are fewer, any will do */
        float *const x = o.address + first * o.ld;
        const int shift = shift_of(x);
        const cuuint64_t sizes[3] = {(cuuint64_t)(o.rows + shift),
                                     (cuuint64_t)((all - first + quarters - 1) / quarters),
                                     (cuuint64_t)products};
        if (encode(&maps->of[q], CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 3, x - shift, sizes, strides, box,
                   steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                   shifted ? CU_TENSOR_MAP_SWIZZLE_NONE : CU_TENSOR_MAP_SWIZZLE_128B,
                   CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                   CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) != CUDA_SUCCESS)
            return false;
    }
    return true;
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
        const int tiles = source.tiles();
        if (!make_maps<Down>(&maps.a, call, batch, a) ||
            !make_maps<kWgmmaEdge>(&maps.b, call, batch, b))
            return wgmma_kernel<Down, kByChunks, Source>::queue(source, tiles, maps, how);
        if (maps.a.shifted || maps.b.shifted)
            return wgmma_kernel<Down, kByQuarters, Source>::queue(source, tiles, maps, how);
        return wgmma_kernel<Down, kByBoxes, Source>::queue(source, tiles, maps, how);
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
    template <class Source>
    static cudaError_t load_ways()
    {
        cudaError_t error = wgmma_kernel<Down, kByChunks, Source>::load();
        if (error == cudaSuccess) error = wgmma_kernel<Down, kByBoxes, Source>::load();
        if (error == cudaSuccess) error = wgmma_kernel<Down, kByQuarters, Source>::load();
        return error;
    }
    static cudaError_t load()
    {
        cudaError_t error = load_ways<one_batch>();
        if (error == cudaSuccess) error = load_ways<batch_k_parts>();
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
    error =
        look_for_tiles(warps_1::kernel<one_batch>, wgmma_kernel<32, kByBoxes, one_batch>::kernel);
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
