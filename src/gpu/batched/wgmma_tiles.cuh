/*
 * batched/wgmma_tiles.cuh - tiles of Down x 128 of a batch by Hopper's warpgroup matrix products;
 * Down is 32, 64, 96 or 128.
 *
 * Accepts   k >= 32, where the error bound begins to hold (numerics.md); any m, n, transposes,
 *           leading dimensions and alignment
 * Threads   512 per block, which walks tiles: one warpgroup copies (one thread, if by tensor
 *           copies; batched/wgmma_slabs.cuh), one splits op(A) (batched/wgmma_split.cuh), two
 *           multiply, 64 columns j each (batched/wgmma_rows.cuh)
 * Order     for every 32 k one chain of tensor-core sums: first lo hi and hi lo, then hi hi. It is
 *           added to fp32 registers
 * Turned    tiles of 32 or 64 rows take products with few columns as op(B)' op(A)'
 * Doubt     a part of 64 columns with a NaN is computed again by fp32 FMA. Inf in an operand
 *           becomes NaN here, and so, in some launches, does an element too small for TF32
 */
#ifndef DUO_BATCHED_WGMMA_TILES_CUH
#define DUO_BATCHED_WGMMA_TILES_CUH

#include "gpu/batched/wgmma_rows.cuh"
#include "gpu/batched/wgmma_slabs.cuh"
#include "gpu/batched/wgmma_split.cuh"
#include "gpu/batched/wgmma_store.cuh"
#include "gpu/launch.cuh"

/* ---- The multiplying warpgroups ---- */

/* May such tiles be turned (duo_batched_turned)? */
template <int Down>
constexpr bool kTurned = Down <= 64;

/* Is it so for any thread of the warpgroup? */
static __device__ __forceinline__ bool any_of_warpgroup(int multiplier, bool mine)
{
    uint32_t any;
#define DUO_ANY(barrier)                                                                           \
    asm volatile("{\n"                                                                             \
                 ".reg .pred p;\n"                                                                 \
                 "setp.ne.u32 p, %1, 0;\n"                                                         \
                 "bar.red.or.pred p, " barrier ", %2, p;\n"                                        \
                 "selp.u32 %0, 1, 0, p;\n"                                                         \
                 "}\n"                                                                             \
                 : "=r"(any)                                                                       \
                 : "r"((uint32_t)mine), "n"(kWarpgroup)                                            \
                 : "memory")
    if (multiplier == 0)
        DUO_ANY("1");
    else
        DUO_ANY("2");
#undef DUO_ANY
    return any != 0;
}

/* Is any of a thread's elements that are inside a NaN? */
template <int Sums>
static __device__ __forceinline__ bool any_nan(const float (&sum)[Sums], int rows_left,
                                               int columns_left, const warp_columns &columns)
{
    float all = 0.0f; /* NaN: an element is a NaN or Inf, perhaps outside */
    bool nan = false;
#pragma unroll
    for (int r = 0; r < Sums; r++) all = fmaf(sum[r], 0.0f, all);
    if (!isnan(all)) return false;
#pragma unroll
    for (int r = 0; r < Sums; r++) {
        const int i = r / 4 * 8 + threadIdx.x % 4 * 2 + r % 2;
        const int j = threadIdx.x % 32 / 4 * columns.next + r / 2 % 2 * columns.half;
        nan |= i < rows_left && j < columns_left && isnan(sum[r]);
    }
    return nan;
}

/* Begins a slab's products of a warpgroup's 64 columns j and of all rows i. hi and lo must be kept
 * until they are done. */
