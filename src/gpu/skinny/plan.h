/*
 * skinny/plan.h - the tiles of skinny products; which of them a product takes, and how it shares k
 * out. The kernels plan by it, and choice/sgemm_gpu_thin_costs.c predicts by it.
 *
 * Each tile with each number of teams and of ranges gets an estimate in clocks of a multiprocessor;
 * the least one wins.
 */
#ifndef DUO_SKINNY_PLAN_H
#define DUO_SKINNY_PLAN_H

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "gpu/whole.h"
#include "product_order.h"

/* ---- Tiles ---- */

/* C++ checks them against the kernels. */
#ifdef __cplusplus
#define DUO_SKINNY_INLINE static constexpr
#define DUO_SKINNY_TABLE  static constexpr
#else
#define DUO_SKINNY_INLINE static inline
#define DUO_SKINNY_TABLE  static const
#endif

/*
 * A team of warps has a tile of C and a segment of k. A warp's lanes lie along rows and columns; in
 * a vector product 8 lanes have an element's chains. A thread has rows x columns elements.
 */
typedef struct duo_skinny_tile {
    int thread_columns, thread_rows;
    int lanes_n; /* lanes along columns */
    int chains;  /* of a segment: 1 or DUO_CHAINS */
    int warps;   /* of a team, along rows */
    int slab;    /* steps of k that are copied together */
    int slabs;   /* of a team's ring */
    int warps_8; /* blocks of 8 warps that a multiprocessor has registers for */
} duo_skinny_tile;

#define DUO_SKINNY_TILE_LIST(X)                                                                    \
    X(8, 2, 1, 1, 1, 32, 2, 2)  /* 64 x 8 */                                                       \
    X(2, 4, 4, 1, 1, 32, 4, 2)  /* 32 x 8 */                                                       \
    X(2, 2, 4, 1, 1, 64, 3, 3)  /* 16 x 8 */                                                       \
    X(2, 1, 4, 1, 1, 64, 4, 3)  /* 8 x 8 */                                                        \
    X(4, 8, 4, 1, 2, 32, 2, 2)  /* 128 x 16 */                                                     \
    X(4, 8, 4, 1, 1, 32, 2, 2)  /* 64 x 16 */                                                      \
    X(4, 4, 4, 1, 1, 32, 3, 2)  /* 32 x 16 */                                                      \
    X(4, 2, 4, 1, 1, 32, 4, 3)  /* 16 x 16 */                                                      \
    X(2, 2, 8, 1, 1, 64, 3, 3)  /* 8 x 16 */                                                       \
    X(6, 8, 4, 1, 2, 16, 4, 1)  /* 128 x 24 */                                                     \
    X(6, 8, 4, 1, 1, 16, 3, 1)  /* 64 x 24 */                                                      \
    X(6, 4, 4, 1, 1, 32, 3, 2)  /* 32 x 24 */                                                      \
    X(6, 2, 4, 1, 1, 32, 3, 3)  /* 16 x 24 */                                                      \
    X(8, 8, 4, 1, 2, 16, 4, 1)  /* 128 x 32 */                                                     \
    X(8, 8, 4, 1, 1, 16, 3, 1)  /* 64 x 32 */                                                      \
    X(8, 4, 4, 1, 1, 32, 2, 2)  /* 32 x 32 */                                                      \
    X(4, 4, 8, 1, 1, 32, 3, 2)  /* 16 x 32 */                                                      \
    X(4, 2, 8, 1, 1, 32, 3, 3)  /* 8 x 32 */                                                       \
    X(12, 8, 4, 1, 2, 16, 3, 1) /* 128 x 48 */                                                     \
    X(12, 8, 4, 1, 1, 16, 3, 1) /* 64 x 48 */                                                      \
    X(12, 4, 4, 1, 1, 32, 2, 1) /* 32 x 48 */                                                      \
    X(6, 4, 8, 1, 1, 32, 2, 2)  /* 16 x 48 */                                                      \
    X(6, 2, 8, 1, 1, 32, 3, 3)  /* 8 x 48 */                                                       \
    X(1, 8, 1, 8, 1, 64, 3, 2)  /* 32 x 1 */                                                       \
    X(1, 4, 1, 8, 1, 64, 4, 2)  /* 16 x 1 */                                                       \
    X(1, 1, 1, 8, 1, 64, 8, 3)  /* 4 x 1 */                                                        \
    X(4, 1, 1, 8, 1, 64, 3, 3)  /* 4 x 4 */

