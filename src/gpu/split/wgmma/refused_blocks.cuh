/*
 * split/wgmma/refused_blocks.cuh - the end of split/wgmma/product.cuh: blocks that the guard
 * refused to its scheme. Mostly there are none, and a kernel of its own would cost more than
 * looking here.
 *
 * Threads   the two multiplying warpgroups, when all tiles of the block are done: together they
 *           walk the same tiles again, 64 rows i at a time
 * bf16x6    from the operands themselves: 32 k of the columns j and rows i are split on their way
 *           to shared memory, one step ahead of the products. That is slower than with planes,
 *           because each tile of C splits again; but planes would take memory and a pass for a rare
 *           case. If one product outweighs all others, the truncation of the tensor core shows when
 *           products of small planes are added to those of large planes. So the products of the
 *           large planes are a chain of their own, and the two chains are added with rounding
 * Exact     blocks of 64 x 64 by exact_block (split/product.cuh)
 * Split-K   as in split/wgmma/product.cuh; the first slice computes exact blocks
 */
#ifndef DUO_SPLIT_WGMMA_REFUSED_BLOCKS_CUH
#define DUO_SPLIT_WGMMA_REFUSED_BLOCKS_CUH

#include "gpu/split/product.cuh"
#include "gpu/split/split_pass.cuh"
#include "gpu/split/wgmma/multiply.cuh"
#include "gpu/split/wgmma/store.cuh"

constexpr int kRunsPerRow = kStepK / kRun;
static_assert(kTile * kRunsPerRow == kMultiplyingThreads, "a thread has a run of 64 rows x 32 k");
static_assert(kExactThreads == kMultiplyingThreads, "the same threads do both");

/* Elements k to k + kRun - 1 of a row, zeros beyond the operand. */
static __device__ __forceinline__ void load_run(float (&x)[kRun], const operand_planes &o,
                                                int64_t row, int64_t k, bool aligned)
{
    const float *const from = o.x + (o.along_k ? row * o.ld + k : row + k * o.ld);
    const int64_t step = o.along_k ? 1 : o.ld, inside = row < o.rows ? o.k - k : 0;
    if (inside < kRun) {
#pragma unroll
        for (int q = 0; q < kRun; q++) x[q] = q < inside ? from[q * step] : 0.0f;
    } else if (aligned) {
#pragma unroll
        for (int q = 0; q < kRun; q += 4) {
            const float4 v = *reinterpret_cast<const float4 *>(from + q);
            x[q] = v.x;
            x[q + 1] = v.y;
            x[q + 2] = v.z;
            x[q + 3] = v.w;
        }
    } else {
#pragma unroll
        for (int q = 0; q < kRun; q++) x[q] = from[q * step];
    }
}

/* A thread's run of 64 rows x 32 k: neighbours in memory are loaded by neighbouring threads. */
struct refused_place {
    int row, run;
    bool aligned; /* 16 bytes at a time */
    __device__ __forceinline__ refused_place(const operand_planes &o, int t)
        : row(o.along_k ? t / kRunsPerRow : t % kTile),
          run(o.along_k ? t % kRunsPerRow : t / kTile),
          aligned(o.along_k && reinterpret_cast<uintptr_t>(o.x) % 16 == 0 && o.ld % 4 == 0)
    {
    }
};

using refused_tile = wgmma_tile<bf16x6, kTile, 1, 2>;
constexpr int kRefusedItems = kMultipliers + 1; /* 64 rows x 32 k each: columns j, then rows i */

/* A run of each item, as loaded, and the words of their tiles. */
struct refused_step {
    float x[kRefusedItems][kRun];
    uint32_t word[kRefusedItems];
};

/* sum + large + small; large and small are chains of the large and small planes. The larger of sum
 * and large is added last, so that a product that outweighs all others is rounded once, as by an
 * FMA. */
