/*
 * batched/warp_tiles.cuh - tiles of 32 x 32 of a batch, or of 8 x 32, by matrix products of single
 * warps; Warps warps share a tile's k.
 *
 * Accepts   k >= 20, before Hopper 32, where the error bound begins to hold (numerics.md); any
 *           m, n, transposes, leading dimensions and alignment
 * Threads   32 per warp; Tiles tiles per block
 * Copies    a warp copies and multiplies its own slabs of 32 k, one ahead: slabs number w, w +
 *           Warps, ... It waits for no other warp before the end. Elements are split in registers
 * Order     for every 16 k a chain of tensor-core sums of hi hi, which is added to fp32 registers;
 *           one chain for all k of lo hi and hi lo. At the end the chains' and the warps' sums are
 *           added in order
 * Doubt     a tile with a NaN is computed again by fp32 FMA. Inf in an operand becomes NaN here. In
 *           some launches so is a tile with an element too small for TF32
 */
#ifndef DUO_BATCHED_WARP_TILES_CUH
#define DUO_BATCHED_WARP_TILES_CUH

#include "gpu/batched/plan.h"
#include "gpu/batched/tensor_tiles.cuh"

/* Of Down x 32 elements, along i and j; Stages slabs on their way. Tiles of 8 x 32 take products of
 * up to 8 rows i, so that no other tile has the rows beyond. */
template <int Down, int Stages>
struct warp_tile {
    static constexpr int kDown = Down, kStages = Stages;
    static constexpr int kStageBytes = kSquareRoom + (Down == kSquare ? kSquareRoom : kStripRoom);
    static constexpr int kBytes = Stages * kStageBytes; /* of shared memory, for each warp */
    static constexpr int kPitch = Down + 8; /* floats from a column j of sums to the next */
};

using warp_doubtful = batch_tile<16, 2, 32, 1>; /* where tiles in doubt are computed */
static_assert(warp_doubtful::kThreads == 32, "by one warp");

/* Waits for the threads of tile number `tile` of the block, 0 or 1. */
template <int Threads>
static __device__ __forceinline__ void sync_tile(int tile)
{
    if (Threads == 32)
        __syncwarp();
    else if (tile == 0)
        asm volatile("bar.sync 1, %0;" ::"n"(Threads) : "memory");
    else
        asm volatile("bar.sync 2, %0;" ::"n"(Threads) : "memory");
}

/* ---- A warp's sums ---- */

/* d += a b', by TF32. a: 16 rows, b: 8, 8 k of each, as load_rows loads them. */
static __device__ __forceinline__ void product_tf32(float (&d)[4], const float (&a)[4],
                                                    const float (&b)[2])
{
#if DUO_HAS_AMPERE
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])), "r"(__float_as_uint(a[2])),
          "r"(__float_as_uint(a[3])), "r"(__float_as_uint(b[0])), "r"(__float_as_uint(b[1])));
#endif
}

/* Lane l has columns j of 16 y + l / 4 and 8 further, rows i of 8 x + l % 4 * 2 and the next. */
template <class Tile>
struct warp_sums {
    static constexpr int kGroups = Tile::kDown / 8;
    float sum[kGroups][2][4] = {}, cross[kGroups][2][4] = {};