#define DUO_SKINNY_TILE(...) {__VA_ARGS__},
DUO_SKINNY_TABLE duo_skinny_tile duo_skinny_tiles[] = {DUO_SKINNY_TILE_LIST(DUO_SKINNY_TILE)};
#undef DUO_SKINNY_TILE

enum {
    DUO_SKINNY_TILES = sizeof duo_skinny_tiles / sizeof duo_skinny_tiles[0],
    DUO_SKINNY_WARPS = 8,           /* the most of a block */
    DUO_SKINNY_WIDEST = 48,         /* columns, unless C is small: */
    DUO_SKINNY_EDGE = 320,          /* as small as a square of this edge */
    DUO_SKINNY_ROUNDS = 2,          /* most rounds of the blocks of several ranges; */
    DUO_SKINNY_DIRECT_ROUNDS = 4,   /* of tiles of one column */
    DUO_SKINNY_DIRECT_BYTES = 1024, /* of shared memory, of a team that has no ring */
    DUO_SKINNY_WORKSPACE = 16 << 20 /* bytes for slots */
};

/* Of a team's tile. */
DUO_SKINNY_INLINE int duo_skinny_rows(const duo_skinny_tile *t)
{
    return 32 / (t->lanes_n * t->chains) * t->thread_rows * t->warps;
}
DUO_SKINNY_INLINE int duo_skinny_columns(const duo_skinny_tile *t)
{
    return t->thread_columns * t->lanes_n;
}

/* One column of a vector product: lanes read X where it lies (skinny/column.cuh). How many steps of
 * all chains do they read at once? */
DUO_SKINNY_INLINE bool duo_skinny_direct(const duo_skinny_tile *t)
{
    return t->chains > 1 && duo_skinny_columns(t) == 1;
}
DUO_SKINNY_INLINE int duo_skinny_steps_at_once(const duo_skinny_tile *t, bool along_k)
{
    return t->thread_rows > 1 ? 16 / t->thread_rows : along_k ? 8 : 4;
}

/* Columns of Y that its copies count, some of them outside: threads share out a power of two. */
DUO_SKINNY_INLINE int duo_skinny_columns_copied(const duo_skinny_tile *t)
{
    int copied = 1;
    while (copied < duo_skinny_columns(t)) copied *= 2;
    return copied;
}

/* ---- Plans ---- */

typedef struct duo_skinny_size {
    int64_t rows, columns, k;
    bool x_along_k, y_along_k; /* neighbours in memory are neighbours in k */
    bool wide_x;               /* 16-byte copies of X are aligned */
    bool vector;               /* a vector product */
    bool ordered;              /* sums have the documented order */
    bool padding[2];           /* false: sizes are compared byte by byte */
} duo_skinny_size;
static_assert(sizeof(duo_skinny_size) == 3 * sizeof(int64_t) + 8 * sizeof(bool),
              "no byte without a name");

typedef struct duo_skinny_device {
    int multiprocessors;
    int shared_bytes; /* of a multiprocessor */
} duo_skinny_device;

typedef struct duo_skinny_plan {
    int tile;  /* its number */
    int teams; /* of a block: each takes another segment */
    int64_t row_tiles, column_tiles;
    int64_t segment;         /* steps of k */
    int64_t segments, range; /* of k; of a range */
    int64_t ranges;          /* with more than one, `range` is a multiple of the teams */
    int64_t slots;           /* of a tile, with several ranges */
    double clocks;
} duo_skinny_plan;

/* Fitted to runs of 80 products, with the documented order and without, with all plans on H200s:
 * those chosen take 1.05 times as long as the best. */
