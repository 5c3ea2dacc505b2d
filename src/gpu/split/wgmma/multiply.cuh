/*
 * split/wgmma/multiply.cuh - the sums of a tile of C: each chain, times the scale of its tiles, is
 * added to fp32 registers.
 */
#ifndef DUO_SPLIT_WGMMA_MULTIPLY_CUH
#define DUO_SPLIT_WGMMA_MULTIPLY_CUH

#include <type_traits>

#include "gpu/split/wgmma/chain.cuh"
#include "gpu/split/wgmma/verdict.cuh"

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
