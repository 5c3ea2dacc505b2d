/*
 * sgemm_gpu_f64.cu - products and sums in float64, one rounding to float32 at the end.
 *
 * Accepts   any m, n, k, transposes, leading dimensions and alignment
 * Threads   128 per block; a block owns one tile of C over one part of k and walks along it in
 *           slabs of 16. Slabs stay float32 in shared memory, as [l][i] and [l][j], in a ring of 3:
 *           while one is multiplied, the next ones arrive (cp.async; plain loads before capability
 *           8.0).
 * Warp      32 x 32 elements, by FP64 tensor cores: m16n8k8 on capability 9.0 and 10.0, m8n8k4 on
 *           8.0. Other devices have so few FP64 units that nothing else matters; there a warp
 *           exchanges the same fragments by shuffles. Fragments become float64 when they are read.
 * Order     for each element and part of k, 8 steps at a time, these as the tensor cores add; then
 *           the parts in order. Fixed by m, n, k, the device and the workspace that there is.
 * Error     u |result| + (k+2) 2^-53 (|alpha||A||B| + |beta C|): a product is exact, beta C too; at
 *           most k - 1 additions and the last step, alpha sum + beta C, round in float64
 * Traffic   k * (1/tile rows + 1/tile columns) loads per element of C; where k is split, each part
 *           of C is written and read once as float64
 *
 * Copies are 4 bytes each, so that one code serves every alignment. Where an operand's neighbours
 * in memory are neighbours in k, 16 threads copy 16 of them.
 */
#include <math.h>

#include "gpu/kernels.h"
#include "gpu/launch.cuh"
#include "gpu/sgemm.cuh"
#include "gpu/slab_loader.cuh"
#include "gpu/tile_walk.cuh"

constexpr int kSlab = 16; /* steps of k per slab */
constexpr int kSlabs = 3; /* slabs in the ring */
constexpr int kWarps = 4, kThreads = 32 * kWarps;

/* The part of C of a warp, and of one tensor operation, which takes 8 steps of k. */
constexpr int kWarpEdge = 32, kMmaM = 16, kMmaN = 8, kMmaK = 8;
constexpr int kAlongM = kWarpEdge / kMmaM, kAlongN = kWarpEdge / kMmaN; /* operations */
static_assert(kAlongM == 2 && kAlongN == 4, "a group is shared by 2 operations along m, 4 along n");

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
    /* The lanes that hold this one's rows and columns at t = 0. */
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
 * What a lane reads of 8 steps of one slab. What the tensor operation calls steps t and t + 4 are
 * steps 2t and 2t + 1 here, and what it calls rows g and g + 8 of two operations are rows 4g to
 * 4g + 3 of the warp; likewise 4 columns. So a lane reads 4 floats at once, 8 lanes that do so at
 * the same time reach all 32 banks, and a lane owns 4 neighbours in a column of C.
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
 * Volatile, as the tensor operations are: the compiler would move conversions to where their values
 * are used, and there the tensor cores would wait for them.
 */
static __device__ __forceinline__ double widen(float x)
{
    double wide;
    asm volatile("cvt.f64.f32 %0, %1;" : "=d"(wide) : "f"(x));
    return wide;
}

/* Rows for one of the two operations. */
static __device__ __forceinline__ void widen_rows(double (&a)[4], const fragment &f, int step)
{
    a[0] = widen(step == 0 ? f.even.x : f.even.z);
    a[1] = widen(step == 0 ? f.even.y : f.even.w);
    a[2] = widen(step == 0 ? f.odd.x : f.odd.z);
    a[3] = widen(step == 0 ? f.odd.y : f.odd.w);
}

/* Columns for all four. */
static __device__ __forceinline__ void widen_columns(double (&b)[kAlongN][2], const fragment &f)
{
    b[0][0] = widen(f.even.x), b[0][1] = widen(f.odd.x);
    b[1][0] = widen(f.even.y), b[1][1] = widen(f.odd.y);
    b[2][0] = widen(f.even.z), b[2][1] = widen(f.odd.z);
    b[3][0] = widen(f.even.w), b[3][1] = widen(f.odd.w);
}

/* ---- One tile ---- */

