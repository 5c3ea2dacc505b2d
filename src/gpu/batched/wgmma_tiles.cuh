/*
 * batched/wgmma_tiles.cuh - tiles of 128 x 128 of a batch, or of 96 x 128, by Hopper's warpgroup
 * matrix products; the operands are split on their way.
 *
 * Accepts   k >= 32, where the error bound begins to hold (docs/numerics.md); any m, n, transposes,
 *           leading dimensions and alignment
 * Threads   512 per block, which walks tiles: one warpgroup copies, one splits, two multiply, 64
 *           columns j each
 * Copies    slabs of 32 k of both operands, in a ring that runs on from tile to tile: by tensor
 *           copies if all columns are on 16 bytes and have strides, else element by element
 * Splits    op(A) in the ring: hi stays in x's place, lo has a ring of its own. The warps that
 *           multiply split op(B) in registers
 * Order     for every 32 k one chain of tensor-core sums: first lo hi and hi lo, then hi hi. It is
 *           added to fp32 registers
 * Doubt     a part of 64 columns with a NaN is computed again by fp32 FMA: Inf in an operand
 *           becomes NaN here
 */
#ifndef DUO_BATCHED_WGMMA_TILES_CUH
#define DUO_BATCHED_WGMMA_TILES_CUH

#include "gpu/batched/tensor_tiles.cuh"
#include "gpu/split/product.cuh"
#include "gpu/split/wgmma/instructions.cuh"

/* ---- The ring ---- */

constexpr int kWgmmaEdge = 128; /* of a tile along j; at most along i */
constexpr int kSquaresOfEdge = kWgmmaEdge / kSquare;
constexpr int kHalfBytes = kSquaresOfEdge * kSquareBytes;
constexpr int kRingSlabs = 5, kLoSlabs = 3;
constexpr int kSplitters = kSquaresOfEdge; /* warps: each has a square of each operand */
static_assert(32 * kSplitters == kWarpgroup, "one warpgroup splits");

/* Where tiles in doubt are computed, by one warpgroup: half of its part at a time. */
using doubtful_tile = batch_tile<64, 8, 16, 1>;
static_assert(doubtful_tile::kThreads == kWarpgroup, "a warpgroup computes it");

struct wgmma_ring {
    alignas(1024) uint8_t i[kRingSlabs][kHalfBytes]; /* op(A), then its hi */
    alignas(1024) uint8_t lo[kLoSlabs][kHalfBytes];  /* and its lo */
    alignas(1024) uint8_t j[kRingSlabs][kHalfBytes]; /* op(B) */
    alignas(16) float doubtful[kMultipliers][2 * doubtful_tile::kSlab];
    /* A slab was copied, split or multiplied; then its place is free. */
    uint64_t copied[kRingSlabs], split[kRingSlabs], multiplied[kRingSlabs];
};
constexpr int kWgmmaRingBytes = sizeof(wgmma_ring) + 1024; /* to be aligned */
static_assert(kWgmmaRingBytes <= 227 * 1024, "a block of compute capability 9.0 has 227 KiB");

/* A slab's place in the ring, and the parity of its barriers. */
struct slab_place {
    int slab = 0, lo = 0;
    uint32_t phase = 0;
    /* So many slabs before the first one; waits for their barriers return at once. */
    static __device__ __forceinline__ slab_place before(int slabs)
    {
        slab_place place;
        place.slab = kRingSlabs - slabs;
        place.phase = 1;
        return place;
    }
    __device__ __forceinline__ void advance()
    {
        if (++lo == kLoSlabs) lo = 0;
        if (++slab == kRingSlabs) {
            slab = 0;
            phase ^= 1;
        }
    }
};

/* ---- The copying warpgroup ---- */

/* Tensor copies: the maps of both operands. */
struct tensor_maps {
    CUtensorMap a, b;
};