static const double duo_skinny_read_bytes = 18.8; /* per clock: its share of the memory's rate */
static const double duo_skinny_l2_bytes = 30.1;   /* per clock, from the L2 cache */
static const double duo_skinny_sector = 1.8;      /* floats that a run reads beside its own */
static const double duo_skinny_fma = 2.2;         /* clocks of 4 warps for one: some are lost */
static const double duo_skinny_copy = 2.8;        /* clocks of 4 warps to start copies */
static const double duo_skinny_wait = 6.2;        /* clocks that a lone warp waits in a step, and */
static const double duo_skinny_copy_alone = 27.0; /* to start copies */
static const double duo_skinny_load = 1.2; /* clocks of 4 warps to read without a copy, and */
static const double duo_skinny_load_alone = 1500.0; /* until it is there */
static const double duo_skinny_block = 5760.0;      /* clocks to begin, and to store C */
static const double duo_skinny_both = 0.53;         /* of reading or multiplying, if both as long */
static const double duo_skinny_turn = 480.0;        /* to fill the rings again, and add sums */
static const double duo_skinny_ranges = 1450.0;     /* to take a ticket, and add slots; and */
static const double duo_skinny_added = 1.7;         /* bytes of slots that a warp adds per clock */
static const double duo_skinny_launch = 9200.0;     /* of a second kernel */

/* Floats of a tile's slots that its last block adds. More are added by a second kernel. */
static const int64_t duo_skinny_most_added = 16384;

/* ceil(size / part), for sizes below 2^52: an integer division takes long. */
static inline int64_t duo_skinny_parts(int64_t size, int64_t part)
{
    return (int64_t)duo_whole((double)size / (double)part);
}

/* Bytes of shared memory for a team, and for the tile's sums. */
DUO_SKINNY_INLINE int duo_skinny_team_bytes(const duo_skinny_tile *t, bool along_k)
{
    const int rows = duo_skinny_rows(t), columns = duo_skinny_columns(t);
    const int of_x = along_k ? rows * (t->slab + (t->chains > 1 ? 8 : 4))
                             : t->slab * (rows + (t->chains > 1 ? 4 : 0));
    const int of_y = t->slab * (columns % 4 == 0 ? columns + 4 : columns);
    const int ring = duo_skinny_direct(t) ? DUO_SKINNY_DIRECT_BYTES : 4 * t->slabs * (of_x + of_y);
    const int sums = (4 * columns * (rows + 1) + 15) / 16 * 16;
    return ring > sums ? ring : sums;
}
static inline int duo_skinny_shared_bytes(const duo_skinny_tile *t, int teams, bool along_k)
{
    return teams * duo_skinny_team_bytes(t, along_k) +
           4 * duo_skinny_columns(t) * (duo_skinny_rows(t) + 1);
}

/* Blocks that share a multiprocessor. */
static inline int duo_skinny_resident(const duo_skinny_tile *t, int teams, bool along_k,
                                      const duo_skinny_device *device)
{
    const int by_memory =
        device->shared_bytes / (duo_skinny_shared_bytes(t, teams, along_k) + 1024);
    const int by_registers = t->warps_8 * DUO_SKINNY_WARPS / (t->warps * teams);
    return by_memory < by_registers ? by_memory : by_registers;
}

/* How many times as long memory takes for the runs of neighbours that a warp reads at once without
 * copies (H200). */
static inline double duo_skinny_short_runs(const duo_skinny_tile *t, const duo_skinny_size *size)
{
    if (!duo_skinny_direct(t)) return 1.0;
    if (size->x_along_k) return 1.0 + 5.0 / (duo_skinny_steps_at_once(t, true) * t->chains);
    return 1.0 + 5.0 / duo_skinny_rows(t);
}

