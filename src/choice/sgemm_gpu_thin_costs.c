/*
 * sgemm_gpu_thin_costs.c - what the algorithms for a small m, n or k accept, and what they cost.
 *
 * Such a product moves much for what it multiplies: the costs begin with its bytes, not, as those
 * in sgemm_gpu_costs.c do, with the cube of equal work.
 */
#include "choice/sgemm_gpu_costs.h"

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

/* Multiplications of a product that takes one of the widest tiles, 128 or 64 x kWidest with slabs
 * of 32 k and more. Each takes as long as 160 more steps of k to begin and to end (H200). */
static double wide_work(int64_t rows, double k)
{
    const double ends = 160.0; /* steps of k */
    return duo_whole_tiles(rows, rows <= 64 ? 64.0 : 128.0) * (double)kWidest * (k + ends);
}

/*
 * Seconds to multiply. A tile is a multiple of 8 wide up to 32; above 32 it is the widest. The
 * algorithm's own curve ends where larger cubes are not accepted. Work beyond that end, or all work
 * without a curve, is done at the rate that sgemm_gpu_tiled has at its largest size.
 */
static double skinny_multiply(const duo_call *call, const duo_conditions *conditions)
{
    const duo_profile *const p = conditions->profile;
    const int64_t thin = thin_side(call), rows = long_side(call);
    const double work =
        thin > 32 && thin <= kWidest
            ? wide_work(rows, duo_whole_tiles(call->k, 32))
            : duo_whole_tiles(rows, 1) * duo_whole_tiles(thin, 8) * duo_whole_tiles(call->k, 1);
    const duo_curve *const own = &p->curve[DUO_sgemm_gpu_skinny];
    const duo_curve *const tiled = &p->curve[DUO_sgemm_gpu_tiled];
    if (tiled->count == 0) return duo_curve_seconds(own, work, 3);
    const double rate = largest_rate(tiled);
    if (own->count == 0) return work / rate;
    const double last = own->size[own->count - 1], own_work = fmin(work, last * last * last);
    return duo_curve_seconds(own, own_work, 3) + (work - own_work) / rate;
}

/* Do blocks share a long k, since tiles of 128 rows are fewer than multiprocessors? */
static bool shares_k(const duo_call *call, const duo_conditions *conditions)
{
    const int64_t longest = 1024; /* k that a block still takes alone */
    return call->k > longest && (double)long_side(call) / 128.0 < duo_multiprocessors(conditions);
}

/* Multiplying and reading the operands overlap, but not fully: hence hypot. A second kernel adds
 * what blocks that share k have. */
double duo_sgemm_gpu_skinny_cost(const duo_call *call, const duo_conditions *conditions,
                                 int *threads)
{
    /* It is in both, and counts once. */
    const double launch = duo_device_memory_seconds(conditions, 0.0);
    const double moved = moving_seconds(call, conditions, (double)call->k) - launch;
    *threads = 0;
    return hypot(moved, skinny_multiply(call, conditions)) +
           (shares_k(call, conditions) ? launch : 0.0);
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

/* As long as reading takes. Where neighbours of the longer operand are neighbours in k, a warp
 * takes 128 steps as long as fewer, and more than three columns take longer: 8 to 21 % than
 * sgemm_gpu_skinny (H200). */
double duo_sgemm_gpu_gemv_cost(const duo_call *call, const duo_conditions *conditions, int *threads)
{
    const bool along_k = call->m < call->n ? !call->transb : call->transa;
    const double k = along_k ? duo_whole_tiles(call->k, 128.0) : (double)call->k;
    const double slower = along_k && thin_side(call) > 3 ? 1.15 : 1.0;
    *threads = 0;
    return slower * moving_seconds(call, conditions, k);
}

DUO_ACCEPTS(sgemm_gpu_skinny, is_skinny)
DUO_ACCEPTS(sgemm_gpu_rank_k, is_rank_k)
DUO_ACCEPTS(sgemm_gpu_gemv, is_gemv)
