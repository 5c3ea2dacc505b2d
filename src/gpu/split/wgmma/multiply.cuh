/*
 * split/wgmma/multiply.cuh - the sums of a tile of C: each chain, times the scale of its tiles, is
 * added to fp32 registers.
 */
#ifndef DUO_SPLIT_WGMMA_MULTIPLY_CUH
#define DUO_SPLIT_WGMMA_MULTIPLY_CUH

#include <type_traits>

#include "gpu/split/wgmma/tile.cuh"

/* ---- The products of a stage, as a chain of sums in the tensor cores ---- */

/*
 * Begins a chain: kStageK k of half h of a tile, the scheme's products First to End - 1. j_rows (64
 * columns j of C) and i_rows (the tile's rows i) are their places in the stage (rows_at). `chain`
 * is under way until products_wait.
 */
template <class Tile, int First, int End, int Registers>
static __device__ __forceinline__ void multiply_planes(float (&chain)[Registers], uint32_t j_rows,
                                                       uint32_t i_rows, int h)
{
    using Scheme = typename Tile::Scheme;
    constexpr uint64_t kLayout = kDescriptor<Tile::kRowBytes>;
    const int row = h * Tile::kWidth;
    const uint32_t half =
        i_rows + (row / Tile::kBoxI * Tile::kBytesBox + row % Tile::kBoxI * Tile::kRowBytes) / 16;
    products_begin();
#pragma unroll
    for (int q = First; q < End; q++)
#pragma unroll
        for (int s = 0; s < Scheme::kStageK / 16; s++)
            product(chain, kLayout | (j_rows + Tile::offset(kTileJ, Scheme::plane_of_b(q), s)),
                    kLayout | (half + Tile::offset(Tile::kBoxI, Scheme::plane_of_a(q), s)),
                    q > First || s > 0, typename Scheme::element());
    products_commit();
}

/* All of its products. */
template <class Tile, int Registers>
static __device__ __forceinline__ void multiply_step(float (&chain)[Registers], uint32_t j_rows,
                                                     uint32_t i_rows, int h)
{
    multiply_planes<Tile, 0, Tile::Scheme::kProducts>(chain, j_rows, i_rows, h);
}

/* ---- Verdicts ---- */

/*
 * The 64 x 64 blocks of a tile of C that the guard lets this kernel store.
 *
 * Every multiplying warp reads the words of the tile's rows and columns for itself; the first
 * multiplying warpgroup tells the copying one whether any block of the tile is wanted.
 */

/* The words of the operands' tiles for a tile of C, for one multiplying warpgroup. Tiles beyond the
 * matrix have no words: the last tile's words stand for theirs. */
template <class Tile>
struct tile_words {
    const wgmma_problem &p;
    int ti, tj, multiplier;
    int k_tiles;

    __device__ __forceinline__ tile_words(const wgmma_problem &problem, int tile_i, int tile_j,
                                          int of_multiplier)
        : p(problem), ti(tile_i), tj(tile_j), multiplier(of_multiplier),
          k_tiles((int)tiles_of(problem.k))
    {
    }
    /* The words of the columns j of another warpgroup of the cluster: its number differs from this
     * one's in the bits of `other`. */
    __device__ __forceinline__ const uint32_t *of_columns(int other) const
    {
        const int last = (int)tiles_of(p.n) - 1;
        return p.b.words + (int64_t)min((tj * kMultipliers + multiplier) ^ other, last) * k_tiles;
    }
    /* The words of block b of 64 rows i. An operand's tiles are counted in int. */
    __device__ __forceinline__ const uint32_t *of_rows(int b) const
    {
        const int last = (int)tiles_of(p.m) - 1;
        return p.a.words + min(ti * Tile::kBlocksI + b, last) * k_tiles;
    }
};

template <class Tile>
struct verdict {
    int limit
        [Tile::kBlocksI]; /* largest exponents of rows and columns, added (split/product.cuh) */
    uint32_t stored;      /* a bit for each block of 64 rows i: this warpgroup stores it */
    bool any;             /* is one stored by any warpgroup of the cluster? */
    static constexpr uint32_t kAll = (1u << Tile::kBlocksI) - 1;

