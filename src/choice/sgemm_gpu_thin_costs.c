/*
 * sgemm_gpu_thin_costs.c - what the algorithms for a small m, n or k accept, and what they cost.
 *
 * Such a product moves much for what it multiplies: the costs begin with its bytes, not, as those
 * in sgemm_gpu_costs.c do, with the cube of equal work.
 */
#include "choice/sgemm_gpu_costs.h"
#include "gpu/skinny/clocks.h"

/* C's smaller side, and its larger one. */
static int64_t thin_side(const duo_call *call) { return call->m < call->n ? call->m : call->n; }
static int64_t long_side(const duo_call *call) { return call->m < call->n ? call->n : call->m; }

/* Seconds to move A and B, with so much of k, and C, which is read where beta is not 0. */
static double moving_seconds(const duo_call *call, const duo_conditions *conditions, double k)
{
    const double m = (double)call->m, n = (double)call->n, of_c = call->beta != 0.0f ? 8.0 : 4.0;
    return duo_device_memory_seconds(conditions, 4.0 * (m * k + k * n) + of_c * m * n);
}

static const int64_t kWidest = 48; /* columns of the widest tile of sgemm_gpu_skinny */

/* Is the product thin? Or are both C and the work so small that larger tiles take longer to begin
 * and to end than to multiply? */
static bool is_skinny(const duo_call *call, const duo_conditions *conditions)
{
    const double edge = 320.0; /* of the largest such cube on an H200 */
    const double c = (double)call->m * (double)call->n;
    const bool small = c <= edge * edge && c * (double)call->k <= edge * edge * edge;
    return duo_sgemm_fits_device(call, conditions) && (thin_side(call) <= kWidest || small);
}

/* Multiplications per second of the largest cube. */
static double largest_rate(const duo_curve *curve)
{
    const double edge = curve->size[curve->count - 1];
    return edge * edge * edge / curve->seconds[curve->count - 1];
}

/* The tiles that sgemm_gpu_skinny takes most, by their width. */
typedef struct skinny_tile {
    int rows, columns, slab, resident;
} skinny_tile;
static const skinny_tile kSkinnyTiles[] = {
    {128, 1, 32, 4},  {8, 1, 256, 4},  {1, 1, 1024, 4}, /* width 1 */
    {128, 8, 16, 3},  {64, 8, 64, 3},  {32, 8, 128, 3}, {16, 8, 64, 2}, {4, 8, 256, 3}, /* 8 */
    {128, 16, 32, 3}, {64, 16, 64, 3}, {32, 16, 64, 2},                                 /* 16 */
    {128, 24, 32, 2}, {64, 24, 64, 2},                                                  /* 24 */
    {128, 32, 32, 2}, {32, 32, 64, 3},                                                  /* 32 */
    {128, 48, 32, 1}, {64, 48, 64, 1},                                                  /* 48 */
};
enum { SKINNY_TILES = sizeof kSkinnyTiles / sizeof kSkinnyTiles[0] };

/* The least width that holds C; of a C that is not thin tiles of 32 lie side by side. */
static int skinny_width(int64_t columns)
{
    if (columns > kWidest) return 32;
    return columns == 1 ? 1 : columns <= 32 ? (int)(columns + 7) / 8 * 8 : (int)kWidest;
}

/* Clocks with k in so many ranges at most. */
static double skinny_tile_clocks(const skinny_tile *t, const duo_skinny_size *size, double step,
                                 double tiles, double ranges, double multiprocessors)
{
    const int threads = 256, alone = 2; /* slabs under way of a block that is alone */
    const double slabs = duo_whole((double)size->k / t->slab);
    const double per_range = duo_whole(slabs / (ranges < slabs ? ranges : slabs));
    return duo_skinny_clocks(step, tiles, duo_whole(slabs / per_range), per_range * t->slab,
                             t->resident, t->resident == 1 ? alone : 1,
                             t->rows * t->columns / threads, size, (int)multiprocessors);
}

/* Of the tiles of that width, and of a small C smaller ones; with whole k or as many ranges as give
 * each multiprocessor the blocks that it has room for. */
static double skinny_clocks(const duo_skinny_size *size, double multiprocessors)
{
    const int width = skinny_width(size->columns);
    const bool small = width > 1 && size->rows * size->columns <= 1 << 16;
    double least = (double)INFINITY;
    for (int i = 0; i < SKINNY_TILES; i++) {
        const skinny_tile *const t = &kSkinnyTiles[i];
        if (t->columns != width && !(small && t->columns < width && t->rows <= 32)) continue;
        const double step = duo_skinny_step(t->rows, t->columns, t->slab, size);
        const double tiles =
            duo_whole((double)size->rows / t->rows) * duo_whole((double)size->columns / t->columns);
        const double ranges = (double)(int64_t)(t->resident * multiprocessors / tiles);
        const double whole = skinny_tile_clocks(t, size, step, tiles, 1.0, multiprocessors);
        if (whole < least) least = whole;
        if (ranges < 2.0 || size->k <= 2 * t->slab) continue;
        const double shared = skinny_tile_clocks(t, size, step, tiles, ranges, multiprocessors);
        if (shared < least) least = shared;
    }
    return least;
}

