/*
 * batched/wgmma_tiles.cuh - tiles of 128 x 128 of a batch by Hopper's warpgroup matrix products;
 * the operands are split on their way.
 *
 * Accepts   k >= 32, where the error bound begins to hold (docs/numerics.md); any m, n, transposes,
 *           leading dimensions and alignment
 * Threads   384 per block, which walks tiles: one warpgroup copies and splits, two multiply, 64
 *           columns j each
 * Copies    slabs of 32 k of both operands, in a ring that runs on from tile to tile. A warp copies
 *           a square of 32 x 32 of op(A), and one of op(B). Later it splits the square of op(A). hi
 *           stays in the square's place, lo has a ring of its own. The warps that multiply split
 *           op(B) in registers. Squares outside C are left out
 * Order     for every 32 k one chain of tensor-core sums: first lo hi and hi lo, then hi hi. It is
 *           added to fp32 registers
 * Doubt     a part of 128 x 64 with a NaN is computed again by fp32 FMA: Inf in an operand becomes
 *           NaN here
 */
#ifndef DUO_BATCHED_WGMMA_TILES_CUH
#define DUO_BATCHED_WGMMA_TILES_CUH

#include "gpu/batched/tensor_tiles.cuh"
#include "gpu/split/product.cuh"
#include "gpu/split/wgmma/instructions.cuh"

/* ---- The ring ---- */

constexpr int kWgmmaEdge = 128;                      /* of a tile */
constexpr int kSquaresOfEdge = kWgmmaEdge / kSquare; /* of an operand in a slab */
constexpr int kHalfBytes = kSquaresOfEdge * kSquareBytes;
constexpr int kRingSlabs = 5, kLoSlabs = 3;
constexpr int kAhead = kRingSlabs - kLoSlabs; /* slabs that are copied before one is split */
constexpr int kSplitters = kSquaresOfEdge;    /* warps: each has a square of each operand */
static_assert(32 * kSplitters == kWarpgroup, "one warpgroup splits");

/* Where tiles in doubt are computed, by one warpgroup: half of its part at a time. */
using doubtful_tile = batch_tile<64, 8, 16, 1>;
static_assert(doubtful_tile::kThreads == kWarpgroup, "a warpgroup computes it");

struct wgmma_ring {
    alignas(1024) uint8_t i[kRingSlabs][kHalfBytes]; /* op(A), then its hi */
    alignas(1024) uint8_t lo[kLoSlabs][kHalfBytes];  /* and its lo */
    alignas(1024) uint8_t j[kRingSlabs][kHalfBytes]; /* op(B) */
    alignas(16) float doubtful[kMultipliers][2 * doubtful_tile::kSlab];
    uint64_t full[kRingSlabs], empty[kRingSlabs];
};
constexpr int kWgmmaRingBytes = sizeof(wgmma_ring) + 1024; /* to be aligned */
static_assert(kWgmmaRingBytes <= 227 * 1024, "a block of compute capability 9.0 has 227 KiB");

/* A slab's place in the ring, and the parity of its barriers. */
struct slab_place {
    int slab = 0, lo = 0;
    uint32_t phase = 0;
    __device__ __forceinline__ void advance()
    {
        if (++lo == kLoSlabs) lo = 0;
        if (++slab == kRingSlabs) {
            slab = 0;
            phase ^= 1;
        }
    }
};

/* ---- The splitting warpgroup ---- */

static __device__ __forceinline__ void store_four(uint32_t to, const float (&x)[4])
{
    asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(to), "f"(x[0]), "f"(x[1]),
                 "f"(x[2]), "f"(x[3])
                 : "memory");
}

/* A square that was copied along k, swizzled: every element stays in its place. */
static __device__ __forceinline__ void split_along_k(uint32_t square, uint32_t to_lo, int lane)
{
    const uint32_t at = lane * 16;
    float x[8][4];
#pragma unroll
    for (int i = 0; i < 8; i++) /* all are under way before one is waited for */
        asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                     : "=f"(x[i][0]), "=f"(x[i][1]), "=f"(x[i][2]), "=f"(x[i][3])
                     : "r"(square + at + i * 512)
                     : "memory");