    __device__ __forceinline__ explicit verdict(const tile_words<Tile> &words)
        : stored(0), any(false)
    {
        using Scheme = typename Tile::Scheme;
        constexpr int kOthers = kMultipliers * Tile::kCluster - 1; /* warpgroups */
        const int64_t k = words.p.k;
        const uint32_t *all[Tile::kBlocksI + 1 + kOthers];
        tile_row row[Tile::kBlocksI + 1 + kOthers];
#pragma unroll
        for (int b = 0; b < Tile::kBlocksI; b++) all[b] = words.of_rows(b);
#pragma unroll
        for (int o = 0; o <= kOthers; o++) all[Tile::kBlocksI + o] = words.of_columns(o);
        read_tile_rows(all, words.k_tiles, k % kTile == 0, row);
        const tile_row &j = row[Tile::kBlocksI];
#pragma unroll
        for (int b = 0; b < Tile::kBlocksI; b++) {
            limit[b] = row[b].most + j.most;
#pragma unroll
            for (int o = 1; o <= kOthers; o++)
                any |= (Scheme::kWays >> way_of(row[b], row[Tile::kBlocksI + o], k) & 1) != 0;
            if (Scheme::kWays >> way_of(row[b], j, k) & 1) stored |= 1u << b;
        }
        any |= stored != 0;
    }
};

/* ---- The sums of a tile ---- */

/* The place where a multiplying warpgroup reads the ring. */
template <class Tile>
struct stage_reader : ring_place<Tile> {
    const wgmma_block<Tile> &block;
    uint32_t j_rows, i_rows; /* of the first stage (rows_at) */

    __device__ __forceinline__ stage_reader(const wgmma_block<Tile> &of_block, int multiplier)
        : block(of_block), j_rows(rows_at(block.ring + multiplier * 64 * Tile::kRowBytes)),
          i_rows(rows_at(block.ring + Tile::kBytesJ))
    {
    }
    __device__ __forceinline__ uint32_t full() const { return block.full + 8 * this->stage; }
    __device__ __forceinline__ void wait() const { barrier_wait(full(), this->phase); }
    /* Tells all blocks of the cluster that the stage may be filled again. */
    __device__ __forceinline__ void release(int of_stage) const
    {
        const int thread = threadIdx.x % kWarpgroup;
        if constexpr (Tile::kCluster == 1) {
            if (thread == 0) barrier_arrive(block.empty + 8 * of_stage);
        } else {
            if (thread < Tile::kCluster) barrier_arrive_in(block.empty + 8 * of_stage, thread);
        }
    }
};

/*
 * The scales of a tile's blocks of 64 rows i, for each 64 k in turn. While the scales of the next
 * 64 k are ready, the words of the 64 k after those are being loaded. Each lane has one word: of
 * rows i, then of columns j. (If each lane had all words, the compiler would move them to uniform
 * registers, and so wait for them at once.)
 */
template <class Tile>
struct tile_scales {
    const uint32_t *words, *last_word; /* this lane's */
    uint32_t word;
    float my_scale;   /* lane b: for rows i of block b, in the next 64 k */
    bool ones;        /* are all scales 1? Mostly they are */
    int my_limit = 0; /* lane b: block b's */

    __device__ __forceinline__ tile_scales(const tile_words<Tile> &of, int first_step)
    {
        const int lane = threadIdx.x % 32;
        words = of.of_columns(0);
#pragma unroll
        for (int b = 0; b < Tile::kBlocksI; b++)
            if (lane == b) words = of.of_rows(b);
        last_word = words + of.k_tiles - 1;
        words += first_step / Tile::kStepsPerTile;
        word = read_word(words);
    }
    __device__ __forceinline__ void begin(const int (&limit)[Tile::kBlocksI])
    {
        const int lane = threadIdx.x % 32;
#pragma unroll
        for (int b = 0; b < Tile::kBlocksI; b++)
            if (lane == b) my_limit = limit[b];
        next();
    }
    /* Goes to the next 64 k. */
    __device__ __forceinline__ void next()
    {
        const int lane = threadIdx.x % 32;
        my_scale = scale_of(word, __shfl_sync(~0u, word, Tile::kBlocksI), my_limit);
        ones = __all_sync(~0u, lane >= Tile::kBlocksI || my_scale == 1.0f) != 0;
        if (words != last_word) words++;
        word = read_word(words);
    }
    __device__ __forceinline__ void take(float (&scale)[Tile::kBlocksI]) const
    {
#pragma unroll
        for (int b = 0; b < Tile::kBlocksI; b++) scale[b] = __shfl_sync(~0u, my_scale, b);
    }
};

constexpr int kSumsPerBlock = kTile / 2; /* registers of a thread, for 64 x 64 of C */

