/*
 * split/wgmma/verdict.cuh - the 64 x 64 blocks of a tile of C that the guard lets this kernel
 * store.
 *
 * Every multiplying warp reads the words of the tile's rows and columns for itself; the first
 * multiplying warpgroup tells the copying one whether any block of the tile is wanted.
 */
#ifndef DUO_SPLIT_WGMMA_VERDICT_CUH
#define DUO_SPLIT_WGMMA_VERDICT_CUH

#include "gpu/split/wgmma/block.cuh"

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

#endif
