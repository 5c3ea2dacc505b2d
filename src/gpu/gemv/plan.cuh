/*
 * gemv/plan.cuh - how the rows and k of a product with few columns are shared out.
 *
 * Each kind of warp, with each number of warps along rows and of ranges of k, gets an estimate in
 * clocks of a multiprocessor; the least one wins.
 */
#ifndef DUO_GEMV_PLAN_CUH
#define DUO_GEMV_PLAN_CUH

#include <math.h>

#include "gpu/add_ranges.cuh"
#include "gpu/gemv/block.cuh"
#include "gpu/kernels.h"

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

#endif
