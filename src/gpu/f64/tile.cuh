/* f64/tile.cuh - the tiles of C of sgemm_gpu_f64, and their slabs. */
#ifndef DUO_F64_TILE_CUH
#define DUO_F64_TILE_CUH

#include "gpu/f64/warp_product.cuh"
#include "gpu/slab.cuh"

constexpr int kSlab = 16; /* steps of k per slab */
constexpr int kSlabs = 3; /* slabs in the ring */
constexpr int kWarps = 4, kThreads = 32 * kWarps;

/* Resident: blocks per multiprocessor to make room for. */
template <int WarpsM, int WarpsN, int Resident>
struct f64_tile {
    static_assert(WarpsM * WarpsN == kWarps, "a warp for each of its parts");
    static constexpr int kWarpsN = WarpsN, kResident = Resident;
    static constexpr int kM = WarpsM * kWarpEdge, kN = WarpsN * kWarpEdge;
};

using square_tile = f64_tile<2, 2, 3>; /* 64 x 64 */
using tall_tile = f64_tile<4, 1, 2>;   /* 128 x 32: more registers, for more copies */
using wide_tile = f64_tile<1, 4, 2>;   /* 32 x 128 */

template <int Edge>
using slab_ring = float[kSlabs][kSlab][kPitch<Edge>];

#endif
