/*
 * sgemm_gpu_f64.cu - products and sums in float64, one rounding to float32 at the end.
 *
 * Accepts   any m, n, k, transposes, leading dimensions and alignment
 * Threads   128 per block; a block owns one tile of C over one part of k and walks along it in
 *           slabs of 16. Slabs stay float32 in shared memory, as [l][i] and [l][j], in a ring of 3:
 *           while one is multiplied, the next ones arrive (cp.async; plain loads before capability
 *           8.0).
 * Warp      32 x 32 elements, by FP64 tensor cores: m16n8k8 on capability 9.0 and 10.0, m8n8k4 on
 *           8.0. Other devices have so few FP64 units that only these matter; there a warp
 *           exchanges the same fragments by shuffles. Fragments become float64 when they are read.
 * Order     for each element and part of k 8 steps at a time, which the tensor cores add in their
 *           own order; then the parts in order. Fixed by m, n, k, the device and the available
 *           workspace.
 * Error     u |result| + (k+2) 2^-53 (|alpha||A||B| + |beta C|): a product is exact, beta C too; at
 *           most k - 1 additions and the last step, alpha sum + beta C, round in float64
 * Traffic   k * (1/tile rows + 1/tile columns) loads per element of C; if k is split, each part of
 *           C is written and read once as float64
 *
 * Copies are 4 bytes each, so that one code serves every alignment. If an operand's neighbours in
 * memory are neighbours in k, 16 threads copy 16 of them.
 */
#include <math.h>

#include "gpu/f64/product.cuh"
#include "gpu/launch.cuh"

/* ---- Tiles and parts ---- */

constexpr int kLeastSteps = 32; /* of k, in a part */

/* Estimates in clock cycles, from an H200. They only decide the choice below. */
constexpr int kAlone = 850;             /* a slab of a block that is alone on its multiprocessor */
constexpr int kShared = 620;            /* a slab of each of several blocks */
constexpr double kBlockCycles = 3000.0; /* start and end of a block */
constexpr double kAddCycles = 5000.0;   /* the second kernel */
constexpr double kSumsPerCycle = 2.0;   /* written or read by a multiprocessor */

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

/* Clock cycles of the busiest multiprocessor, with k in `parts` parts. */
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

/* Tries the numbers of parts that give every multiprocessor about a whole number of blocks. */
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

static cudaError_t load()
{
    cudaError_t error = load_kernel(add_parts);
    if (error == cudaSuccess) error = load_layouts(kernel<square_tile>);
    if (error == cudaSuccess) error = load_layouts(kernel<tall_tile>);
    if (error == cudaSuccess) error = load_layouts(kernel<wide_tile>);
    return error;
}

const duo_gpu_algorithm duo_sgemm_gpu_f64 = {
    .launch = launch,
    .load = load,
    .workspace = workspace,
    .packed_bytes = nullptr,
    .pack = nullptr,
};