/* A thread's sums, for each half of the tile's rows i. */
template <class Tile>
using tile_sums = float[Tile::kHalves][Tile::kWidth / 2];

/*
 * Two chains in turn: while one is added, the products of the other go on. The slice is not empty.
 */
template <class Tile>
static __device__ __forceinline__ void
multiply_two_chains(tile_sums<Tile> &sum, stage_reader<Tile> &reader, tile_scales<Tile> &scales)
{
    constexpr int kRegisters = Tile::kWidth / 2;
    float even[kRegisters], odd[kRegisters];
    float scale[Tile::kBlocksI] = {}, before[Tile::kBlocksI];
    constexpr std::integral_constant<int, 0> zero;
    constexpr std::integral_constant<int, 1> one;
    int stage_before = 0;
    auto begin = [&](auto side) {
        float(&chain)[kRegisters] = side.value == 0 ? even : odd;
        reader.wait();
        multiply_step<Tile>(chain, reader.j_rows + reader.at, reader.i_rows + reader.at, 0);
#pragma unroll
        for (int b = 0; b < Tile::kBlocksI; b++) before[b] = scale[b];
        if (side.value % Tile::kStepsPerTile == 0) {
            scales.take(scale);
            scales.next();
        }
    };
    /* Adds the chain of the step before; `pending` others are not waited for. */
    auto add = [&](auto side, auto pending, const float(&times)[Tile::kBlocksI]) {
        float(&chain)[kRegisters] = side.value == 0 ? even : odd;
        products_wait<pending.value>(chain);
        reader.release(stage_before);
#pragma unroll
        for (int r = 0; r < kRegisters; r++)
            sum[0][r] = fmaf(chain[r], times[r / kSumsPerBlock], sum[0][r]);
    };
    auto next = [&] {
        stage_before = reader.stage;
        reader.advance();
    };
    begin(zero);
    next();
    int step = reader.block.first_step + 1;
#pragma unroll 1
    for (; step + 2 <= reader.block.end_step; step += 2) {
        begin(one);
        add(zero, one, before);
        next();
        begin(zero);
        add(one, one, before);
        next();
    }
    if (step < reader.block.end_step) {
        begin(one);
        add(zero, one, before);
        next();
        add(one, zero, scale);
    } else {
        add(zero, zero, scale);
    }
}

/* Multiplies steps from `step` on, up to the next one with the other kind of scales. */
template <class Tile, bool Scaled>
static __device__ __forceinline__ void
multiply_run(tile_sums<Tile> &sum, float (&chain)[Tile::kWidth / 2], int &step,
             stage_reader<Tile> &reader, tile_scales<Tile> &scales)
{
    constexpr int kSteps = Tile::kStepsPerTile;
    float scale[Tile::kBlocksI];
    if constexpr (Scaled) scales.take(scale);
#pragma unroll 1
    do {
        reader.wait();
#pragma unroll
        for (int h = 0; h < Tile::kHalves; h++) {
            multiply_step<Tile>(chain, reader.j_rows + reader.at, reader.i_rows + reader.at, h);
            if (h == 0 && step % kSteps == 0) scales.next();
            products_wait<0>(chain);
            if (h == Tile::kHalves - 1) reader.release(reader.stage);
#pragma unroll
            for (int r = 0; r < Tile::kWidth / 2; r++)
                if constexpr (Scaled)
                    sum[h][r] = fmaf(chain[r], scale[h * Tile::kBlocksPerHalf + r / kSumsPerBlock],
                                     sum[h][r]);
                else
                    sum[h][r] += chain[r];
        }
        reader.advance();
    } while (++step < reader.block.end_step && (step % kSteps != 0 || (!Scaled && scales.ones)));
}

/* One chain at a time. The code of steps without scales stays small: it fills the innermost
 * instruction cache. */
template <class Tile>
static __device__ __forceinline__ void multiply_one_chain(tile_sums<Tile> &sum, int multiplier,
                                                          stage_reader<Tile> &reader,
                                                          tile_scales<Tile> &scales)
{
    float chain[Tile::kWidth / 2];
    int step = reader.block.first_step;
    keep_apart(multiplier, reader.full(), reader.phase);
    while (step < reader.block.end_step)
        if (scales.ones)
            multiply_run<Tile, false>(sum, chain, step, reader, scales);
        else
            multiply_run<Tile, true>(sum, chain, step, reader, scales);
}

#endif
