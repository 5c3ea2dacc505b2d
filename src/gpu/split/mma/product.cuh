/*
 * split/mma/product.cuh - C from split operands, by matrix products of single warps, which every
 * architecture has.
 *
 * Accepts   any m, n, k, ldc and alignment of C; planes and words of split/planes.cuh
 * Threads   64 per block, which computes 64 x 64 of C: a warp owns all its columns and half of its
 *           rows. Several blocks share a multiprocessor, and one copies while another multiplies:
 *           on an H200 that was as fast as 128 x 128 for large C, faster for small
 * Copies    stages of 32 k of both operands, one ahead of the products. In shared memory a row of a
 *           plane is 64 bytes. Its four chunks of 16 are turned by half the row number, so that
 *           reading or writing eight rows uses all banks
 * Order     the products of the planes of kChainK k, smallest first, in one chain of tensor-core
 *           sums. One FMA multiplies the chain by the scale of its tiles and adds it to fp32
 *           registers, as in split/wgmma/product.cuh. Before Hopper a tensor core truncates every 8
 *           k to 24 bits below its largest term, one bit less: the largest products of 32 k may
 *           lose 4 * 11 * 2^-24 of sum |a||b|, still within the error allowed for 64 k. Turing's
 *           chains are half as long, because the bits that its tensor cores keep are less well
 *           known
 * Guard     a block is computed only if its way (split/guard.cuh) is one of `ways`; others are
 *           noted in `pending` for the kernels behind
 *
 * As in split/wgmma/product.cuh, the rows of a product are columns j of C, its columns are rows i.
 */
#ifndef DUO_SPLIT_MMA_PRODUCT_CUH
#define DUO_SPLIT_MMA_PRODUCT_CUH

#include "gpu/launch.cuh"
#include "gpu/split/mma/instructions.cuh"
#include "gpu/split/product.cuh"

/* ---- Copying stages of A and B to shared memory, 32 k at a time ---- */

constexpr int kMmaThreads = 64, kMmaStages = 2;
constexpr int kPlaneBytes = kTile * kRowBytes;
constexpr int kChunks = kRowBytes / kChunkBytes;

template <class Scheme>
struct mma_stage {
    static constexpr int kOperandBytes = kPlaneBytes * Scheme::kPlanes;
    static constexpr int kBytes = 2 * kOperandBytes, kSharedBytes = kBytes * kMmaStages;
    /* Threads that copy neighbours in memory: all chunks of a row, of both planes if
     * interleaved. */
    static constexpr int kLanes = kChunks * (Scheme::kInterleaved ? Scheme::kPlanes : 1);
    static constexpr int kRowsAtOnce = kMmaThreads / kLanes;
    /* Distance in memory from 32 k to the next. */
    static constexpr int kStepBytes = kLanes * kChunkBytes;
    static constexpr int kCopies = kOperandBytes / kChunkBytes / kMmaThreads; /* for each operand */
    static_assert(kRowsAtOnce % 8 == 0, "chunks of all rows that a thread copies are turned alike");
    static_assert(kSharedBytes <= 48 * 1024, "every device has as much without being asked");
};

/* A thread's copies of 64 rows of an operand: the same chunk of every kRowsAtOnce-th row. */
template <class Scheme>
struct mma_copies {
    using stage = mma_stage<Scheme>;
    const char *from; /* of the next 32 k */
    int64_t row_bytes, plane_bytes;
    uint32_t to; /* from the start of the operand's part of a stage */

    __device__ __forceinline__ mma_copies(const operand_planes &o, int64_t k, int64_t tile)
    {
        const int lane = threadIdx.x % stage::kLanes, row = threadIdx.x / stage::kLanes;
        row_bytes = tiles_of(k) * (kTile / kStepK) * stage::kStepBytes;
        plane_bytes = o.plane_rows * row_bytes;
        from = static_cast<const char *>(o.planes) + (tile * kTile + row) * row_bytes +
               lane * kChunkBytes;
        to = place_of_chunk(row, lane % kChunks) + lane / kChunks * kPlaneBytes;
    }

    /* Calls f(number, place in shared memory, place in memory) for each. */
    template <class Function>
    __device__ __forceinline__ void each(uint32_t place, Function f) const
    {
        constexpr int kTimes = kTile / stage::kRowsAtOnce;
        static_assert(stage::kCopies % kTimes == 0, "planes apart are copied one after the other");
#pragma unroll
        for (int copy = 0; copy < stage::kCopies; copy++) {
            const int plane = copy / kTimes, row = copy % kTimes * stage::kRowsAtOnce;
            f(copy, place + to + plane * kPlaneBytes + row * kRowBytes,
              from + plane * plane_bytes + row * row_bytes);
        }
    }
};

