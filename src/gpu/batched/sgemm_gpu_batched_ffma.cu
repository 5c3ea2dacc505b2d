/*
 * sgemm_gpu_batched_ffma.cu - many products of one shape in one launch, only by fp32 FMA.
 *
 * Accepts   any m, n, k, transposes, leading dimensions, strides and alignment; a vector product's
 *           C of fewer than 2^32 elements in all
 * Kernels   tiles of 8 x 8 to 64 x 64 of a product by few threads each (batched/small_tiles.cuh),
 *           or of 128 x 128 by the loops of sgemm_gpu_ffma; without shared memory for vector
 *           products and few k (batched/elements.cuh): whichever is predicted to take least
 * Order     product_order.h
 */
#include "gpu/batched/elements.cuh"
#include "gpu/batched/least_kernel.cuh"
#include "gpu/batched/plan.h"
#include "gpu/batched/small_tiles.cuh"
#include "gpu/ffma/multiply.cuh"
#include "gpu/ffma/store.cuh"
#include "gpu/kernels.h"
#include "gpu/launch.cuh"

/* ---- The kernel for large tiles ---- */

/*
 * Each block computes a tile of 128 x 128 of one product's C, with the parts of sgemm_gpu_ffma.
 */

template <class Tile, copy_kind KindA, copy_kind KindB>
static __global__ void __launch_bounds__(Tile::kThreads, Tile::kResident)
    sgemm_large_tiles(sgemm_problem p, tile_shares shares, batch_places places)
{
    extern __shared__ float4 memory[];
    float *const ring = reinterpret_cast<float *>(memory);
    const thread_place<Tile> me;
    int64_t first_i, first_j;
    find_tile<Tile::kM, Tile::kN>(shares, blockIdx.x % shares.whole, &first_i, &first_j);
    thread_sums<Tile> total;
    wait_for_kernels_ahead();
    places.find(p, blockIdx.x / shares.whole);
    begin_totals<Tile>(total, p.k);
    multiply_segments<Tile, KindA, KindB>(
        p, ring, me, first_i, first_j, 0, shares.segments,
        [&](const thread_sums<Tile> &sum, int) { add_segment<Tile>(total, sum); });
    let_next_kernel_start();
    store_tile<Tile>(p, total, ring, me, first_i, first_j);
}

/* ---- Launching ---- */

static int64_t tiles_along(int64_t size, int edge) { return (size + edge - 1) / edge; }

/* ---- Small tiles ---- */

template <class Tile>
static cudaError_t launch_small(const duo_call *call, const duo_batch *batch, const duo_launch *how)
{
    one_batch source;
    if (!tile_batch_of(call, batch, how->workspace, Tile::kEdge, &source.batch))
        return cudaErrorInvalidValue;
    auto *const kernel = call->k <= DUO_SEGMENT ? sgemm_small_tiles<Tile, true, one_batch>
                                                : sgemm_small_tiles<Tile, false, one_batch>;
    return queue_kernel_behind(kernel, (unsigned)((source.batch.all - 1) / Tile::kTiles + 1),
                               Tile::kBlock, 0, how, source);
}

using tile_8 = batch_tile<8, 2, 16, 7>;
using tile_16 = batch_tile<16, 2, 32, 8>;
using tile_32 = batch_tile<32, 4, 32, 12>;
using tile_48 = batch_tile<48, 6, 32, 6>;
using tile_64 = batch_tile<64, 8, 32, 5>;

/* ---- Large tiles ---- */

constexpr int kLargeEdge = large_tile::kM;
constexpr size_t kLargeBytes = large_tile::kFloats * sizeof(float);
static_assert(kLargeBytes == DUO_BATCHED_TILE_128_BYTES, "as the plan knows them");
static_assert(large_tile::kM == large_tile::kN, "a square");

