/* ffma/product.cuh - the kernels of sgemm_gpu_ffma: tiles of C or parts of them; C from parts. */
#ifndef DUO_FFMA_PRODUCT_CUH
#define DUO_FFMA_PRODUCT_CUH

#include "gpu/ffma/multiply.cuh"
#include "gpu/ffma/store.cuh"
#include "gpu/launch.cuh"

/* ---- The kernel that multiplies ---- */

template <class Tile, copy_kind KindA, copy_kind KindB>
static __global__ void __launch_bounds__(kThreads, kLeastBlocks)
    sgemm_ffma(sgemm_problem p, tile_shares shares)
{
    extern __shared__ float4 memory[];
    float *const ring = reinterpret_cast<float *>(memory);
    const thread_place<Tile> me;
    slab_run run(shares);

    wait_for_kernels_ahead();
    for (;;) {
        int64_t first_i, first_j;
        find_tile<Tile::kM, Tile::kN>(shares, run.tile, &first_i, &first_j);
        thread_sums sum = {};
        multiply_slabs<Tile, KindA, KindB>(sum, p, ring, me, first_i, first_j, run.first, run.last,
                                           shares.slabs);
        if (run.ends()) let_next_kernel_start(); /* no earlier: see bytes_to_ask_for() */
        scale_sums(sum, p.alpha);
        add_warps<Tile>(sum, memory, me.warp_l);
        store_tile<Tile>(p, shares, run, sum, ring, me, first_i, first_j);

        if (!run.next(shares)) return;
        __syncthreads(); /* before the ring is refilled */
    }
}

/* ---- The kernel that adds ---- */

/*
 * The second kernel: C from the parts of tiles that several blocks shared.
 */

static __device__ __forceinline__ float4 add(float4 a, float4 b)
{
    return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

/*
 * A thread has a group of four elements of C. With Ways > 1 that many threads share a group, and
 * each adds every Ways-th part of it: for few tiles of many parts.
 */
template <class Tile, int Ways>
static __global__ void __launch_bounds__(kThreads)
    sgemm_ffma_add(sgemm_problem p, tile_shares shares)
{
    constexpr int kGroups = kThreads / Ways; /* per block */
    constexpr int kTile = Tile::kM * Tile::kN, kBlocks = kTile / (kGroup * kGroups);
    __shared__ float4 sums[Ways][kGroups];
    const int shared_tile = blockIdx.x / kBlocks;
    const int64_t begin = (int64_t)shared_tile * shares.slabs;
    const int run_first = (int)(begin / shares.share);
    const int run_last = (int)((begin + shares.slabs - 1) / shares.share);
    wait_for_kernels_ahead();
    if (run_first == run_last) return; /* one block had the whole tile, and wrote C */

    const int way = threadIdx.x / kGroups, group = threadIdx.x % kGroups;
    const int at = (blockIdx.x % kBlocks * kGroups + group) * kGroup;
    const float *const parts = shares.parts + part_of(shared_tile, 0) * kTile + at;
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll 8
    for (int run = run_first + way; run <= run_last; run += Ways)
        sum = add(sum, *reinterpret_cast<const float4 *>(parts + (int64_t)run * kTile));
    let_next_kernel_start();
    if (Ways > 1) {
        sums[way][group] = sum;
        __syncthreads();
        if (way > 0) return;
#pragma unroll
        for (int w = 1; w < Ways; w++) sum = add(sum, sums[w][group]);
    }
    int64_t i, j;
    find_tile<Tile::kM, Tile::kN>(shares, shares.whole + shared_tile, &i, &j);
    i += at % Tile::kM;
    j += at / Tile::kM;
    if (j >= p.n) return;
    const float four[kGroup] = {sum.x, sum.y, sum.z, sum.w};
    update_four(p.c + (i + j * p.ldc), four, p.beta, p.m - i, columns_aligned(p.c, p.ldc),
                [&](float x, float old) { return settle(x, p.beta, old); });
}

/* ---- Each tile's kernels ---- */

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
