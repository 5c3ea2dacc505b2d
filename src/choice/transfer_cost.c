/*
 * transfer_cost.c - seconds to move a call's operands between host and device (transfer_cost.h).
 *
 * Bytes over the rate of the link, plus the other work of data/transfer.c and data/coherence.c:
 * kept arrays move with the gaps between their elements, other vectors are gathered first.
 */
#include "choice/transfer_cost.h"

#include <math.h>

#include "choice/ratios.h"
#include "data/stage.h"

/* The device's time for a short run of elements between gaps: vectors of 0.4 to 8 million elements,
 * 3 to 21 apart, were fetched in 1.3 to 1.6 ns for each (H200). */
static const double kRunSeconds = 1.4e-9;

/* A larger copy of device memory gets new pages each time, because malloc gives more than 32 MiB
 * back at once. The system makes 11 GB of pages in a second (the host of an H200, 16 threads). */
static const double kNewPagesBytes = 0x1p25, kNewPagesRate = 11e9;

/* Is it a vector with gaps between its elements? */
static bool strided(const duo_operand *o) { return o->rows == 1 && o->columns > 1 && o->ld != 1; }

/* Bytes/s at which the call's threads read memory; infinite if it was not measured. */
static double cpu_rate(const duo_conditions *conditions)
{
    const duo_profile *const p = conditions->profile;
    if (!(p->cpu_bandwidth > 0.0)) return (double)INFINITY;
    const double part = p->threads > 0 ? fmin((double)conditions->threads / p->threads, 1.0) : 1.0;
    return part * p->cpu_bandwidth;
}

/* Seconds of the host to pack a strided vector. Each element moves a line, or its part of one, and
 * its target is read and written. */
static double gather_seconds(const duo_operand *o, const duo_conditions *conditions)
{
    const double line = 16.0;
    if (!strided(o)) return 0.0;
    return duo_operand_bytes(o) * (duo_stride_factor(o, line) + 2.0) / cpu_rate(conditions);
}

double duo_bytes_not_overlapped(double bytes)
{
    const size_t whole = bytes < 0x1p63 ? (size_t)bytes : SIZE_MAX / 2; /* it may be a guess */
    return fmin(bytes, (double)duo_stage_bytes(whole)) / kCopying;
}

/* Seconds to send, or fetch, bytes of pageable memory. */
static double staged_seconds(double bytes, double rate)
{
    return (bytes + duo_bytes_not_overlapped(bytes)) / rate;
}

/* Seconds of a kept array: all its stale bytes move at once. */
static double kept_seconds(const duo_operand *o, double stale_bytes, double rate)
{
    return staged_seconds(stale_bytes > 0.0 ? stale_bytes : duo_operand_span_bytes(o), rate);
}

/* The device's least seconds for the runs of an operand with gaps there. */
static double runs_seconds(const duo_operand *o)
{
    return o->ld != o->rows ? kRunSeconds * (double)o->columns : 0.0;
}

/* To the device: an operand in host memory, or a result of the CPU. */
static double send_seconds(const duo_operand *o, const duo_profile *p,
                           const duo_conditions *conditions)
{
    const double bytes = duo_operand_bytes(o), pageable = staged_seconds(bytes, p->upload_pageable);
    if (duo_operand_kept(o)) return kept_seconds(o, o->send_bytes, p->upload_pageable);
    if (o->residence == DUO_AT_DEVICE) return fmax(pageable, runs_seconds(o));
    const bool direct = o->residence == DUO_AT_PINNED;
    return fmax(direct ? bytes / p->upload_pinned : pageable, gather_seconds(o, conditions));
}

/* To host memory: an operand on the device, or a result of the GPU. */
static double fetch_seconds(const duo_operand *o, const duo_profile *p)
{
    const double bytes = duo_operand_bytes(o), rate = p->download_pageable;
    if (duo_operand_kept(o)) return kept_seconds(o, o->fetch_bytes, rate);
    if (o->residence == DUO_AT_PINNED) return bytes / p->download_pinned;
    if (o->residence != DUO_AT_DEVICE) return staged_seconds(bytes, rate);
    const double pages = bytes > kNewPagesBytes ? bytes / kNewPagesRate : 0.0;
    if (o->rows == 1 && o->ld <= 0) /* with its gaps */
        return pages + staged_seconds(duo_operand_span_bytes(o), rate);
    return pages + fmax(staged_seconds(bytes, rate), runs_seconds(o));
}

double duo_link_seconds(const duo_operand *o, const duo_conditions *conditions, bool to_device)
{
    const duo_profile *const p = conditions->profile;
    const bool pinned = o->residence == DUO_AT_PINNED;
    const double moved = to_device ? send_seconds(o, p, conditions) : fetch_seconds(o, p);
    return (p->copy_seconds + moved) * duo_link_ratio(conditions, to_device, pinned);
}

double duo_check_seconds(const duo_operand *o, const duo_conditions *conditions)
{
    return o->check_bytes > 0.0 ? o->check_bytes / cpu_rate(conditions) : 0.0;
}

double duo_transfer_seconds(const duo_call *call, duo_side side, const duo_conditions *conditions)
{
    double seconds = 0.0;
    bool waits = false; /* does the host wait for a result from the device? */
    const bool streamed = duo_streams(call);
    for (int i = 0; i < DUO_OPERANDS; i++) {
        const duo_operand *const o = &call->operand[i];
        const bool kept = duo_operand_kept(o);
        if (side == DUO_SIDE_GPU) {
            if (streamed && duo_operand_lies_in_host(o)) {
                if (o->credit_seconds > 0.0)
                    seconds -= fmin(o->credit_seconds, duo_link_seconds(o, conditions, true));
                continue;
            }
            seconds += duo_check_seconds(o, conditions);
            if (o->read && !o->on_device)
                seconds += fmax(0.0, duo_link_seconds(o, conditions, true) - o->credit_seconds);
            waits |= o->written && o->residence != DUO_AT_DEVICE && !kept;
        } else {
            if (o->read && !o->on_host) seconds += duo_link_seconds(o, conditions, false);
            if (o->written && o->residence == DUO_AT_DEVICE)
                seconds += duo_link_seconds(o, conditions, true);
        }
    }
    return seconds + (waits ? conditions->profile->round_trip_seconds : 0.0);
}