/* A clock is as long as the FMAs of sgemm_gpu_tiled at its largest size make it: 91 to 96 of a
 * multiprocessor (H100, at 1755 MHz). */
static double clock_seconds(const duo_conditions *conditions)
{
    const double fmas = 93.0, usual = 1.0 / 1755e6;
    const duo_curve *const tiled = &conditions->profile->curve[DUO_sgemm_gpu_tiled];
    if (tiled->count == 0) return usual;
    return fmas * duo_multiprocessors(conditions) / largest_rate(tiled);
}

double duo_sgemm_gpu_skinny_cost(const duo_call *call, const duo_conditions *conditions,
                                 int *threads)
{
    const bool swapped = call->m < call->n;
    const duo_skinny_size size = {.rows = long_side(call),
                                  .columns = thin_side(call),
                                  .k = call->k > 1 ? call->k : 1,
                                  .x_along_k = swapped ? !call->transb : call->transa,
                                  .y_along_k = swapped ? call->transa : !call->transb};
    *threads = 0;
    return duo_device_memory_seconds(conditions, 0.0) +
           skinny_clocks(&size, duo_multiprocessors(conditions)) * clock_seconds(conditions);
}

static const int64_t kMostRank = 64; /* k of sgemm_gpu_rank_k: two of its longest slabs */

static bool is_rank_k(const duo_call *call, const duo_conditions *conditions)
{
    return duo_sgemm_fits_device(call, conditions) && call->k <= kMostRank;
}

/* The cube of this k takes as long as one tile does: the launch, and each slab of A and B. Beyond
 * it C takes the time; with k of 32 and more multiplying does, too, at the rate that
 * sgemm_gpu_tiled has at its largest size. 8 k are multiplied, or not, together. */
double duo_sgemm_gpu_rank_k_cost(const duo_call *call, const duo_conditions *conditions,
                                 int *threads)
{
    const double k = (double)call->k, steps = k <= 4 ? 4 : 8;
    const duo_curve *const own = &conditions->profile->curve[DUO_sgemm_gpu_rank_k];
    const duo_curve *const tiled = &conditions->profile->curve[DUO_sgemm_gpu_tiled];
    const double none = duo_device_memory_seconds(conditions, 0.0);
    const double moved = moving_seconds(call, conditions, k) - none;
    const double work = duo_whole_tiles(call->m, 128) * duo_whole_tiles(call->n, 64) *
                        duo_whole_tiles(call->k, steps);
    const double multiplied = tiled->count > 0 ? work / largest_rate(tiled) : 0.0;
    *threads = 0;
    return (own->count > 0 ? duo_curve_seconds(own, k * k * k, 3) : none) +
           hypot(moved, multiplied);
}

/* The thin side of C for sgemm_gpu_gemv, and the least of the other one: rows of a warp. */
static const int64_t kMostThin = 8, kLeastLong = 32;

static bool is_gemv(const duo_call *call, const duo_conditions *conditions)
{
    return duo_sgemm_fits_device(call, conditions) && thin_side(call) <= kMostThin &&
           long_side(call) >= kLeastLong && !duo_streams(call); /* panels may have fewer rows */
}

/*
 * As long as reading takes, and a little longer; with more than three columns a quarter (H100).
 * Where neighbours of the longer operand are neighbours in k, a warp takes 128 steps as long as
 * fewer. Where few rows leave k to several blocks, one of them adds their sums.
 */
double duo_sgemm_gpu_gemv_cost(const duo_call *call, const duo_conditions *conditions, int *threads)
{
    const bool along_k = call->m < call->n ? !call->transb : call->transa;
    const double k = along_k ? duo_whole_tiles(call->k, 128.0) : (double)call->k;
    const double slower = thin_side(call) > 3 ? 1.25 : 1.08, add_seconds = 0.8e-6;
    const int64_t longest = 1024; /* k that a block still takes alone */
    *threads = 0;
    return slower * moving_seconds(call, conditions, k) + (call->k > longest ? add_seconds : 0.0) -
           (slower - 1.0) * duo_device_memory_seconds(conditions, 0.0);
}

DUO_ACCEPTS(sgemm_gpu_skinny, is_skinny)
DUO_ACCEPTS(sgemm_gpu_rank_k, is_rank_k)
DUO_ACCEPTS(sgemm_gpu_gemv, is_gemv)
