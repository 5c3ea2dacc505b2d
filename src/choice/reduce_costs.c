/*
 * reduce_costs.c - what the algorithms of sasum, ssum and sdot accept, and what they cost here.
 *
 * CPU: the curve of one thread; all threads share the work for the price of a job of the team. GPU:
 * the measured curve; a strided element moves its part of 64 bytes of memory, 16 elements, or all.
 * A float64 algorithm without a curve takes a multiple of the float32 algorithm's time.
 */
#include <math.h>

#include "choice/costs.h"

/* How many elements memory moves for one of a vector, in the mean of the call's vectors. The GPU
 * reads without gaps what is sent to it, unless it is kept. */
static double stride_factor(const duo_call *call, duo_side side)
{
    const double line = 16.0; /* elements of 64 bytes, which either side's memory moves at once */
    double sum = 0.0, vectors = 0.0;
    for (int i = DUO_X; i <= DUO_Y; i++) {
        const duo_operand *const o = &call->operand[i];
        if (!o->read) continue;
        const bool gaps = side == DUO_SIDE_CPU || !duo_operand_hosted(o);
        sum += gaps ? duo_stride_factor(o, line) : 1.0;
        vectors += 1.0;
    }
    return sum / vectors;
}

static bool always(const duo_call *call, const duo_conditions *conditions)
{
    (void)call;
    (void)conditions;
    return true;
}

/*
 * Time of a float64 algorithm over the float32 algorithm's. CPU: one thread of a Zen 4 takes 1.5 to
 * 3.7 times as long in its caches, and as long beyond them. GPU: both wait for memory (an H100, n
 * from 2^20 on).
 */
static const double kCpuFloat64Times = 2.0, kGpuFloat64Times = 1.0;

/* By the algorithm's own curve, or by the float32 algorithm's where the profile has none of it. */
static double seconds_at(const duo_conditions *conditions, duo_algorithm_id id,
                         duo_algorithm_id float32, double times, double n)
{
    const duo_curve *const curve = conditions->profile->curve;
    if (curve[id].count > 0) return duo_curve_seconds(&curve[id], n, 1);
    return times * duo_curve_seconds(&curve[float32], n, 1);
}

/* How much faster all threads are than one: their number, but at most the ratio of all threads'
 * memory bandwidth to one thread's, which is that of the serial curve's last point. */
static double speed_up(const duo_call *call, const duo_conditions *conditions,
                       const duo_curve *serial)
{
    if (serial->count == 0) return 1.0;
    const int last = serial->count - 1;
    const double vectors = call->operation == DUO_SDOT ? 2.0 : 1.0;
    const double one = 4.0 * vectors * serial->size[last] / serial->seconds[last];
    return fmax(1.0, fmin((double)conditions->threads, conditions->profile->cpu_bandwidth / one));
}

static bool strided(const duo_call *call)
{
    bool any = false;
    for (int i = DUO_X; i <= DUO_Y; i++) any |= call->operand[i].read && call->operand[i].ld != 1;
    return any;
}

/*
 * Seconds of one thread. Strided elements are gathered one by one, which takes as long as adding 16
 * that lie in a row in the first cache, and each moves a part of a cache line, or a whole one. In
 * its caches one thread of a Zen 4 took 0.33 ns for an element at increments of 3 to 7, and 4 to 7
 * ns beyond them at increments of 16 and more.
 */
static double serial_seconds(const duo_call *call, const duo_conditions *conditions,
                             duo_algorithm_id id, duo_algorithm_id float32)
{
    const double row = 16.0, cached = 4096.0, n = (double)call->n;
    const double times = kCpuFloat64Times;
    const double added = seconds_at(conditions, id, float32, times, n);
    if (!strided(call)) return added;
    const double one = seconds_at(conditions, id, float32, times, cached) / cached;
    const double moved =
        seconds_at(conditions, id, float32, times, n * stride_factor(call, DUO_SIDE_CPU));
    return fmax(moved, added + row * one * n);
}

static double cpu_cost(const duo_call *call, const duo_conditions *conditions, duo_algorithm_id id,
                       duo_algorithm_id float32, int *threads)
{
    const duo_profile *const p = conditions->profile;
    const double serial = serial_seconds(call, conditions, id, float32);
    *threads = 1;
    if (conditions->threads == 1) return serial;
    const double parallel = p->fork_seconds + p->fork_seconds_per_thread * conditions->threads +
                            serial / speed_up(call, conditions, &p->curve[float32]);
    if (parallel < serial) *threads = conditions->threads;
    return fmin(serial, parallel);
}

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
    /* An H200 took 95 us for 7.5 million elements 13 apart, and 55 us for 3.3 million 21 apart. */
    const double n = (double)call->n * stride_factor(call, DUO_SIDE_GPU);
    return seconds_at(conditions, id, float32, kGpuFloat64Times, n);
}

/* Accepts and cost of one algorithm; `like` is the float32 algorithm of its side. */
#define COSTS(name, like, accepts, side_cost)                                                      \
    bool duo_##name##_accepts(const duo_call *call, const duo_conditions *conditions)              \
    {                                                                                              \
        return accepts(call, conditions);                                                          \
    }                                                                                              \
    double duo_##name##_cost(const duo_call *call, const duo_conditions *conditions, int *threads) \
    {                                                                                              \
        return side_cost(call, conditions, DUO_##name, DUO_##like, threads);                       \
    }

COSTS(sasum_gpu_shuffle, sasum_gpu_shuffle, fits_device, gpu_cost)
COSTS(sasum_cpu_lanes, sasum_cpu_lanes, always, cpu_cost)
COSTS(sasum_gpu_float64, sasum_gpu_shuffle, fits_device, gpu_cost)
COSTS(sasum_cpu_float64, sasum_cpu_lanes, always, cpu_cost)
COSTS(ssum_gpu_shuffle, ssum_gpu_shuffle, fits_device, gpu_cost)
COSTS(ssum_cpu_lanes, ssum_cpu_lanes, always, cpu_cost)
COSTS(ssum_gpu_float64, ssum_gpu_shuffle, fits_device, gpu_cost)
COSTS(ssum_cpu_float64, ssum_cpu_lanes, always, cpu_cost)
COSTS(sdot_gpu_shuffle, sdot_gpu_shuffle, fits_device, gpu_cost)
COSTS(sdot_cpu_lanes, sdot_cpu_lanes, always, cpu_cost)
COSTS(sdot_gpu_float64, sdot_gpu_shuffle, fits_device, gpu_cost)
COSTS(sdot_cpu_float64, sdot_cpu_lanes, always, cpu_cost)
