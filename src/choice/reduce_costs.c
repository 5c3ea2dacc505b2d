/*
 * reduce_costs.c - calls that the algorithms of sasum, ssum and sdot accept, and their costs here.
 *
 * CPU: the curves of one thread and of all threads. If the latter were not measured, all threads
 * share one thread's work for the price of a job of the team. GPU: the measured curve; a strided
 * element moves its part of 64 bytes of memory, or all of them. A float64 algorithm's curve is
 * short: beyond its end the float32 algorithm's is used.
 */
#include <math.h>

#include "choice/costs.h"

/* Does the algorithm read with the increment? A vector that is copied first (to the GPU, unless it
 * is kept; or from device memory) arrives contiguous. */
static bool has_gaps(const duo_operand *o, duo_side side)
{
    const bool arrives =
        side == DUO_SIDE_GPU ? duo_operand_lies_in_host(o) : o->residence == DUO_AT_DEVICE;
    return o->read && o->ld != 1 && !arrives;
}

/* Elements that memory moves for one element of a vector: the mean of the call's vectors. */
static double stride_factor(const duo_call *call, duo_side side)
{
    const double line = 16.0; /* elements in 64 bytes, which memory moves at once on both sides */
    double sum = 0.0, vectors = 0.0;
    for (int i = DUO_X; i <= DUO_Y; i++) {
        const duo_operand *const o = &call->operand[i];
        if (!o->read) continue;
        sum += has_gaps(o, side) ? duo_stride_factor(o, line) : 1.0;
        vectors += 1.0;
    }
    return sum / vectors;
}

/* The part of the vectors' elements that the CPU has to fetch. */
static double fetched_part(const duo_call *call)
{
    double fetched = 0.0, vectors = 0.0;
    for (int i = DUO_X; i <= DUO_Y; i++) {
        vectors += call->operand[i].read;
        fetched += call->operand[i].read && !call->operand[i].on_host;
    }
    return fetched / vectors;
}

static bool always(const duo_call *call, const duo_conditions *conditions)
{
    (void)call;
    (void)conditions;
    return true;
}

/* ---- Curves ---- */

/*
 * Extra time of a float64 algorithm of the CPU for each element, relative to the float32
 * algorithm's time in the first cache: 1.5 to 2.7 on one thread of a Zen 4, 2 to 4 on an H200's
 * host. It is the same beyond the caches, but little there. On the GPU both wait for memory.
 */
static const double kFloat64Adds = 2.5;

/* A size, in elements, that fits into the first cache. */
static const double kCached = 4096.0;

/* Facts about an algorithm's time for contiguous elements. */
typedef struct known {
    const duo_curve *own, *float32; /* the same for a float32 algorithm */
    double added;                   /* seconds for each element, over the float32 algorithm's */
} known;

static double like_float32(const known *k, double n)
{
    return duo_curve_seconds(k->float32, n, 1) + k->added * n;
}

/* By the algorithm's own curve. Beyond its ends it goes on like the float32 algorithm's curve,
 * which is longer. */
static double seconds_at(const known *k, double n)
{
    const duo_curve *const own = k->own;
    const int last = own->count - 1;
    if (own == k->float32 || k->float32->count == 0) return duo_curve_seconds(own, n, 1);
    if (last < 0) return like_float32(k, n);
    if (n < own->size[0])
        return own->seconds[0] * like_float32(k, n) / like_float32(k, own->size[0]);
    if (n > own->size[last])
        return own->seconds[last] + like_float32(k, n) - like_float32(k, own->size[last]);
    return duo_curve_seconds(own, n, 1);
}

/* ---- CPU ---- */

/* How much faster all threads are than one, if that was not measured: their number, but at most the
 * ratio of all threads' memory bandwidth to one thread's (from the serial curve's last point). */
static double speed_up(const duo_call *call, const duo_conditions *conditions,
                       const duo_curve *serial)
{
    if (serial->count == 0) return 1.0;
    const int last = serial->count - 1;
    const double vectors = call->operation == DUO_SDOT ? 2.0 : 1.0;
    const double one = 4.0 * vectors * serial->size[last] / serial->seconds[last];
    return fmax(1.0, fmin((double)conditions->threads, conditions->profile->cpu_bandwidth / one));
}

/*
 * Seconds for n of the call's elements. If they are not contiguous, they take longer. The extra
 * time is the larger of two: `gathered` seconds for each, to gather them one by one; and the time
 * to move the rest of their cache lines.
 */
static double elements_seconds(const duo_call *call, const known *k, double n, double gathered)
{
    const double row = seconds_at(k, n);
    if (!has_gaps(&call->operand[DUO_X], DUO_SIDE_CPU) &&
        !has_gaps(&call->operand[DUO_Y], DUO_SIDE_CPU))
        return row;
    const duo_curve *const moves = k->float32->count > 0 ? k->float32 : k->own;
    const double dense = duo_curve_seconds(moves, n, 1);
    const double lines = duo_curve_seconds(moves, n * stride_factor(call, DUO_SIDE_CPU), 1);
    return row + fmax(lines - dense, gathered * n);
}