template <class Rows, int Sums>
static __device__ __forceinline__ void
begin_products(float (&chain)[Sums], const Rows &rows, float (&hi)[kSteps][4],
               float (&lo)[kSteps][4], uint32_t hi_i, uint32_t lo_i)
{
#pragma unroll
    for (int step = 0; step < kSteps; step++)
#pragma unroll
        for (int q = 0; q < 4; q++) {
            split_tf32(rows.x[step][q % 2][q / 2], hi[step][q], lo[step][q]);
            /* They are in registers before the products begin. */
            asm volatile("" : "+f"(hi[step][q]), "+f"(lo[step][q])::"memory");
        }
    auto multiply = [&](const float(&j)[kSteps][4], uint32_t i, bool begins) {
#pragma unroll
        for (int step = 0; step < kSteps; step++)
            product_tf32(chain, j[step], kDescriptor<kRunBytes> | (rows_at(i) + 2 * step),
                         !(begins && step == 0));
    };
    products_begin();
    multiply(lo, hi_i, true);
    multiply(hi, lo_i, false);
    multiply(hi, hi_i, false);
    products_commit();
}

template <int Down, slab_way Way, class Source>
static __device__ __forceinline__ void
multiply_tiles(const Source &source, const operand_maps &maps, wgmma_memory<Down, Way> *memory,
               int multiplier)
{
    using Memory = wgmma_memory<Down, Way>;
    using Rows = slab_rows<typename Memory::slab_j, Way>;
    const auto shared = memory->all();
    const int row = multiplier * 64; /* j in the tile */
    slab_place<Memory::kSlabsJ> from;
    slab_place<Memory::kSplitSlabs> place;
#pragma unroll 1
    for (int t = (int)blockIdx.x; t < source.tiles(); t += (int)gridDim.x) {
        int number = t, thread = threadIdx.x % kWarpgroup;
        asm volatile("" : "+r"(thread)); /* what depends on it is not kept: registers are few */
        const int lane = thread % 32, warp = thread / 32;
        const auto &batch = source.find(number);
        const int slabs = (int)((batch.p.k + kSquare - 1) / kSquare);
        const bool turn = kTurned<Down> && batch.turned;
        if (number % batch.of_product / batch.down * kWgmmaEdge + row >= batch.p.n) {
#pragma unroll 1
            for (int slab = 0; slab < slabs; slab++) { /* all of the warpgroup is outside */
                barrier_wait(shared.copied_j + 8 * from.at, from.phase);
                arrive_after_reads<Way>(shared.taken_j + 8 * from.at);
                barrier_wait(shared.split + 8 * place.at, place.phase);
                arrive_after_reads<Way>(shared.multiplied + 8 * place.at);
                from.advance();
                place.advance();
            }
            continue;
        }
        typename Rows::place lane_j;
        bool shifted_j;
        {
            const tensor_tile tile = tensor_tile::of<Down, kWgmmaEdge>(batch, number);
            const sgemm_problem &p = tile.p;
            const int j = tile.j + row;
            lane_j = Rows::place_of(tile.b(batch), maps.pitch, row / 16 + warp, lane);
            shifted_j = tile.b(batch).shifted;
            if (p.beta != 0.0f) { /* C begins its way to the L2 cache */
                if (turn)
                    prefetch_tile<64, Down, kWarpgroup>(p.c + (j + tile.i * p.ldc), p.ldc, p.n - j,
                                                        p.m - tile.i, thread);
                else
                    prefetch_tile<Down, 64, kWarpgroup>(p.c + (tile.i + j * p.ldc), p.ldc,
                                                        p.m - tile.i, p.n - j, thread);
            }
        }
        wgmma_sums<Down> sum = {}, chain;
        float hi[kSteps][4], lo[kSteps][4];
        Rows rows; /* of the next slab */
        least_element least;
        int left = (int)batch.p.k; /* from the next slab on */
        auto load = [&] {
            barrier_wait(shared.copied_j + 8 * from.at, from.phase);
            rows.load(shared.j + lane_j.first + from.at * sizeof memory->j[0], lane_j.shifts,
                      maps.pitch, batch.along_k_b, shifted_j);
            if (Way == kByQuarters && shifted_j && !batch.along_k_b) rows.leave_inside(left);
            left -= kSquare;
            if constexpr (Source::kSmallInDoubt) least.look(rows.x);
        };
        load();
#pragma unroll 1
        for (int slab = 1;; slab++) {
            const int at = __shfl_sync(~0u, place.at, 0); /* known to be alike in the warp */
            barrier_wait(shared.split + 8 * place.at, place.phase);
            begin_products(chain, rows, hi, lo, shared.hi + at * Memory::kSplitBytes,
                           shared.lo + at * Memory::kSplitBytes);
            arrive_after_reads<Way>(shared.taken_j + 8 * from.at); /* rows were used */
            from.advance();
            place.advance();
            if (slab < slabs) load();
            products_wait<0>(chain); /* until here hi and lo are not written */
#pragma unroll
            for (int r = 0; r < Down / 2; r++) sum[r] += chain[r];
            arrive_after_reads<Way>(shared.multiplied + 8 * at);
            if (slab == slabs) break;
        }
        int again = t; /* what is needed only here was not kept */
        const auto &of = source.find(again);
        const tensor_tile tile = tensor_tile::of<Down, kWgmmaEdge>(of, again);
        const warp_columns columns(warp, Way == kByQuarters && shifted_j && of.along_k_b);
        const int first_j =
            tile.j + row + columns.first; /* outside, anything may have been copied */
        if (any_of_warpgroup(multiplier, (least.is_small() && first_j < tile.p.n) ||
                                             any_nan(sum, (int)tile.p.m - tile.i,
                                                     (int)tile.p.n - first_j, columns))) {
            sgemm_problem p = tile.p;
            if (tile.i + Down < p.m) p.m = tile.i + Down;
            if (turn) p = turned(p);
#pragma unroll 1
            for (int part = 0; part < Down; part += doubtful_tile::kEdge) {
                const int i = tile.i + part, j = tile.j + row;
                if (i < tile.p.m)
                    multiply_tile<doubtful_tile, false>(
                        p, turn ? j : i, turn ? i : j, turn ? of.slow_kind_b() : of.slow_kind_a(),
                        turn ? of.slow_kind_a() : of.slow_kind_b(), memory->doubtful[multiplier],
                        thread, [=] { sync_warpgroup(multiplier); });
            }
            continue;
        }
        const sgemm_problem &p = tile.p;
        const warp_store<Down> store = {
            turn ? p.c + (first_j + tile.i * p.ldc) : p.c + (tile.i + first_j * p.ldc),
            p.ldc,
            p.alpha,
            p.beta,
            (int)p.m - tile.i,
            (int)p.n - first_j,
            memory->doubtful[multiplier] +
                warp * warp_store<Down>::kColumns * warp_store<Down>::kPitch,
            columns.next,
            columns.half};
        store.all(sum, turn);
    }
}

