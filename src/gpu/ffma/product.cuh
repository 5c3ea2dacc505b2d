/*
 * ffma/product.cuh - the kernels of sgemm_gpu_ffma.cu: who computes what, the product, and the sum of
 * the parts of shared tiles.
 */
#ifndef DUO_FFMA_PRODUCT_CUH
#define DUO_FFMA_PRODUCT_CUH

#include "gpu/launch.cuh"
#include "gpu/tile_walk.cuh"
#include "gpu/ffma/tile.cuh"

/* ---- Who computes what ---- */

/* Tiles in the order in which they are walked: the first `whole` of them by a block each; the slabs
 * of the others in runs of `share`, the last one shorter. */
struct tile_walk {
    int tiles_m, tiles_n;
    int slabs; /* of a tile */
    int whole;
    int share;
    int64_t shared_slabs;
    float *parts; /* of tiles, each column by column */
};

/* The first element of a tile. */
template <int EdgeM, int EdgeN>
static __device__ __forceinline__ void find_tile(const tile_walk &walk, int tile, int64_t *i,
                                                 int64_t *j)
{
    int tile_m, tile_n;
    place_of_tile<kTilesTogether>(walk.tiles_m, walk.tiles_n, tile, &tile_m, &tile_n);
    *i = (int64_t)tile_m * EdgeM;
    *j = (int64_t)tile_n * EdgeN;
}

/* Where in walk.parts: from part to part the tile or the run is another one, never an earlier. */
static __device__ __forceinline__ int64_t part_of(int shared_tile, int run)
{
    return (int64_t)shared_tile + run;
}

/* ---- The product ---- */

