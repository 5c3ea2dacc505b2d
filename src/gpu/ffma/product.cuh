/* ffma/product.cuh - the kernels of sgemm_gpu_ffma: tiles of C or parts of them; C from parts. */
#ifndef DUO_FFMA_PRODUCT_CUH
#define DUO_FFMA_PRODUCT_CUH

#include "gpu/ffma/multiply.cuh"
#include "gpu/ffma/store.cuh"
#include "gpu/launch.cuh"

/* ---- The kernel that multiplies ---- */

template <class Tile, copy_kind KindA, copy_kind KindB>
static __global__ void __launch_bounds__(Tile::kThreads, Tile::kResident)
    sgemm_ffma(sgemm_problem p, tile_shares shares)
{
    extern __shared__ float4 memory[];
    float *const ring = reinterpret_cast<float *>(memory);
    const thread_place<Tile> me;
    segment_run run(shares);

    wait_for_kernels_ahead();
    for (;;) {
        int64_t first_i, first_j;
        find_tile<Tile::kM, Tile::kN>(shares, run.tile, &first_i, &first_j);
        float *const parts = run.is_part(shares) ? parts_of<Tile>(shares, run.tile) : nullptr;
        thread_sums<Tile> total;
        begin_totals<Tile>(total, p.k);
        multiply_segments<Tile, KindA, KindB>(
            p, ring, me, first_i, first_j, run.first, run.last,
            [&](const thread_sums<Tile> &sum, int segment) {
                /* Parts are stored from `total`, too: stores need registers in their order, and
                 * then `sum` has registers that suit the multiplications. */
                add_segment<Tile>(total, sum);
                /* The first segments of a tile are one part. */
                if (parts == nullptr || (run.first == 0 && segment + 1 < run.last)) return;
                store_sums<Tile>(parts + (int64_t)segment * (Tile::kM * Tile::kN), Tile::kM, total,
                                 me);
                begin_totals<Tile>(total, p.k);
            });
        if (run.ends()) let_next_kernel_start(); /* no earlier: see bytes_to_ask_for() */
        if (parts == nullptr) store_tile<Tile>(p, total, ring, me, first_i, first_j);

        if (!run.next(shares)) return;
        __syncthreads(); /* before the ring is refilled */
    }
}

/* ---- The kernel that adds ---- */

/*
 * The second kernel: C from the parts of tiles that several blocks shared. A thread has a group of
 * four elements of C, and adds their parts in order: the sum of the segments of the tile's first
 * run, and each segment after that.
 */
constexpr int kThreads = 256; /* per block */

template <class Tile>
static __global__ void __launch_bounds__(kThreads)
    sgemm_ffma_add(sgemm_problem p, tile_shares shares)
{
    constexpr int kTile = Tile::kM * Tile::kN, kBlocks = kTile / (kGroup * kThreads);
    const int shared_tile = blockIdx.x / kBlocks;
    const int64_t begin = (int64_t)shared_tile * shares.segments;
    wait_for_kernels_ahead();
    /* Had one block the whole tile, and wrote C? */
    if (begin / shares.share == (begin + shares.segments - 1) / shares.share) return;

    const int at = (blockIdx.x % kBlocks * kThreads + threadIdx.x) * kGroup;
    const float *const parts = parts_of<Tile>(shares, shares.whole + shared_tile) + at;
    float sum[kGroup] = {kNoSegment, kNoSegment, kNoSegment, kNoSegment};
    const int first_run = shares.share - (int)(begin % shares.share); /* segments */
#pragma unroll 8
    for (int s = first_run - 1; s < shares.segments; s++) {
        const float4 x = *reinterpret_cast<const float4 *>(parts + (int64_t)s * kTile);
        sum[0] += x.x;
        sum[1] += x.y;
        sum[2] += x.z;
        sum[3] += x.w;
    }
    let_next_kernel_start();
    int64_t i, j;
    find_tile<Tile::kM, Tile::kN>(shares, shares.whole + shared_tile, &i, &j);
    i += at % Tile::kM;
    j += at / Tile::kM;
    if (j >= p.n) return;
    update_four(p.c + (i + j * p.ldc), sum, p.beta, p.m - i, columns_aligned(p.c, p.ldc),
                [&](float x, float old) { return blend(p.alpha, x, p.beta, old); });
}

/* ---- Each tile's kernels ---- */

struct tile_kernels {
    void (*product[3][3])(sgemm_problem, tile_shares);
    void (*add)(sgemm_problem, tile_shares);
    int edge_m, edge_n, threads;
    int resident; /* blocks per multiprocessor that registers allow */
    size_t shared_bytes;
    double alone, full; /* shares of the FMA rate: one block on a multiprocessor, and many */
};

template <class Tile>
constexpr tile_kernels kernels_of(double alone, double full)
{
    return {{{sgemm_ffma<Tile, kVectors, kVectors>, sgemm_ffma<Tile, kVectors, kAlongEdge>,
              sgemm_ffma<Tile, kVectors, kAlongK>},
             {sgemm_ffma<Tile, kAlongEdge, kVectors>, sgemm_ffma<Tile, kAlongEdge, kAlongEdge>,
              sgemm_ffma<Tile, kAlongEdge, kAlongK>},
             {sgemm_ffma<Tile, kAlongK, kVectors>, sgemm_ffma<Tile, kAlongK, kAlongEdge>,
              sgemm_ffma<Tile, kAlongK, kAlongK>}},
            sgemm_ffma_add<Tile>,
            Tile::kM,
            Tile::kN,
            Tile::kThreads,
            Tile::kResident,
            Tile::kFloats * sizeof(float),
            alone,
            full};
}

/* Rates are an H200's; other devices differ, but the choice rests on ratios. */
static const tile_kernels tiles[] = {
    kernels_of<large_tile>(0.76, 0.76), kernels_of<tall_tile>(0.65, 0.72),
    kernels_of<wide_tile>(0.58, 0.72),  kernels_of<small_tile>(0.50, 0.57),
    kernels_of<half_tile>(0.44, 0.52),  kernels_of<least_tile>(0.25, 0.51),
};

/* Blocks that a multiprocessor can hold at once, by shared memory and by registers. */
static int resident(const tile_kernels &tile, int capability)
{
    return blocks_that_fit(tile.shared_bytes, tile.resident, capability);
}

/* Half of a multiprocessor's shared memory: two blocks that ask for this much do not fit into
 * one. */
static size_t bytes_alone(const tile_kernels &tile, int capability)
{
    const size_t half = shared_memory(capability) / 2;
    return tile.shared_bytes > half ? tile.shared_bytes : half;
}

#endif
