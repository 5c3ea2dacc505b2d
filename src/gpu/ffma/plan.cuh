/*
 * ffma/plan.cuh - a product's tile, each block's share, and which operands are packed ahead.
 *
 * The plan with the least expected clock cycles of one multiprocessor is taken. The numbers below
 * are fitted to an H200. The plan does not change bits.
 */
#ifndef DUO_FFMA_PLAN_CUH
#define DUO_FFMA_PLAN_CUH

#include <math.h>
#include <stdint.h>

#include "gpu/ffma/product.cuh"
#include "gpu/ffma/tile.cuh"
#include "gpu/kernels.h"
#include "gpu/launch.cuh"

/* ---- Packing an operand ---- */

/*
 * An operand rewritten as sgemm_gpu_ffma copies it fastest.
 *
 * Accepts   any extent, k, leading dimension and alignment
 * Threads   256 per block; a block packs 64 x 64 elements through shared memory
 * Traffic   8 bytes per element; warps read and write neighbours
 *
 * If neighbours in memory are neighbours in k, or columns do not begin on 16 bytes, every tile of C
 * would copy its elements one by one. If there are many tiles, this is done once instead, before
 * all of them.
 */

constexpr int kPackEdge = 64;

/* Element (i, l), i < extent, l < k: from[l + i*ld] if along_k, else from[i + l*ld]. It goes to
 * to[i + l*to_ld]; to_ld is the extent in whole groups, filled up with zeros. */
struct packing {
    const float *from;
    float *to;
    int64_t ld, to_ld, extent, k;
    bool along_k;
};

static inline int64_t packed_ld(int64_t extent) { return (extent + kGroup - 1) / kGroup * kGroup; }

static inline int64_t pack_blocks(const packing &p)
{
    return ((p.extent + kPackEdge - 1) / kPackEdge) * ((p.k + kPackEdge - 1) / kPackEdge);
}

static __global__ void __launch_bounds__(kThreads) sgemm_ffma_pack(packing p)
{
    __shared__ float square[kPackEdge][kPackEdge + 1]; /* [l][i] */
    constexpr int kRows = kThreads / kPackEdge, kGroups = kPackEdge / kGroup;
    const int64_t along_k = (p.k + kPackEdge - 1) / kPackEdge;
    const int64_t first_i = blockIdx.x / along_k * kPackEdge;
    const int64_t first_l = blockIdx.x % along_k * kPackEdge;
    const int extent = (int)min((int64_t)kPackEdge, p.extent - first_i);
    const int k = (int)min((int64_t)kPackEdge, p.k - first_l);

    wait_for_kernels_ahead();
    const int column = threadIdx.x % kPackEdge, first_row = threadIdx.x / kPackEdge;
    const float *const from =
        p.from + (p.along_k ? first_l + first_i * p.ld : first_i + first_l * p.ld);
    const int columns = p.along_k ? k : extent, rows = p.along_k ? extent : k;
#pragma unroll
    for (int r = 0; r < kPackEdge; r += kRows) {
        const int row = first_row + r;
        const float x = row < rows && column < columns ? from[column + row * p.ld] : 0.0f;
        square[p.along_k ? column : row][p.along_k ? row : column] = x;
    }
    __syncthreads();
    let_next_kernel_start();
    const int i = threadIdx.x % kGroups * kGroup, first = threadIdx.x / kGroups;
    if (i >= extent) return;
#pragma unroll
    for (int s = 0; s < kPackEdge; s += kThreads / kGroups) {
        const int l = first + s;
        if (l < k)
            *reinterpret_cast<float4 *>(p.to + (first_i + i + (first_l + l) * p.to_ld)) =
                make_float4(square[l][i], square[l][i + 1], square[l][i + 2], square[l][i + 3]);
    }
}

/* ---- Plans ---- */

constexpr double kFmaPerCycle = 128.0;                /* by the lanes of a multiprocessor */
constexpr double kCopyCycles[] = {0.0, 0.027, 0.064}; /* per element, by copy_kind */
constexpr double kTileCycles = 1000.0;                /* to fill the ring, and */
constexpr double kElementCycles = 0.05;               /* to store an element of the tile */
constexpr double kUsualEdge = 128.0;                  /* of a tile, to decide on packing */
constexpr double kPackCycles = 6000.0;                /* a kernel that packs an operand, and */
constexpr double kPackElementCycles = 0.75; /* an element of it, for all multiprocessors together */
constexpr double kAddCycles = 2200.0;       /* the second kernel, and */
constexpr double kByteCycles = 0.073;       /* a byte of parts, written and read */
constexpr int64_t kMostParts = 1 << 30;     /* bytes */

struct plan {
    const tile_kernels *tile;
    tile_shares shares;
    int64_t runs, shared_tiles;
    double cycles;
};

static int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

static int64_t bytes_of_parts(const plan &x, int64_t parts)
{
    return parts * x.tile->edge_m * x.tile->edge_n * (int64_t)sizeof(float);
}

/* There is room for a part of each segment. */
static int64_t bytes_of(const plan &x)
{
    return bytes_of_parts(x, x.shared_tiles * x.shares.segments);
}

