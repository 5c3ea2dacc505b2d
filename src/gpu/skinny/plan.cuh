/*
 * skinny/plan.cuh - which tile a skinny product takes, and into how many ranges its k is split.
 *
 * Each shape of tile with each number of ranges gets an estimate in clocks of a multiprocessor; the
 * least one wins. Of the device it knows the number of multiprocessors and their shared memory.
 */
#ifndef DUO_SKINNY_PLAN_CUH
#define DUO_SKINNY_PLAN_CUH

#include <math.h>
#include <stdint.h>

#include "gpu/shared_memory.cuh"

struct skinny_shape {
    int rows, columns, slab; /* rows and slab are powers of two */
    int resident;            /* blocks that a multiprocessor has registers for */
    int under_way;           /* slabs on their way at once, of a block that is alone; else 1 */
    int sums;                /* of a thread */
    size_t shared_bytes;

    int resident_on(int capability) const
    {
        return blocks_that_fit(shared_bytes, resident, capability);
    }
};

struct skinny_size {
    int64_t rows, columns, k;
    bool x_along_k, y_along_k; /* neighbours in memory are neighbours in k */
};

struct skinny_plan {
    int shape; /* its number */
    int64_t row_tiles, column_tiles;
    int64_t ranges, range; /* of k: how many, how long */
    double clocks;
};

/*
 * What a multiprocessor does per clock, and what things cost in clocks: estimates from runs on an
 * H200, good enough to tell shapes apart.
 */
constexpr double kFmas = 105.0;       /* of 128: the rest is lost to reading shared memory */
constexpr double kReadBytes = 20.0;   /* its share of the memory's bandwidth */
constexpr double kSector = 8.0;       /* floats that memory hands out together */
constexpr double kAlone = 0.5;        /* of its time a block loses that shares with no other, nor
                                         has more slabs under way */
constexpr double kBlockClocks = 1500; /* to fill the ring */
constexpr double kSumClocks = 25;     /* to add a sum of all threads of a block */
constexpr int kRounds = 3;            /* in which the blocks of several ranges run, at most */
constexpr double kRangesClocks = 4500, kRangeClocks = 8; /* to add ranges, and for each */

/* `unit` is a power of two, and a division takes long. */
static int64_t units_of(int64_t size, int unit) { return (size + unit - 1) >> __builtin_ctz(unit); }

/* Clocks for one step of k of a tile. Reading and multiplying overlap, but not fully. */
static double step_clocks(const skinny_shape &s, const skinny_size &size)
{
    const double rows = (double)(size.rows < s.rows ? size.rows : s.rows);
    const double columns = (double)(size.columns < s.columns ? size.columns : s.columns);
    /* A run of neighbours touches a sector more than it fills. */
    const double runs =
        (size.x_along_k ? rows / s.slab : 1.0) + (size.y_along_k ? columns / s.slab : 1.0);
    const double read = 4.0 * (rows + columns + kSector * runs) / kReadBytes;
    const double multiply = (double)(s.rows * s.columns) / kFmas;
    return sqrt(read * read + multiply * multiply);
}

static double plan_clocks(const skinny_plan &plan, const skinny_shape &s, const skinny_size &size,
                          double step, int multiprocessors, int resident)
{
    const double blocks = (double)(plan.row_tiles * plan.column_tiles * plan.ranges);
    const double each = ceil(blocks / multiprocessors);
    const double together = (each < resident ? each : resident) * s.under_way;
    double sum = 0.0;
    if (plan.ranges > 1) {
        const double sums = (double)size.rows * (double)size.columns * (double)plan.ranges;
        sum = kRangesClocks + kRangeClocks * (double)plan.ranges +
              2.0 * sizeof(float) * sums / (kReadBytes * multiprocessors); /* there and back */
    }
    return each * (double)plan.range * step * (1.0 + kAlone / together) +
           ceil(each / resident) * (kBlockClocks + kSumClocks * s.sums) + sum;
}

/* At most so many ranges, of whole slabs. */
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
        const double step = step_clocks(s, size);
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
