/*
 * batched/warp_tiles.cuh - tiles of 32 x 32 of a batch by matrix products of single warps; Warps
 * warps share a tile's k.
 *
 * Accepts   k >= 20, before Hopper 32, where the error bound begins to hold (docs/numerics.md); any
 *           m, n, transposes, leading dimensions and alignment
 * Threads   32 per warp; Tiles tiles per block
 * Copies    a warp copies and multiplies its own slabs of 32 k, one ahead: slabs number w, w +
 *           Warps, ... It waits for no other warp before the end. Elements are split in registers
 * Order     for every 16 k a chain of tensor-core sums of hi hi, which is added to fp32 registers;
 *           one chain for all k of lo hi and hi lo. At the end the chains' and the warps' sums are
 *           added in order
 * Doubt     a tile with a NaN is computed again by fp32 FMA: Inf in an operand becomes NaN here
 */
#ifndef DUO_BATCHED_WARP_TILES_CUH
#define DUO_BATCHED_WARP_TILES_CUH

#include "gpu/batched/tensor_tiles.cuh"

constexpr int kWarpStages = 2;
constexpr int kWarpBytes = kWarpStages * 2 * kSquareBytes; /* of shared memory, for each warp */
constexpr int kSumsPitch = kSquare + 8; /* floats from a column j of sums to the next */

using warp_doubtful = batch_tile<16, 2, 32, 1>; /* where tiles in doubt are computed */
static_assert(warp_doubtful::kThreads == 32, "by one warp");
static_assert(2 * warp_doubtful::kSlab * sizeof(float) <= kWarpBytes, "in its stages");

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
struct warp_sums {
    float sum[4][2][4] = {}, cross[4][2][4] = {};

    /* Adds the products of two squares. of_j, of_i: address and lane_of_rows. left: k inside. */
    __device__ __forceinline__ void multiply(uint32_t of_j, bool along_k_j, uint32_t of_i,
                                             bool along_k_i, int left)
    {
        constexpr int kStep = 8, kChain = 16; /* of k */
#pragma unroll
        for (int first = 0; first < kSquare; first += kChain) {
            if (first >= left) break;
            float main[4][2][4] = {};
#pragma unroll
            for (int k = first; k < first + kChain; k += kStep) {
                float x[4][2], hi_j[2][4], lo_j[2][4], hi_i[4][2], lo_i[4][2];
                load_rows(x, of_j, along_k_j, k / kStep);
#pragma unroll
                for (int r = 0; r < 4; r++)
#pragma unroll
                    for (int h = 0; h < 2; h++)
                        split_tf32(x[r][h], hi_j[r / 2][r % 2 + 2 * h], lo_j[r / 2][r % 2 + 2 * h]);
                load_rows(x, of_i, along_k_i, k / kStep);
#pragma unroll
                for (int r = 0; r < 4; r++)
#pragma unroll
                    for (int h = 0; h < 2; h++) split_tf32(x[r][h], hi_i[r][h], lo_i[r][h]);
#pragma unroll
                for (int i = 0; i < 4; i++)
#pragma unroll
                    for (int j = 0; j < 2; j++) product_tf32(cross[i][j], lo_j[j], hi_i[i]);
#pragma unroll
                for (int i = 0; i < 4; i++)
#pragma unroll
                    for (int j = 0; j < 2; j++) product_tf32(main[i][j], hi_j[j], hi_i[i]);
#pragma unroll
                for (int i = 0; i < 4; i++)
#pragma unroll
                    for (int j = 0; j < 2; j++) product_tf32(cross[i][j], hi_j[j], lo_i[i]);
            }
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 2; j++)
#pragma unroll
                    for (int r = 0; r < 4; r++) sum[i][j][r] += main[i][j][r];
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
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int j = 0; j < 2; j++)
#pragma unroll
                for (int r = 0; r < 4; r++)
                    f(sum[i][j][r] + cross[i][j][r], i * 8 + lane % 4 * 2 + r % 2,
                      j * 16 + r / 2 * 8 + lane / 4);
    }
    /* Leaves them in columns j of kSumsPitch floats. */
    __device__ __forceinline__ void leave(float *to, int lane) const
    {
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int j = 0; j < 2; j++)
#pragma unroll
                for (int half = 0; half < 2; half++)
                    *reinterpret_cast<float2 *>(to + (j * 16 + half * 8 + lane / 4) * kSumsPitch +
                                                i * 8 + lane % 4 * 2) =
                        make_float2(sum[i][j][2 * half] + cross[i][j][2 * half],
                                    sum[i][j][2 * half + 1] + cross[i][j][2 * half + 1]);
    }
};

