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
    int under_way;           /* slabs of a block on their way at once */
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
    int together;          /* ranges that are added at once */
    double clocks;
};

/*
 * What a multiprocessor does per clock, and what things cost in clocks: estimates from runs on an
 * H200, good enough to tell shapes apart.
 */
constexpr double kFmas = 105.0;        /* of 128: the rest is lost to reading shared memory */
constexpr double kReadBytes = 20.0;    /* its share of the memory's bandwidth */
constexpr double kSector = 8.0;        /* floats that memory hands out together */
constexpr double kAlone = 0.5;         /* of its time a block loses that shares with no other and
                                         has one slab under way */
constexpr double kBlockClocks = 1500;  /* to fill the ring */
constexpr double kSumClocks = 25;      /* to add a sum of all threads of a block */
constexpr int kRounds = 3;             /* in which the blocks of several ranges run, at most */
constexpr double kTicketClocks = 2500; /* to leave sums, take a ticket, and begin to read sums */
constexpr double kSlotBytes = 25;      /* of sums that a block reads */

/* `unit` is a power of two, and a division takes long. */
static int64_t units_of(int64_t size, int unit) { return (size + unit - 1) >> __builtin_ctz(unit); }

/*
 * The last block of a tile adds the sums of all ranges. Where those are many, each block that is
 * the last of about their square root adds those, and the last of all what these have. The ranges
 * that are added together, and the clocks for it.
 */
static double adding_clocks(const skinny_shape &s, const skinny_size &size, int64_t ranges,
                            int *together)
{
    *together = (int)ranges;
    if (ranges == 1) return 0.0;
    const double columns = (double)(size.columns < s.columns ? size.columns : s.columns);
    const double slot = 4.0 * s.rows * columns / kSlotBytes;
    const double root = ceil(sqrt((double)ranges));
    const double once = kTicketClocks + slot * (double)ranges;
    const double twice = 2.0 * (kTicketClocks + slot * root);
    if (once <= twice) return once;
    *together = (int)root;
    return twice;
}

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

/* Fills in what is left open: how ranges are added, and the clocks. */
static void estimate(skinny_plan *plan, const skinny_shape &s, const skinny_size &size, double step,
                     int multiprocessors, int resident)
{
    const double blocks = (double)(plan->row_tiles * plan->column_tiles * plan->ranges);
    const double each = ceil(blocks / multiprocessors);
    const double under_way = (each < resident ? each : resident) * s.under_way;
    plan->clocks = each * (double)plan->range * step * (1.0 + kAlone / under_way) +
                   ceil(each / resident) * (kBlockClocks + kSumClocks * s.sums) +
                   adding_clocks(s, size, plan->ranges, &plan->together);
}

/* At most so many ranges, of whole slabs. */
static void split(skinny_plan *plan, int slab, int64_t k, int64_t ranges)
{
    const int64_t slabs = units_of(k, slab);
    const int64_t per_range = ranges < slabs ? (slabs + ranges - 1) / ranges : 1;
    plan->range = per_range * slab;
    plan->ranges = slabs > 0 ? (slabs + per_range - 1) / per_range : 1;
}

/* A plan for no more ranges than there is room for. */
static void shorten(skinny_plan *plan, const skinny_shape &s, const skinny_size &size, int64_t room)
{
    split(plan, s.slab, size.k, room > 1 ? room : 1);
    (void)adding_clocks(s, size, plan->ranges, &plan->together);
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
        estimate(&plan, s, size, step, multiprocessors, resident);
        if (plan.clocks < best.clocks) best = plan;
        if (size.k <= 2 * s.slab) continue;
        for (int each = 1; each <= kRounds * resident; each++) {
            const int64_t blocks = (int64_t)each * multiprocessors;
            if (2 * tiles > blocks) continue;
            split(&plan, s.slab, size.k, blocks / tiles);
            estimate(&plan, s, size, step, multiprocessors, resident);
            if (plan.clocks < best.clocks) best = plan;
        }
    }
    return best;
}

#endif
