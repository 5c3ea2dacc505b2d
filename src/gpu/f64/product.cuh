/* f64/product.cuh - the kernels of sgemm_gpu_f64: products of tiles, and the sum of parts of k. */
#ifndef DUO_F64_PRODUCT_CUH
#define DUO_F64_PRODUCT_CUH

#include "gpu/f64/loader.cuh"
#include "gpu/f64/tile.cuh"
#include "gpu/f64/warp_product.cuh"
#include "gpu/sgemm.cuh"
#include "gpu/tile_walk.cuh"

/* k in parts; each but the last is a whole number of slabs. */
struct k_parts {
    int count;
    int64_t steps;   /* of k, in each */
    double *sums;    /* count > 1: m x n of them for each part */
    int64_t sums_ld; /* distance of their columns, a multiple of kGroup */
};

/* Stores a thread's sums, 4 rows from row i on and 8 columns from column first_j on, to C or as a
 * part. */
static __device__ __forceinline__ void store_sums(const sgemm_problem &p, const k_parts &parts,
                                                  int part,
                                                  const double (&sum)[kAlongM][kAlongN][4],
                                                  int64_t i, int64_t first_j)
{
    const bool aligned = columns_aligned(p.c, p.ldc);
    auto renew = [&](double whole, float old) {
        return blend<double>(p.alpha, whole, p.beta, old);
    };
    if (i >= p.m) return;
#pragma unroll
    for (int e = 0; e < 2; e++)
#pragma unroll
        for (int column = 0; column < kAlongN; column++) {
            const int64_t j = first_j + e * kGroup + column;
            if (j >= p.n) continue;
            const double four[kGroup] = {sum[0][column][e], sum[0][column][2 + e],
                                         sum[1][column][e], sum[1][column][2 + e]};
            if (parts.count > 1) {
                /* A group that runs over the end of a column has room there. */
                double2 *const to =
                    reinterpret_cast<double2 *>(parts.sums + (part * p.n + j) * parts.sums_ld + i);
                to[0] = make_double2(four[0], four[1]);
                to[1] = make_double2(four[2], four[3]);
            } else {
                update_four(p.c + (i + j * p.ldc), four, p.beta, p.m - i, aligned, renew);
            }
        }
}

template <class Tile, bool TransA, bool TransB>
static __global__ void __launch_bounds__(kThreads, Tile::kResident)
    sgemm_f64(sgemm_problem p, k_parts parts)
{
    __shared__ __align__(16) slab_ring<Tile::kM> a_ring;
    __shared__ __align__(16) slab_ring<Tile::kN> b_ring;

    /* All tiles of one part of k come before those of the next. */
    const int tiles_m = (int)((p.m + Tile::kM - 1) / Tile::kM);
    const int tiles_n = (int)((p.n + Tile::kN - 1) / Tile::kN);
    const int part = (int)blockIdx.x / (tiles_m * tiles_n);
    const int tile = (int)blockIdx.x % (tiles_m * tiles_n);
    int tile_i, tile_j;
    place_of_tile<kTilesTogether>(tiles_m, tiles_n, tile, &tile_i, &tile_j);
    const int64_t first_l = part * parts.steps, steps = min(parts.steps, p.k - first_l);

    f64_loader<Tile::kM, TransA> a_loader(p.a, p.lda, (int64_t)tile_i * Tile::kM, p.m, first_l);
    f64_loader<Tile::kN, !TransB> b_loader(p.b, p.ldb, (int64_t)tile_j * Tile::kN, p.n, first_l);

    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int g = lane / 4, t = lane % 4; /* as in multiply() */
    const int warp_i = warp / Tile::kWarpsN * kWarpEdge, warp_j = warp % Tile::kWarpsN * kWarpEdge;

    double sum[kAlongM][kAlongN][4] = {};
    fragment a_floats, b_floats;
    double a[kAlongM][4], b[kAlongN][2], next_b[kAlongN][2];

    auto load_next = [&](int slot, int64_t left) {
        if (left > 0) {
            a_loader.load(a_ring[slot], left);
            b_loader.load(b_ring[slot], left);
        }
        __pipeline_commit(); /* also an empty one: a wait counts commits */
    };
    auto read_steps = [&](int slot, int l) {
        a_floats.read(&a_ring[slot][l + 2 * t][warp_i + kGroup * g], kPitch<Tile::kM>);
        b_floats.read(&b_ring[slot][l + 2 * t][warp_j + kGroup * g], kPitch<Tile::kN>);
    };

#pragma unroll
    for (int slot = 0; slot < kSlabs; slot++) load_next(slot, steps - slot * kSlab);
    __pipeline_wait_prior(kSlabs - 1);
    __syncthreads();
    read_steps(0, 0);
    widen_columns(b, b_floats);
    widen_rows(a[0], a_floats, 0);

    /* While operands of a tensor operation are read and converted, earlier operations run. */
    int slot = 0;
    for (int64_t left = steps; left > 0; left -= kSlab) {
#pragma unroll
        for (int l = 0; l < kSlab; l += kMmaK) {
            const int freed = slot;
            const bool last = l + kMmaK == kSlab;
            widen_rows(a[1], a_floats, 1);
            if (last) {
                slot = slot + 1 == kSlabs ? 0 : slot + 1;
                __pipeline_wait_prior(kSlabs - 2);
                __syncthreads();
            }
            /* After the last slab this reads a slot without meaning; the values are not used. */
            read_steps(slot, (l + kMmaK) % kSlab);
            /* All threads are past the barrier, so they have read all of the slab before. */
            if (last) load_next(freed, left - kSlabs * kSlab);
            multiply(sum[0], a[0], b);
            widen_columns(next_b, b_floats);
            widen_rows(a[0], a_floats, 0);
            multiply(sum[1], a[1], b);
#pragma unroll
            for (int column = 0; column < kAlongN; column++)
                b[column][0] = next_b[column][0], b[column][1] = next_b[column][1];
        }
    }

    store_sums(p, parts, part, sum, (int64_t)tile_i * Tile::kM + warp_i + kGroup * g,
               (int64_t)tile_j * Tile::kN + warp_j + 2 * t * kGroup);
}

/* ---- The sum of the parts ---- */

constexpr int kAddThreads = 256;

static __global__ void __launch_bounds__(kAddThreads) add_parts(sgemm_problem p, k_parts parts)
{
    const unsigned element = blockIdx.x * kAddThreads + threadIdx.x;
    const unsigned i = element % (unsigned)p.m, j = element / (unsigned)p.m;
    if (j >= p.n) return;
    const double *from = parts.sums + (j * parts.sums_ld + i);
    double sum = 0.0;
#pragma unroll 8
    for (int part = 0; part < parts.count; part++, from += p.n * parts.sums_ld) sum += *from;
    float *const c = p.c + (i + j * p.ldc);
    *c = blend<double>(p.alpha, sum, p.beta, p.beta == 0.0f ? 0.0f : *c);
}

#endif
