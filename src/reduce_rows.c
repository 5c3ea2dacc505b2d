/*
 * reduce_rows.c - the rows of sasum, ssum and sdot, and the table of all tables.
 *
 * CPU: the serial curve, shared by all threads for the price of a parallel region. GPU: the measured
 * curve; strided data moves whole 32-byte sectors, as many bytes as 8 elements each. A float64 row
 * without a curve takes a multiple of the float32 row's time.
 */
#include <math.h>

#include "row.h"

/* How many elements' worth of memory one element of this operand moves, a line holding `line`
 * elements. */
static double stride_factor(const duo_operand *o, double line)
{
    const double step = fabs((double)o->ld);
    if (!o->read || step <= 1.0) return 1.0;
    return step < line ? step : line;
}

static double worst_stride(const duo_call *call, double line)
{
    return fmax(stride_factor(&call->operand[DUO_X], line),
                stride_factor(&call->operand[DUO_Y], line));
}

static bool always(const duo_call *call, const duo_site *site)
{
    (void)call;
    (void)site;
    return true;
}

/*
 * Time of a float64 row over that of the float32 row. CPU: Zen 4, one thread, takes 1.5 to 3.7 times
 * as long in its caches and as long beyond them. GPU: both wait for memory (H100, n >= 2^20).
 */
static const double kCpuFloat64Times = 2.0, kGpuFloat64Times = 1.0;

/* By the row's own curve, or by the float32 row's where the profile has none of it. */
static double seconds_at(const duo_site *site, duo_row_id id, duo_row_id float32, double times,
                         double n)
{
    const duo_curve *const curve = site->profile->curve;
    if (curve[id].count > 0) return duo_curve_seconds(&curve[id], n, 1);
    return times * duo_curve_seconds(&curve[float32], n, 1);
}

/* How much faster all threads are than one: as many times as they are, but never more than on data
 * in memory, where they share its bandwidth. The serial curve ends there. */
static double speed_up(const duo_call *call, const duo_site *site, const duo_curve *serial)
{
    if (serial->count == 0) return 1.0;
    const int last = serial->count - 1;
    const double vectors = call->operation == DUO_SDOT ? 2.0 : 1.0;
    const double one = 4.0 * vectors * serial->size[last] / serial->seconds[last];
    return fmax(1.0, fmin((double)site->threads, site->profile->cpu_bandwidth / one));
}

static double cpu_cost(const duo_call *call, const duo_site *site, duo_row_id id,
                       duo_row_id float32, int *threads)
{
    const duo_profile *const p = site->profile;
    const double factor = worst_stride(call, 16.0);
    const double serial =
        seconds_at(site, id, float32, kCpuFloat64Times, (double)call->n) * fmin(factor, 4.0);
    *threads = 1;
    if (site->threads == 1) return serial;
    /* All threads or one: OpenMP's runtime ends and makes threads where teams change in size. */
    const double parallel = p->fork_seconds + p->fork_seconds_per_thread * site->threads +
                            serial / speed_up(call, site, &p->curve[float32]);
    if (parallel < serial) *threads = site->threads;
    return fmin(serial, parallel);
}

static bool fits_device(const duo_call *call, const duo_site *site)
{
    double bytes = 0.0;
    for (int i = 0; i < DUO_OPERANDS; i++)
        if (call->operand[i].read && !call->operand[i].on_device)
            bytes += duo_operand_bytes(&call->operand[i]);
    return site->gpu && bytes <= site->device_memory_bytes;
}

static double gpu_cost(const duo_call *call, const duo_site *site, duo_row_id id,
                       duo_row_id float32, int *threads)
{
    *threads = 0;
    /* Data that is sent arrives packed; only data that is there already is strided. */
    double factor = 1.0;
    for (int i = 0; i < 2; i++)
        if (call->operand[i].on_device)
            factor = fmax(factor, stride_factor(&call->operand[i], 8.0));
    return seconds_at(site, id, float32, kGpuFloat64Times, (double)call->n * factor);
}

enum { REDUCTION_ROWS = 4 };

#define COST(row, side_cost, float32)                                                              \
    static double row##_cost(const duo_call *call, const duo_site *site, int *threads)             \
    {                                                                                              \
        return side_cost(call, site, DUO_ROW_##row, DUO_ROW_##float32, threads);                   \
    }

#define ROW(row, side, maths, accepts, run)                                                        \
    {                                                                                              \
        DUO_ROW_##row, #row, DUO_SIDE_##side, DUO_SERVES_##maths, accepts, row##_cost, run         \
    }

#define REDUCTION(name)                                                                            \
    COST(name##_gpu_shuffle, gpu_cost, name##_gpu_shuffle)                                         \
    COST(name##_cpu_lanes, cpu_cost, name##_cpu_lanes)                                             \
    COST(name##_gpu_float64, gpu_cost, name##_gpu_shuffle)                                         \
    COST(name##_cpu_float64, cpu_cost, name##_cpu_lanes)                                           \
    static const duo_row name##_rows[REDUCTION_ROWS] = {                                           \
        ROW(name##_gpu_shuffle, GPU, FLOAT32, fits_device, NULL),                                  \
        ROW(name##_cpu_lanes, CPU, FLOAT32, always, duo_##name##_cpu_lanes),                       \
        ROW(name##_gpu_float64, GPU, FLOAT64, fits_device, NULL),                                  \
        ROW(name##_cpu_float64, CPU, FLOAT64, always, duo_##name##_cpu_float64),                   \
    };

REDUCTION(sasum)
REDUCTION(ssum)
REDUCTION(sdot)

const duo_row_table duo_row_tables[DUO_OPERATIONS] = {
    [DUO_SGEMM] = {duo_sgemm_rows, DUO_SGEMM_ROWS},
    [DUO_SASUM] = {sasum_rows, REDUCTION_ROWS},
    [DUO_SSUM] = {ssum_rows, REDUCTION_ROWS},
    [DUO_SDOT] = {sdot_rows, REDUCTION_ROWS},
};