#pragma unroll
    for (int i = 0; i < 8; i++) {
        float hi[4], lo[4];
#pragma unroll
        for (int q = 0; q < 4; q++) split_tf32(x[i][q], hi[q], lo[q]);
        store_four(square + at + i * 512, hi);
        store_four(to_lo + at + i * 512, lo);
    }
}

/* A square that was copied along rows: a lane has all k of its row, which become neighbours. */
static __device__ __forceinline__ void split_along_rows(uint32_t square, uint32_t to_lo, int lane)
{
    float x[8][4];
#pragma unroll
    for (int i = 0; i < 8; i++)
#pragma unroll
        for (int q = 0; q < 4; q++)
            asm volatile("ld.shared.f32 %0, [%1];"
                         : "=f"(x[i][q])
                         : "r"(square + (uint32_t)(lane ^ turn_of(false, q) * 4) * 4 +
                               (i * 4 + q) * kRunBytes)
                         : "memory");
    __syncwarp(); /* all lanes have read */
    const uint32_t row = lane * kRunBytes;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        const uint32_t at = row + (uint32_t)(i ^ turn_of(true, lane)) * 16;
        float hi[4], lo[4];
#pragma unroll
        for (int q = 0; q < 4; q++) split_tf32(x[i][q], hi[q], lo[q]);
        store_four(square + at, hi);
        store_four(to_lo + at, lo);
    }
}

/* All slabs of the block's tiles. A barrier of `full` says that a slab is split, one of `empty`
 * that it was multiplied. */
static __device__ __forceinline__ void split_tiles(const tensor_batch &batch, wgmma_ring *ring)
{
    const int lane = threadIdx.x % 32, first = threadIdx.x / 32 * kSquare; /* row in the tile */
    const int slabs = (int)((batch.p.k + kSquare - 1) / kSquare);
    const uint32_t square = threadIdx.x / 32 * kSquareBytes;
    const uint32_t of_i = shared_address(ring->i) + square, lo = shared_address(ring->lo) + square,
                   of_j = shared_address(ring->j) + square;
    const uint32_t full = shared_address(ring->full), empty = shared_address(ring->empty);

    square_copies a, b; /* of the tile that is copied */
    int copied = (int)blockIdx.x;
    slab_place to;
    auto begin = [&] {
        if (copied >= batch.all) return;
        const tensor_tile tile = tensor_tile::of<kWgmmaEdge>(batch, copied);
        a.begin(tile.a(batch), first + tile.i, 0, lane);
        b.begin(tile.b(batch), first + tile.j, 0, lane);
    };
    auto copy_next = [&] {
        if (copied < batch.all) {
            a.copy(of_i + to.slab * kHalfBytes, 1);
            b.copy(of_j + to.slab * kHalfBytes, 1);
            if (a.k <= 0) {
                copied += (int)gridDim.x;
                begin();
            }
        }
        to.advance();
        copies_commit();
    };
    begin();
#pragma unroll 1
    for (int s = 0; s < kAhead; s++) copy_next();
    slab_place place;
#pragma unroll 1
    for (int t = (int)blockIdx.x; t < batch.all; t += (int)gridDim.x) {
        const bool inside = t % batch.of_product % batch.down * kWgmmaEdge + first < batch.p.m;
#pragma unroll 1
        for (int slab = 0; slab < slabs; slab++) {
            /* The slab kLoSlabs before this one was multiplied: its lo, and the place of the slab
             * that is copied next, are free. */
            barrier_wait(empty + 8 * to.slab, to.phase ^ 1);
            copies_wait<kAhead - 1>();
            __syncwarp();
            if (inside) {
                const uint32_t at = of_i + place.slab * kHalfBytes;
                const uint32_t to_lo = lo + place.lo * kHalfBytes;
                if (batch.along_k_a)
                    split_along_k(at, to_lo, lane);
                else
                    split_along_rows(at, to_lo, lane);
            }
            writes_before_products();
            if (elect_one()) barrier_arrive(full + 8 * place.slab);
            place.advance();
            copy_next();
        }
    }
    copies_wait();
}