/* Copies all slabs of the block's tiles, by one thread. */
template <int Down>
static __device__ __forceinline__ void copy_boxes(const tile_batch &batch, const tensor_maps &maps,
                                                  wgmma_ring *ring)
{
    const int slabs = (int)((batch.p.k + kSquare - 1) / kSquare);
    const uint32_t of_i = shared_address(ring->i), of_j = shared_address(ring->j);
    const uint32_t copied = shared_address(ring->copied),
                   multiplied = shared_address(ring->multiplied);
    auto copy = [](const CUtensorMap &map, bool along_k, int rows, uint32_t to, uint32_t barrier,
                   int row, int k, int product) {
        if (along_k) {
            copy_box(to, &map, barrier, k, row, product);
        } else {
#pragma unroll
            for (int r = 0; r < rows; r += kSquare)
                copy_box(to + r * kRunBytes, &map, barrier, row + r, k, product);
        }
    };
    slab_place place;
#pragma unroll 1
    for (int t = (int)blockIdx.x; t < batch.all; t += (int)gridDim.x) {
        const int product = t / batch.of_product, within = t % batch.of_product;
        const int i = within % batch.down * Down, j = within / batch.down * kWgmmaEdge;
#pragma unroll 1
        for (int slab = 0; slab < slabs; slab++) {
            const uint32_t barrier = copied + 8 * place.slab;
            barrier_wait(multiplied + 8 * place.slab, place.phase ^ 1);
            barrier_expect(barrier, (Down + kWgmmaEdge) * kRunBytes);
            copy(maps.a, batch.along_k_a, Down, of_i + place.slab * kHalfBytes, barrier, i,
                 slab * kSquare, batch.places.step[DUO_A] != 0 ? product : 0);
            copy(maps.b, batch.along_k_b, kWgmmaEdge, of_j + place.slab * kHalfBytes, barrier, j,
                 slab * kSquare, batch.places.step[DUO_B] != 0 ? product : 0);
            place.advance();
        }
    }
}

/* A lane's copies of squares, one after the other along k. Each takes `width` neighbours of a run;
 * the lanes of a warp share out `width` runs at once. */
struct element_copies {
    const float *from; /* this lane's first element of the next square */
    int64_t ld, step;  /* from run to run; from square to square */
    int rows, k;       /* inside, from the next square on */
    int width, place;  /* this lane's: of the first element in its run */
    uint32_t to;       /* and bytes from the square to its place there */
    bool along_k;

    /* From the square of first_row on. Without rows inside it copies nothing. */
    __device__ __forceinline__ void begin(const square_source &o, int first_row, int lane)
    {
        const int lanes = kSquare / o.width, run = lane / lanes;
        ld = o.ld;
        width = o.width;
        along_k = o.along_k;
        place = lane % lanes * width;
        to = (uint32_t)(run * kRunBytes + (place / 4 ^ turn_of<true>(along_k, run)) * 16 +
                        place % 4 * 4);
        rows = o.rows - first_row;
        k = o.k;
        step = along_k ? kSquare : kSquare * ld;
        from = o.x + (along_k ? (first_row + run) * ld + place : run * ld + (first_row + place));
    }
    template <int Width>
    __device__ __forceinline__ void copy_by(uint32_t square) const
    {
        const float *at = from;
        /* Run r + Width c is turned like run r and, besides, by what c decides. */
        auto place_of = [&](int c) {
            return (square + to ^ turn_of<true>(along_k, Width * c) * 16) + Width * c * kRunBytes;
        };
        if (rows >= kSquare && k >= kSquare) {
#pragma unroll
            for (int c = 0; c < kSquare / Width; c++, at += Width * ld)
                copy_async<Width * 4>(place_of(c), at);
            return;
        }
        const int run = to / kRunBytes, runs = along_k ? rows : k;
        const bool in_run = place < (along_k ? k : rows); /* whole copies are inside, or nothing */
#pragma unroll 4
        for (int c = 0; c < kSquare / Width; c++, at += Width * ld) {
            const bool inside = in_run && run + Width * c < runs;
            copy_async_inside<Width * 4>(place_of(c), inside ? at : from, inside);
        }
    }
    /* The next square. */
    __device__ __forceinline__ void copy(uint32_t square)
    {
        if (rows > 0) {
            if (width == 4)
                copy_by<4>(square);
            else if (width == 2)
                copy_by<2>(square);
            else
                copy_by<1>(square);
        }
        from += step;
        k -= kSquare;
    }
};