/* ---- The kernel ---- */

template <int Warps, int Tiles, int Blocks>
static __global__ void __launch_bounds__(32 * Warps * Tiles, Blocks)
    sgemm_warp_tiles(const __grid_constant__ tensor_batch batch)
{
    static_assert(Warps == 1 || Tiles <= 2, "there is a barrier for each tile");
    if constexpr (DUO_HAS_AMPERE) {
        extern __shared__ __align__(128) uint8_t stages[];
        __shared__ bool doubt[Warps * Tiles];
        const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
        const int share = warp % Warps, group = warp / Warps; /* of k; tile of the block */
        const int number = (int)blockIdx.x * Tiles + group;
        const uint32_t ring =
            (uint32_t)__cvta_generic_to_shared(stages) + (uint32_t)(warp * kWarpBytes);
        wait_for_kernels_ahead();
        if (number >= batch.all) return;
        const tensor_tile tile = tensor_tile::of<kSquare>(batch, number);
        const sgemm_problem &p = tile.p;
        const int k = (int)p.k, rows = (int)p.m - tile.i, columns = (int)p.n - tile.j; /* left */
        square_copies of_b, of_a;
        of_b.begin(tile.b(batch), tile.j, share * kSquare, lane);
        of_a.begin(tile.a(batch), tile.i, share * kSquare, lane);
        auto copy = [&](int stage) {
            const uint32_t to = ring + stage * 2 * kSquareBytes;
            if (of_b.k > 0) {
                of_b.copy(to, Warps);
                of_a.copy(to + kSquareBytes, Warps);
            }
            copies_commit();
        };
        const uint32_t lane_j = lane_of_rows(batch.along_k_b, 0, lane);
        const uint32_t lane_i = lane_of_rows(batch.along_k_a, 0, lane);
        if (p.beta != 0.0f && share == 0) /* C begins its way to the L2 cache */
            prefetch_tile<kSquare, kSquare, 32>(p.c + tile.i + tile.j * p.ldc, p.ldc, rows, columns,
                                                lane);
        warp_sums sums;
#pragma unroll 1
        for (int stage = 0; stage < kWarpStages; stage++) copy(stage);
        int stage = 0;
#pragma unroll 1
        for (int l = share * kSquare; l < k; l += Warps * kSquare) {
            const uint32_t of_j = ring + stage * 2 * kSquareBytes;
            copies_wait<kWarpStages - 1>();
            __syncwarp();
            sums.multiply(of_j + lane_j, batch.along_k_b, of_j + kSquareBytes + lane_i,
                          batch.along_k_a, k - l);
            __syncwarp();
            copy(stage);
            stage ^= 1;
        }
        copies_wait();
        __syncwarp();
        let_next_kernel_start();

        sums.leave(reinterpret_cast<float *>(stages + warp * kWarpBytes), lane);
        if (lane == 0) doubt[warp] = false;
        __syncwarp();
        if (sums.any_nan(rows, columns, lane)) doubt[warp] = true;
        sync_tile<32 * Warps>(group);
        bool nan = false; /* in any warp's sums */
#pragma unroll
        for (int w = 0; w < Warps; w++) nan |= doubt[group * Warps + w];
        if (nan) {
            constexpr int kEdge = warp_doubtful::kEdge;
            for (int part = share; part < 4; part += Warps)
                if (part % 2 * kEdge < rows && part / 2 * kEdge < columns)
                    multiply_tile<warp_doubtful, false>(
                        p, tile.i + part % 2 * kEdge, tile.j + part / 2 * kEdge, batch.kind_a(),
                        batch.kind_b(), reinterpret_cast<float *>(stages + warp * kWarpBytes), lane,
                        [] { __syncwarp(); });
            return;
        }
        const uint8_t *const left = stages + group * Warps * kWarpBytes;
        auto sum_of = [&](int j) {
            float sum = 0.0f;
#pragma unroll
            for (int w = 0; w < Warps; w++)
                sum +=
                    reinterpret_cast<const float *>(left + w * kWarpBytes)[j * kSumsPitch + lane];
            return sum;
        };
        float *const c = p.c + tile.i + lane;
        const bool reads = p.beta != 0.0f;
#pragma unroll 4
        for (int j = share; j < kSquare; j += Warps) {
            if (j >= columns) break;
            float *const at = c + (tile.j + j) * p.ldc;
            if (lane < rows) *at = blend(p.alpha, sum_of(j), p.beta, reads ? *at : 0.0f);
        }
    }
}

#endif
