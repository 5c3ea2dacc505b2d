/* f64/product.cuh - the kernels of sgemm_gpu_f64: products of tiles, and the sum of parts of k. */
#ifndef DUO_F64_PRODUCT_CUH
#define DUO_F64_PRODUCT_CUH

#include <cuda_pipeline_primitives.h>
#include <stdint.h>

#include "gpu/sgemm.cuh"
#include "gpu/slab.cuh"

/* ---- Products of a warp ---- */

/*
 * Products of a warp in float64, by FP64 tensor cores or, on devices with few FP64 units, by
 * shuffles; and its operands, from slabs of float32.
 */

/* A warp's part of C, and that of a tensor operation, which takes 8 steps of k. */
constexpr int kWarpEdge = 32, kMmaM = 16, kMmaN = 8, kMmaK = 8;
constexpr int kAlongM = kWarpEdge / kMmaM, kAlongN = kWarpEdge / kMmaN; /* operations */
static_assert(kAlongM == 2 && kAlongN == 4, "a group is shared by 2 operations along m, 4 along n");

/*
 * sum += a b, by a warp, for 16 rows and 4 groups of 8 columns of C, and 8 steps of k. For each
 * group lane 4g + t holds
 *     a[0..3]    rows g and g + 8 at step t, then at step t + 4
 *     b[0..1]    column g at steps t and t + 4
 *     sum[0..3]  row g at columns 2t and 2t + 1, then row g + 8
 */
static __device__ __forceinline__ void multiply(double (&sum)[kAlongN][4], const double (&a)[4],
                                                const double (&b)[kAlongN][2])
{
#if __CUDA_ARCH__ == 900 || __CUDA_ARCH__ == 1000
#pragma unroll
    for (int c = 0; c < kAlongN; c++)
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 "
                     "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                     : "+d"(sum[c][0]), "+d"(sum[c][1]), "+d"(sum[c][2]), "+d"(sum[c][3])
                     : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[c][0]), "d"(b[c][1]));
#elif __CUDA_ARCH__ == 800
#pragma unroll
    for (int s = 0; s < 2; s++)
#pragma unroll
        for (int c = 0; c < kAlongN; c++)
#pragma unroll
            for (int h = 0; h < 2; h++)
                asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 "
                             "{%0, %1}, {%2}, {%3}, {%0, %1};"
                             : "+d"(sum[c][2 * h]), "+d"(sum[c][2 * h + 1])
                             : "d"(a[2 * s + h]), "d"(b[c][s]));
#else
    /* The lanes with this lane's rows and columns, at t = 0. */
    const int row = threadIdx.x & 28, column = threadIdx.x % 4 * 8;
#pragma unroll
    for (int s = 0; s < 2; s++)
#pragma unroll 1
        for (int t = 0; t < 4; t++) {
            const double upper = __shfl_sync(~0u, a[2 * s], row + t);
            const double lower = __shfl_sync(~0u, a[2 * s + 1], row + t);
#pragma unroll
            for (int c = 0; c < kAlongN; c++) {
                const double left = __shfl_sync(~0u, b[c][s], column + t);
                const double right = __shfl_sync(~0u, b[c][s], column + 4 + t);
                sum[c][0] = fma(upper, left, sum[c][0]);
                sum[c][1] = fma(upper, right, sum[c][1]);
                sum[c][2] = fma(lower, left, sum[c][2]);
                sum[c][3] = fma(lower, right, sum[c][3]);
            }
        }
#endif
}

/* ---- Fragments ---- */

/*
 * A lane's elements of 8 steps of one slab. Steps t and t + 4 of the tensor operation are steps 2t
 * and 2t + 1 here, and rows g and g + 8 of two operations are rows 4g to 4g + 3 of the warp;
 * likewise 4 columns. So a lane reads 4 floats at once, 8 lanes that read together reach all 32
 * banks, and a lane owns 4 neighbours in a column of C.
 */
struct fragment {
    float4 even, odd; /* steps 2t and 2t + 1 */

    __device__ __forceinline__ void read(const float *from, int pitch)
    {
        even = *reinterpret_cast<const float4 *>(from);
        odd = *reinterpret_cast<const float4 *>(from + pitch);
    }
};

/*
 * Volatile, as the tensor operations are: else the compiler would move conversions to the use of
 * their values, and there the tensor cores would wait for them.
 */
static __device__ __forceinline__ double widen(float x)
{
    double wide;
    asm volatile("cvt.f64.f32 %0, %1;" : "=d"(wide) : "f"(x));
    return wide;
}