static void (*const large_kernel[3][3])(sgemm_problem, tile_shares, batch_places) = {
    {sgemm_large_tiles<large_tile, kVectors, kVectors>,
     sgemm_large_tiles<large_tile, kVectors, kAlongEdge>,
     sgemm_large_tiles<large_tile, kVectors, kAlongK>},
    {sgemm_large_tiles<large_tile, kAlongEdge, kVectors>,
     sgemm_large_tiles<large_tile, kAlongEdge, kAlongEdge>,
     sgemm_large_tiles<large_tile, kAlongEdge, kAlongK>},
    {sgemm_large_tiles<large_tile, kAlongK, kVectors>,
     sgemm_large_tiles<large_tile, kAlongK, kAlongEdge>,
     sgemm_large_tiles<large_tile, kAlongK, kAlongK>}};

static cudaError_t launch_large(const duo_call *call, const duo_batch *batch, const duo_launch *how)
{
    const sgemm_problem p = sgemm_problem_of(call);
    const int64_t down = tiles_along(p.m, kLargeEdge), across = tiles_along(p.n, kLargeEdge);
    const int64_t segments = (p.k + DUO_SEGMENT - 1) / DUO_SEGMENT;
    if (down * across > INT32_MAX / batch->count || p.k / kSlab >= INT32_MAX)
        return cudaErrorInvalidValue;
    tile_shares shares = {};
    shares.tiles_m = (int)down;
    shares.tiles_n = (int)across;
    shares.whole = (int)(down * across);
    shares.segments = (int)segments;
    return queue_kernel_behind(
        large_kernel[kind_of(call, batch, DUO_A)][kind_of(call, batch, DUO_B)],
        (unsigned)(shares.whole * batch->count), large_tile::kThreads, kLargeBytes, how, p, shares,
        places_of(batch, how->workspace));
}

/* ---- Elements ---- */

/* For threads, or warps, that have rows x columns elements each. */
static bool element_batch_of(const duo_call *call, const duo_batch *batch, const duo_launch *how,
                             int rows, int columns, element_batch *b)
{
    const int64_t down = tiles_along(call->m, rows), across = tiles_along(call->n, columns),
                  lda = call->operand[DUO_A].ld, ldb = call->operand[DUO_B].ld;
    if (down * across > (int64_t)UINT32_MAX / batch->count) return false;
    *b = {};
    b->p = sgemm_problem_of(call);
    b->places = places_of(batch, how->workspace);
    b->step.a_i = call->transa ? lda : 1;
    b->step.a_k = call->transa ? 1 : lda;
    b->step.b_j = call->transb ? 1 : ldb;
    b->step.b_k = call->transb ? ldb : 1;
    b->down = (uint32_t)down;
    b->of_product = (uint32_t)(down * across);
    b->all = b->of_product * (uint32_t)batch->count;
    return true;
}

constexpr int64_t kLeastBeside = 24; /* elements of a product, to be read by neighbouring lanes */

template <int Lanes>
static cudaError_t launch_vectors(const duo_call *call, const duo_batch *batch,
                                  const duo_launch *how)
{
    constexpr uint32_t kElements = kElementThreads / Lanes; /* of a block */
    element_batch b;
    if (!element_batch_of(call, batch, how, 1, 1, &b)) return cudaErrorInvalidValue;
    const bool down = call->m >= call->n; /* elements that are neighbours have neighbours in A */
    const bool beside =
        (down ? b.step.a_i : b.step.b_j) == 1 && (down ? call->m : call->n) >= kLeastBeside;
    auto *const kernel = Lanes > 1 && beside ? sgemm_batched_vectors<Lanes, (Lanes > 1)>
                                             : sgemm_batched_vectors<Lanes, false>;
    return queue_kernel_behind(kernel, (b.all - 1) / kElements + 1, kElementThreads, 0, how, b);
}

/* By the logarithm of the most k. */
static void (*const outer_kernel[])(element_batch) = {
    sgemm_batched_outer<1>, sgemm_batched_outer<2>, sgemm_batched_outer<4>, sgemm_batched_outer<8>,
    sgemm_batched_outer<16>};