    /* Adds the products of two squares. of_j, of_i: address and the lane's bytes. left: k
     * inside. SmallInDoubt: *doubt becomes true if an element is too small for TF32. */
    template <bool SmallInDoubt>
    __device__ __forceinline__ void multiply(uint32_t of_j, const square_copies<> &j_of,
                                             uint32_t of_i, const square_copies<Tile::kDown> &i_of,
                                             int left, bool *doubt)
    {
        const bool along_k_j = j_of.along_k, along_k_i = i_of.along_k;
        const bool shifted_j = j_of.shifted, shifted_i = i_of.shifted;
        constexpr int kStep = 8, kChain = 16; /* of k */
#pragma unroll
        for (int first = 0; first < kSquare; first += kChain) {
            if (first >= left) break;
            float main[kGroups][2][4] = {};
#pragma unroll
            for (int k = first; k < first + kChain; k += kStep) {
                float j[4][2], i[kGroups][2];
                float hi_j[2][4], lo_j[2][4], hi_i[kGroups][2], lo_i[kGroups][2];
                if (shifted_j)
                    load_shifted<kSquare>(j, of_j, along_k_j, k / kStep);
                else
                    load_rows(j, of_j, along_k_j, k / kStep);
#pragma unroll
                for (int r = 0; r < 4; r++)
#pragma unroll
                    for (int h = 0; h < 2; h++)
                        split_tf32(j[r][h], hi_j[r / 2][r % 2 + 2 * h], lo_j[r / 2][r % 2 + 2 * h]);
                if (shifted_i)
                    load_shifted<Tile::kDown>(i, of_i, along_k_i, k / kStep);
                else
                    load_rows(i, of_i, along_k_i, k / kStep);
                if constexpr (SmallInDoubt) {
                    least_element least;
                    least.look(j);
                    least.look(i);
                    if (least.is_small()) *doubt = true;
                }
#pragma unroll
                for (int r = 0; r < kGroups; r++)
#pragma unroll
                    for (int h = 0; h < 2; h++) split_tf32(i[r][h], hi_i[r][h], lo_i[r][h]);
#pragma unroll
                for (int g = 0; g < kGroups; g++)
#pragma unroll
                    for (int h = 0; h < 2; h++) product_tf32(cross[g][h], lo_j[h], hi_i[g]);
#pragma unroll
                for (int g = 0; g < kGroups; g++)
#pragma unroll
                    for (int h = 0; h < 2; h++) product_tf32(main[g][h], hi_j[h], hi_i[g]);
#pragma unroll
                for (int g = 0; g < kGroups; g++)
#pragma unroll
                    for (int h = 0; h < 2; h++) product_tf32(cross[g][h], hi_j[h], lo_i[g]);
            }
#pragma unroll
            for (int g = 0; g < kGroups; g++)
#pragma unroll
                for (int h = 0; h < 2; h++)
#pragma unroll
                    for (int r = 0; r < 4; r++) sum[g][h][r] += main[g][h][r];
        }
    }
    /* Is a sum a NaN, of these rows i and columns j? */
    __device__ __forceinline__ bool any_nan(int rows, int columns, int lane) const
    {
        float all = 0.0f; /* NaN: a sum is a NaN or Inf */
        bool nan = false;
        for_each([&](float x, int, int) { all = fmaf(x, 0.0f, all); }, lane);
        if (isnan(all))
            for_each([&](float x, int i, int j) { nan |= i < rows && j < columns && isnan(x); },
                     lane);
        return nan;
    }
    /* Calls f(sum, i, j) for all of the lane. */
    template <class F>
    __device__ __forceinline__ void for_each(F f, int lane) const
    {
#pragma unroll
        for (int i = 0; i < kGroups; i++)
#pragma unroll
            for (int j = 0; j < 2; j++)
#pragma unroll
                for (int r = 0; r < 4; r++)
                    f(sum[i][j][r] + cross[i][j][r], i * 8 + lane % 4 * 2 + r % 2,
                      j * 16 + r / 2 * 8 + lane / 4);
    }
    /* Leaves them in columns j of Tile::kPitch floats. */
    __device__ __forceinline__ void leave(float *to, int lane) const
    {
#pragma unroll
        for (int i = 0; i < kGroups; i++)
#pragma unroll
            for (int j = 0; j < 2; j++)
#pragma unroll
                for (int half = 0; half < 2; half++)
                    *reinterpret_cast<float2 *>(to + (j * 16 + half * 8 + lane / 4) * Tile::kPitch +
                                                i * 8 + lane % 4 * 2) =
                        make_float2(sum[i][j][2 * half] + cross[i][j][2 * half],
                                    sum[i][j][2 * half + 1] + cross[i][j][2 * half + 1]);
    }
};

/* ---- The kernel ---- */