/* The same by all threads: a warp copies a square of each operand. */
template <int Down, class Source>
static __device__ __forceinline__ void copy_squares(const Source &source, wgmma_ring *ring)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x % kWarpgroup / 32;
    const int first = warp * kSquare;
    const uint32_t of_i = shared_address(ring->i) + warp * kSquareBytes,
                   of_j = shared_address(ring->j) + warp * kSquareBytes;
    const uint32_t copied = shared_address(ring->copied),
                   multiplied = shared_address(ring->multiplied);
    slab_place place;
#pragma unroll 1
    for (int t = (int)blockIdx.x; t < source.tiles(); t += (int)gridDim.x) {
        int number = t;
        const auto &batch = source.find(number);
        const int slabs = (int)((batch.p.k + kSquare - 1) / kSquare);
        element_copies a, b;
        const tensor_tile tile = tensor_tile::of<Down, kWgmmaEdge>(batch, number);
        a.begin(tile.a(batch), first + tile.i, lane);
        b.begin(tile.b(batch), first + tile.j, lane);
#pragma unroll 1
        for (int slab = 0; slab < slabs; slab++) {
            barrier_wait(multiplied + 8 * place.slab, place.phase ^ 1);
            if (first < Down) a.copy(of_i + place.slab * kHalfBytes);
            b.copy(of_j + place.slab * kHalfBytes);
            barrier_arrive_after_copies(copied + 8 * place.slab);
            place.advance();
        }
    }
    copies_wait();
}

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
                         : "r"(square + (uint32_t)(lane ^ turn_of<true>(false, i * 4 + q) * 4) * 4 +
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

/* All slabs of the block's tiles. */
template <int Down, class Source>
static __device__ __forceinline__ void split_tiles(const Source &source, wgmma_ring *ring)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x % kWarpgroup / 32;
    const int first = warp * kSquare;
    const uint32_t of_i = shared_address(ring->i) + warp * kSquareBytes,
                   lo = shared_address(ring->lo) + warp * kSquareBytes;
    const uint32_t copied = shared_address(ring->copied), split = shared_address(ring->split),
                   multiplied = shared_address(ring->multiplied);
    slab_place place, before = slab_place::before(kLoSlabs);
#pragma unroll 1
    for (int t = (int)blockIdx.x; t < source.tiles(); t += (int)gridDim.x) {
        int number = t;
        const auto &batch = source.find(number);
        const int slabs = (int)((batch.p.k + kSquare - 1) / kSquare);
        const int rows = (int)batch.p.m - number % batch.of_product % batch.down * Down;
        const bool inside = first < Down && first < rows;
#pragma unroll 1
        for (int slab = 0; slab < slabs; slab++) {
            barrier_wait(multiplied + 8 * before.slab, before.phase); /* its lo has room */
            barrier_wait(copied + 8 * place.slab, place.phase);
            if (inside) {
                const uint32_t at = of_i + place.slab * kHalfBytes;
                const uint32_t to_lo = lo + place.lo * kHalfBytes;
                if (batch.along_k_a)
                    split_along_k(at, to_lo, lane);
                else
                    split_along_rows(at, to_lo, lane);
            }
            writes_before_products();
            if (elect_one()) barrier_arrive(split + 8 * place.slab);
            place.advance();
            before.advance();
        }
    }
}

/* ---- The multiplying warpgroups ---- */