static inline double duo_skinny_clocks(const duo_skinny_plan *plan, const duo_skinny_size *size,
                                       int resident, int multiprocessors)
{
    const duo_skinny_tile *const t = &duo_skinny_tiles[plan->tile];
    const int rows_of = duo_skinny_rows(t), columns_of = duo_skinny_columns(t);
    const double rows = (double)(size->rows < rows_of ? size->rows : rows_of);
    const double columns = (double)(size->columns < columns_of ? size->columns : columns_of);
    const int64_t tiles = plan->row_tiles * plan->column_tiles;
    const int64_t at_once = plan->range < plan->teams ? plan->range : plan->teams; /* segments */
    const double turns = (double)duo_skinny_parts(plan->range, plan->teams);
    const double steps = (double)(size->k < plan->segment ? size->k : plan->segment);
    const double range = steps * (double)plan->range;
    const double each = duo_whole((double)(tiles * plan->ranges) / multiprocessors);
    const double rounds = duo_whole(each / (double)resident);
    const double together = each < (double)resident ? each : (double)resident;

    /* A run of neighbours touches one sector more than it fills. */
    const double runs =
        (size->x_along_k ? rows / t->slab : 1.0) + (size->y_along_k ? columns / t->slab : 1.0);
    const double floats = rows + columns + duo_skinny_sector * runs;
    const double from_l2 = each * range * 4.0 * floats / duo_skinny_l2_bytes;
    const double from_memory = 4.0 * (double)size->k * (double)(size->rows + size->columns) *
                               duo_skinny_short_runs(t, size) /
                               (duo_skinny_read_bytes * multiprocessors);
    const double read = from_l2 > from_memory ? from_l2 : from_memory;

    /* Four warps multiply at once; a warp alone waits for its sums. */
    const double warps = together * (double)(at_once * t->warps);
    const double fmas = t->thread_rows * t->thread_columns;
    const double copies = (rows_of / (size->wide_x ? 4.0 : 1.0) + duo_skinny_columns_copied(t)) *
                          t->chains / (32 * t->warps);
    const bool direct = duo_skinny_direct(t);
    const double started = direct ? fmas * duo_skinny_load : copies * duo_skinny_copy;
    const double busy = duo_whole(warps / 4.0) * (fmas * duo_skinny_fma + started);
    const double waited =
        direct ? duo_skinny_load_alone / (2.0 * duo_skinny_steps_at_once(t, size->x_along_k))
               : fmas + duo_skinny_wait + copies * duo_skinny_copy_alone;
    const double multiply = rounds * turns * steps / t->chains * (busy > waited ? busy : waited);
    double add = 0.0;
    if (plan->ranges > 1) {
        const double slots = (double)plan->slots, of_tile = slots * rows_of * columns_of;
        add = of_tile <= (double)duo_skinny_most_added
                  ? duo_skinny_ranges +
                        4.0 * of_tile / (duo_skinny_added * (double)(plan->teams * t->warps))
                  : duo_skinny_launch +
                        8.0 * of_tile * (double)tiles / (duo_skinny_read_bytes * multiprocessors);
    }
    const double longer = read > multiply ? read : multiply, shorter = read + multiply - longer;
    const double alike = longer > 0.0 ? shorter / longer : 0.0; /* nothing takes long without a k */
    const double both = longer + duo_skinny_both * shorter * alike * alike;
    return both + rounds * (duo_skinny_block + (turns - 1.0) * duo_skinny_turn) + add;
}

/* Clocks below which no plan of this tile is: work that is shared perfectly. */
static inline double duo_skinny_least(const duo_skinny_tile *t, const duo_skinny_size *size,
                                      double tiles, int multiprocessors)
{
    const int rows_of = duo_skinny_rows(t), columns_of = duo_skinny_columns(t);
    const double rows = (double)(size->rows < rows_of ? size->rows : rows_of);
    const double columns = (double)(size->columns < columns_of ? size->columns : columns_of);
    const double read = 4.0 / duo_skinny_l2_bytes * (rows + columns);
    const double multiply =
        duo_skinny_fma / 4.0 * t->warps * t->thread_rows * t->thread_columns / t->chains;
    const double steps = tiles * (double)size->k / multiprocessors;
    return duo_skinny_block + steps * (read > multiply ? read : multiply);
}

/* Is C small? */
static inline bool duo_skinny_is_small(int64_t rows, int64_t columns)
{
    return (double)rows * (double)columns <= DUO_SKINNY_EDGE * DUO_SKINNY_EDGE;
}

/* May a tile be the best one? */
static inline bool duo_skinny_fits(const duo_skinny_tile *t, const duo_skinny_size *size)
{
    const int columns = duo_skinny_columns(t);
    if ((t->chains > 1) != size->vector) return false;
    if (size->vector) return (columns > 1) == (size->columns > 1);
    const int64_t wide =
        size->columns <= 32 ? (size->columns + 7) / 8 * 8 : (int64_t)DUO_SKINNY_WIDEST;
    if (size->columns <= DUO_SKINNY_WIDEST && columns == wide) return true;
    return duo_skinny_is_small(size->rows, size->columns) && size->columns > 16 && t->warps == 1 &&
           (columns == 16 || columns == 32) && columns < 2 * size->columns;
}