template <class Tile, copy_kind KindA, copy_kind KindB>
static __global__ void __launch_bounds__(kThreads, kLeastBlocks)
    sgemm_ffma(sgemm_problem p, tile_walk walk)
{
    extern __shared__ float4 memory[];
    float *const ring = reinterpret_cast<float *>(memory);
    constexpr int kSlabA = kSlab * kPitch<Tile::kM>;

    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int warp_n = warp % Tile::kWarpsN, warp_m = warp / Tile::kWarpsN % Tile::kWarpsM;
    const int warp_l = warp / (Tile::kWarpsN * Tile::kWarpsM);
    const int i = warp_m * kWarpM + lane_of_4(lane) * kGroup;
    const int j = warp_n * kWarpN + lane_of_8(lane) * kGroup;
    constexpr int kStrideM = kLanesM * kGroup, kStrideN = kLanesN * kGroup;
    const int read_a = warp_l * Tile::kSteps * kPitch<Tile::kM> + i;
    const int read_b = kSlabA + warp_l * Tile::kSteps * kPitch<Tile::kN> + j;

    int tile = blockIdx.x, first = 0, last = walk.slabs;
    int left = 0; /* slabs of this block's run, from `first` on */
    if (tile >= walk.whole) {
        const int64_t begin = (int64_t)(tile - walk.whole) * walk.share;
        left = (int)min((int64_t)walk.share, walk.shared_slabs - begin);
        tile = walk.whole + (int)(begin / walk.slabs);
        first = (int)(begin % walk.slabs);
        last = min(first + left, walk.slabs);
    }

    wait_for_kernels_ahead();
    for (;;) {
        int64_t first_i, first_j;
        find_tile<Tile::kM, Tile::kN>(walk, tile, &first_i, &first_j);

        /* A k that is no multiple of kSlab makes the first slab shorter, which is filled up in
         * front. */
        const int missing = (int)((int64_t)walk.slabs * kSlab - p.k);
        const int64_t first_l = (int64_t)first * kSlab - missing;
        ffma_loader<Tile::kM, KindA> a_loader(p.a, p.lda, first_i, p.m, first_l);
        ffma_loader<Tile::kN, KindB> b_loader(p.b, p.ldb, first_j, p.n, first_l);

        float sum[kThreadN][kThreadM] = {};
        float a[2][kThreadM], b[2][kThreadN];

        const int count = last - first;
        auto wait_for_next = [&] {
            __pipeline_wait_prior(kSlabs - 2);
            __syncthreads();
        };
        auto read_step = [&](int buffer, const float *slab, int l) {
            read_fragment(a[buffer], slab + read_a + l * kPitch<Tile::kM>, kStrideM);
            read_fragment(b[buffer], slab + read_b + l * kPitch<Tile::kN>, kStrideN);
        };

#pragma unroll
        for (int slot = 0; slot < kSlabs - 1; slot++) {
            float *const slab = ring + slot * Tile::kSlabFloats;
            if (slot == 0 && count > 0) {
                a_loader.template load<false>(slab, first == 0 ? missing : 0);
                b_loader.template load<false>(slab + kSlabA, first == 0 ? missing : 0);
            } else if (slot < count) {
                a_loader.template load<true>(slab, 0);
                b_loader.template load<true>(slab + kSlabA, 0);
            }
            __pipeline_commit();
        }
        wait_for_next();
        read_step(0, ring, 0);

        /* The slab being multiplied, and the one that was read for the last time before it. */
        float *slab = ring, *freed = ring + (kSlabs - 1) * Tile::kSlabFloats;
        for (int s = count; s > 0; s--) {
#pragma unroll
            for (int l = 0; l < Tile::kSteps; l++) {
                if (l == Tile::kSteps - 1) {
                    /* After the last slab this reads a slot without meaning, and nobody uses it. */
                    freed = slab;
                    slab += Tile::kSlabFloats;
                    if (slab == ring + kSlabs * Tile::kSlabFloats) slab = ring;
                    wait_for_next();
                }
                read_step((l + 1) % 2, slab, (l + 1) % Tile::kSteps);
                if (l == 0) {
                    /* Everyone is past the barrier above, hence done with the slab before. */
                    if (s >= kSlabs) {
                        a_loader.template load<true>(freed, 0);
                        b_loader.template load<true>(freed + kSlabA, 0);
                    }
                    __pipeline_commit(); /* also an empty one: a wait counts commits */
                }
                multiply_step<Tile::kAbreast>(sum, a[l % 2], b[l % 2]);
            }
        }

        if (left <= last - first) { /* no earlier: see bytes_to_ask_for() */
            let_next_kernel_start();
        }
        /* Scaled here, the sums get registers in the order that the stores need, and may have those
         * that suit the multiplications up to here. */
#pragma unroll
        for (int n = 0; n < kThreadN; n++)
#pragma unroll
            for (int m = 0; m < kThreadM; m++) sum[n][m] *= p.alpha;

                /* The warps' shares of the steps: the upper half hands over to the lower one. */
#pragma unroll
        for (int half = Tile::kWarpsL / 2; half > 0; half /= 2) {
            __syncthreads();
            float4 *const sums = memory + threadIdx.x % (half * kThreads / Tile::kWarpsL);
            constexpr int kApart = kThreads / Tile::kWarpsL;
#pragma unroll
            for (int n = 0; n < kThreadN; n++)
#pragma unroll
                for (int g = 0; g < kThreadM; g += kGroup) {
                    float4 *const v = sums + (n * (kThreadM / kGroup) + g / kGroup) * half * kApart;
                    if (warp_l >= half && warp_l < 2 * half)
                        *v = make_float4(sum[n][g], sum[n][g + 1], sum[n][g + 2], sum[n][g + 3]);
                }
            __syncthreads();
#pragma unroll
            for (int n = 0; n < kThreadN; n++)
#pragma unroll
                for (int g = 0; g < kThreadM; g += kGroup) {
                    if (warp_l < half) {
                        const float4 v =
                            sums[(n * (kThreadM / kGroup) + g / kGroup) * half * kApart];
                        sum[n][g] += v.x;
                        sum[n][g + 1] += v.y;
                        sum[n][g + 2] += v.z;
                        sum[n][g + 3] += v.w;
                    }
                }
        }

        /* The tile goes to C, or whole to the workspace as a part, or to the ring where a column of
         * C may begin anywhere, and from there to C, so that a warp writes neighbours. */
        const bool part = first > 0 || last < walk.slabs,
                   by_ring = !part && !columns_aligned(p.c, p.ldc);
        tile_target to = {p.c + (first_i + first_j * p.ldc), p.ldc, p.m - first_i, p.n - first_j,
                          p.beta};
        if (part || by_ring) {
            float *const parts = walk.parts + part_of(tile - walk.whole, blockIdx.x - walk.whole) *
                                                  (Tile::kM * Tile::kN);
            to = {part ? parts : ring, part ? Tile::kM : kPitch<Tile::kM>, Tile::kM, Tile::kN,
                  0.0f};
        }
        if (by_ring) __syncthreads(); /* everyone is done with the slabs */
        if (warp_l == 0) {
#pragma unroll
            for (int n = 0; n < kThreadN; n++) {
                const int tile_j = j + n / kGroup * kStrideN + n % kGroup;
                if (tile_j >= to.columns) continue;
#pragma unroll
                for (int g = 0; g < kThreadM / kGroup; g++) {
                    const int tile_i = i + g * kStrideM;
                    const float group[kGroup] = {sum[n][kGroup * g], sum[n][kGroup * g + 1],
                                                 sum[n][kGroup * g + 2], sum[n][kGroup * g + 3]};
                    update_four(to.first + (tile_i + tile_j * to.ld), group, to.beta,
                                to.rows - tile_i, true,
                                [&](float x, float old) { return settle(x, to.beta, old); });
                }
            }
        }
        if (by_ring) {
            __syncthreads();
            constexpr int kStep = kThreads / Tile::kM;
            const int tile_i = threadIdx.x % Tile::kM,
                      columns = (int)min(p.n - first_j, (int64_t)Tile::kN);
            if (first_i + tile_i < p.m) {
#pragma unroll 8
                for (int tile_j = threadIdx.x / Tile::kM; tile_j < columns; tile_j += kStep) {
                    float *const c = p.c + (first_i + tile_i + (first_j + tile_j) * p.ldc);
                    *c = settle(ring[tile_j * kPitch<Tile::kM> + tile_i], p.beta,
                                p.beta == 0.0f ? 0.0f : *c);
                }
            }
        }

        left -= last - first;
        if (left <= 0) return;
        tile++;
        first = 0;
        last = min(left, walk.slabs);
        __syncthreads(); /* before the ring is filled anew */
    }
}