/* To look for small elements takes registers; but for Hopper that needs one block fewer. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ != 900
constexpr int kFewerToLook = 1;
#else
constexpr int kFewerToLook = 0;
#endif
template <int Blocks, class Source>
constexpr int kWarpBlocks = Source::kSmallInDoubt &&Blocks > 1 ? Blocks - kFewerToLook : Blocks;

template <class Tile, int Warps, int Tiles, int Blocks, class Source>
static __global__ void __launch_bounds__(32 * Warps * Tiles, kWarpBlocks<Blocks, Source>)
    sgemm_warp_tiles(const __grid_constant__ Source source)
{
    static_assert(Warps == 1 || Tiles <= 2, "there is a barrier for each tile");
    static_assert(2 * warp_doubtful::kSlab * sizeof(float) <= Tile::kBytes, "in its stages");
    static_assert(kSquare * Tile::kPitch * sizeof(float) <= Tile::kBytes, "and its sums");
    if constexpr (DUO_HAS_AMPERE) {
        extern __shared__ __align__(128) uint8_t stages[];
        __shared__ bool doubt[Warps * Tiles];
        const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
        const int share = warp % Warps, group = warp / Warps; /* of k; tile of the block */
        const int number = (int)blockIdx.x * Tiles + group;
        const uint32_t ring =
            (uint32_t)__cvta_generic_to_shared(stages) + (uint32_t)(warp * Tile::kBytes);
        wait_for_kernels_ahead();
        if (number >= source.tiles()) return;
        int within = number;
        const auto &batch = source.find(within);
        const int k = (int)batch.p.k;
        const bool turn = Tile::kDown == kStrip && batch.turned;
        square_copies<> of_b;
        square_copies<Tile::kDown> of_a;
        uint32_t lane_j, lane_i; /* bytes to the first element that the lane reads */
        {
            const tensor_tile tile = tensor_tile::of<Tile::kDown, kSquare>(batch, within);
            const sgemm_problem &p = tile.p;
            of_b.begin(tile.b(batch), tile.j, share * kSquare, lane);
            of_a.begin(tile.a(batch), tile.i, share * kSquare, lane);
            lane_j = tile.b(batch).shifted ? lane_of_shifted<kSquare>(tile.b(batch), 0, lane)
                                           : lane_of_rows(batch.along_k_b, 0, lane);
            lane_i = tile.a(batch).shifted   ? lane_of_shifted<Tile::kDown>(tile.a(batch), 0, lane)
                     : Tile::kDown == kStrip ? lane_of_strip(batch.along_k_a, lane)
                                             : lane_of_rows(batch.along_k_a, 0, lane);
            if (p.beta != 0.0f && share == 0) { /* C begins its way to the L2 cache */
                if (turn)
                    prefetch_tile<kSquare, Tile::kDown, 32>(p.c + tile.j + tile.i * p.ldc, p.ldc,
                                                            p.n - tile.j, p.m - tile.i, lane);
                else
                    prefetch_tile<Tile::kDown, kSquare, 32>(p.c + tile.i + tile.j * p.ldc, p.ldc,
                                                            p.m - tile.i, p.n - tile.j, lane);
            }
        }
        auto copy = [&](int stage) {
            const uint32_t to = ring + stage * Tile::kStageBytes;
            if (of_b.k > 0) {
                of_b.copy(to, Warps, lane);
                of_a.copy(to + kSquareRoom, Warps, lane);
            }
            copies_commit();
        };
        if (lane == 0) doubt[warp] = false;
        warp_sums<Tile> sums;
#pragma unroll 1
        for (int stage = 0; stage < Tile::kStages; stage++) copy(stage);
        int stage = 0;
#pragma unroll 1
        for (int l = share * kSquare; l < k; l += Warps * kSquare) {
            const uint32_t of_j = ring + stage * Tile::kStageBytes;
            copies_wait<Tile::kStages - 1>();
            __syncwarp();
            sums.template multiply<Source::kSmallInDoubt>(
                of_j + lane_j, of_b, of_j + kSquareRoom + lane_i, of_a, k - l, &doubt[warp]);
            __syncwarp();
            copy(stage);
            stage = stage == Tile::kStages - 1 ? 0 : stage + 1;
        }
        copies_wait();
        __syncwarp();
        let_next_kernel_start();

        int again = number; /* what is needed only here was not kept: registers are few */
        asm volatile("" : "+r"(again));
        const auto &same = source.find(again);
        const tensor_tile tile = tensor_tile::of<Tile::kDown, kSquare>(same, again);
        const sgemm_problem &p = tile.p;
        const int rows = (int)p.m - tile.i, columns = (int)p.n - tile.j; /* left */
        sums.leave(reinterpret_cast<float *>(stages + warp * Tile::kBytes), lane);
        if (sums.any_nan(rows, columns, lane)) doubt[warp] = true;
        sync_tile<32 * Warps>(group);
        bool nan = false; /* in any warp's sums */
