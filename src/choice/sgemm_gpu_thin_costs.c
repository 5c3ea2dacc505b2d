/*
 * sgemm_gpu_thin_costs.c - calls that the algorithms for a small m, n or k accept; their costs.
 *
 * A thin product moves much for little multiplying: its cost begins with its bytes, and not with
 * the cube of equal work as in sgemm_gpu_costs.c.
 */
#include "choice/sgemm_gpu_costs.h"
#include "gpu/skinny/plan.h"

/* C's smaller side, and its larger one. */
static int64_t thin_side(const duo_call *call) { return call->m < call->n ? call->m : call->n; }
static int64_t long_side(const duo_call *call) { return call->m < call->n ? call->n : call->m; }

/* Seconds to move A and B, with k steps, and C, which is read if beta is not 0. */
static double moving_seconds(const duo_call *call, const duo_conditions *conditions, double k)
{
    const double m = (double)call->m, n = (double)call->n, of_c = call->beta != 0.0f ? 8.0 : 4.0;
    return duo_device_moving_seconds(conditions, 4.0 * (m * k + k * n) + of_c * m * n);
}

/* Is the product thin? Or are C and the work both so small that larger tiles would take longer to
 * begin and end than to multiply? */
static bool is_skinny(const duo_call *call, const duo_conditions *conditions)
{
    const double edge = DUO_SKINNY_EDGE; /* of the largest such cube (H200) */
    const double work = (double)call->m * (double)call->n * (double)call->k;
    const bool small = duo_skinny_is_small(call->m, call->n) && work <= edge * edge * edge;
    return duo_sgemm_fits_device(call, conditions) &&
           (thin_side(call) <= DUO_SKINNY_WIDEST || small);
}

/* Multiplications per second of the largest cube. */
static double largest_rate(const duo_curve *curve)
{
    const double edge = curve->size[curve->count - 1];
    return edge * edge * edge / curve->seconds[curve->count - 1];
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

/* ordered: sums have the documented order. */
static duo_skinny_size skinny_size(const duo_call *call, bool ordered)
{
    const bool swapped = call->m < call->n;
    return (duo_skinny_size){.rows = long_side(call) > 1 ? long_side(call) : 1,
                             .columns = thin_side(call) > 1 ? thin_side(call) : 1,
                             .k = call->k > 1 ? call->k : 1,
                             .x_along_k = swapped ? !call->transb : call->transa,
                             .y_along_k = swapped ? call->transa : !call->transb,
                             .wide_x = call->operand[swapped ? DUO_B : DUO_A].ld % 4 == 0,
                             .vector = duo_call_is_vector(call),
                             .ordered = ordered};
}

/* The clocks that the plan takes longer than the smallest product. */
static double skinny_clocks(const duo_skinny_size *size, const duo_conditions *conditions)
{
    const duo_skinny_device device = {.multiprocessors = (int)duo_multiprocessors(conditions),
                                      .shared_bytes = 228 << 10};
    const duo_skinny_plan plan =
        duo_skinny_plan_of(size, &device, DUO_SKINNY_WORKSPACE / (int64_t)sizeof(float));
    const double in_launch = 0.75 * duo_skinny_block; /* of the smallest product */
    return plan.clocks > in_launch ? plan.clocks - in_launch : 0.0;
}

/* Seconds of a thin C without the launch. X and Y are read at 0.8 of ssum's highest rate (ten large
 * products on H100s). Many rows with a short k take longer than planned if their copies are of 4
 * bytes (nine products on H200s: 1.1 to 1.7 times). */
static double thin_seconds(const duo_call *call, const duo_conditions *conditions)
{
    const double slower = 1.25;
    const duo_skinny_size size = skinny_size(call, conditions->math == DUO_MATH_IEEE);
    const bool short_k = size.rows >= 2000 && size.columns > 1 && size.k <= 1000;
    const double starting = short_k && !size.wide_x ? 1.4 : 1.0;
    return fmax(starting * skinny_clocks(&size, conditions) * clock_seconds(conditions),
                slower * moving_seconds(call, conditions, (double)size.k));
}

/* If C is small but not thin, the product is nearly a cube: by the algorithm's own curve. What its
 * plan takes longer than the cube's is added: for copies of 4 bytes, or the documented order. */
double duo_sgemm_gpu_skinny_cost(const duo_call *call, const duo_conditions *conditions,
                                 int *threads)
{
    const duo_curve *const own = &conditions->profile->curve[DUO_sgemm_gpu_skinny];
    const double work = (double)long_side(call) * duo_whole_tiles(thin_side(call), 8.0) *
                        (double)(call->k > 1 ? call->k : 1);
    *threads = 0;
    if (thin_side(call) > DUO_SKINNY_WIDEST && own->count > 0) {
        const int64_t edge = 4 * (int64_t)(cbrt(work) / 4.0 + 1.0);
        const duo_call cube = duo_call_sgemm(false, false, edge, edge, edge, 1.0f, 0.0f);
        const duo_skinny_size size = skinny_size(call, conditions->math == DUO_MATH_IEEE);
        const duo_skinny_size of_cube = skinny_size(&cube, false);
        const double longer =
            skinny_clocks(&size, conditions) - skinny_clocks(&of_cube, conditions);
        return duo_curve_seconds(own, work, 3) + fmax(longer, 0.0) * clock_seconds(conditions);
    }
    return (own->count > 0 ? duo_launch_seconds(own) : duo_device_memory_seconds(conditions, 0.0)) +
           thin_seconds(call, conditions);
}

static const int64_t kMostRank = 64; /* k of sgemm_gpu_rank_k: two of its longest slabs */

static bool is_rank_k(const duo_call *call, const duo_conditions *conditions)
{
    return duo_sgemm_fits_device(call, conditions) && duo_one_chain_will_do(call, conditions) &&
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

bool duo_sgemm_gpu_skinny_accepts(const duo_call *call, const duo_conditions *conditions)
{
    return is_skinny(call, conditions);
}

bool duo_sgemm_gpu_rank_k_accepts(const duo_call *call, const duo_conditions *conditions)
{
    return is_rank_k(call, conditions);
}
