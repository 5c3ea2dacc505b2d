/* stream_cost.c - streamed products as problems for a plan (stream_cost.h). */
#include "choice/stream_cost.h"

#include <math.h>
#include <string.h>

#include "gpu/split/schemes.h"

/* Both ways at once over one way: 90 to 101 GB/s over 55 on an H100 (PCIe 5 x16), 86 to 95 with
 * panels of a few KiB a row. */
static const double kBothWays = 1.7;

/* Bytes/s from device to device: NVLink of an H100. Over PCIe it would be a tenth. */
static const double kPeer = 350e9;

/* Floats from run to run: up to here panels cut across the runs are read at nearly full speed. */
static const int64_t kFarApart = 8192;

/* Rate at which the host copies pageable memory to stages, over that at which it is sent: the link
 * takes its part of the latter. 72 and 50 GB/s on an H100 with 16 threads. */
static const double kCopying = 1.5;

static double multiply_seconds(const duo_plan_problem *of, int64_t m, int64_t n, int64_t k)
{
    const duo_stream_model *const model = of->model;
    duo_call call = model->call;
    int threads;
    call.m = m;
    call.n = n;
    call.k = k;
    for (int i = DUO_A; i <= DUO_B; i++) {
        duo_operand *const o = &call.operand[i];
        const bool k_first = i == DUO_A ? call.transa : !call.transb;
        const int64_t extent = i == DUO_A ? m : n;
        o->rows = k_first ? k : extent;
        o->columns = k_first ? extent : k;
        o->prepared = o->prepared || of->packed_bytes[i] > 0.0;
    }
    call.operand[DUO_C].rows = m;
    call.operand[DUO_C].columns = n;
    return model->algorithm->cost(&call, &model->conditions, &threads);
}

/* Packing reads and writes device memory: at the rate at which ssum reads it. */
static double pack_seconds(const duo_plan_problem *of, int operand, double elements)
{
    const duo_stream_model *const model = of->model;
    const duo_curve *const reads = &model->conditions.profile->curve[DUO_ssum_gpu_shuffle];
    const double bytes = (4.0 + of->packed_bytes[operand]) * elements;
    return duo_curve_seconds(reads, bytes / 4.0, 1);
}

duo_plan_problem duo_stream_problem(duo_stream_model *model, const duo_call *call,
                                    const duo_algorithm *algorithm,
                                    const duo_conditions *conditions, int devices,
                                    double memory_bytes, const double packed_bytes[2])
{
    const duo_profile *const profile = conditions->profile;
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
        const bool host = duo_operand_touched(o) && duo_operand_hosted(o);
        of.sent[i] = host && o->read;
        of.pinned[i] = host && o->residence == DUO_AT_PINNED;
        if (i != DUO_C && o->read) of.packed_bytes[i] = packed_bytes[i];
        if (i == DUO_C) of.fetched = host;
    }
    of.pitch[DUO_A] = call->transa ? 0 : call->operand[DUO_A].ld;
    of.pitch[DUO_B] = call->transb ? call->operand[DUO_B].ld : 0;
    of.pitch[DUO_C] = call->operand[DUO_C].ld;
    /* Rows far apart: a H100 reads them at 33 GB/s while its multiprocessors work, the host copies
     * them to stages at twice that. */
    for (int i = DUO_A; i <= DUO_B; i++)
        if (of.pitch[i] > kFarApart) of.pinned[i] = false;
    /* A device that fails while it writes C itself leaves nobody to tell what of C is written. */
    if (call->operand[DUO_C].read) of.pinned[DUO_C] = false;
    of.k_whole = (algorithm->maths & DUO_SERVES_FLOAT64) != 0; /* a slab leaves C in float32 */
    of.devices = devices;
    of.memory_bytes = memory_bytes;
    of.up = profile->upload_pinned;
    of.down = profile->download_pinned;
    of.both = kBothWays * fmax(of.up, of.down);
    of.host_up = kCopying * profile->upload_pageable;
    of.host_down = kCopying * profile->download_pageable;
    of.peer = kPeer;
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
#define DUO_SCHEME_BYTES(name, planes, products)                                                   \
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

/* The part of a product that nothing overlaps, where it is cut into panels of at least a MiB: the
 * last tile's arithmetic, and its way home. */
static double last_part(double bytes)
{
    const double panels = floor(sqrt(bytes / 0x1p21));
    return 1.0 / fmin(fmax(panels, 1.0), 16.0);
}

double duo_stream_seconds(const duo_call *call, const duo_profile *profile, double work)
{
    double up = 0.0, down = 0.0, bytes = 0.0;
    bool pageable = false;
    for (int i = 0; i < DUO_OPERANDS; i++) {
        const duo_operand *const o = &call->operand[i];
        if (!duo_operand_touched(o) || !duo_operand_hosted(o)) continue;
        const bool pinned = o->residence == DUO_AT_PINNED;
        pageable |= !pinned;
        bytes += duo_operand_bytes(o);
        if (o->read)
            up +=
                duo_operand_bytes(o) / (pinned ? profile->upload_pinned : profile->upload_pageable);
        if (o->written)
            down += duo_operand_bytes(o) /
                    (pinned ? profile->download_pinned : profile->download_pageable);
    }
    /* The host copies pageable memory one way at a time. */
    const double moved = pageable ? up + down : fmax(fmax(up, down), (up + down) / kBothWays);
    const double waits = 2.0 * work > up ? up * up / (4.0 * fmax(work, 1e-9)) : 0.0;
    const double part = last_part(bytes);
    const double overlapped = fmax(fmax(moved, up), fmin(work + waits, work + up));
    const double serial = up + work + down;
    return profile->round_trip_seconds + 3.0 * profile->copy_seconds +
           fmin(serial, overlapped + part * (work + down));
}
