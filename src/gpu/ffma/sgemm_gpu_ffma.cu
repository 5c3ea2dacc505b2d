/*
 * sgemm_gpu_ffma.cu - fp32 FMA alone, with tiles of C shared evenly among the multiprocessors.
 *
 * Accepts   any m, n, k, transposes, leading dimensions and alignment
 * Threads   256 per block. A block computes a tile of C, or a run of slabs that may begin and end
 *           inside tiles; slabs of A and B, 16 steps of k long, pass through a ring of 4 in shared
 *           memory as [l][i] and [l][j] (cp.async; plain loads before compute capability 8.0).
 * Warp      4 x 8 threads; a thread owns groups of 4 x 4 elements, so that it reads shared memory
 *           16 bytes at a time, and reads the fragments of step l+1 while it multiplies step l.
 *           In small tiles, groups of warps share out the steps of a slab.
 * Order     per element one fp32 FMA chain for each group of warps and each run of slabs, scaled by
 *           alpha, then added in an order that depends on the call, the device and the bytes of
 *           workspace alone: the same bits every time
 * Traffic   k * (1/tile rows + 1/tile columns) loads per element of C; tiles that run at the same
 *           time are near each other in C, so that the L2 cache serves most of them
 *
 * Tiles seldom divide evenly among the multiprocessors. As many as do are computed whole, a block
 * each; the slabs of the rest are cut into equal runs, wherever tiles begin or end. Parts of tiles
 * go to the workspace, and a second kernel adds them in the order of k.
 *
 * Operands that cannot be copied 16 bytes at a time are packed ahead, into the workspace, where that is
 * expected to pay (ffma/pack.cuh).
 */
#include "gpu/kernels.h"
#include "gpu/launch.cuh"
#include "gpu/shared_memory.cuh"
#include "gpu/ffma/pack.cuh"
#include "gpu/ffma/product.cuh"

/* ---- Choosing the tile, who computes what, and what is packed ahead ---- */

constexpr int kWays = 16; /* of adding many parts */