static __device__ __forceinline__ float add_both(float sum, float large, float small)
{
    const bool outweighs = fabsf(large) > fabsf(sum);
    return (outweighs ? large : sum) + ((outweighs ? sum : large) + small);
}

/*
 * 64 rows i and 128 columns j of C by bf16x6: tile_i of A, tile_j and the next of B, in tiles of
 * the operands. stored: this warpgroup's half is to be stored; at least one half is.
 */
static __device__ __forceinline__ void refused_rows(const wgmma_problem &p, uint32_t ring, int tile,
                                                    int slice, int tile_i, int tile_j, bool stored,
                                                    int limit)
{
    constexpr int kRegisters = refused_tile::kWidth / 2, kItemBytes = kTile * kRowBytes;
    constexpr int kLarge = bf16x6::kProducts - 1; /* the product of the large planes is the last */
    const int t = (int)threadIdx.x - kWarpgroup, multiplier = t / kWarpgroup;
    const int k_tiles = (int)tiles_of(p.k), steps = (int)((p.k + kStepK - 1) / kStepK);
    const int first_step = first_step_of<refused_tile>(steps, slice, p.slices);
    const int end_step = first_step_of<refused_tile>(steps, slice + 1, p.slices);
    const refused_place in_a(p.a, t), in_b(p.b, t);
    const int last_tile_j = (int)tiles_of(p.n) - 1;

    auto stage_of = [&](int step) {
        return ring + step % refused_tile::kStages * refused_tile::kStageBytes;
    };
    /* Beyond the operand these are zeros; beyond the slice they are not used. */
    auto load = [&](refused_step &s, int step) {
        const int64_t k = (int64_t)step * kStepK;
        const int k_tile = min(step / 2, k_tiles - 1);
#pragma unroll
        for (int j = 0; j < kMultipliers; j++) {
            load_run(s.x[j], p.b, (int64_t)(tile_j + j) * kTile + in_b.row, k + in_b.run * kRun,
                     in_b.aligned);
            s.word[j] = p.b.words[(int64_t)min(tile_j + j, last_tile_j) * k_tiles + k_tile];
        }
        load_run(s.x[kMultipliers], p.a, (int64_t)tile_i * kTile + in_a.row, k + in_a.run * kRun,
                 in_a.aligned);
        s.word[kMultipliers] = p.a.words[(int64_t)tile_i * k_tiles + k_tile];
    };
    auto store = [&](const refused_step &s, int step) {
        const uint32_t stage = stage_of(step);
#pragma unroll
        for (int item = 0; item < kRefusedItems; item++) {
            const bool is_i = item == kMultipliers;
            const uint32_t to =
                stage + (is_i ? refused_tile::kBytesJ : item * kItemBytes) +
                place_of_chunk(is_i ? in_a.row : in_b.row, is_i ? in_a.run : in_b.run);
            const tile_scale scale =
                tile_scale::of(bf16x6(), (int)(s.word[item] & kWordExponent) - kExponentBias);
            float x[kRun];
            uint4 part[bf16x6::kPlanes];
#pragma unroll
            for (int q = 0; q < kRun; q++) x[q] = scale.times(s.x[item][q]);
            split_bf16(part, x);
#pragma unroll
            for (int plane = 0; plane < bf16x6::kPlanes; plane++)
                store_shared(to + plane * (is_i ? 1 : kMultipliers) * kItemBytes, part[plane]);
        }
    };

    auto scale_with = [&](const refused_step &s) {
        return scale_of(s.word[kMultipliers], multiplier == 0 ? s.word[0] : s.word[1], limit);
    };

    float sum[kRegisters] = {}, large[kRegisters], small[kRegisters];
    refused_step next;
    sync_multipliers(); /* no thread still reads the ring */
    load(next, first_step);
    store(next, first_step);
    float scale = scale_with(next);
    load(next, first_step + 1);
#pragma unroll 1
    for (int step = first_step; step < end_step; step++) {
        writes_before_products();
        sync_multipliers(); /* also: the products of the step before are done */
        const uint32_t j_rows = rows_at(stage_of(step) + multiplier * kItemBytes),
                       i_rows = rows_at(stage_of(step) + refused_tile::kBytesJ);
        multiply_planes<refused_tile, 0, kLarge>(small, j_rows, i_rows, 0);
        multiply_planes<refused_tile, kLarge, kLarge + 1>(large, j_rows, i_rows, 0);
        store(next, step + 1);
        const float scale_before = scale;
        scale = scale_with(next);
        load(next, step + 2);
        products_wait<0>(small);
        products_wait<0>(large);
#pragma unroll
        for (int r = 0; r < kRegisters; r++)
            sum[r] = add_both(sum[r], large[r] * scale_before, small[r] * scale_before);
    }
    if (!stored || (p.slices > 1 && !last_to_come(p, tile, slice, multiplier, sum))) return;
    store_half<refused_tile>(p, sum, &limit, 1, (int64_t)tile_i * kTile,
                             (int64_t)(tile_j + multiplier) * kTile);
}