/*
 * Adds the parts of the tiles that were shared. With Ways > 1 as many threads take every Ways-th
 * part of a group of elements, for a tile of many parts and few blocks.
 */
template <class Tile, int Ways>
static __global__ void __launch_bounds__(kThreads) sgemm_ffma_add(sgemm_problem p, tile_walk walk)
{
    constexpr int kGroups = kThreads / Ways; /* per block */
    constexpr int kTile = Tile::kM * Tile::kN, kBlocks = kTile / (kGroup * kGroups);
    __shared__ float4 sums[Ways][kGroups];
    const int shared_tile = blockIdx.x / kBlocks;
    const int64_t begin = (int64_t)shared_tile * walk.slabs;
    const int run_first = (int)(begin / walk.share);
    const int run_last = (int)((begin + walk.slabs - 1) / walk.share);
    wait_for_kernels_ahead();
    if (run_first == run_last) return; /* one block had all of it, and wrote C */

    const int way = threadIdx.x / kGroups, group = threadIdx.x % kGroups;
    const int at = (blockIdx.x % kBlocks * kGroups + group) * kGroup;
    const float *const parts = walk.parts + part_of(shared_tile, 0) * kTile + at;
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
    find_tile<Tile::kM, Tile::kN>(walk, walk.whole + shared_tile, &i, &j);
    i += at % Tile::kM;
    j += at / Tile::kM;
    if (j >= p.n) return;
    const float four[kGroup] = {sum.x, sum.y, sum.z, sum.w};
    update_four(p.c + (i + j * p.ldc), four, p.beta, p.m - i, columns_aligned(p.c, p.ldc),
                [&](float x, float old) { return settle(x, p.beta, old); });
}

#endif
