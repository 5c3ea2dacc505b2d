/* split/wgmma/chain.cuh - the products of a stage, as a chain of sums in the tensor cores. */
#ifndef DUO_SPLIT_WGMMA_CHAIN_CUH
#define DUO_SPLIT_WGMMA_CHAIN_CUH

#include "gpu/split/wgmma/tile.cuh"

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

#endif