/* ---- The multiplying warpgroups ---- */

constexpr int kWgmmaSums = kWgmmaEdge / 2; /* of a thread, of 64 x 128 */
constexpr int kCorner = 16;                /* of C, stored at once by a warp */

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
static __device__ __forceinline__ bool any_nan(const float (&sum)[kWgmmaSums], int rows_left,
                                               int columns_left)
{
    float all = 0.0f; /* NaN: an element is a NaN or Inf, perhaps outside */
    bool nan = false;
#pragma unroll
    for (int r = 0; r < kWgmmaSums; r++) all = fmaf(sum[r], 0.0f, all);
    if (!isnan(all)) return false;
#pragma unroll
    for (int r = 0; r < kWgmmaSums; r++) {
        const int i = r / 4 * 8 + threadIdx.x % 4 * 2 + r % 2;
        const int j = threadIdx.x % 32 / 4 + r / 2 % 2 * 8;
        nan |= i < rows_left && j < columns_left && isnan(sum[r]);
    }
    return nan;
}

/* A warp's 16 columns j and 128 rows i. */
static __device__ __forceinline__ void
store_sums(const sgemm_problem &p, const float (&sum)[kWgmmaSums], int first_i, int first_j)
{
    const bool aligned = columns_aligned(p.c, p.ldc);
    const unit one = {1.0f, 1.0f};
    tensor_problem to = {};
    to.c = p.c;
    to.m = p.m;
    to.n = p.n;
    to.ldc = p.ldc;
    to.alpha = p.alpha;
    to.beta = p.beta;
    if (first_j >= p.n) return;
#pragma unroll
    for (int x = 0; x < kWgmmaEdge / kCorner; x++) {
        const int i = first_i + x * kCorner;
        if (i >= p.m) break;
        if (aligned || p.beta != 0.0f)
            store_square<false>(to, &sum[x * 8], one, i, first_j, true, aligned);
        else
            store_unaligned(to, &sum[x * 8], one, i, first_j, true);
    }
}

constexpr int kSteps = kSquare / 8; /* of k, of a slab */

/* A lane's elements of the 16 columns j of its warp, of a slab. */
struct slab_rows {
    float x[kSteps][2][2];
    __device__ __forceinline__ void load(uint32_t at, bool along_k)
    {
        if (along_k)
#pragma unroll
            for (int step = 0; step < kSteps; step++) load_rows(x[step], at, true, step);
        else
#pragma unroll
            for (int step = 0; step < kSteps; step++) load_rows(x[step], at, false, step);
    }
};

/* Begins a slab's products of a warpgroup's 64 columns j and of all rows i. hi and lo must be kept
 * until they are done. */
static __device__ __forceinline__ void begin_products(float (&chain)[kWgmmaSums],
                                                      const slab_rows &rows, float (&hi)[kSteps][4],
                                                      float (&lo)[kSteps][4], uint32_t hi_i,
                                                      uint32_t lo_i)
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

static __device__ __forceinline__ void multiply_tiles(const tensor_batch &batch, wgmma_ring *ring,
                                                      int multiplier)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x % kWarpgroup / 32;
    const int slabs = (int)((batch.p.k + kSquare - 1) / kSquare);
    const uint32_t full = shared_address(ring->full), empty = shared_address(ring->empty);
    const uint32_t of_i = shared_address(ring->i), lo_i = shared_address(ring->lo);
    const int row = multiplier * 64; /* j in the tile */
    const uint32_t of_j = shared_address(ring->j) + (row + warp * 16) / kSquare * kSquareBytes +
                          lane_of_rows(batch.along_k_b, warp % 2 * 16, lane);
    slab_place place;