/* Computes the refused blocks in all tiles of this block of threads. `memory`: the ring's. */
template <class Tile>
static __device__ __forceinline__ void do_refused(const wgmma_problem &p, uint32_t ring,
                                                  void *memory, int slice)
{
    constexpr uint32_t kWays = Tile::Scheme::kWays;
    static_assert(sizeof(exact_slab) <= Tile::kStageBytes * Tile::kStages &&
                      refused_tile::kStageBytes * refused_tile::kStages <=
                          Tile::kStageBytes * Tile::kStages,
                  "both fit into the ring");
    const int t = (int)threadIdx.x - kWarpgroup, multiplier = t / kWarpgroup;
    const int k_tiles = (int)tiles_of(p.k);
    const int last_tile_i = (int)tiles_of(p.m) - 1, last_tile_j = (int)tiles_of(p.n) - 1;
    const cluster_walk<Tile> walk(p);
    for (int tile = walk.first; tile < walk.end; tile += walk.stride) {
        int ti, tj;
        walk.place(p, tile, &ti, &tj);
        const int tile_j = tj * kMultipliers;
        if (tile_j > last_tile_j) continue;
        const int end_i = min((ti + 1) * Tile::kBlocksI, last_tile_i + 1);
#pragma unroll 1
        for (int tile_i = ti * Tile::kBlocksI; tile_i < end_i; tile_i++) {
            const uint32_t *const words[kMultipliers + 1] = {
                p.b.words + (int64_t)tile_j * k_tiles,
                p.b.words + (int64_t)min(tile_j + 1, last_tile_j) * k_tiles,
                p.a.words + (int64_t)tile_i * k_tiles};
            tile_row row[kMultipliers + 1];
            read_tile_rows(words, k_tiles, p.k % kTile == 0, row);
            bool bf16[kMultipliers], exact[kMultipliers];
#pragma unroll
            for (int j = 0; j < kMultipliers; j++) {
                const duo_way way = way_of(row[kMultipliers], row[j], p.k);
                const bool left = (kWays >> way & 1) == 0 && tile_j + j <= last_tile_j;
                exact[j] = left && way == DUO_WAY_EXACT;
                bf16[j] = left && way == DUO_WAY_BF16X6;
            }
            if constexpr ((kWays >> DUO_WAY_BF16X6 & 1) == 0)
                if (bf16[0] || bf16[1])
                    refused_rows(p, ring, tile, slice, tile_i, tile_j,
                                 multiplier == 0 ? bf16[0] : bf16[1],
                                 row[kMultipliers].most + (multiplier == 0 ? row[0] : row[1]).most);
#pragma unroll 1
            for (int j = 0; j < kMultipliers; j++)
                if ((j == 0 ? exact[0] : exact[1]) && slice == 0)
                    exact_block(p, tile_i, tile_j + j, *static_cast<exact_slab *>(memory), t,
                                [] { sync_multipliers(); });
        }
    }
}

#endif
