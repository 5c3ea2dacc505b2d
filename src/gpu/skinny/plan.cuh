/*
 * skinny/plan.cuh - the tile of a skinny product, and the number of ranges of k.
 *
 * Each shape of tile with each number of ranges gets an estimate in clocks of a multiprocessor
 * (skinny/clocks.h); the least one wins. It uses two facts of the device: the number of
 * multiprocessors and their shared memory.
 */
#ifndef DUO_SKINNY_PLAN_CUH
#define DUO_SKINNY_PLAN_CUH

#include <math.h>
#include <stdint.h>

#include "gpu/launch.cuh"
#include "gpu/skinny/clocks.h"

struct skinny_shape {
    int rows, columns, slab; /* rows and slab are powers of two */
    int resident;            /* blocks that a multiprocessor has registers for */
    int under_way;           /* slabs under way at once, if a block is alone; else 1 */
    int sums;                /* of a thread */
    size_t shared_bytes;

    int resident_on(int capability) const
    {
        return blocks_that_fit(shared_bytes, resident, capability);
    }
};

using skinny_size = duo_skinny_size;

struct skinny_plan {
    int shape; /* its number */
    int64_t row_tiles, column_tiles;
    int64_t ranges, range; /* of k: how many, how long */
    double clocks;
};

constexpr int kMostAdded = 16384; /* elements of a tile times ranges, for its last block to add */
constexpr int kRounds = 3;        /* most rounds of the blocks of several ranges */

/* `unit` is a power of two, and a division takes long. */
static int64_t units_of(int64_t size, int unit) { return (size + unit - 1) >> __builtin_ctz(unit); }

static double plan_clocks(const skinny_plan &plan, const skinny_shape &s, const skinny_size &size,
                          double step, int multiprocessors, int resident)
{
    return duo_skinny_clocks(step, (double)(plan.row_tiles * plan.column_tiles),
                             (double)plan.ranges, (double)plan.range, resident, s.under_way, s.sums,
                             &size, multiprocessors);
}

/* At most `ranges`, of whole slabs. */
static void split(skinny_plan *plan, int slab, int64_t k, int64_t ranges)
{
    const int64_t slabs = units_of(k, slab);
    const int64_t per_range = ranges < slabs ? (slabs + ranges - 1) / ranges : 1;
    plan->range = per_range * slab;
    plan->ranges = slabs > 0 ? (slabs + per_range - 1) / per_range : 1;
}

/* One range, or as many as give each multiprocessor one block, two, ... */
template <int Shapes>
static skinny_plan plan_of(const skinny_shape (&shape)[Shapes], const skinny_size &size,
                           int multiprocessors, int capability)
{
    skinny_plan best = {};
    best.clocks = (double)INFINITY;
    for (int i = 0; i < Shapes; i++) {
        const skinny_shape &s = shape[i];
        const int resident = s.resident_on(capability);
        if (resident == 0) continue;
        if (s.columns > 8 && s.columns >= 2 * size.columns) continue; /* half of it idle */
        if (s.resident == 1 && s.columns < size.columns) continue;    /* not thin */
        skinny_plan plan;
        plan.shape = i;
        plan.row_tiles = units_of(size.rows, s.rows);
        plan.column_tiles = size.columns <= s.columns ? 1 : (size.columns - 1) / s.columns + 1;
        plan.ranges = 1;
        plan.range = units_of(size.k, s.slab) * s.slab;
        const int64_t tiles = plan.row_tiles * plan.column_tiles;
        const double step = duo_skinny_step(s.rows, s.columns, s.slab, &size);
        plan.clocks = plan_clocks(plan, s, size, step, multiprocessors, resident);
        if (plan.clocks < best.clocks) best = plan;
        if (size.k <= 2 * s.slab) continue;
        for (int each = 1; each <= kRounds * resident; each++) {
            const int64_t blocks = (int64_t)each * multiprocessors;
            if (2 * tiles > blocks) continue;
            split(&plan, s.slab, size.k, blocks / tiles);
            plan.clocks = plan_clocks(plan, s, size, step, multiprocessors, resident);
            if (plan.clocks < best.clocks) best = plan;
        }
    }
    return best;
}

#endif