/*
 * Seconds on all threads, by the curve of the profile's threads: fewer threads take as long as
 * those with the same number of elements each. Sharing costs at least a job of the team.
 */
static double parallel_seconds(const duo_call *call, const duo_conditions *conditions,
                               const known *one, const known *all, double gathered, double serial)
{
    const duo_profile *const p = conditions->profile;
    const double threads = conditions->threads, measured = p->threads;
    const double fork = p->fork_seconds + p->fork_seconds_per_thread * threads;
    if (all->float32->count == 0 || p->threads < 2)
        return fork + serial / speed_up(call, conditions, one->float32);
    const double n = (double)call->n * fmax(measured / threads, 1.0);
    return fmax(fork, elements_seconds(call, all, n, gathered / measured));
}

/* Extra seconds for a vector that the team has just fetched. It is in no cache of a single thread,
 * which reads it like vectors beyond its caches (the curve's last point). */
static double uncached_seconds(const duo_call *call, const duo_curve *curve)
{
    const double part = fetched_part(call), n = (double)call->n;
    if (!(part > 0.0) || curve->count == 0) return 0.0;
    const int last = curve->count - 1;
    const double memory = n * curve->seconds[last] / curve->size[last];
    return part * fmax(memory - duo_curve_seconds(curve, n, 1), 0.0);
}

/*
 * The same for all threads, relative to `cached`. The vector is in memory or in the caches of the
 * threads that fetched it, not where the team's curve has it: 16 threads of an H200's host read it
 * at half the rate of their memory, 800 thousand elements in 68 us instead of 10.
 */
static double uncached_team_seconds(const duo_call *call, const duo_conditions *conditions,
                                    double cached)
{
    const double passes = 2.0, rate = conditions->profile->cpu_bandwidth;
    const double vectors = call->operation == DUO_SDOT ? 2.0 : 1.0;
    const double part = fetched_part(call);
    if (!(part > 0.0) || !(rate > 0.0)) return 0.0;
    return part * fmax(passes * 4.0 * vectors * (double)call->n / rate - cached, 0.0);
}

/*
 * Gathering a strided element takes as long as adding 16 contiguous ones in the first cache. One
 * thread of a Zen 4 took 0.33 ns for an element in its caches at increments of 3 to 7, and 4 to 7
 * ns beyond its caches at increments of 16 and more.
 */
static double cpu_cost(const duo_call *call, const duo_conditions *conditions, duo_algorithm_id id,
                       duo_algorithm_id float32, int *threads)
{
    const double row = 16.0;
    const duo_profile *const p = conditions->profile;
    known one = {&p->curve[id], &p->curve[float32], 0.0};
    const duo_curve *const cached = one.float32->count > 0 ? one.float32 : one.own;
    const double element = duo_curve_seconds(cached, kCached, 1) / kCached;
    if (id != float32) one.added = kFloat64Adds * element;
    const double serial = elements_seconds(call, &one, (double)call->n, row * element);
    *threads = 1;
    const double alone = serial + uncached_seconds(call, one.float32);
    if (conditions->threads == 1) return alone;
    const known all = {&p->team[id], &p->team[float32], one.added / fmax(p->threads, 1.0)};
    const double shared = parallel_seconds(call, conditions, &one, &all, row * element, serial);
    const double parallel = shared + uncached_team_seconds(call, conditions, shared);
    if (parallel < alone) *threads = conditions->threads;
    return fmin(alone, parallel);
}

/* ---- GPU ---- */

/* Kept arrays are sent whole, other vectors in host memory piece by piece. */
static bool fits_device(const duo_call *call, const duo_conditions *conditions)
{
    const double piece_bytes = 4.0 * DUO_LEAST_PIECE;
    double bytes = 0.0;
    for (int i = 0; i < DUO_OPERANDS; i++) {
        const duo_operand *const o = &call->operand[i];
        if (!o->read || o->on_device) continue;
        const double whole = duo_operand_bytes(o);
        bytes += duo_operand_kept(o) ? whole : fmin(whole, piece_bytes);
    }
    return conditions->gpu && bytes <= conditions->device_memory_bytes;
}

static double gpu_cost(const duo_call *call, const duo_conditions *conditions, duo_algorithm_id id,
                       duo_algorithm_id float32, int *threads)
{
    *threads = 0;
    /* H200: 95 us for 7.5 million elements 13 apart, and 55 us for 3.3 million 21 apart. */
    const duo_curve *const curve = conditions->profile->curve;
    const known k = {&curve[id], &curve[float32], 0.0};
    return seconds_at(&k, (double)call->n * stride_factor(call, DUO_SIDE_GPU));
}

/* ---- Each algorithm; a float64 algorithm is compared with the float32 one of its side ---- */

