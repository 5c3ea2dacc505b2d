/* stream_cost.c - streamed products as problems for a plan (stream_cost.h). */
#include "choice/stream_cost.h"

#include <math.h>
#include <string.h>

#include "choice/ratios.h"
#include "choice/transfer_cost.h"
#include "data/runs.h"
#include "gpu/split/schemes.h"

/* The rate of both ways at once, relative to one way: 90 to 101 GB/s to 55 on an H100 (PCIe 5 x16),
 * 86 to 95 with panels of a few KiB a row. Two H100s at once reach 120 to 140 in all, on hosts with
 * 32 cores. */
static double both_ways(int devices) { return devices > 1 ? 1.3 : 1.8; }

/* Bytes/s from device to device: NVLink of an H100. Over PCIe it would be a tenth. */
static const double kPeer = 350e9;

/* Most floats from run to run with which panels cut across the runs are read at nearly full
 * speed. */
static const int64_t kFarApart = 8192;

/* Beyond it a busy H100 reads runs of 8 to 20 KiB at this part of that speed. */
static const double kFarRate = 0.75;

/*
 * A tile of C of 128 x 256 keeps two multiprocessors busy, wave after wave; the last wave takes as
 * long as the others, even with few tiles. Products that need only a few waves are done in smaller
 * tiles. The costs on Hopper's tensor cores and of sgemm_gpu_skinny count waves themselves.
 */
static double last_wave(const duo_algorithm *algorithm, const duo_conditions *conditions, int64_t m,
                        int64_t n)
{
    if (duo_sgemm_counts_waves(algorithm->id)) return 1.0;
    const double at_once =
        conditions->multiprocessors > 1 ? floor(conditions->multiprocessors / 2.0) : 66.0;
    const double waves = ceil((double)m / 128.0) * ceil((double)n / 256.0) / at_once;
    return waves > 2.0 ? ceil(waves) / waves : 1.0;
}

static double multiply_seconds(const duo_plan_problem *of, int64_t m, int64_t n, int64_t k)
{
    const duo_stream_model *const model = of->model;
    duo_call call = model->call;
    int threads;
    call.batch = NULL;
    duo_call_set_sizes(&call, m, n, k);
    for (int i = DUO_A; i <= DUO_B; i++)
        if (of->packed_bytes[i] > 0.0) call.operand[i].prepared = true;
    return duo_algorithm_seconds(model->algorithm, &call, &model->conditions, &threads) *
           last_wave(model->algorithm, &model->conditions, m, n);
}

/* Packing reads and writes device memory: at the rate at which ssum reads it. */
static double pack_seconds(const duo_plan_problem *of, int operand, double elements)
{
    const duo_stream_model *const model = of->model;
    const duo_curve *const reads = &model->conditions.profile->curve[DUO_ssum_gpu_shuffle];
    const double bytes = (4.0 + of->packed_bytes[operand]) * elements;
    return duo_curve_seconds(reads, bytes / 4.0, 1);
}

/* Each device's share of C's columns, so that all end at the same time. */
static void set_shares(const duo_conditions *conditions, int devices,
                       double share[DUO_PLAN_DEVICES])
{
    double all = 0.0;
    bool known = true;
    for (int d = 0; d < devices; d++) {
        all += conditions->speed[d];
        known &= conditions->speed[d] > 0.0;
    }
    for (int d = 0; d < devices; d++) share[d] = known ? conditions->speed[d] / all : 1.0 / devices;
}

/* Does the device reach the operand itself, without stages? Not a C that the call also reads: if
 * the device failed while writing it, the written part would be unknown. */
static bool direct(const duo_call *call, int i, bool pinned)
{
    return pinned && !(i == DUO_C && call->operand[i].read);
}

/* The matrices of a batch, in host memory. */
static duo_runs runs_of(const duo_call *call, int i)
{
    return duo_runs_of_products(call, i, 0, call->batch->count);
}

