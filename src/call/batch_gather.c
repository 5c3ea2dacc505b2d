/*
 * batch_gather.c - what a launch needs of a batch that is in host memory (execution.h).
 *
 * The matrices of an operand are sent to the workspace, where they stand one behind the other
 * without gaps; a single one that all products share stands there once. C comes back in pieces of
 * whole products: where that breaks off, those that have come are done, and all others are as they
 * were.
 */
#include <math.h>

#include "call/execution.h"
#include "choice/transfer_cost.h"
#include "data/place_host.h"
#include "data/room.h"
#include "data/transfer.h"

bool duo_batch_gathered(const duo_call *call, int i)
{
    if (!duo_operand_touched(&call->operand[i])) return false;
    return call->batch->where[i] == DUO_BATCH_HOSTED ||
           (call->batch->where[i] == DUO_BATCH_TOGETHER &&
            duo_operand_lies_in_host(&call->batch->spans.operand[i]));
}

/* Do all products have the same matrix? */
static bool is_shared(const duo_call *call, int i)
{
    return duo_batch_even(call->batch, i) && call->batch->stride[i] == 0;
}

static double bytes_of(const duo_call *call, int i)
{
    return duo_operand_bytes(&call->operand[i]) *
           (is_shared(call, i) ? 1.0 : (double)call->batch->count);
}

bool duo_batch_has_room(const duo_call *call, const duo_conditions *conditions)
{
    const double most = 0x1p60; /* its bytes can be counted */
    double bytes = 0.0;
    for (int i = 0; i < DUO_OPERANDS; i++)
        if (duo_batch_gathered(call, i)) bytes += bytes_of(call, i);
    return bytes <= fmin(conditions->device_memory_bytes, most);
}

/* All matrices of an operand, in host memory. */
static duo_runs runs_of(const duo_call *call, int i)
{
    const duo_operand *const o = &call->operand[i];
    const int64_t count = call->batch->count, stride = call->batch->stride[i];
    const bool list = !duo_batch_even(call->batch, i);
    const duo_runs one = duo_runs_of(o->rows, o->columns, o->ld, o->rows);
    duo_runs all = {.rows = one.rows, .columns = one.columns * count, .ld = one.ld};
    if (is_shared(call, i)) return one;
    if (!list && one.columns == 1) {
        all = duo_runs_of(one.rows, count, stride, one.rows);
    } else if (list || stride != one.columns * one.ld) {
        all.each = one.columns;
        all.stride = stride;
        all.list = list ? call->batch->pointer[i] : NULL;
    }
    if (i == DUO_C) all.whole = o->rows * o->columns;
    return all;
}

/* May the device read or write the operand itself? What writes C so does not tell how much of it
 * has come, and what is read of C must not be lost then. */
static bool is_direct(const duo_call *call, int i, bool to_device)
{
    return call->batch->where[i] == DUO_BATCH_TOGETHER &&
           call->batch->spans.operand[i].residence == DUO_AT_PINNED &&
           (to_device || !call->operand[i].read);
}

/* Seconds of all of an operand over the link, one way, while the team packs it. */
static double link_seconds(const duo_call *call, const duo_conditions *conditions, int i,
                           bool to_device)
{
    /* A thread takes so long for a run, however short: 2.7 to 5.9 ns for those of up to 4 floats in
     * lists of 100 000 (a Xeon). */
    const double run_seconds = 4e-9;
    const duo_runs runs = runs_of(call, i);
    const bool direct = is_direct(call, i, to_device) && duo_runs_direct(&runs);
    const double packing = direct ? 0.0 : run_seconds * (double)runs.columns / conditions->threads;
    const duo_operand moved = {.rows = runs.rows,
                               .columns = runs.columns,
                               .ld = runs.ld,
                               .read = true,
                               .residence = direct ? DUO_AT_PINNED : DUO_AT_PAGEABLE};
    return fmax(duo_link_seconds(&moved, conditions, to_device), packing);
}

double duo_batch_gathered_seconds(const duo_call *call, const duo_conditions *conditions)
{
    double seconds = 0.0;
    for (int i = 0; i < DUO_OPERANDS; i++) {
        const duo_operand *const o = &call->operand[i];
        if (!duo_batch_gathered(call, i)) continue;
        if (o->read) seconds += link_seconds(call, conditions, i, true);
        if (o->written)
            seconds +=
                link_seconds(call, conditions, i, false) + conditions->profile->round_trip_seconds;
    }
    return seconds;
}

static duo_status grow(duo_execution *e)
{
    duo_resources *const res = &e->ctx->resources;
    duo_status status = DUO_OK;
    for (int i = 0; i < DUO_OPERANDS && status == DUO_OK; i++)
        if (duo_batch_gathered(e->call, i))
            status = duo_room_grow(res, &res->workspace[i], (size_t)bytes_of(e->call, i),
                                   e->call->batch->spans.number);
    return status;
}

/* Where there is no room, what earlier calls have left for other operands goes; and at last all, so
 * that there is room for half the batch. */
static duo_status make_workspace(duo_execution *e)
{
    enum { TRIES = 2 };
    duo_status status = DUO_ERR_MEMORY;
    for (int i = 0; i < TRIES && status == DUO_ERR_MEMORY; i++) {
        status = grow(e);
        if (status == DUO_ERR_MEMORY) duo_resources_free_workspace(&e->ctx->resources);
    }
    return status;
}

duo_status duo_batch_gather(duo_execution *e, duo_call *call, duo_batch *batch)
{
    duo_resources *const res = &e->ctx->resources;
    duo_status status = make_workspace(e);
    for (int i = 0; i < DUO_OPERANDS && status == DUO_OK; i++) {
        const duo_operand *const from = &e->call->operand[i];
        duo_operand *const o = &call->operand[i];
        if (!duo_batch_gathered(e->call, i)) continue;
        o->address = res->workspace[i].address;
        o->ld = o->rows;
        batch->pointer[i] = NULL;
        batch->stride[i] = is_shared(e->call, i) ? 0 : o->rows * o->columns;
        const duo_runs runs = runs_of(e->call, i);
        if (o->read)
            status = duo_upload_runs(res, o->address, runs.rows, from->address, &runs,
                                     is_direct(e->call, i, true));
    }
    return status;
}

duo_status duo_batch_fetch(duo_execution *e, const duo_call *call)
{
    duo_resources *const res = &e->ctx->resources;
    const duo_operand *const c = &e->call->operand[DUO_C];
    const duo_runs runs = runs_of(e->call, DUO_C);
    int64_t done;
    const duo_status status =
        duo_download_runs(res, c->address, &runs, call->operand[DUO_C].address, runs.rows,
                          is_direct(e->call, DUO_C, false), &done);
    e->done = done / (c->rows * c->columns);
    if (status == DUO_OK) res->reading_host = false; /* its work is done */
    if (e->done == 0 || e->call->batch->where[DUO_C] == DUO_BATCH_HOSTED) return status;
    const duo_status told = duo_place_wrote_host(res, &e->call->batch->spans.operand[DUO_C]);
    return status == DUO_OK ? told : status;
}