/* ---- The kernel ---- */

constexpr int kBatchThreads = 2 * kWarpgroup + kMultiplyingThreads;

/* Of Down x 128 elements. maps: for tensor copies. */
template <int Down, slab_way Way, class Source>
static __global__ void __launch_bounds__(kBatchThreads, 1)
    sgemm_wgmma_tiles(const __grid_constant__ Source source,
                      const __grid_constant__ tensor_maps maps)
{
#if DUO_HAS_WGMMA
    extern __shared__ uint8_t raw[];
    auto *const memory =
        reinterpret_cast<wgmma_memory<Down, Way> *>(raw + (-shared_address(raw) & 1023));
    const int warpgroup = __shfl_sync(~0u, (int)threadIdx.x / kWarpgroup, 0);
    if (threadIdx.x == 0) memory->begin();
    if constexpr (Way == kByQuarters) memory->clear();
    __syncthreads();
    wait_for_kernels_ahead();
    if (warpgroup == 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if constexpr (Way == kByChunks)
            copy_chunks<Down>(source, memory);
        else if (threadIdx.x % 32 == 0 && threadIdx.x < 32 * kBoxWarps<Way>)
            copy_boxes<Down, Way>(source, maps, memory);
        let_next_kernel_start();
    } else if (warpgroup == 1) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 56;");
        split_tiles<Down, Way>(source, maps.a, memory);
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 208;");
        multiply_tiles<Down, Way>(source, maps.b, memory, warpgroup - 2);
    }
#endif
}