/* k in parts, each of a whole number of slabs but the last. */
struct k_parts {
    int count;
    int64_t steps;   /* of k, in each */
    double *sums;    /* count > 1: m x n of them for each part */
    int64_t sums_ld; /* distance of their columns, a multiple of kGroup */
};

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

    slab_loader<Tile::kM, kSlab, kThreads, TransA> a_loader(p.a, p.lda, (int64_t)tile_i * Tile::kM,
                                                            p.m, first_l);
    slab_loader<Tile::kN, kSlab, kThreads, !TransB> b_loader(p.b, p.ldb, (int64_t)tile_j * Tile::kN,
                                                             p.n, first_l);

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

    /* Each tensor operation has others ahead of it while its operands are read and converted. */
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
            /* After the last slab this reads a slot without meaning, and nobody uses it. */
            read_steps(slot, (l + kMmaK) % kSlab);
            /* Everyone is past the barrier, hence has read all of the slab before. */
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

    const bool aligned = columns_aligned(p.c, p.ldc);
    auto renew = [&](double whole, float old) {
        return blend<double>(p.alpha, whole, p.beta, old);
    };
    const int64_t i = (int64_t)tile_i * Tile::kM + warp_i + kGroup * g;
    if (i >= p.m) return;
#pragma unroll
    for (int e = 0; e < 2; e++)
#pragma unroll
        for (int column = 0; column < kAlongN; column++) {
            const int64_t j = (int64_t)tile_j * Tile::kN + warp_j + (2 * t + e) * kGroup + column;
            if (j >= p.n) continue;
            const double group_sum[kGroup] = {sum[0][column][e], sum[0][column][2 + e],
                                              sum[1][column][e], sum[1][column][2 + e]};
            if (parts.count > 1) {
                /* A group that runs over the end of a column has room there. */
                double2 *const to =
                    reinterpret_cast<double2 *>(parts.sums + (part * p.n + j) * parts.sums_ld + i);
                to[0] = make_double2(group_sum[0], group_sum[1]);
                to[1] = make_double2(group_sum[2], group_sum[3]);
            } else {
                update_four(p.c + (i + j * p.ldc), group_sum, p.beta, p.m - i, aligned, renew);
            }
        }
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

/* ---- Tiles and parts ---- */

constexpr int kLeastSteps = 32; /* of k, in a part */

/*
 * Estimates in clock cycles (H200), which choose and do nothing else: a slab of one block that is
 * alone on a multiprocessor, and of each of several; start and end of a block; the second kernel;
 * sums that a multiprocessor writes or reads in a cycle.
 */
constexpr int kAlone = 850, kShared = 620;
constexpr double kBlockCycles = 3000.0, kAddCycles = 5000.0, kSumsPerCycle = 2.0;

template <class Tile>
static int64_t count_tiles(const sgemm_problem &p)
{
    return ((p.m + Tile::kM - 1) / Tile::kM) * ((p.n + Tile::kN - 1) / Tile::kN);
}

static int64_t round_up(int64_t size, int unit) { return (size + unit - 1) / unit * unit; }

static size_t sums_bytes(const sgemm_problem &p)
{
    return (size_t)(round_up(p.m, kGroup) * p.n) * sizeof(double);
}

/* Time with k in so many parts, by the busiest multiprocessor. */
static double cycles(const sgemm_problem &p, int64_t tiles, int64_t parts, int resident,
                     int multiprocessors)
{
    const int64_t share = (tiles * parts + multiprocessors - 1) / multiprocessors;
    const int64_t rounds = (share + resident - 1) / resident;
    const int64_t slab = share % resident == 1 ? (share - 1) * kShared + kAlone : share * kShared;
    const double slabs = (double)(round_up(p.k, kSlab) / kSlab) / (double)parts;
    const double multiply = slabs * (double)slab + (double)rounds * kBlockCycles;
    if (parts == 1) return multiply;
    const double sums = (double)parts * (double)p.m * (double)p.n;
    return multiply + kAddCycles + 2.0 * sums / (kSumsPerCycle * multiprocessors);
}

template <class Tile>
static void (*const kernel[2][2])(sgemm_problem, k_parts) = {
    {sgemm_f64<Tile, false, false>, sgemm_f64<Tile, false, true>},
    {sgemm_f64<Tile, true, false>, sgemm_f64<Tile, true, true>},
};