bool duo_sasum_gpu_shuffle_accepts(const duo_call *call, const duo_conditions *conditions)
{
    return fits_device(call, conditions);
}

double duo_sasum_gpu_shuffle_cost(const duo_call *call, const duo_conditions *conditions,
                                  int *threads)
{
    return gpu_cost(call, conditions, DUO_sasum_gpu_shuffle, DUO_sasum_gpu_shuffle, threads);
}

bool duo_sasum_cpu_lanes_accepts(const duo_call *call, const duo_conditions *conditions)
{
    return always(call, conditions);
}

double duo_sasum_cpu_lanes_cost(const duo_call *call, const duo_conditions *conditions,
                                int *threads)
{
    return cpu_cost(call, conditions, DUO_sasum_cpu_lanes, DUO_sasum_cpu_lanes, threads);
}

bool duo_sasum_gpu_float64_accepts(const duo_call *call, const duo_conditions *conditions)
{
    return fits_device(call, conditions);
}

double duo_sasum_gpu_float64_cost(const duo_call *call, const duo_conditions *conditions,
                                  int *threads)
{
    return gpu_cost(call, conditions, DUO_sasum_gpu_float64, DUO_sasum_gpu_shuffle, threads);
}

bool duo_sasum_cpu_float64_accepts(const duo_call *call, const duo_conditions *conditions)
{
    return always(call, conditions);
}

double duo_sasum_cpu_float64_cost(const duo_call *call, const duo_conditions *conditions,
                                  int *threads)
{
    return cpu_cost(call, conditions, DUO_sasum_cpu_float64, DUO_sasum_cpu_lanes, threads);
}

bool duo_ssum_gpu_shuffle_accepts(const duo_call *call, const duo_conditions *conditions)
{
    return fits_device(call, conditions);
}

double duo_ssum_gpu_shuffle_cost(const duo_call *call, const duo_conditions *conditions,
                                 int *threads)
{
    return gpu_cost(call, conditions, DUO_ssum_gpu_shuffle, DUO_ssum_gpu_shuffle, threads);
}

bool duo_ssum_cpu_lanes_accepts(const duo_call *call, const duo_conditions *conditions)
{
    return always(call, conditions);
}

double duo_ssum_cpu_lanes_cost(const duo_call *call, const duo_conditions *conditions, int *threads)
{
    return cpu_cost(call, conditions, DUO_ssum_cpu_lanes, DUO_ssum_cpu_lanes, threads);
}

bool duo_ssum_gpu_float64_accepts(const duo_call *call, const duo_conditions *conditions)
{
    return fits_device(call, conditions);
}

double duo_ssum_gpu_float64_cost(const duo_call *call, const duo_conditions *conditions,
                                 int *threads)
{
    return gpu_cost(call, conditions, DUO_ssum_gpu_float64, DUO_ssum_gpu_shuffle, threads);
}

bool duo_ssum_cpu_float64_accepts(const duo_call *call, const duo_conditions *conditions)
{
    return always(call, conditions);
}

double duo_ssum_cpu_float64_cost(const duo_call *call, const duo_conditions *conditions,
                                 int *threads)
{
    return cpu_cost(call, conditions, DUO_ssum_cpu_float64, DUO_ssum_cpu_lanes, threads);
}

bool duo_sdot_gpu_shuffle_accepts(const duo_call *call, const duo_conditions *conditions)
{
    return fits_device(call, conditions);
}

double duo_sdot_gpu_shuffle_cost(const duo_call *call, const duo_conditions *conditions,
                                 int *threads)
{
    return gpu_cost(call, conditions, DUO_sdot_gpu_shuffle, DUO_sdot_gpu_shuffle, threads);
}

bool duo_sdot_cpu_lanes_accepts(const duo_call *call, const duo_conditions *conditions)
{
    return always(call, conditions);
}

double duo_sdot_cpu_lanes_cost(const duo_call *call, const duo_conditions *conditions, int *threads)
{
    return cpu_cost(call, conditions, DUO_sdot_cpu_lanes, DUO_sdot_cpu_lanes, threads);
}

bool duo_sdot_gpu_float64_accepts(const duo_call *call, const duo_conditions *conditions)
{
    return fits_device(call, conditions);
}

double duo_sdot_gpu_float64_cost(const duo_call *call, const duo_conditions *conditions,
                                 int *threads)
{
    return gpu_cost(call, conditions, DUO_sdot_gpu_float64, DUO_sdot_gpu_shuffle, threads);
}

bool duo_sdot_cpu_float64_accepts(const duo_call *call, const duo_conditions *conditions)
{
    return always(call, conditions);
}

double duo_sdot_cpu_float64_cost(const duo_call *call, const duo_conditions *conditions,
                                 int *threads)
{
    return cpu_cost(call, conditions, DUO_sdot_cpu_float64, DUO_sdot_cpu_lanes, threads);
}