/* Tiles of Down x 128. */
template <int Down, slab_way Way, class Source>
struct wgmma_kernel {
    static constexpr auto kernel = sgemm_wgmma_tiles<Down, Way, Source>;
    static constexpr int kBytes = kWgmmaBytes<Down, Way>;
    static_assert(kBytes <= 227 * 1024, "a block of compute capability 9.0 has 227 KiB");
    static cudaError_t queue(const Source &source, int tiles, const tensor_maps &maps,
                             const duo_launch *how)
    {
        const int blocks = tiles < how->multiprocessors ? tiles : how->multiprocessors;
        return queue_kernel_behind(kernel, (unsigned)blocks, kBatchThreads, kBytes, how, source,
                                   maps);
    }
    static cudaError_t load() { return load_kernel_with(kernel, kBytes); }
};

/* ---- The sums of parts of k ---- */

struct k_sums {
    sgemm_problem p; /* of the first product */
    batch_places places;
    const float *sums; /* of all products, for each part */
    int parts;
    int64_t floats; /* of a part */
};

constexpr int kSumThreads = 256;

/* C := alpha times the sum of all parts + beta C. An element's parts are shared out among Shares
 * threads, 1 or one of each warp; their sums are added in order. */
template <int Shares>
static __global__ void __launch_bounds__(kSumThreads)
    sgemm_add_parts(const __grid_constant__ k_sums of)
{
    constexpr int kWarps = kSumThreads / 32, kElements = kSumThreads / Shares;
    constexpr int kAtOnce = Shares == 1 ? 4 : 8; /* parts on their way */
    static_assert(Shares == 1 || Shares == kWarps, "none waits for another, or all");
    __shared__ float of_share[Shares][kElements];
    const int place = threadIdx.x % kElements, share = threadIdx.x / kElements;
    const int64_t element = (int64_t)blockIdx.x * kElements + place;
    const int parts = element < of.floats ? of.parts : 0;
    const float *at = of.sums + (share * of.floats + element);
    sgemm_problem p = of.p;
    p.k = 0; /* only C is needed */
    const int64_t of_product = p.m * p.n, product = element / of_product;
    const int64_t within = element - product * of_product, column = within / p.m;
    const int64_t in_c = within - column * p.m + column * p.ldc;
    let_next_kernel_start();
    wait_for_kernels_ahead();
    float sum = 0.0f;
#pragma unroll 1
    for (int first = share; first < parts; first += kAtOnce * Shares) {
        float part[kAtOnce];
#pragma unroll
        for (int x = 0; x < kAtOnce; x++, at += Shares * of.floats)
            part[x] = first + x * Shares < parts ? *at : 0.0f;
#pragma unroll
        for (int x = 0; x < kAtOnce; x++) sum += part[x];
    }
    if constexpr (Shares > 1) {
        of_share[share][place] = sum;
        __syncthreads();
        if (share > 0) return;
#pragma unroll
        for (int s = 1; s < Shares; s++) sum += of_share[s][place];
    }
    if (element >= of.floats) return;
    of.places.find(p, product);
    float *const c = p.c + in_c;
    *c = blend(p.alpha, sum, p.beta, p.beta == 0.0f ? 0.0f : *c);
}

/* An element's parts are shared out if there are many, and few elements. */
static inline cudaError_t queue_add_parts(const k_sums &of, const duo_launch *how)
{
    constexpr int kShares = kSumThreads / 32, kFew = 4, kResident = 8;   /* parts; blocks */
    const int64_t room = (int64_t)how->multiprocessors * kResident * 32; /* elements */
    const int shares = of.parts <= kFew || of.floats > room ? 1 : kShares;
    const int64_t elements = kSumThreads / shares;
    return queue_kernel_behind(shares == 1 ? sgemm_add_parts<1> : sgemm_add_parts<kShares>,
                               (unsigned)((of.floats + elements - 1) / elements), kSumThreads, 0,
                               how, of);
}
static inline cudaError_t load_add_parts()
{
    const cudaError_t error = load_kernel(sgemm_add_parts<1>);
    return error == cudaSuccess ? load_kernel(sgemm_add_parts<kSumThreads / 32>) : error;
}

#endif