/* Of a thread, of 64 columns. */
template <int Down>
using wgmma_sums = float[Down / 2];

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
                                               int columns_left)
{
    float all = 0.0f; /* NaN: an element is a NaN or Inf, perhaps outside */
    bool nan = false;
#pragma unroll
    for (int r = 0; r < Sums; r++) all = fmaf(sum[r], 0.0f, all);
    if (!isnan(all)) return false;
#pragma unroll
    for (int r = 0; r < Sums; r++) {
        const int i = r / 4 * 8 + threadIdx.x % 4 * 2 + r % 2;
        const int j = threadIdx.x % 32 / 4 + r / 2 % 2 * 8;
        nan |= i < rows_left && j < columns_left && isnan(sum[r]);
    }
    return nan;
}

/* Stores a warp's sums, of 16 columns j and Down rows i. A thread has pairs, neighbours in i; it
 * reads many elements before it writes the first: reads behind a write wait. */
template <int Down>
struct warp_store {
    static constexpr int kOctets = Down / 8;    /* of a column */
    static constexpr int kAtOnce = kOctets / 2; /* pairs */

    float *c; /* of the tile's first column and the warp's first row */
    int64_t ldc;
    float alpha, beta;
    int rows, columns; /* inside */

    template <bool Reads>
    __device__ __forceinline__ float blended(float sum, float old) const
    {
        return Reads ? fmaf(alpha, sum, beta * old) : alpha * sum;
    }
    /* If every pair is on 8 bytes. */
    template <bool Reads>
    __device__ __forceinline__ void pairs(const wgmma_sums<Down> &sum) const
    {
        const int lane = threadIdx.x % 32, i = lane % 4 * 2;
#pragma unroll
        for (int g = 0; g < 2 * kOctets; g += kAtOnce) {
            float2 old[kAtOnce] = {};
            const int x = g % kOctets * 8, half = g / kOctets;
            const int j = half * 8 + lane / 4, left = j < columns ? rows - i - x : 0;
            float *const at = c + (i + x + j * ldc);
#pragma unroll
            for (int y = 0; Reads && y < kAtOnce; y++) {
                if (left > y * 8 + 1)
                    old[y] = *reinterpret_cast<const float2 *>(at + y * 8);
                else if (left > y * 8)
                    old[y].x = at[y * 8];
            }
#pragma unroll
            for (int y = 0; y < kAtOnce; y++) {
                const float *const two = sum + (g % kOctets + y) * 4 + half * 2;
                const float2 made = make_float2(blended<Reads>(two[0], Reads ? old[y].x : 0.0f),
                                                blended<Reads>(two[1], Reads ? old[y].y : 0.0f));
                if (left > y * 8 + 1)
                    *reinterpret_cast<float2 *>(at + y * 8) = made;
                else if (left > y * 8)
                    at[y * 8] = made.x;
            }
        }
    }
    /* Lanes of two neighbouring columns exchange an element each, so that eight lanes store eight
     * neighbours of one column, and then of the other. */
    template <bool Reads>
    __device__ __forceinline__ void elements(const wgmma_sums<Down> &sum) const
    {
        const int lane = threadIdx.x % 32, odd = lane / 4 & 1, i = lane % 4 * 2 + odd;
#pragma unroll
        for (int g = 0; g < 2 * kOctets; g += kAtOnce) {
            float old[kAtOnce][2] = {};
            const int x = g % kOctets * 8, half = g / kOctets, j = half * 8 + lane / 8 * 2;
            const int left = rows - i - x;
            float *const at = c + (i + x + j * ldc), *const next = at + ldc;
#pragma unroll
            for (int y = 0; Reads && y < kAtOnce; y++) {
                if (left > y * 8 && j < columns) old[y][0] = at[y * 8];
                if (left > y * 8 && j + 1 < columns) old[y][1] = next[y * 8];
            }
#pragma unroll
            for (int y = 0; y < kAtOnce; y++) {
                const float *const two = sum + (g % kOctets + y) * 4 + half * 2;
                const float got = __shfl_xor_sync(~0u, odd ? two[0] : two[1], 4);
                const float first = blended<Reads>(odd ? got : two[0], Reads ? old[y][0] : 0.0f),
                            second = blended<Reads>(odd ? two[1] : got, Reads ? old[y][1] : 0.0f);
                if (left > y * 8 && j < columns) at[y * 8] = first;
                if (left > y * 8 && j + 1 < columns) next[y * 8] = second;
            }
        }
    }
    __device__ __forceinline__ void all(const wgmma_sums<Down> &sum) const
    {
        const bool in_pairs = (reinterpret_cast<uintptr_t>(c) | ldc * sizeof(float)) % 8 == 0;
        if (in_pairs && beta == 0.0f)
            pairs<false>(sum);
        else if (in_pairs)
            pairs<true>(sum);
        else if (beta == 0.0f)
            elements<false>(sum);
        else
            elements<true>(sum);
    }
};