struct tile_kernels {
    void (*product[3][3])(sgemm_problem, tile_walk);
    void (*add_few)(sgemm_problem, tile_walk), (*add_many)(sgemm_problem, tile_walk);
    int edge_m, edge_n;
    size_t shared_bytes;
    double efficiency; /* share of the FMA rate that the main loop reaches */
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

/*
 * What a plan costs, in clock cycles of one multiprocessor: fitted to an H200, where it is within
 * 7 % (rms) of 354 plans of 24 shapes. Others differ, but the choice rests on ratios.
 */
static const tile_kernels tiles[] = {
    kernels_of<large_tile>(0.77), kernels_of<tallest_tile>(0.74), kernels_of<widest_tile>(0.76),
    kernels_of<tall_tile>(0.74),  kernels_of<wide_tile>(0.75),    kernels_of<small_tile>(0.74),
};
constexpr double kFmaPerCycle = 128.0;                /* of a multiprocessor */
constexpr double kCopyCycles[] = {0.0, 0.027, 0.064}; /* an element more than in kVectors */
constexpr double kTileCycles = 2450.0;                /* to fill the ring and to store the tile */
constexpr double kUsualEdge = 128.0;                  /* of a tile, where packing is decided */
constexpr double kPackCycles = 6000.0;                /* a kernel that packs an operand, and */
constexpr double kPackElementCycles = 0.75; /* an element of it, for all multiprocessors together */
constexpr double kUneven = 0.5;             /* of a tile, where the last ones find uneven room */
constexpr double kAddCycles = 2200.0;       /* the second kernel, and */
constexpr double kByteCycles = 0.073;       /* a byte of parts, written and read */
constexpr int kLeastShare = 4;              /* slabs that the ring is worth filling for */

/* Blocks that a multiprocessor can hold at once, by shared memory and registers (kLeastBlocks; 8.7
 * runs what is compiled for 8.0). */
static int resident(const tile_kernels &tile, int capability)
{
    const int most = capability < 86 || capability == 87 ? 1 : kResident;
    return blocks_that_fit(tile.shared_bytes, most, capability);
}

struct plan {
    const tile_kernels *tile;
    tile_walk walk;
    int64_t runs, shared_tiles;
    double cycles;
};

/* Half of a multiprocessor's shared memory: no two blocks that ask for so much fit into one. */
static size_t bytes_alone(const tile_kernels &tile, int capability)
{
    const size_t half = shared_memory(capability) / 2;
    return tile.shared_bytes > half ? tile.shared_bytes : half;
}

/*
 * Blocks that start before the kernel ahead has ended go where it has left room. Were there one for
 * each multiprocessor, two would meet on some, and others would have none: so they ask for more
 * shared memory than they need.
 */
static size_t bytes_to_ask_for(const plan &x, const duo_launch *how)
{
    const bool early = how->capability >= kDependentLaunches;
    const bool one_each = x.walk.whole + x.runs <= how->multiprocessors;
    return early && one_each ? bytes_alone(*x.tile, how->capability) : x.tile->shared_bytes;
}

static int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

static size_t bytes_of(const plan &x)
{
    const int64_t parts = x.runs > 0 ? x.shared_tiles + x.runs - 1 : 0;
    return (size_t)(parts * x.tile->edge_m * x.tile->edge_n) * sizeof(float);
}

/* ---- Packing ahead ---- */

/* Operand i (DUO_A or DUO_B), to be packed to `to`. */
static packing packing_of(const duo_call *call, int i, float *to)
{
    const sgemm_problem p = sgemm_problem_of(call);
    const int64_t extent = i == DUO_A ? p.m : p.n;
    return {i == DUO_A ? p.a : p.b,
            to,
            i == DUO_A ? p.lda : p.ldb,
            packed_ld(extent),
            extent,
            p.k,
            i == DUO_A ? call->transa : !call->transb};
}

static size_t packed_bytes(const packing &o) { return (size_t)(o.to_ld * o.k) * sizeof(float); }

/* How it is copied as it is. */
static copy_kind kind_of(const packing &o)
{
    if (o.along_k) return kAlongK;
    const bool whole = reinterpret_cast<uintptr_t>(o.from) % 16 == 0 && o.ld % kGroup == 0 &&
                       o.extent % kGroup == 0;
    return whole ? kVectors : kAlongEdge;
}

/* Does it pay to pack operand i that is copied in this way? It is copied for each tile of the other one's
 * extent. */
static bool worth_packing(const duo_call *call, const duo_launch *how, int i, copy_kind kind)
{
    const packing o = packing_of(call, i, nullptr);
    const double times = (double)(i == DUO_A ? call->n : call->m) / kUsualEdge;
    const double saved = (kCopyCycles[kind] * times - kPackElementCycles) * (double)o.extent *
                         (double)o.k / how->multiprocessors;
    return saved > kPackCycles && pack_blocks(o) <= INT32_MAX;
}

/* Is it turned by every tile that needs it? */
static bool turned_by_tiles(const duo_call *call, const duo_launch *how, int i)
{
    return packing_of(call, i, nullptr).along_k && !worth_packing(call, how, i, kAlongK);
}

/* ---- The plan: of the shape and the transposes alone, so that alignment does not change bits ---- */

/* Cycles for blocks of so many slabs each, `blocks` of them on the busiest multiprocessor. */
static double block_cycles(const duo_call *call, const duo_launch *how, const tile_kernels &tile,
                           double blocks, int64_t slabs)
{
    const double turned = (turned_by_tiles(call, how, DUO_A) ? tile.edge_m : 0.0) +
                          (turned_by_tiles(call, how, DUO_B) ? (double)tile.edge_n : 0.0);
    const double slab = kSlab * (tile.edge_m * tile.edge_n / (kFmaPerCycle * tile.efficiency) +
                                 kCopyCycles[kAlongK] * turned);
    return blocks * ((double)slabs * slab + kTileCycles);
}

/* Whole tiles of the busiest multiprocessor. Where the last ones are no more than there are
 * multiprocessors, they meet on some all the same, and others have none. */
static double busiest(int64_t all, const duo_launch *how, int together)
{
    const int64_t each = divide_up(all, how->multiprocessors);
    return (double)each + (each > 1 && each % together != 0 ? kUneven : 0.0);
}

/* Every tile by a block of its own. False: more of them than a grid may have. */
static bool plan_whole(const duo_call *call, const duo_launch *how, const tile_kernels &tile,
                       plan *x)
{
    const int64_t tiles_m = divide_up(call->m, tile.edge_m);
    const int64_t tiles_n = divide_up(call->n, tile.edge_n);
    const int64_t slabs = divide_up(sgemm_problem_of(call).k, kSlab), all = tiles_m * tiles_n;
    if (tiles_m > INT32_MAX / kTilesTogether / tiles_n || slabs > INT32_MAX / 2) return false;
    x->tile = &tile;
    x->walk = {(int)tiles_m, (int)tiles_n, (int)slabs, (int)all, 1, 0, nullptr};
    x->runs = x->shared_tiles = 0;
    x->cycles =
        block_cycles(call, how, tile, busiest(all, how, resident(tile, how->capability)), slabs);
    return true;
}

/* Shares out those that do not fill the multiprocessors. False: there are none. */
static bool share_rest(const duo_call *call, const duo_launch *how, plan *x)
{
    const int64_t sms = how->multiprocessors, slabs = x->walk.slabs;
    const int64_t slots = sms * resident(*x->tile, how->capability);
    const int64_t rest = x->walk.whole % slots, total = rest * slabs;
    if (total == 0) return false;
    const int64_t least = divide_up(total, slots);
    const int64_t share = least < kLeastShare ? kLeastShare : least;
    x->walk.whole -= (int)rest;
    x->walk.share = (int)share;
    x->walk.shared_slabs = total;
    x->runs = divide_up(total, share);
    x->shared_tiles = rest;
    x->cycles = block_cycles(call, how, *x->tile, (double)(x->walk.whole / sms), slabs) +
                block_cycles(call, how, *x->tile, (double)divide_up(x->runs, sms), share) +
                kAddCycles + kByteCycles * (double)bytes_of(*x) / (double)sms;
    return true;
}

/* The plan that is expected to end first, within the bytes of workspace. */
static bool choose(const duo_call *call, const duo_launch *how, size_t bytes, plan *best)
{
    bool found = false;
    for (const tile_kernels &tile : tiles) {
        plan x;
        if (resident(tile, how->capability) == 0 || !plan_whole(call, how, tile, &x)) continue;
        if (!found || x.cycles < best->cycles) *best = x;
        found = true;
        if (share_rest(call, how, &x) && bytes_of(x) <= bytes && x.cycles < best->cycles) *best = x;
    }
    return found;
}

static cudaError_t queue_plan(const duo_call *call, const duo_launch *how, plan &x)
{
    sgemm_problem p = sgemm_problem_of(call);
    float *workspace = reinterpret_cast<float *>(how->workspace);
    size_t left = how->workspace_bytes - bytes_of(x);
    x.walk.parts = workspace;
    workspace += bytes_of(x) / sizeof(float);
    copy_kind kind[2];
    for (int i = DUO_A; i <= DUO_B; i++) {
        const packing o = packing_of(call, i, workspace);
        kind[i] = kind_of(o);
        if (!worth_packing(call, how, i, kind[i]) || packed_bytes(o) > left) continue;
        const cudaError_t error =
            queue_kernel_behind(sgemm_ffma_pack, (unsigned)pack_blocks(o), kThreads, 0, how, o);
        if (error != cudaSuccess) return error;
        kind[i] = kVectors;
        (i == DUO_A ? p.a : p.b) = o.to;
        (i == DUO_A ? p.lda : p.ldb) = o.to_ld;
        workspace += packed_bytes(o) / sizeof(float);
        left -= packed_bytes(o);
    }
    const cudaError_t error = queue_kernel_behind(x.tile->product[kind[DUO_A]][kind[DUO_B]],
                                                  (unsigned)(x.walk.whole + x.runs), kThreads,
                                                  bytes_to_ask_for(x, how), how, p, x.walk);
    if (error != cudaSuccess || x.runs == 0) return error;
    const bool many = x.runs > kWays / 2 * x.shared_tiles;
    const int64_t threads =
        x.shared_tiles * x.tile->edge_m * x.tile->edge_n / kGroup * (many ? kWays : 1);
    return after_c_changed(queue_kernel_behind(many ? x.tile->add_many : x.tile->add_few,
                                               (unsigned)(threads / kThreads), kThreads, 0, how, p,
                                               x.walk));
}

static size_t workspace(const duo_call *call, const duo_launch *how)
{
    plan x;
    if (!choose(call, how, SIZE_MAX, &x)) return 0;
    size_t bytes = bytes_of(x);
    for (int i = DUO_A; i <= DUO_B; i++) {
        const packing o = packing_of(call, i, nullptr);
        if (worth_packing(call, how, i, kind_of(o))) bytes += packed_bytes(o);
    }
    return bytes;
}

static cudaError_t launch(const duo_call *call, const duo_launch *how)
{
    plan x;
    if (!choose(call, how, how->workspace_bytes, &x)) return cudaErrorInvalidValue;
    return queue_plan(call, how, x);
}

/* A tile whose ring has no room on this device is not used, and not loaded. */
static cudaError_t load()
{
    int capability = 0;
    cudaError_t error = current_capability(&capability);
    if (error == cudaSuccess) error = load_kernel(sgemm_ffma_pack);
    for (const tile_kernels &tile : tiles) {
        if (error == cudaSuccess && resident(tile, capability) == 0) continue;
        const size_t most =
            capability >= kDependentLaunches ? bytes_alone(tile, capability) : tile.shared_bytes;
        for (int kind = 0; kind < 9 && error == cudaSuccess; kind++)
            error = load_kernel_with(tile.product[kind / 3][kind % 3], most);
        if (error == cudaSuccess) error = load_kernel(tile.add_few);
        if (error == cudaSuccess) error = load_kernel(tile.add_many);
    }
    return error;
}

const duo_gpu_algorithm duo_sgemm_gpu_ffma = {
    .launch = launch,
    .load = load,
    .workspace = workspace,
    .packed_bytes = nullptr,
    .pack = nullptr,
};