/* Shares k out to ranges, at most `wanted`. */
static inline void duo_skinny_share(duo_skinny_plan *plan, const duo_skinny_size *size,
                                    int most_teams, int64_t wanted)
{
    const duo_skinny_tile *const t = &duo_skinny_tiles[plan->tile];
    plan->segment = DUO_SEGMENT;
    if (!size->ordered) {
        const int64_t most = 1 << 30, each = duo_skinny_parts(size->k, wanted * most_teams);
        plan->segment = duo_skinny_parts(each > most ? most
                                         : each > 1  ? each
                                                     : 1,
                                         t->slab) *
                        t->slab;
    }
    plan->segments = duo_skinny_parts(size->k, plan->segment);
    const int64_t most = plan->segments > 1 ? plan->segments : 1;
    plan->teams = most < most_teams ? (int)most : most_teams;
    plan->range = plan->segments;
    plan->ranges = plan->slots = 1;
    if (wanted == 1 || plan->segments <= 1) return;
    const int64_t turns = duo_skinny_parts(plan->segments, plan->teams);
    plan->range = duo_skinny_parts(turns, wanted) * plan->teams;
    plan->ranges = duo_skinny_parts(plan->segments, plan->range);
    plan->slots = size->ordered ? 1 + plan->segments - plan->range : plan->ranges;
    if (plan->ranges == 1) plan->range = plan->segments;
}

/* The plan that is expected to end first. Its slots fit into `room` floats. Plans are left out that
 * cannot be better than the best one so far. */
static inline duo_skinny_plan duo_skinny_plan_of(const duo_skinny_size *size,
                                                 const duo_skinny_device *device, int64_t room)
{
    duo_skinny_plan best = {0, 1, 1, 1, 1, 1, 1, 1, 1, (double)INFINITY};
    for (int i = 0; i < DUO_SKINNY_TILES; i++) {
        const duo_skinny_tile *const t = &duo_skinny_tiles[i];
        if (!duo_skinny_fits(t, size)) continue;
        duo_skinny_plan plan = best;
        plan.tile = i;
        plan.row_tiles = duo_skinny_parts(size->rows, duo_skinny_rows(t));
        plan.column_tiles = duo_skinny_parts(size->columns, duo_skinny_columns(t));
        const int64_t tiles = plan.row_tiles * plan.column_tiles;
        const double least = duo_skinny_least(t, size, (double)tiles, device->multiprocessors);
        int most = DUO_SKINNY_WARPS / t->warps; /* teams */
        while (most > 1 && size->ordered && most >= 2 * duo_skinny_parts(size->k, DUO_SEGMENT))
            most /= 2;
        const int rounds = duo_skinny_direct(t) ? DUO_SKINNY_DIRECT_ROUNDS : DUO_SKINNY_ROUNDS;
        for (int tried = 0; tried < 2 && most > 0 && least < best.clocks; most /= 2) {
            const int resident = duo_skinny_resident(t, most, size->x_along_k, device);
            if (resident == 0) continue;
            const double fill = (double)(resident * device->multiprocessors) / (double)tiles;
            int64_t before = 0;
            for (int round = 0; round <= rounds; round++) {
                /* One range, or as many as fill the device once, twice, and so on. */
                const int64_t wanted = round == 0 ? 1 : (int64_t)(fill * round);
                if (round > 0 && best.clocks <= least + duo_skinny_ranges) break;
                if (wanted <= before) continue;
                before = wanted;
                duo_skinny_share(&plan, size, most, wanted);
                if (plan.ranges > 1 &&
                    plan.slots * tiles * duo_skinny_rows(t) * duo_skinny_columns(t) > room)
                    continue;
                plan.clocks = duo_skinny_clocks(
                    &plan, size,
                    plan.teams == most
                        ? resident
                        : duo_skinny_resident(t, plan.teams, size->x_along_k, device),
                    device->multiprocessors);
                if (plan.clocks < best.clocks) best = plan;
                if (wanted > plan.ranges) break;
            }
            tried++;
        }
    }
    return best;
}

#endif