constexpr int kSteps = kSquare / 8; /* of k, of a slab */

/* A lane's elements of the 16 columns j of its warp, of a slab. */
struct slab_rows {
    float x[kSteps][2][2];
    __device__ __forceinline__ void load(uint32_t at, bool along_k)
    {
        if (along_k)
#pragma unroll
            for (int step = 0; step < kSteps; step++) load_rows<true>(x[step], at, true, step);
        else
#pragma unroll
            for (int step = 0; step < kSteps; step++) load_rows<true>(x[step], at, false, step);
    }
};

/* Begins a slab's products of a warpgroup's 64 columns j and of all rows i. hi and lo must be kept
 * until they are done. */
template <int Sums>
static __device__ __forceinline__ void
begin_products(float (&chain)[Sums], const slab_rows &rows, float (&hi)[kSteps][4],
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

template <int Down, class Source>
static __device__ __forceinline__ void multiply_tiles(const Source &source, wgmma_ring *ring,
                                                      int multiplier)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x % kWarpgroup / 32;
    const uint32_t copied = shared_address(ring->copied), split = shared_address(ring->split),
                   multiplied = shared_address(ring->multiplied);
    const uint32_t of_i = shared_address(ring->i), lo_i = shared_address(ring->lo);
    const int row = multiplier * 64; /* j in the tile */
    slab_place place;
    auto wait = [&] {
        barrier_wait(copied + 8 * place.slab, place.phase);
        barrier_wait(split + 8 * place.slab, place.phase);
    };
#pragma unroll 1
    for (int t = (int)blockIdx.x; t < source.tiles(); t += (int)gridDim.x) {
        int number = t;
        const auto &batch = source.find(number);
        const int slabs = (int)((batch.p.k + kSquare - 1) / kSquare);
        const uint32_t of_j = shared_address(ring->j) + (row + warp * 16) / kSquare * kSquareBytes +
                              lane_of_rows<true>(batch.along_k_b, warp % 2 * 16, lane);
        if (number % batch.of_product / batch.down * kWgmmaEdge + row >= batch.p.n) {
#pragma unroll 1
            for (int slab = 0; slab < slabs; slab++) { /* all of the warpgroup is outside */
                barrier_wait(split + 8 * place.slab, place.phase);
                if (elect_one()) barrier_arrive(multiplied + 8 * place.slab);
                place.advance();
            }
            continue;
        }
        if (batch.p.beta != 0.0f) { /* C begins its way to the L2 cache */
            const tensor_tile tile = tensor_tile::of<Down, kWgmmaEdge>(batch, number);
            prefetch_tile<Down, 64, kWarpgroup>(tile.p.c + tile.i + (tile.j + row) * tile.p.ldc,
                                                tile.p.ldc, tile.p.m - tile.i,
                                                tile.p.n - tile.j - row, threadIdx.x % kWarpgroup);
        }
        wgmma_sums<Down> sum = {}, chain;
        float hi[kSteps][4], lo[kSteps][4];
        slab_rows rows; /* of the next slab */
        wait();
        rows.load(of_j + place.slab * kHalfBytes, batch.along_k_b);
#pragma unroll 1
        for (int slab = 1;; slab++) {
            /* Known to be alike in the warp. */
            const int at = __shfl_sync(~0u, place.slab, 0), at_lo = __shfl_sync(~0u, place.lo, 0);
            begin_products(chain, rows, hi, lo, of_i + at * kHalfBytes, lo_i + at_lo * kHalfBytes);
            place.advance();
            if (slab < slabs) {
                wait();
                rows.load(of_j + place.slab * kHalfBytes, batch.along_k_b);
            }
            products_wait<0>(chain);
#pragma unroll
            for (int r = 0; r < Down / 2; r++) sum[r] += chain[r];
            if (elect_one()) barrier_arrive(multiplied + 8 * at);
            if (slab == slabs) break;
        }
        int again = t; /* what is needed only here was not kept */
        const auto &of = source.find(again);
        const tensor_tile tile = tensor_tile::of<Down, kWgmmaEdge>(of, again);
        const int first_j = tile.j + row + warp * 16;
        if (any_of_warpgroup(multiplier,
                             any_nan(sum, (int)tile.p.m - tile.i, (int)tile.p.n - first_j))) {
            sgemm_problem p = tile.p;
            if (tile.i + Down < p.m) p.m = tile.i + Down;
#pragma unroll 1
            for (int part = 0; part < Down; part += doubtful_tile::kEdge)
                if (tile.i + part < p.m)
                    multiply_tile<doubtful_tile, false>(
                        p, tile.i + part, tile.j + row, of.slow_kind_a(), of.slow_kind_b(),
                        ring->doubtful[multiplier], threadIdx.x % kWarpgroup,
                        [=] { sync_warpgroup(multiplier); });
            continue;
        }
        const warp_store<Down> store = {tile.p.c + (tile.i + first_j * tile.p.ldc),
                                        tile.p.ldc,
                                        tile.p.alpha,
                                        tile.p.beta,
                                        (int)tile.p.m - tile.i,
                                        (int)tile.p.n - first_j};
        store.all(sum);
    }
}