/* Makes the problem one of a batch. Its matrices are not cut. */
static void set_batch(duo_plan_problem *of, const duo_call *call)
{
    of->products = call->batch->count;
    for (int i = 0; i < DUO_OPERANDS; i++) {
        const duo_runs runs = runs_of(call, i);
        of->pitch[i] = 0;
        of->pinned[i] = of->pinned[i] && duo_runs_direct(&runs);
        if (i != DUO_C) of->shared[i] = duo_batch_shares(call->batch, i);
    }
}

duo_plan_problem duo_stream_problem(duo_stream_model *model, const duo_call *call,
                                    const duo_algorithm *algorithm,
                                    const duo_conditions *conditions, int devices,
                                    double memory_bytes, const double packed_bytes[2])
{
    const duo_profile *const profile = conditions->profile;
    const bool wide = (algorithm->maths & DUO_SERVES_FLOAT64) != 0;
    duo_plan_problem of;
    memset(&of, 0, sizeof of); /* padding, too: problems are compared by their bytes */
    model->call = *call;
    model->algorithm = algorithm;
    model->conditions = *conditions;
    of.m = call->m;
    of.n = call->n;
    of.k = call->k;
    of.algorithm = algorithm->id;
    for (int i = 0; i < DUO_OPERANDS; i++) {
        const duo_operand *const o = &call->operand[i];
        const bool host = duo_call_hosts(call, i);
        of.sent[i] = host && o->read;
        of.pinned[i] = host && direct(call, i, duo_call_pinned(call, i));
        if (i != DUO_C && o->read) of.packed_bytes[i] = packed_bytes[i];
        if (i == DUO_C) of.fetched = host;
    }
    of.pitch[DUO_A] = call->transa ? 0 : call->operand[DUO_A].ld;
    of.pitch[DUO_B] = call->transb ? call->operand[DUO_B].ld : 0;
    of.pitch[DUO_C] = call->operand[DUO_C].ld;
    if (call->batch != NULL) set_batch(&of, call);
    /* A slab is scaled and rounded when it is added to C: in float64 that would round too early,
     * and the order of DUO_MATH_IEEE scales the sum over all of k. */
    of.k_whole = wide || conditions->math == DUO_MATH_IEEE;
    of.devices = devices;
    set_shares(conditions, devices, of.share);
    of.memory_bytes = memory_bytes;
    of.up = profile->upload_pinned;
    of.down = profile->download_pinned;
    of.both = both_ways(devices) * fmax(of.up, of.down);
    of.host_up = kCopying * profile->upload_pageable;
    /* Rows far apart go through stages, if the host copies them faster than all devices read. */
    for (int i = DUO_A; i <= DUO_B; i++)
        if (of.pitch[i] > kFarApart && of.host_up > kFarRate * of.up * devices)
            of.pinned[i] = false;
    of.host_down = profile->download_pageable; /* while the link works both ways: 44 to 54 GB/s */
    of.peer = conditions->linked ? kPeer : 0.0;
    of.copy_seconds = profile->copy_seconds;
    of.multiply = multiply_seconds;
    of.pack = pack_seconds;
    of.model = model;
    return of;
}

double duo_stream_packed_bytes(duo_algorithm_id algorithm)
{
    const double plane = 2.0; /* bytes: planes hold 16-bit numbers */
    switch (algorithm) {
#define DUO_SCHEME_BYTES(name, planes, products, stage_k, cluster)                                 \
    case DUO_sgemm_gpu_##name:                                                                     \
        return plane * (planes);
        DUO_SCHEME_LIST(DUO_SCHEME_BYTES)
#undef DUO_SCHEME_BYTES
    default:
        return 0.0;
    }
}

double duo_stream_memory(double free_bytes)
{
    const double part = 0.8; /* the rest is for the workspace of the algorithm's kernels */
    int exponent;
    if (!isfinite(free_bytes)) return free_bytes;
    const double mantissa = frexp(part * free_bytes, &exponent);
    return ldexp(floor(mantissa * 32.0), exponent - 5); /* its first five bits */
}

