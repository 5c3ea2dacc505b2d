/*
 * sgemm_gpu_thin_costs.c - calls that the algorithms for a small m, n or k accept; their costs.
 *
 * A thin product moves much for little multiplying: its cost begins with its bytes, and not with
 * the cube of equal work as in sgemm_gpu_costs.c.
 */
#include "choice/sgemm_gpu_costs.h"
#include "gpu/skinny/clocks.h"

/* C's smaller side, and its larger one. */
static int64_t thin_side(const duo_call *call) { return call->m < call->n ? call->m : call->n; }
static int64_t long_side(const duo_call *call) { return call->m < call->n ? call->n : call->m; }

/* Seconds to move A and B, with k steps, and C, which is read if beta is not 0. */
static double moving_seconds(const duo_call *call, const duo_conditions *conditions, double k)
{
    const double m = (double)call->m, n = (double)call->n, of_c = call->beta != 0.0f ? 8.0 : 4.0;
    return duo_device_moving_seconds(conditions, 4.0 * (m * k + k * n) + of_c * m * n);
}

static const int64_t kWidest = 48; /* columns of the widest tile of sgemm_gpu_skinny */

/* Is the product thin? Or are C and the work both so small that larger tiles would take longer to
 * begin and end than to multiply? */
static bool is_skinny(const duo_call *call, const duo_conditions *conditions)
{
    const double edge = 320.0; /* of the largest such cube (H200) */
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

/* A line of gpu/skinny/clocks.h. */
typedef struct skinny_tile {
    int rows, columns, slab, resident, under_way, sums;
} skinny_tile;
#define SKINNY_TILE(...) {__VA_ARGS__},
static const skinny_tile kSkinnyTiles[] = {DUO_SKINNY_TILE_LIST(SKINNY_TILE)};
#undef SKINNY_TILE
enum { SKINNY_TILES = sizeof kSkinnyTiles / sizeof kSkinnyTiles[0] };

/* The least width of a tile that holds C's columns, or the widest. */
static int skinny_width(int64_t columns)
{
    return columns == 1 ? 1 : columns <= 32 ? (int)(columns + 7) / 8 * 8 : (int)kWidest;
}

/* Clocks with k in at most `ranges`. */
static double skinny_tile_clocks(const skinny_tile *t, const duo_skinny_size *size, double step,
                                 double tiles, double ranges, double multiprocessors)
{
    const double slabs = duo_whole((double)size->k / t->slab);
    const double per_range = duo_whole(slabs / (ranges < slabs ? ranges : slabs));
    return duo_skinny_clocks(step, tiles, duo_whole(slabs / per_range), per_range * t->slab,
                             t->resident, t->under_way, t->sums, size, (int)multiprocessors);
}

/* The least clocks beyond the launch: of the tiles of that width, and for a small C also narrower
 * ones. k is whole, or in as many ranges as fill each multiprocessor with blocks; a second kernel,
 * with a launch of its own, adds these. */
static double skinny_clocks(const duo_skinny_size *size, double multiprocessors)
{
    const int width = skinny_width(size->columns);
    const bool small = width > 1 && size->rows * size->columns <= 1 << 16;
    const double in_launch = duo_skinny_block + 32.0 * duo_skinny_sum; /* of the smallest product */
    double least = (double)INFINITY;
    for (int i = 0; i < SKINNY_TILES; i++) {
        const skinny_tile *const t = &kSkinnyTiles[i];
        if (t->columns != width && !(small && t->columns < width && t->rows <= 32)) continue;
        const double step = duo_skinny_step(t->rows, t->columns, t->slab, size);
        const double tiles =
            duo_whole((double)size->rows / t->rows) * duo_whole((double)size->columns / t->columns);
        const double ranges = (double)(int64_t)(t->resident * multiprocessors / tiles);
        const double whole =
            skinny_tile_clocks(t, size, step, tiles, 1.0, multiprocessors) - in_launch;
        if (whole < least) least = whole;
        if (ranges < 2.0 || size->k <= 2 * t->slab) continue;
        const double shared = skinny_tile_clocks(t, size, step, tiles, ranges, multiprocessors);
        if (shared < least) least = shared;
    }
    return least;
}

/* The length of a clock, from the FMAs of sgemm_gpu_tiled at its largest size: 91 to 96 per clock
 * of a multiprocessor (H100, at 1755 MHz). It is limited to real clocks of GPUs, since a curve that
 * ends with small cubes is far off. */
static double clock_seconds(const duo_conditions *conditions)
{
    const double fmas = 93.0, usual = 1.0 / 1755e6, fastest = 1.0 / 3e9, slowest = 1.0 / 1e9;
    const duo_curve *const tiled = &conditions->profile->curve[DUO_sgemm_gpu_tiled];
    if (tiled->count == 0) return usual;
    const double seconds = fmas * duo_multiprocessors(conditions) / largest_rate(tiled);
    return seconds < fastest ? fastest : seconds > slowest ? slowest : seconds;
}

/* Seconds of a thin C without the launch. X and Y are read at 0.8 of ssum's highest rate (ten large
 * products on H100s). */
static double thin_seconds(const duo_call *call, const duo_conditions *conditions)
{
    const double slower = 1.25;
    const bool swapped = call->m < call->n;
    const duo_skinny_size size = {.rows = long_side(call) > 1 ? long_side(call) : 1,
                                  .columns = thin_side(call) > 1 ? thin_side(call) : 1,
                                  .k = call->k > 1 ? call->k : 1,
                                  .x_along_k = swapped ? !call->transb : call->transa,
                                  .y_along_k = swapped ? call->transa : !call->transb};
    return fmax(skinny_clocks(&size, duo_multiprocessors(conditions)) * clock_seconds(conditions),
                slower * moving_seconds(call, conditions, (double)size.k));
}

/* If C is small but not thin, the product is nearly a cube: by the algorithm's own curve. */
double duo_sgemm_gpu_skinny_cost(const duo_call *call, const duo_conditions *conditions,
                                 int *threads)
{
    const duo_curve *const own = &conditions->profile->curve[DUO_sgemm_gpu_skinny];
    const double work = (double)long_side(call) * duo_whole_tiles(thin_side(call), 8.0) *
                        (double)(call->k > 1 ? call->k : 1);
    *threads = 0;
    if (thin_side(call) > kWidest && own->count > 0) return duo_curve_seconds(own, work, 3);
    return (own->count > 0 ? duo_launch_seconds(own) : duo_device_memory_seconds(conditions, 0.0)) +
           thin_seconds(call, conditions);
}

static const int64_t kMostRank = 64; /* k of sgemm_gpu_rank_k: two of its longest slabs */

static bool is_rank_k(const duo_call *call, const duo_conditions *conditions)
{
    return duo_sgemm_fits_device(call, conditions) && duo_one_chain_serves(call, conditions) &&
           call->k <= kMostRank;
}

/* The cube of this k takes as long as one tile: the launch, and each slab of A and B. Beyond it
 * moving C takes the time; with k of 32 and more multiplying does, too, at sgemm_gpu_tiled's rate
 * at its largest size. k is multiplied in steps of 8. */
double duo_sgemm_gpu_rank_k_cost(const duo_call *call, const duo_conditions *conditions,
                                 int *threads)
{
    const double k = (double)call->k, steps = k <= 4 ? 4 : 8;
    const duo_curve *const own = &conditions->profile->curve[DUO_sgemm_gpu_rank_k];
    const duo_curve *const tiled = &conditions->profile->curve[DUO_sgemm_gpu_tiled];
    const double moved = moving_seconds(call, conditions, k);
    const double work = duo_whole_tiles(call->m, 128) * duo_whole_tiles(call->n, 64) *
                        duo_whole_tiles(call->k, steps);
    const double multiplied = tiled->count > 0 ? work / largest_rate(tiled) : 0.0;
    *threads = 0;
    return (own->count > 0 ? duo_curve_seconds(own, k * k * k, 3)
                           : duo_device_memory_seconds(conditions, 0.0)) +
           hypot(moved, multiplied);
}

/* Limits of C for sgemm_gpu_gemv: the most of its thin side, the least of the other one (rows of a
 * warp). */
static const int64_t kMostThin = 8, kLeastLong = 32;

static bool is_gemv(const duo_call *call, const duo_conditions *conditions)
{
    return duo_sgemm_fits_device(call, conditions) && thin_side(call) <= kMostThin &&
           long_side(call) >= kLeastLong && !duo_streams(call); /* panels may have fewer rows */
}

/*
 * A little longer than reading; with more than three columns a quarter longer. If neighbours of the
 * longer operand are neighbours in k, a warp takes the same time for any number of steps up to 128.
 * If rows are few, several blocks share a long k, and one of them adds their sums (32 products on
 * H100s).
 */
double duo_sgemm_gpu_gemv_cost(const duo_call *call, const duo_conditions *conditions, int *threads)
{
    const bool along_k = call->m < call->n ? !call->transb : call->transa;
    const double k = along_k ? duo_whole_tiles(call->k, 128.0) : (double)call->k;
    const double slower = thin_side(call) > 3 ? 1.25 : 1.08, add_seconds = 0.8e-6;
    const double rows = 64.0; /* of a block */
    const bool shared =
        call->k > 1024 && (double)long_side(call) < rows * duo_multiprocessors(conditions);
    *threads = 0;
    return duo_device_memory_seconds(conditions, 0.0) +
           slower * moving_seconds(call, conditions, k) + (shared ? add_seconds : 0.0);
}

bool duo_sgemm_gpu_skinny_accepts(const duo_call *call, const duo_conditions *conditions)
{
    return is_skinny(call, conditions);
}

bool duo_sgemm_gpu_rank_k_accepts(const duo_call *call, const duo_conditions *conditions)
{
    return is_rank_k(call, conditions);
}

bool duo_sgemm_gpu_gemv_accepts(const duo_call *call, const duo_conditions *conditions)
{
    return is_gemv(call, conditions);
}
