/* ffma/kernels.cuh - the kernels of each tile, and how many blocks a multiprocessor holds. */
#ifndef DUO_FFMA_KERNELS_CUH
#define DUO_FFMA_KERNELS_CUH

#include "gpu/ffma/add_parts.cuh"
#include "gpu/ffma/product.cuh"
#include "gpu/shared_memory.cuh"

constexpr int kWays = 16; /* for sgemm_ffma_add, if tiles have many parts */

struct tile_kernels {
    void (*product[3][3])(sgemm_problem, tile_shares);
    void (*add_few)(sgemm_problem, tile_shares), (*add_many)(sgemm_problem, tile_shares);
    int edge_m, edge_n;
    size_t shared_bytes;
    double efficiency; /* share of the FMA rate that the loop over slabs reaches */
};

template <class Tile>
constexpr tile_kernels kernels_of(double efficiency)
{
    return {{{sgemm_ffma<Tile, kVectors, kVectors>, sgemm_ffma<Tile, kVectors, kAlongEdge>,
              sgemm_ffma<Tile, kVectors, kAlongK>},
             {sgemm_ffma<Tile, kAlongEdge, kVectors>, sgemm_ffma<Tile, kAlongEdge, kAlongEdge>,
              sgemm_ffma<Tile, kAlongEdge, kAlongK>},
             {sgemm_ffma<Tile, kAlongK, kVectors>, sgemm_ffma<Tile, kAlongK, kAlongEdge>,
              sgemm_ffma<Tile, kAlongK, kAlongK>}},
            sgemm_ffma_add<Tile, 1>,
            sgemm_ffma_add<Tile, kWays>,
            Tile::kM,
            Tile::kN,
            Tile::kRingFloats * sizeof(float),
            efficiency};
}

/* Efficiencies are from an H200; other devices differ, but the choice rests on ratios. */
static const tile_kernels tiles[] = {
    kernels_of<large_tile>(0.77), kernels_of<tallest_tile>(0.74), kernels_of<widest_tile>(0.76),
    kernels_of<tall_tile>(0.74),  kernels_of<wide_tile>(0.75),    kernels_of<small_tile>(0.74),
};

/* Blocks that a multiprocessor can hold at once, by shared memory and by registers (kLeastBlocks:
 * compute capability 8.7 runs code for 8.0). */
static int resident(const tile_kernels &tile, int capability)
{
    const int most = capability < 86 || capability == 87 ? 1 : kResident;
    return blocks_that_fit(tile.shared_bytes, most, capability);
}

/* Half of a multiprocessor's shared memory: two blocks that ask for this much do not fit into
 * one. */
static size_t bytes_alone(const tile_kernels &tile, int capability)
{
    const size_t half = shared_memory(capability) / 2;
    return tile.shared_bytes > half ? tile.shared_bytes : half;
}

#endif