/* ---- Without a plan ---- */

/* The fixed cost of a transfer, relative to a single copy's: the second and third sent operand
 * follow the first; a fetched C waits for an event and the host. From products of a few KiB on an
 * H200. */
static const double kNextSend = 0.5, kFetch = 2.0;

/* The part of a product that nothing overlaps if it is cut into panels of at least a MiB: the last
 * tile's arithmetic and its fetch. */
static double last_part(double bytes)
{
    const double panels = floor(sqrt(bytes / 0x1p21));
    return 1.0 / fmin(fmax(panels, 1.0), 16.0);
}

/* The sends and fetches of all devices together. */
typedef struct traffic {
    double up, down, bytes; /* seconds; bytes of the operands */
    bool pageable;
} traffic;

/* Each device has a link of its own. But the host copies pageable memory for all of them no faster
 * than for one: operands of cubes of 8192 to 32768 at 44 to 51 GB/s on two H100s, at 53 to 55 on
 * one. */
static traffic traffic_of(const duo_call *call, const duo_conditions *conditions, int devices)
{
    const duo_profile *const p = conditions->profile;
    const double links = devices;
    double packed = 0.0, unpacked = 0.0; /* bytes of pageable memory, read and written */
    traffic t = {.up = 0.0};
    for (int i = 0; i < DUO_OPERANDS; i++) {
        const duo_operand *const o = &call->operand[i];
        if (!duo_operand_touched(o) || !duo_operand_lies_in_host(o)) continue;
        const bool pinned = direct(call, i, o->residence == DUO_AT_PINNED);
        const double bytes = duo_operand_bytes(o);
        const bool shared = i == DUO_A && devices > 1; /* every device needs all of it */
        const double up = pinned ? links * p->upload_pinned : p->upload_pageable;
        const double down = pinned ? links * p->download_pinned : p->download_pageable;
        t.bytes += bytes;
        if (o->read)
            t.up += (shared && !conditions->linked ? devices : 1.0) * bytes / up *
                    duo_link_ratio(conditions, true, pinned);
        if (o->read && shared && conditions->linked)
            t.up += bytes * (devices - 1.0) / devices / kPeer;
        if (o->written) t.down += bytes / down * duo_link_ratio(conditions, false, pinned);
        if (o->read && !pinned) packed += bytes;
        if (o->written && !pinned) unpacked += bytes;
    }
    t.pageable = packed > 0.0 || unpacked > 0.0;
    t.up += duo_bytes_not_overlapped(packed) / p->upload_pageable *
            duo_link_ratio(conditions, true, false);
    t.down += duo_bytes_not_overlapped(unpacked) / p->download_pageable *
              duo_link_ratio(conditions, false, false);
    return t;
}

/* Seconds of the first device's part of the arithmetic. */
static double work_seconds(const duo_call *call, const duo_conditions *conditions,
                           const duo_algorithm *algorithm, int devices)
{
    double share[DUO_PLAN_DEVICES];
    int threads;
    if (algorithm == NULL) return 0.0;
    const double whole = duo_algorithm_seconds(algorithm, call, conditions, &threads);
    const double ratio = duo_work_ratio(conditions, algorithm->id, whole);
    if (devices == 1) return ratio * whole;
    duo_call part = *call;
    set_shares(conditions, devices, share);
    duo_call_set_sizes(&part, call->m, (int64_t)ceil((double)call->n * share[0]), call->k);
    return ratio * duo_algorithm_seconds(algorithm, &part, conditions, &threads);
}

double duo_stream_starts(const duo_call *call, const duo_profile *profile)
{
    double seconds = 0.0;
    for (int i = 0; i < DUO_OPERANDS; i++) {
        const duo_operand *const o = &call->operand[i];
        if (o->read && duo_operand_lies_in_host(o))
            seconds += (seconds > 0.0 ? kNextSend : 1.0) * profile->copy_seconds;
    }
    if (duo_operand_lies_in_host(&call->operand[DUO_C]))
        seconds += profile->round_trip_seconds + kFetch * profile->copy_seconds;
    return seconds;
}