#pragma unroll
        for (int w = 0; w < Warps; w++) nan |= doubt[group * Warps + w];
        if (nan) {
            constexpr int kEdge = warp_doubtful::kEdge, kParts = (Tile::kDown + kEdge - 1) / kEdge;
            const sgemm_problem q = turn ? turned(p) : p;
            for (int part = share; part < kParts * 2; part += Warps) {
                const int i = part % kParts * kEdge, j = part / kParts * kEdge;
                if (i >= rows || j >= columns) continue;
                multiply_tile<warp_doubtful, false>(
                    q, turn ? tile.j + j : tile.i + i, turn ? tile.i + i : tile.j + j,
                    turn ? same.slow_kind_b() : same.slow_kind_a(),
                    turn ? same.slow_kind_a() : same.slow_kind_b(),
                    reinterpret_cast<float *>(stages + warp * Tile::kBytes), lane,
                    [] { __syncwarp(); });
            }
            return;
        }
        const uint8_t *const left = stages + group * Warps * Tile::kBytes;
        auto sum_of = [&](int i, int j) {
            float sum = 0.0f;
#pragma unroll
            for (int w = 0; w < Warps; w++)
                sum +=
                    reinterpret_cast<const float *>(left + w * Tile::kBytes)[j * Tile::kPitch + i];
            return sum;
        };
        /* Lanes are neighbours in a column of C. A lane reads many elements before it writes the
         * first: reads behind a write wait. */
        constexpr int kElements = Tile::kDown / Warps, kAtOnce = kElements < 8 ? kElements : 8;
        float *const c = turn ? p.c + tile.j + tile.i * p.ldc : p.c + tile.i + tile.j * p.ldc;
#pragma unroll 1
        for (int first = 0; first < kElements; first += kAtOnce) {
            auto number = [&](int x) { return (share + (first + x) * Warps) * 32 + lane; };
            auto i = [&](int x) { return turn ? number(x) / kSquare : number(x) % Tile::kDown; };
            auto j = [&](int x) { return turn ? number(x) % kSquare : number(x) / Tile::kDown; };
            auto inside = [&](int x) { return i(x) < rows && j(x) < columns; };
            auto at = [&](int x) {
                return turn ? c + j(x) + i(x) * p.ldc : c + i(x) + j(x) * p.ldc;
            };
            float old[kAtOnce] = {};
            if (p.beta != 0.0f)
#pragma unroll
                for (int x = 0; x < kAtOnce; x++)
                    if (inside(x)) old[x] = *at(x);
#pragma unroll
            for (int x = 0; x < kAtOnce; x++)
                if (inside(x)) *at(x) = blend(p.alpha, sum_of(i(x), j(x)), p.beta, old[x]);
        }
    }
}

/* Warps for a tile, tiles of a block, and blocks of a multiprocessor. */
template <class Tile_, int Warps, int Tiles, int Blocks>
struct warps {
    using Tile = Tile_;
    static constexpr size_t kBytes = (size_t)Warps * Tiles * Tile::kBytes;

    template <class Source>
    static constexpr auto kernel = sgemm_warp_tiles<Tile, Warps, Tiles, Blocks, Source>;

    template <class Source>
    static cudaError_t queue(const Source &source, int tiles, const duo_launch *how)
    {
        return queue_kernel_behind(kernel<Source>, (unsigned)((tiles - 1) / Tiles + 1),
                                   32 * Warps * Tiles, kBytes, how, source);
    }
    template <class Source>
    static cudaError_t load()
    {
        return load_kernel_with(kernel<Source>, kBytes);
    }
};
using square_tile = warp_tile<kSquare, 2>;
using warps_1 = warps<square_tile, 1, 4, 3>;
using warps_2 = warps<square_tile, 2, 2, 3>;
using warps_4 = warps<square_tile, 4, 1, 3>;
using warps_8 = warps<square_tile, 8, 1, 1>;
static_assert(warps_8::kBytes == DUO_BATCHED_WARPS_8_BYTES, "as the plan knows them");
using strip_tile = warp_tile<kStrip, 3>;
using strips_1 = warps<strip_tile, 1, 4, 3>;
using strips_2 = warps<strip_tile, 2, 2, 3>;
using strips_4 = warps<strip_tile, 4, 1, 3>;
using strips_8 = warps<strip_tile, 8, 1, 1>;
static_assert(strips_8::kBytes == DUO_BATCHED_STRIPS_8_BYTES && kStrip == DUO_BATCHED_STRIP,
              "as the plan knows them");

#endif