#pragma unroll 1
    for (int t = (int)blockIdx.x; t < batch.all; t += (int)gridDim.x) {
        if (t % batch.of_product / batch.down * kWgmmaEdge + row >= batch.p.n) {
#pragma unroll 1
            for (int slab = 0; slab < slabs; slab++) { /* all of the warpgroup is outside */
                barrier_wait(full + 8 * place.slab, place.phase);
                if (elect_one()) barrier_arrive(empty + 8 * place.slab);
                place.advance();
            }
            continue;
        }
        if (batch.p.beta != 0.0f) { /* C begins its way to the L2 cache */
            const tensor_tile tile = tensor_tile::of<kWgmmaEdge>(batch, t);
            prefetch_tile<kWgmmaEdge, 64, kWarpgroup>(
                tile.p.c + tile.i + (tile.j + row) * tile.p.ldc, tile.p.ldc, tile.p.m - tile.i,
                tile.p.n - tile.j - row, threadIdx.x % kWarpgroup);
        }
        float sum[kWgmmaSums] = {}, chain[kWgmmaSums], hi[kSteps][4], lo[kSteps][4];
        slab_rows rows; /* of the next slab */
        barrier_wait(full + 8 * place.slab, place.phase);
        rows.load(of_j + place.slab * kHalfBytes, batch.along_k_b);
#pragma unroll 1
        for (int slab = 1;; slab++) {
            /* Known to be alike in the warp. */
            const int at = __shfl_sync(~0u, place.slab, 0), at_lo = __shfl_sync(~0u, place.lo, 0);
            begin_products(chain, rows, hi, lo, of_i + at * kHalfBytes, lo_i + at_lo * kHalfBytes);
            place.advance();
            if (slab < slabs) {
                barrier_wait(full + 8 * place.slab, place.phase);
                rows.load(of_j + place.slab * kHalfBytes, batch.along_k_b);
            }
            products_wait<0>(chain);
#pragma unroll
            for (int r = 0; r < kWgmmaSums; r++) sum[r] += chain[r];
            if (elect_one()) barrier_arrive(empty + 8 * at);
            if (slab == slabs) break;
        }
        const tensor_tile tile = tensor_tile::of<kWgmmaEdge>(batch, t);
        const int first_j = tile.j + row + warp * 16;
        if (any_of_warpgroup(multiplier,
                             any_nan(sum, (int)tile.p.m - tile.i, (int)tile.p.n - first_j))) {
#pragma unroll 1
            for (int half = 0; half < kWgmmaEdge; half += doubtful_tile::kEdge)
                if (tile.i + half < tile.p.m)
                    multiply_tile<doubtful_tile, false>(
                        tile.p, tile.i + half, tile.j + row, batch.kind_a(), batch.kind_b(),
                        ring->doubtful[multiplier], threadIdx.x % kWarpgroup,
                        [=] { sync_warpgroup(multiplier); });
            continue;
        }
        store_sums(tile.p, sum, tile.i, first_j);
    }
}

/* ---- The kernel ---- */

static __global__ void __launch_bounds__(kWgmmaThreads, 1)
    sgemm_wgmma_tiles(const __grid_constant__ tensor_batch batch)
{
#if DUO_HAS_WGMMA
    extern __shared__ uint8_t raw[];
    const uint32_t memory = shared_address(raw);
    wgmma_ring *const ring = reinterpret_cast<wgmma_ring *>(raw + (-memory & 1023));
    const int warpgroup = __shfl_sync(~0u, (int)threadIdx.x / kWarpgroup, 0);
    if (threadIdx.x == 0) {
        for (int s = 0; s < kRingSlabs; s++) {
            barrier_init(shared_address(&ring->full[s]), kSplitters);
            barrier_init(shared_address(&ring->empty[s]), kMultiplyingThreads / 32);
        }
        barrier_init_done();
    }
    __syncthreads();
    wait_for_kernels_ahead();
    if (warpgroup == 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 88;");
        split_tiles(batch, ring);
        let_next_kernel_start();
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 208;");
        multiply_tiles(batch, ring, warpgroup - 1);
    }
#endif
}

#endif
