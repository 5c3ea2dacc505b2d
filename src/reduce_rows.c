/*
 * reduce_rows.c - the rows of sasum, ssum and sdot, and the table of all tables.
 *
 * CPU: the serial curve, shared by t threads for the price of a parallel region, until memory is
 * the limit. GPU: the measured curve; strided data moves whole 32-byte sectors, as many bytes as 8
 * elements each.
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

static double lanes_cost(const duo_call *call, const duo_site *site, duo_row_id id, int *threads)
{
    const duo_profile *const p = site->profile;
    const double factor = worst_stride(call, 16.0);
    const double serial =
        duo_curve_seconds(&p->curve[id], (double)call->n, 1.0) * fmin(factor, 4.0);
    const double bytes = 4.0 * (double)call->n * factor * (call->operation == DUO_SDOT ? 2.0 : 1.0);
    *threads = 1;
    if (site->threads == 1) return serial;
    /* All threads or one: OpenMP's runtime ends and makes threads where teams change in size. */
    const double t = site->threads;
    const double shared = fmax(serial / t, fmin(serial, bytes / p->cpu_bandwidth));
    const double parallel = p->fork_seconds + p->fork_seconds_per_thread * t + shared;
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

static double shuffle_cost(const duo_call *call, const duo_site *site, duo_row_id id, int *threads)
{
    *threads = 0;
    /* Data that is sent arrives packed; only data that is there already is strided. */
    double factor = 1.0;
    for (int i = 0; i < 2; i++)
        if (call->operand[i].on_device)
            factor = fmax(factor, stride_factor(&call->operand[i], 8.0));
    return duo_curve_seconds(&site->profile->curve[id], (double)call->n * factor, 1.0);
}

#define DUO_REDUCTION(operation)                                                                   \
    static double operation##_lanes_cost(const duo_call *call, const duo_site *site, int *threads) \
    {                                                                                              \
        return lanes_cost(call, site, DUO_ROW_##operation##_cpu_lanes, threads);                   \
    }                                                                                              \
    static double operation##_shuffle_cost(const duo_call *call, const duo_site *site,             \
                                           int *threads)                                           \
    {                                                                                              \
        return shuffle_cost(call, site, DUO_ROW_##operation##_gpu_shuffle, threads);               \
    }                                                                                              \
    static const duo_row operation##_rows[] = {                                                    \
        {DUO_ROW_##operation##_gpu_shuffle, #operation "_gpu_shuffle", DUO_SIDE_GPU, fits_device,  \
         operation##_shuffle_cost, NULL},                                                          \
        {DUO_ROW_##operation##_cpu_lanes, #operation "_cpu_lanes", DUO_SIDE_CPU, always,           \
         operation##_lanes_cost, duo_##operation##_cpu_lanes},                                     \
    };

DUO_REDUCTION(sasum)
DUO_REDUCTION(ssum)
DUO_REDUCTION(sdot)

const duo_row_table duo_row_tables[DUO_OPERATIONS] = {
    [DUO_SGEMM] = {duo_sgemm_rows, DUO_SGEMM_ROWS},
    [DUO_SASUM] = {sasum_rows, 2},
    [DUO_SSUM] = {ssum_rows, 2},
    [DUO_SDOT] = {sdot_rows, 2},
};