/* The next 32 k of both operands. */
template <class Scheme>
static __device__ __forceinline__ void start_copies(mma_copies<Scheme> &j, mma_copies<Scheme> &i,
                                                    uint32_t place)
{
    using stage = mma_stage<Scheme>;
    const uint32_t place_i = place + stage::kOperandBytes;
#if DUO_HAS_AMPERE
    auto copy = [](int, uint32_t to, const char *from) { copy_async(to, from); };
    j.each(place, copy);
    i.each(place_i, copy);
    copies_commit();
#else
    uint4 v[2][stage::kCopies]; /* all are under way before the first is waited for */
    auto load = [](uint4 &x, const char *from) {
        x = __ldcg(reinterpret_cast<const uint4 *>(from));
    };
    j.each(place, [&](int copy, uint32_t, const char *from) { load(v[0][copy], from); });
    i.each(place_i, [&](int copy, uint32_t, const char *from) { load(v[1][copy], from); });
    j.each(place, [&](int copy, uint32_t to, const char *) { store_shared(to, v[0][copy]); });
    i.each(place_i, [&](int copy, uint32_t to, const char *) { store_shared(to, v[1][copy]); });
#endif
    j.from += stage::kStepBytes;
    i.from += stage::kStepBytes;
}

/* ---- The kernel ---- */

struct mma_problem : tensor_problem {
    uint32_t ways;        /* of blocks to be stored, a bit for each duo_way */
    uint32_t *pending;    /* the ways of all other blocks are noted here, unless NULL */
    const uint32_t *when; /* not NULL: does nothing unless kPendingBf16 is noted here */
};

constexpr int kWarpI = 32;     /* rows i of a warp; columns j are kTile */
constexpr int kMmaSquare = 16; /* of C: two products of 16 columns j and 8 rows i */
constexpr int kSquaresJ = kTile / kMmaSquare, kSquaresI = kWarpI / kMmaSquare;

/* A thread's sums, for each square. */
using mma_sums = float[kSquaresJ][kSquaresI * 8];

/* The rows that this lane addresses when matrices are loaded, from the stage's start. */
template <class Scheme>
struct mma_rows {
    uint32_t j, i;
    __device__ __forceinline__ explicit mma_rows(int warp_i)
    {
        const int lane = threadIdx.x % 32;
        j = place_of_chunk(lane % kMmaSquare, lane / kMmaSquare);
        i = mma_stage<Scheme>::kOperandBytes +
            place_of_chunk(warp_i + lane / 16 * 8 + lane % 8, lane / 8 % 2);
    }
};

/* Adds a chain of Steps times 16 k of a stage to the sums; `first`: the first 16 k, 0 or 1. */
template <class Scheme, int Steps>
static __device__ __forceinline__ void
multiply_chain(mma_sums &sum, uint32_t stage, const mma_rows<Scheme> &rows, int first, float scale)
{
    constexpr int kPlanes = Scheme::kPlanes;
    constexpr uint32_t kSecond = 2 * kChunkBytes; /* the bit that differs in the second 16 k */
    uint32_t j[kPlanes][Steps][kSquaresJ][4];
#pragma unroll
    for (int plane = 0; plane < kPlanes; plane++)
#pragma unroll
        for (int s = 0; s < Steps; s++)
#pragma unroll
            for (int x = 0; x < kSquaresJ; x++)
                load_matrices(j[plane][s][x], stage + plane * kPlaneBytes +
                                                  (rows.j ^ (first + s) * kSecond) +
                                                  x * kMmaSquare * kRowBytes);
#pragma unroll
    for (int y = 0; y < kSquaresI; y++) {
        uint32_t i[kPlanes][Steps][4];
#pragma unroll
        for (int plane = 0; plane < kPlanes; plane++)
#pragma unroll
            for (int s = 0; s < Steps; s++)
                load_matrices(i[plane][s], stage + plane * kPlaneBytes +
                                               (rows.i ^ (first + s) * kSecond) +
                                               y * kMmaSquare * kRowBytes);
        float chain[kSquaresJ][2][4] = {};
#pragma unroll
        for (int q = 0; q < Scheme::kProducts; q++)
#pragma unroll
            for (int s = 0; s < Steps; s++)
#pragma unroll
                for (int x = 0; x < kSquaresJ; x++)
#pragma unroll
                    for (int half = 0; half < 2; half++) {
                        const uint32_t(&of_i)[4] = i[Scheme::plane_of_a(q)][s];
                        warp_product(chain[x][half], j[Scheme::plane_of_b(q)][s][x], of_i[2 * half],
                                     of_i[2 * half + 1], typename Scheme::element());
                    }
#pragma unroll
        for (int x = 0; x < kSquaresJ; x++)
#pragma unroll
            for (int r = 0; r < 8; r++)
                sum[x][y * 8 + r] = fmaf(chain[x][r / 4][r % 4], scale, sum[x][y * 8 + r]);
    }
}