/* The rows for one of the two tensor operations along m. */
static __device__ __forceinline__ void widen_rows(double (&a)[4], const fragment &f, int step)
{
    a[0] = widen(step == 0 ? f.even.x : f.even.z);
    a[1] = widen(step == 0 ? f.even.y : f.even.w);
    a[2] = widen(step == 0 ? f.odd.x : f.odd.z);
    a[3] = widen(step == 0 ? f.odd.y : f.odd.w);
}

/* The columns for all four along n. */
static __device__ __forceinline__ void widen_columns(double (&b)[kAlongN][2], const fragment &f)
{
    b[0][0] = widen(f.even.x), b[0][1] = widen(f.odd.x);
    b[1][0] = widen(f.even.y), b[1][1] = widen(f.odd.y);
    b[2][0] = widen(f.even.z), b[2][1] = widen(f.odd.z);
    b[3][0] = widen(f.even.w), b[3][1] = widen(f.odd.w);
}

/* ---- Tiles of C and their slabs ---- */

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

/* ---- Loading ---- */

/*
 * One operand's way into the ring of slabs in shared memory, 4 bytes at a time, so that one code
 * serves every alignment. It uses as few registers as it can.
 */

/*
 * Element (i, l) of an operand: i along the edge of the tile, l along k. AlongK: neighbours in
 * memory are neighbours in l; else in i. All threads of the block take part; each copies kCopies
 * elements of a slab, at equal distances in memory and in the slab.
 */
template <int Edge, bool AlongK>
struct f64_loader {
    static constexpr int kCopies = Edge * kSlab / kThreads;
    static constexpr int kStepI = AlongK ? kThreads / kSlab : 0;
    static constexpr int kStepL = AlongK ? 0 : kThreads / Edge;
    static_assert(AlongK ? kThreads % kSlab == 0 && Edge % (kThreads / kSlab) == 0
                         : kThreads % Edge == 0 && kSlab % (kThreads / Edge) == 0,
                  "the threads cover a slab in whole steps");

    const float *next; /* this thread's first element of the next slab */
    int64_t ld;
    int i_left; /* rows or columns of the tile from this thread's first element on; may be < 0 */
    int place;  /* that element's, in a slab */
    bool edge;  /* the tile runs over the end of the matrix */

    static __device__ int first_i() { return AlongK ? threadIdx.x / kSlab : threadIdx.x % Edge; }
    static __device__ int first_l() { return AlongK ? threadIdx.x % kSlab : threadIdx.x / Edge; }

    /* A tile begins at (i, l) of the matrix; the matrix ends before `extent`. */
    __device__ f64_loader(const float *matrix, int64_t matrix_ld, int64_t i, int64_t extent,
                          int64_t l)
        : ld(matrix_ld)
    {
        const int64_t from_i = i + first_i(), from_l = l + first_l();
        next = matrix + (AlongK ? from_l + from_i * ld : from_i + from_l * ld);
        edge = extent - i < Edge;
        i_left = (int)min(extent - i, (int64_t)Edge) - first_i();
        place = first_l() * kPitch<Edge> + first_i();
    }

    /* Starts the copy of the next slab; k ends after `left` steps from its first. */
    __device__ __forceinline__ void load(float (*slab)[kPitch<Edge>], int64_t left)
    {
        constexpr int kStepPlace = kStepL * kPitch<Edge> + kStepI;
        const int64_t step = (AlongK ? kStepI : kStepL) * ld;
        float *const to = &slab[0][0] + place;
        const float *from = next;
        if (left >= kSlab && !edge) {
#pragma unroll
            for (int copy = 0; copy < kCopies; copy++, from += step) {
                __pipeline_memcpy_async(to + copy * kStepPlace, from, sizeof(float));
                asm volatile("" : "+l"(from)); /* else all distances to `next` stay in registers */
            }
        } else {
            /* Elements outside are zero. Steps outside k are zero in both operands, so a sum gains
             * +0 * +0 there; sums that gain anything else are outside C. */
#pragma unroll 1 /* few blocks come here; unrolled, it takes more registers */
            for (int copy = 0; copy < kCopies; copy++, from += step) {
                if (copy * kStepI < i_left && copy * kStepL + first_l() < left)
                    __pipeline_memcpy_async(to + copy * kStepPlace, from, sizeof(float));
                else
                    to[copy * kStepPlace] = 0.0f;
                asm volatile("" : "+l"(from));
            }
        }
        next += AlongK ? kSlab : kSlab * ld;
    }
};

/* ---- Kernels ---- */

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