static_assert(DUO_BATCHED_OUTER_STEPS == 16, "the last one");

static cudaError_t launch_outer(const duo_call *call, const duo_batch *batch, const duo_launch *how)
{
    element_batch b;
    int kernel = 0;
    if (!element_batch_of(call, batch, how, 1, kOuterColumns, &b)) return cudaErrorInvalidValue;
    while (b.p.k > 1 << kernel) kernel++;
    return queue_kernel_behind(outer_kernel[kernel], (b.all - 1) / kElementThreads + 1,
                               kElementThreads, 0, how, b);
}

static void (*const outer_tiles_kernel[])(element_batch) = {
    sgemm_batched_outer_tiles<1>, sgemm_batched_outer_tiles<2>, sgemm_batched_outer_tiles<4>,
    sgemm_batched_outer_tiles<8>, sgemm_batched_outer_tiles<16>};

static cudaError_t launch_outer_tiles(const duo_call *call, const duo_batch *batch,
                                      const duo_launch *how)
{
    element_batch b;
    int kernel = 0;
    if (!element_batch_of(call, batch, how, kOuterEdge, kOuterEdge, &b))
        return cudaErrorInvalidValue;
    while (b.p.k > 1 << kernel) kernel++;
    return queue_kernel_behind(outer_tiles_kernel[kernel], (b.all - 1) / kOuterWarps + 1,
                               kElementThreads, 0, how, b);
}

/* ---- Which of them ---- */

static cudaError_t (*const launches[])(const duo_call *, const duo_batch *, const duo_launch *) = {
    launch_small<tile_8>,  launch_small<tile_16>,
    launch_small<tile_32>, launch_small<tile_48>,
    launch_small<tile_64>, launch_large,
    launch_outer,          launch_outer_tiles,
    launch_vectors<1>,     launch_vectors<DUO_CHAINS>};
static_assert(sizeof launches / sizeof launches[0] == DUO_BATCHED_TENSOR, "by duo_batched_kernel");

static cudaError_t launch(const duo_call *call, const duo_batch *batch, const duo_launch *how)
{
    const duo_batched_device device = {how->multiprocessors, how->capability,
                                       shared_of_block(how->capability), how->memory_rate};
    const kernel_choice choice =
        least_kernel<DUO_BATCHED_TILE_8, DUO_BATCHED_TENSOR>(call, batch, device);
    return launches[choice.kernel](call, batch, how);
}

static cudaError_t load()
{
    int capability = 0;
    cudaError_t error = current_capability(&capability);
    if (error == cudaSuccess) error = load_small<tile_8, one_batch>();
    if (error == cudaSuccess) error = load_small<tile_16, one_batch>();
    if (error == cudaSuccess) error = load_small<tile_32, one_batch>();
    if (error == cudaSuccess) error = load_small<tile_48, one_batch>();
    if (error == cudaSuccess) error = load_small<tile_64, one_batch>();
    for (const auto kernel : outer_kernel)
        if (error == cudaSuccess) error = load_kernel(kernel);
    for (const auto kernel : outer_tiles_kernel)
        if (error == cudaSuccess) error = load_kernel(kernel);
    if (error == cudaSuccess) error = load_kernel(sgemm_batched_vectors<1, false>);
    if (error == cudaSuccess) error = load_kernel(sgemm_batched_vectors<DUO_CHAINS, false>);
    if (error == cudaSuccess) error = load_kernel(sgemm_batched_vectors<DUO_CHAINS, true>);
    if (shared_of_block(capability) < kLargeBytes) return error;
    for (const auto &row : large_kernel)
        for (const auto kernel : row)
            if (error == cudaSuccess) error = load_kernel_with(kernel, kLargeBytes);
    return error;
}

const duo_gpu_batch duo_sgemm_gpu_batched_ffma = {
    .launch = launch, .load = load, .workspace = nullptr};