/* ---- The kernel ---- */

constexpr int kBatchThreads = 2 * kWarpgroup + kMultiplyingThreads;

/* Of Down x 128 elements. Bulk: by tensor copies; `maps` has their maps. */
template <int Down, bool Bulk, class Source>
static __global__ void __launch_bounds__(kBatchThreads, 1)
    sgemm_wgmma_tiles(const __grid_constant__ Source source,
                      const __grid_constant__ tensor_maps maps)
{
#if DUO_HAS_WGMMA
    extern __shared__ uint8_t raw[];
    const uint32_t memory = shared_address(raw);
    wgmma_ring *const ring = reinterpret_cast<wgmma_ring *>(raw + (-memory & 1023));
    const int warpgroup = __shfl_sync(~0u, (int)threadIdx.x / kWarpgroup, 0);
    if (threadIdx.x == 0) {
        for (int s = 0; s < kRingSlabs; s++) {
            barrier_init(shared_address(&ring->copied[s]), Bulk ? 1 : kWarpgroup);
            barrier_init(shared_address(&ring->split[s]), kSplitters);
            barrier_init(shared_address(&ring->multiplied[s]), kMultiplyingThreads / 32);
        }
        barrier_init_done();
    }
    __syncthreads();
    wait_for_kernels_ahead();
    if (warpgroup == 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if constexpr (!Bulk)
            copy_squares<Down>(source, ring);
        else if (threadIdx.x == 0)
            copy_boxes<Down>(source.batch, maps, ring);
        let_next_kernel_start();
    } else if (warpgroup == 1) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 56;");
        split_tiles<Down>(source, ring);
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 208;");
        multiply_tiles<Down>(source, ring, warpgroup - 2);
    }
#endif
}

/* Queues a kernel of these for so many tiles. */
template <class Source>
static cudaError_t queue_wgmma(void (*kernel)(Source, tensor_maps), const Source &source, int tiles,
                               const tensor_maps &maps, const duo_launch *how)
{
    const int blocks = tiles < how->multiprocessors ? tiles : how->multiprocessors;
    return queue_kernel_behind(kernel, (unsigned)blocks, kBatchThreads, kWgmmaRingBytes, how,
                               source, maps);
}

#endif