static double seconds_on(const duo_call *call, const duo_conditions *conditions,
                         const duo_algorithm *algorithm, int devices)
{
    const traffic t = traffic_of(call, conditions, devices);
    const double work = work_seconds(call, conditions, algorithm, devices);
    /* The host copies pageable memory one way at a time. */
    const double moved =
        t.pageable ? t.up + t.down : fmax(fmax(t.up, t.down), (t.up + t.down) / both_ways(devices));
    const double waits = 2.0 * work > t.up ? t.up * t.up / (4.0 * fmax(work, 1e-9)) : 0.0;
    const double part = last_part(t.bytes / devices);
    const double overlapped = fmax(fmax(moved, t.up), fmin(work + waits, work + t.up));
    const double serial = t.up + work + t.down;
    return duo_stream_starts(call, conditions->profile) * devices +
           fmin(serial, overlapped + part * (work + t.down));
}

/* Devices that the call may use: operands that are on one device are used there. */
static int most_devices(const duo_call *call, const duo_conditions *conditions)
{
    for (int i = 0; i < DUO_OPERANDS; i++)
        if (duo_operand_touched(&call->operand[i]) && !duo_operand_lies_in_host(&call->operand[i]))
            return 1;
    return conditions->devices > 1 ? conditions->devices : 1;
}

double duo_stream_seconds(const duo_call *call, const duo_conditions *conditions,
                          const duo_algorithm *algorithm, int *devices)
{
    const int most = most_devices(call, conditions);
    int best = 1;
    double least = seconds_on(call, conditions, algorithm, 1);
    for (int tried = 2; tried < 2 * most; tried *= 2) { /* powers of two, and all */
        const int some = tried < most ? tried : most;
        const double seconds = seconds_on(call, conditions, algorithm, some);
        if (seconds >= least) continue;
        least = seconds;
        best = some;
    }
    if (devices != NULL) *devices = best;
    return least;
}

/* ---- Batches ---- */

/* Seconds to move an operand of a batch over the link, one way, while the team packs it. */
static double link_seconds(const duo_call *call, const duo_conditions *conditions, int i,
                           bool to_device, bool *pageable)
{
    /* A thread takes at least this long for a run: 2.7 to 5.9 ns for runs of up to 4 floats in
     * lists of 100 000 (a Xeon). */
    const double run_seconds = 4e-9;
    const duo_runs runs = runs_of(call, i);
    const bool staged = !direct(call, i, duo_call_pinned(call, i)) || !duo_runs_direct(&runs);
    const double packing = staged ? run_seconds * (double)runs.columns / conditions->threads : 0.0;
    const duo_operand moved = {.rows = runs.rows,
                               .columns = runs.columns,
                               .ld = runs.ld,
                               .read = true,
                               .residence = staged ? DUO_AT_PAGEABLE : DUO_AT_PINNED};
    *pageable |= staged;
    return fmax(duo_link_seconds(&moved, conditions, to_device), packing);
}

double duo_stream_batch_seconds(const duo_call *call, const duo_conditions *conditions,
                                double work_seconds)
{
    double up = 0.0, down = 0.0, bytes = 0.0;
    bool pageable = false;
    for (int i = 0; i < DUO_OPERANDS; i++) {
        const duo_operand *const o = &call->operand[i];
        if (!duo_call_hosts(call, i)) continue;
        bytes += duo_call_bytes(call, i);
        if (o->read) up += link_seconds(call, conditions, i, true, &pageable);
        if (!o->written) continue;
        down += link_seconds(call, conditions, i, false, &pageable) +
                conditions->profile->round_trip_seconds;
    }
    const double moved = pageable ? up + down : fmax(fmax(up, down), (up + down) / both_ways(1));
    const double last = fmax(last_part(bytes), 1.0 / (double)call->batch->count); /* one product */
    return fmin(up + work_seconds + down, fmax(moved, work_seconds) + last * (work_seconds + down));
}