template <class Tile>
static cudaError_t queue_tiles(const duo_call *call, const duo_launch *how, int64_t wanted_parts)
{
    const sgemm_problem p = sgemm_problem_of(call);
    k_parts parts;
    parts.steps = round_up((p.k + wanted_parts - 1) / wanted_parts, kSlab);
    parts.count = p.k == 0 ? 1 : (int)((p.k + parts.steps - 1) / parts.steps);
    parts.sums = reinterpret_cast<double *>(how->workspace);
    parts.sums_ld = round_up(p.m, kGroup);
    const int64_t blocks = count_tiles<Tile>(p) * parts.count;
    if (blocks > INT32_MAX / kTilesTogether) return cudaErrorInvalidValue;
    const cudaError_t error = queue_kernel(kernel<Tile>[call->transa][call->transb],
                                           (unsigned)blocks, kThreads, how, p, parts);
    if (error != cudaSuccess || parts.count == 1) return error;
    return queue_kernel(add_parts, (unsigned)((p.m * p.n + kAddThreads - 1) / kAddThreads),
                        kAddThreads, how, p, parts);
}

typedef cudaError_t (*queue_function)(const duo_call *call, const duo_launch *how, int64_t parts);

struct tile_choice {
    queue_function queue;
    int64_t parts;
    double cycles;
};

/* The best number of parts, of those that give every multiprocessor about a whole number of blocks.
 */
template <class Tile>
static void choose_parts(const sgemm_problem &p, int multiprocessors, int64_t most_parts,
                         tile_choice *best)
{
    const int64_t tiles = count_tiles<Tile>(p);
    for (int blocks = 0; blocks <= 2 * Tile::kResident; blocks++) {
        int64_t parts = (int64_t)multiprocessors * blocks / tiles;
        if (parts > most_parts) parts = most_parts;
        if (parts < 1) parts = 1;
        const double expected = cycles(p, tiles, parts, Tile::kResident, multiprocessors);
        if (expected < best->cycles) *best = {queue_tiles<Tile>, parts, expected};
    }
}

static tile_choice choose(const sgemm_problem &p, int multiprocessors, size_t workspace_bytes)
{
    int64_t most_parts = p.k / kLeastSteps;
    const size_t room = workspace_bytes / sums_bytes(p);
    if (room < (size_t)most_parts) most_parts = (int64_t)room;
    if (p.m * p.n > INT32_MAX - kAddThreads) most_parts = 1; /* add_parts counts in 32 bits */
    tile_choice best = {nullptr, 1, INFINITY};
    choose_parts<square_tile>(p, multiprocessors, most_parts, &best);
    choose_parts<tall_tile>(p, multiprocessors, most_parts, &best);
    choose_parts<wide_tile>(p, multiprocessors, most_parts, &best);
    return best;
}

static size_t workspace(const duo_call *call, const duo_launch *how)
{
    const sgemm_problem p = sgemm_problem_of(call);
    const int64_t parts = choose(p, how->multiprocessors, SIZE_MAX).parts;
    return parts == 1 ? 0 : (size_t)parts * sums_bytes(p);
}

static cudaError_t launch(const duo_call *call, const duo_launch *how)
{
    const sgemm_problem p = sgemm_problem_of(call);
    const tile_choice best = choose(p, how->multiprocessors, how->workspace_bytes);
    return best.queue(call, how, best.parts);
}

template <class Tile>
static cudaError_t load_kernels()
{
    cudaError_t error = cudaSuccess;
    for (int t = 0; t < 4 && error == cudaSuccess; t++)
        error = load_kernel(kernel<Tile>[t / 2][t % 2]);
    return error;
}

static cudaError_t load()
{
    cudaError_t error = load_kernel(add_parts);
    if (error == cudaSuccess) error = load_kernels<square_tile>();
    if (error == cudaSuccess) error = load_kernels<tall_tile>();
    if (error == cudaSuccess) error = load_kernels<wide_tile>();
    return error;
}

const duo_gpu_algorithm duo_sgemm_gpu_f64 = {
    .launch = launch,
    .load = load,
    .workspace = workspace,
    .packed_bytes = nullptr,
    .pack = nullptr,
};
