/*
 * sgemm_gpu_gemv.cu - products with up to 8 rows or columns of C: as fast as the matrix is read.
 *
 * C or its transpose is X Y: Y is the operand with up to 8 columns (or rows) of C, X the other one.
 * One code serves a small n and a small m.
 *
 * Accepts   m or n up to 8, the other one from 32 on; any k, transposes, leading dimensions and
 *           alignment
 * Threads   256 per block; a block has a tile of C and a range of k, which its warps share. A
 *           thread loads 32 elements of X at once, into registers: by 16 bytes if alignment allows,
 *           else neighbouring lanes load neighbours. Y comes through shared memory.
 * Order     per element of C one fp32 FMA chain per lane that has a part of its k; a warp's chains
 *           are added by halving, then the warps in their order, then the ranges by the last block
 *           of a tile: the same bits on every run with the same device, leading dimensions and
 *           workspace
 * Traffic   X once from memory; Y once per tile of C, from L2; C once
 */
#include <math.h>

#include "gpu/add_ranges.cuh"
#include "gpu/gemv/product.cuh"
#include "gpu/kernels.h"

/* ---- Plan ---- */

/*
 * How the rows and k of a product with few columns are shared out.
 *
 * Each kind of warp, with each number of warps along rows and of ranges of k, gets an estimate in
 * clocks of a multiprocessor; the least one wins.
 */

/* A kind of warp: the size of its batch. */
struct gemv_shape {
    int rows, steps; /* of X */
};

struct gemv_plan {
    int shape; /* its number */
    int warps_m_log;
    int64_t tiles, ranges, range;
    double clocks;
};

/* Estimates, for an H100. */
constexpr double kReadBytes = 20.0;   /* per clock: a multiprocessor's share of the memory's rate */
constexpr double kBatchClocks = 900;  /* to wait for a batch, and multiply it */
constexpr double kBlockClocks = 2000; /* to begin, and to add the sums of warps */
constexpr double kTicketClocks = 1500; /* to leave sums and take a ticket */
constexpr double kSlotClocks = 1000;   /* a round of add_ranges.cuh */
constexpr int kSector = 8;             /* floats that memory delivers together */
constexpr int kRounds = 2;             /* most rounds of the blocks of several ranges */

static int64_t parts_of(int64_t size, int64_t part) { return (size + part - 1) / part; }

/* `along_k`: neighbours in memory are neighbours in k. */
static double clocks_of(const gemv_plan &plan, const gemv_shape &shape, const gemv_problem &p,
                        bool along_k, int multiprocessors)
{
    const int warps_k = kWarps >> plan.warps_m_log, tile = shape.rows << plan.warps_m_log;
    const double range = (double)(plan.range < p.k ? plan.range : p.k);
    const double each = ceil((double)(plan.tiles * plan.ranges) / multiprocessors);
    const double rounds = ceil(each / blocks_for(p.columns));
    /* A run of neighbours touches one sector more than it fills. */
    const int of_x = tile + (along_k ? 0 : kSector), of_y = p.columns + (p.y_along_k ? 0 : kSector);
    const double read = each * (double)sizeof(float) * (of_x + of_y) * range / kReadBytes;
    const double wait = rounds * ceil(range / (warps_k * shape.steps)) * kBatchClocks;
    double add = 0.0;
    if (plan.ranges > 1)
        add = kTicketClocks + kSlotClocks * slot_rounds(kThreads, p.columns * tile, plan.ranges);
    return rounds * kBlockClocks + fmax(read, wait) + add;
}

/* Tries one range, and the numbers of ranges that give each multiprocessor one block, two, ...;
 * their sums must fit into `room` floats. */
static gemv_plan plan_of(const gemv_shape *shape, int shapes, const gemv_problem &p, bool along_k,
                         int multiprocessors, int64_t room)
{
    gemv_plan best = {};
    best.clocks = (double)INFINITY;
    for (int i = 0; i < shapes; i++)
        for (int warps_m_log = 0; kWarps >> warps_m_log > 0; warps_m_log++) {
            const gemv_shape &s = shape[i];
            if (s.rows > p.rows) break;
            gemv_plan plan;
            plan.shape = i;
            plan.warps_m_log = warps_m_log;
            plan.tiles = parts_of(p.rows, (int64_t)s.rows << warps_m_log);
            const int64_t batch = (int64_t)(kWarps >> warps_m_log) * s.steps;
            const int64_t batches = p.k > 0 ? parts_of(p.k, batch) : 1;
            for (int each = 0; each <= kRounds * blocks_for(p.columns); each++) {
                int64_t ranges = (int64_t)each * multiprocessors / plan.tiles;
                if (each > 0 && (ranges < 2 || batches < 2 || plan.tiles > DUO_COUNTERS)) continue;
                if (ranges < 1) ranges = 1;
                plan.range = parts_of(batches, ranges) * batch;
                plan.ranges = parts_of(batches * batch, plan.range);
                const int64_t sums = ((int64_t)p.columns * s.rows << warps_m_log) * plan.tiles;
                if (plan.ranges > 1 && sums * plan.ranges > room) continue;
                plan.clocks = clocks_of(plan, s, p, along_k, multiprocessors);
                if (plan.clocks < best.clocks) best = plan;
            }
        }
    return best;
}