/* The first run of a tile stores one part; it has half of a share on the average. */
static int64_t bytes_stored(const plan &x)
{
    const int64_t half = (x.shares.share + 1) / 2;
    const int64_t of_first_run = half < x.shares.segments ? half : x.shares.segments;
    return bytes_of_parts(x, x.shared_tiles * (x.shares.segments - of_first_run + 1));
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

/* How it is copied unpacked. */
static copy_kind kind_of(const packing &o)
{
    if (o.along_k) return kAlongK;
    const bool whole = reinterpret_cast<uintptr_t>(o.from) % 16 == 0 && o.ld % kGroup == 0 &&
                       o.extent % kGroup == 0;
    return whole ? kVectors : kAlongEdge;
}

/* Does it pay to pack operand i? Else each tile along the other operand's extent copies it in this
 * way. */
static bool worth_packing(const duo_call *call, const duo_launch *how, int i, copy_kind kind)
{
    const packing o = packing_of(call, i, nullptr);
    const double times = (double)(i == DUO_A ? call->n : call->m) / kUsualEdge;
    const double saved = (kCopyCycles[kind] * times - kPackElementCycles) * (double)o.extent *
                         (double)o.k / how->multiprocessors;
    return saved > kPackCycles && pack_blocks(o) <= INT32_MAX;
}

/* Is operand i copied along k, by every tile that needs it? */
static bool turned_by_tiles(const duo_call *call, const duo_launch *how, int i)
{
    return packing_of(call, i, nullptr).along_k && !worth_packing(call, how, i, kAlongK);
}

/* ---- The plan ---- */

/*
 * Cycles of a multiprocessor for `blocks` blocks with `steps` of k each. It holds some together,
 * and each takes its time even if it is alone.
 */
static double block_cycles(const duo_call *call, const duo_launch *how, const tile_kernels &tile,
                           int64_t blocks, int64_t steps)
{
    const double turned = (turned_by_tiles(call, how, DUO_A) ? tile.edge_m : 0.0) +
                          (turned_by_tiles(call, how, DUO_B) ? (double)tile.edge_n : 0.0);
    const double copied = kCopyCycles[kAlongK] * turned;
    const double tile_elements = (double)tile.edge_m * tile.edge_n;
    const double alone = tile_elements / (kFmaPerCycle * tile.alone) + copied;
    const double full = tile_elements / (kFmaPerCycle * tile.full) + copied;
    const int together = resident(tile, how->capability);
    const int64_t rounds = blocks / together, left = blocks % together;
    const double step = (double)rounds * fmax(alone, together * full) +
                        (left > 0 ? fmax(alone, (double)left * full) : 0.0);
    return (double)(divide_up(steps, kSlab) * kSlab) * step +
           (double)blocks * (kTileCycles + kElementCycles * tile_elements);
}

/* Each tile has a block of its own. False: there are more than a grid may have. */
static bool plan_whole(const duo_call *call, const duo_launch *how, const tile_kernels &tile,
                       plan *x)
{
    const int64_t tiles_m = divide_up(call->m, tile.edge_m);
    const int64_t tiles_n = divide_up(call->n, tile.edge_n), all = tiles_m * tiles_n;
    const int64_t k = sgemm_problem_of(call).k, segments = divide_up(k, DUO_SEGMENT);
    if (tiles_m > INT32_MAX / kTilesTogether / tiles_n || divide_up(k, kSlab) > INT32_MAX)
        return false;
    x->tile = &tile;
    x->shares = {(int)tiles_m, (int)tiles_n, (int)segments, (int)all, 1, 0, nullptr};
    x->runs = x->shared_tiles = 0;
    x->cycles = block_cycles(call, how, tile, divide_up(all, how->multiprocessors), k);
    return true;
}

/* Shares out the last tiles, if they do not fill the multiprocessors. False: they do, or a tile
 * has one segment. */
static bool share_rest(const duo_call *call, const duo_launch *how, plan *x)
{
    const int64_t sms = how->multiprocessors, segments = x->shares.segments;
    const int64_t slots = sms * resident(*x->tile, how->capability);
    const int64_t rest = x->shares.whole % slots, total = rest * segments;
    if (total == 0 || segments == 1) return false;
    const int64_t share = divide_up(total, slots);
    x->shares.whole -= (int)rest;
    x->shares.share = (int)share;
    x->shares.shared_segments = total;
    x->runs = divide_up(total, share);
    x->shared_tiles = rest;
    x->cycles = block_cycles(call, how, *x->tile, x->shares.whole / sms, call->k) +
                block_cycles(call, how, *x->tile, divide_up(x->runs, sms), share * DUO_SEGMENT) +
                kAddCycles + kByteCycles * (double)bytes_stored(*x) / (double)sms;
    return true;
}

/* The plan that is expected to end first, within the bytes of workspace. */
static bool choose(const duo_call *call, const duo_launch *how, size_t bytes, plan *best)
{
    const int64_t room = bytes < (size_t)kMostParts ? (int64_t)bytes : kMostParts;
    bool found = false;
    for (const tile_kernels &tile : tiles) {
        plan x;
        if (resident(tile, how->capability) == 0 || !plan_whole(call, how, tile, &x)) continue;
        if (!found || x.cycles < best->cycles) *best = x;
        found = true;
        if (share_rest(call, how, &x) && bytes_of(x) <= room && x.cycles < best->cycles) *best = x;
    }
    return found;
}

#endif