/* Stores a warp's sums to C, from row first_i and column first_j on. */
template <class Scheme>
static __device__ __forceinline__ void store_warp(const mma_problem &p, const mma_sums &sum,
                                                  int limit, int64_t first_i, int64_t first_j)
{
    const bool aligned = columns_aligned(p.c, p.ldc);
#pragma unroll
    for (int x = 0; x < kSquaresJ; x++)
#pragma unroll
        for (int y = 0; y < kSquaresI; y++)
            if (aligned || p.beta != 0.0f)
                store_square<false>(p, &sum[x][y * 8], unit::of(Scheme(), limit),
                                    first_i + y * kMmaSquare, first_j + x * kMmaSquare, true,
                                    aligned);
            else
                store_unaligned(p, &sum[x][y * 8], unit::of(Scheme(), limit),
                                first_i + y * kMmaSquare, first_j + x * kMmaSquare, true);
}

template <class Scheme>
static __global__ void __launch_bounds__(kMmaThreads, 1) sgemm_mma(mma_problem p)
{
    if constexpr (DUO_HAS_AMPERE || Scheme::kInterleaved) { /* Turing has no bf16 */
        using stage = mma_stage<Scheme>;
        extern __shared__ __align__(128) uint8_t stages[];
        /* All planes of a chain are in registers: bf16x6 has too many for 32 k. */
        constexpr int kChainK = DUO_HAS_AMPERE && Scheme::kPlanes == 2 ? kStepK : 16;
        constexpr int kSteps = kChainK / 16;

        let_next_kernel_start();
        wait_for_kernels_ahead();
        if (p.when != nullptr && (read_word(p.when) & kPendingBf16) == 0) return;

        const int warp_i = threadIdx.x / 32 * kWarpI;
        const int k_tiles = (int)tiles_of(p.k), steps = (int)((p.k + kStepK - 1) / kStepK);
        int ti, tj;
        place_of_tile<kTilesTogether>(p.tiles_j, p.tiles_i, (int)blockIdx.x, &tj, &ti);
        const uint32_t *const words_i = p.a.words + (int64_t)ti * k_tiles;
        const uint32_t *const words_j = p.b.words + (int64_t)tj * k_tiles;
        int limit;
        {
            const uint32_t *const words[2] = {words_i, words_j};
            tile_row row[2];
            read_tile_rows(words, k_tiles, p.k % kTile == 0, row);
            const duo_way way = way_of(row[0], row[1], p.k);
            limit = row[0].most + row[1].most;
            if ((p.ways >> way & 1) == 0) { /* both warps alike */
                if (threadIdx.x == 0 && p.pending != nullptr) atomicOr(p.pending, 1u << way);
                return;
            }
        }

        const uint32_t ring = (uint32_t)__cvta_generic_to_shared(stages);
        mma_copies<Scheme> copies_j(p.b, p.k, tj), copies_i(p.a, p.k, ti);
        const mma_rows<Scheme> rows(warp_i);
        mma_sums sum = {};
        float scale = 0.0f;
        uint32_t word_i = read_word(words_i), word_j = read_word(words_j);
        start_copies(copies_j, copies_i, ring);
        for (int step = 0; step < steps; step++) {
            const uint32_t here = ring + step % kMmaStages * stage::kBytes;
            copies_wait();
            __syncthreads(); /* this stage is here, and no thread still reads the other one */
            if (step + 1 < steps)
                start_copies(copies_j, copies_i, ring + (step + 1) % kMmaStages * stage::kBytes);
            if (step % 2 == 0) { /* the words of the next 64 k are loaded meanwhile */
                scale = scale_of(word_i, word_j, limit);
                const int next = min(step / 2 + 1, k_tiles - 1);
                word_i = read_word(words_i + next);
                word_j = read_word(words_j + next);
            }
            /* Not unrolled: early loads would take registers. */
#pragma unroll 1
            for (int first = 0; first < kStepK / 16; first += kSteps)
                multiply_chain<Scheme, kSteps>(sum, here, rows, first, scale);
        }
        store_warp<Scheme>(p, sum, limit, (int64_t)ti * kTile + warp_i, (int64_t)tj * kTile);
    }
}

#endif