/* ---- Running ---- */

static constexpr int64_t kLeastRows = 32; /* of X: those of few_rows */

static gemv_problem gemv_problem_of(const sgemm_problem &p, bool swapped)
{
    gemv_problem q = {};
    q.x = swapped ? p.b : p.a;
    q.y = swapped ? p.a : p.b;
    q.c = p.c;
    q.rows = swapped ? p.n : p.m;
    q.k = p.k;
    q.ldx = swapped ? p.ldb : p.lda;
    q.ldy = swapped ? p.lda : p.ldb;
    q.row_step = swapped ? p.ldc : 1;
    q.column_step = swapped ? 1 : p.ldc;
    q.columns = (int)(swapped ? p.m : p.n);
    q.aligned =
        q.ldx % kGroup == 0 && reinterpret_cast<uintptr_t>(q.x) % (kGroup * sizeof(float)) == 0;
    q.alpha = p.alpha;
    q.beta = p.beta;
    return q;
}

/* ---- The kinds of warps ---- */

template <int Columns>
using many_rows = gemv_along_rows<Columns, 32>;
template <int Columns>
using few_rows = gemv_along_rows<Columns, 8>;
template <int Columns>
using neighbours_in_k = gemv_along_k<Columns, true>; /* ldx is a multiple of 4 */
template <int Columns>
using apart_in_k = gemv_along_k<Columns, false>;

template <template <int> class Part>
static constexpr gemv_shape shape_of = {Part<1>::kRows, Part<1>::kSteps};
static constexpr gemv_shape shapes_along_rows[] = {shape_of<many_rows>, shape_of<few_rows>};
static constexpr gemv_shape shapes_along_k[] = {shape_of<apart_in_k>};

/* For 1, 2, 4 and 8 columns. */
template <template <int> class Part>
static void (*const kernels[])(gemv_problem) = {sgemm_gemv<Part<1>>, sgemm_gemv<Part<2>>,
                                                sgemm_gemv<Part<4>>, sgemm_gemv<Part<8>>};

/* ---- Launching ---- */

/* Room for the sums of the largest tiles, in as many blocks as several ranges may have. */
static size_t workspace(const duo_call *, const duo_launch *how)
{
    const size_t blocks = (size_t)how->multiprocessors * kRounds * blocks_for(1);
    return blocks * kWarps * 32 * kGroup * kMostColumns * sizeof(float);
}

static cudaError_t launch(const duo_call *call, const duo_launch *how)
{
    const sgemm_problem p = sgemm_problem_of(call);
    const bool swapped = p.m < p.n, along_k = swapped ? !call->transb : call->transa;
    gemv_problem q = gemv_problem_of(p, swapped);
    q.y_along_k = swapped ? call->transa : !call->transb;
    if (q.rows < kLeastRows) return cudaErrorInvalidValue;
    const int64_t room = (int64_t)(how->workspace_bytes / sizeof(float));
    const gemv_plan plan =
        along_k ? plan_of(shapes_along_k, 1, q, along_k, how->multiprocessors, room)
                : plan_of(shapes_along_rows, 2, q, along_k, how->multiprocessors, room);
    q.warps_m_log = plan.warps_m_log;
    q.ranges = (int)plan.ranges;
    q.range = plan.range;
    if (plan.tiles * q.ranges > INT32_MAX) return cudaErrorInvalidValue;
    q.tiles = (int)plan.tiles;
    q.slots = reinterpret_cast<float *>(how->workspace);
    q.tickets = how->counters;

    const int number = q.columns <= 2 ? q.columns - 1 : q.columns <= 4 ? 2 : 3;
    const auto *const kernel =
        along_k           ? (q.ldx % kGroup == 0 ? kernels<neighbours_in_k> : kernels<apart_in_k>)
        : plan.shape == 0 ? kernels<many_rows>
                          : kernels<few_rows>;
    return queue_kernel_behind(kernel[number], (unsigned)(q.tiles * q.ranges), kThreads, 0, how, q);
}

static cudaError_t load()
{
    cudaError_t error = cudaSuccess;
    for (const auto *kind :
         {kernels<many_rows>, kernels<few_rows>, kernels<neighbours_in_k>, kernels<apart_in_k>})
        for (int i = 0; i < 4 && error == cudaSuccess; i++) error = load_kernel(kind[i]);
    return error;
}

const duo_gpu_algorithm duo_sgemm_gpu_gemv = {
    .launch = launch,
    .load = load,
    .workspace = workspace,
    .packed_bytes = nullptr,
    .pack = nullptr,
};
