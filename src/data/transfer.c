/*
 * transfer.c - transfers between host and device (transfer.h).
 *
 * Pageable memory goes through the ring of pinned stages, packed without gaps. If nothing can be
 * pinned, pieces go one by one through plain memory.
 */
#include "data/transfer.h"

#include <stdlib.h>
#include <string.h>

#include "data/piece.h"
#include "data/stage.h"
#include "gpu/backend/devices.h"
#include "host/machine.h"

static int threads_of(const duo_resources *res) { return duo_machine_threads_for(res->threads); }

/* Copies a piece in the context's queue. */
static duo_status copy_piece(duo_resources *res, duo_copying copy, const duo_runs *r, float *device,
                             int64_t device_ld, float *packed, int64_t from, int64_t count,
                             bool to_device)
{
    const duo_status status =
        duo_piece_copy(res->queue, copy, r, device, device_ld, packed, from, count, to_device);
    return status == DUO_OK
               ? DUO_OK
               : duo_stage_give_up(res, res->queue, res->queue_device, status, "queue a transfer");
}

/* The same for bytes in one run. */
static duo_status copy_bytes(duo_resources *res, duo_copying copy, char *device, char *here,
                             size_t bytes, bool to_device)
{
    const duo_status status = to_device ? copy(res->queue, device, bytes, here, bytes, bytes, 1)
                                        : copy(res->queue, here, bytes, device, bytes, bytes, 1);
    return status == DUO_OK
               ? DUO_OK
               : duo_stage_give_up(res, res->queue, res->queue_device, status, "queue a transfer");
}

static duo_status waiting_failed(duo_resources *res, duo_status status)
{
    return duo_stage_wait_for_all(res, res->queue, res->queue_device, status,
                                  "wait for a transfer");
}

/* The device reads or writes pinned host memory itself. */
static duo_status copy_direct(duo_resources *res, const duo_runs *r, float *device,
                              int64_t device_ld, float *host, bool to_device)
{
    const size_t width = (size_t)r->rows * sizeof(float);
    const size_t there = r->columns > 1 ? (size_t)device_ld * sizeof(float) : width;
    const size_t here = r->columns > 1 ? (size_t)r->ld * sizeof(float) : width;
    duo_status status =
        to_device
            ? duo_queue_copy(res->queue, device, there, host, here, width, (size_t)r->columns)
            : duo_queue_copy(res->queue, host, here, device, there, width, (size_t)r->columns);
    if (status != DUO_OK)
        return duo_stage_give_up(res, res->queue, res->queue_device, status, "queue a transfer");
    if (to_device) { /* not awaited: the call may wait for its result later */
        res->reading_host = true;
        return DUO_OK;
    }
    status = duo_queue_finish(res->queue);
    return status == DUO_OK ? duo_stage_still_there(res->queue_device)
                            : waiting_failed(res, status);
}

duo_status duo_upload_consumed(duo_resources *res)
{
    if (!res->reading_host) return DUO_OK;
    res->reading_host = false;
    duo_status status = duo_queue_mark(res->queue, DUO_MARKS - 1);
    if (status == DUO_OK) status = duo_queue_wait_mark(res->queue, DUO_MARKS - 1);
    return status == DUO_OK ? DUO_OK : waiting_failed(res, status);
}

duo_status duo_transfer_across(duo_resources *res, int device)
{
    if (device == res->queue_device) return DUO_OK;
    duo_status status = duo_queue_finish(res->queue);
    if (status != DUO_OK) status = waiting_failed(res, status);
    return status == DUO_OK && !duo_device_answers(device) ? DUO_ERR_LOST : status;
}

/* ---- Pieces ---- */

/* Elements of the next piece, if `left` are left and there is room for `bytes`. */
static int64_t piece_of(const duo_runs *r, int64_t left, size_t bytes)
{
    const int64_t fits = (int64_t)(bytes / sizeof(float));
    if (left <= fits) return left;
    return r->whole > 0 ? fits - fits % r->whole : fits;
}

/* Makes stages that hold the largest part of the runs that may not be cut. */
static duo_status make_stages(duo_resources *res, const duo_runs *r)
{
    const int64_t total = r->rows * r->columns, least = DUO_STAGES * r->whole;
    return duo_stage_make(res, &res->up, (size_t)(total > least ? total : least) * sizeof(float));
}

/* ---- Without pinned memory ---- */

/* Could no stages be pinned? Then a transfer goes through plain memory. */
static bool go_unpinned(duo_status stages) { return stages != DUO_OK && stages != DUO_ERR_LOST; }

/* Piece by piece through plain memory. *done: as in duo_download_runs. */
static duo_status transfer_unpinned(duo_resources *res, const duo_runs *r, float *device,
                                    int64_t device_ld, float *host, bool to_device, int64_t *done)
{
    const int64_t total = r->rows * r->columns;
    const int64_t most = piece_of(r, total, DUO_LARGEST_STAGE);
    const int threads = threads_of(res);
    float *const packed = malloc((size_t)most * sizeof *packed);
    duo_status status = packed != NULL ? DUO_OK : DUO_ERR_MEMORY;
    for (int64_t from = 0; status == DUO_OK && from < total; from = *done) {
        const int64_t count = piece_of(r, total - from, DUO_LARGEST_STAGE);
        if (to_device) duo_runs_pack(r, host, packed, from, count, DUO_PACK, threads);
        status = copy_piece(res, duo_queue_copy_now, r, device, device_ld, packed, from, count,
                            to_device);
        if (status == DUO_OK) status = duo_stage_still_there(res->queue_device);
        if (status == DUO_OK && !to_device)
            duo_runs_pack(r, host, packed, from, count, DUO_UNPACK, threads);
        if (status == DUO_OK) *done = from + count;
    }
    free(packed);
    return status;
}

/* ---- Transfers ---- */

duo_status duo_upload_runs(duo_resources *res, float *device, int64_t device_ld, const float *given,
                           const duo_runs *r, bool direct)
{
    const int64_t total = r->rows * r->columns;
    float *const host = (float *)(uintptr_t)given; /* only read */
    int64_t done = 0;
    if (direct && duo_runs_direct(r)) return copy_direct(res, r, device, device_ld, host, true);
    duo_status status = make_stages(res, r);
    if (go_unpinned(status)) return transfer_unpinned(res, r, device, device_ld, host, true, &done);
    const int threads = threads_of(res);
    const duo_packing_way way = duo_packing_way_of((double)total * sizeof(float));
    while (done < total && status == DUO_OK) {
        const int i = res->up.next;
        const duo_space *const space = &res->up.stage[i].space;
        const int64_t count = piece_of(r, total - done, space->bytes);
        status = duo_stage_wait(res, &res->up, i);
        if (status != DUO_OK) break;
        duo_runs_pack(r, host, space->address, done, count, way, threads);
        status = copy_piece(res, duo_queue_copy, r, device, device_ld, space->address, done, count,
                            true);
        if (status != DUO_OK) break;
        status = duo_stage_mark(res, &res->up, i, res->queue, res->queue_device);
        done += count;
    }
    return status;
}

duo_status duo_upload(duo_resources *res, float *device, int64_t device_ld, const float *host,
                      int64_t ld, int64_t rows, int64_t columns, bool direct)
{
    const duo_runs r = duo_runs_of(rows, columns, ld, device_ld);
    return duo_upload_runs(res, device, device_ld, host, &r, direct);
}

duo_status duo_download_runs(duo_resources *res, float *host, const duo_runs *r, const float *given,
                             int64_t device_ld, bool direct, int64_t *done)
{
    const int64_t total = r->rows * r->columns;
    float *const device = (float *)(uintptr_t)given; /* only read */
    *done = 0;
    if (direct && duo_runs_direct(r)) {
        const duo_status copied = copy_direct(res, r, device, device_ld, host, false);
        if (copied == DUO_OK) *done = total;
        return copied;
    }
    duo_status status = make_stages(res, r);
    if (go_unpinned(status)) return transfer_unpinned(res, r, device, device_ld, host, false, done);
    const int threads = threads_of(res);
    struct { /* a ring of pieces that the device copies */
        int stage;
        int64_t from, count;
    } flight[DUO_STAGES];
    int first = 0, flying = 0;
    int64_t queued = 0;
    while (status == DUO_OK && (flying > 0 || queued < total)) {
        while (flying < DUO_STAGES && queued < total) {
            const int i = res->up.next;
            const duo_space *const space = &res->up.stage[i].space;
            const int64_t count = piece_of(r, total - queued, space->bytes);
            status = duo_stage_wait(res, &res->up, i);
            if (status == DUO_OK)
                status = copy_piece(res, duo_queue_copy, r, device, device_ld, space->address,
                                    queued, count, false);
            if (status != DUO_OK) return status;
            status = duo_stage_mark(res, &res->up, i, res->queue, res->queue_device);
            if (status != DUO_OK) return status;
            const int at = (first + flying++) % DUO_STAGES;
            flight[at].stage = i;
            flight[at].from = queued;
            flight[at].count = count;
            queued += count;
        }
        const int i = flight[first].stage;
        status = duo_stage_wait(res, &res->up, i);
        if (status != DUO_OK) break;
        duo_runs_pack(r, host, res->up.stage[i].space.address, flight[first].from,
                      flight[first].count, DUO_UNPACK, threads);
        *done += flight[first].count;
        first = (first + 1) % DUO_STAGES;
        flying--;
    }
    return status;
}

duo_status duo_download(duo_resources *res, float *host, int64_t ld, const float *given,
                        int64_t device_ld, int64_t rows, int64_t columns, bool direct)
{
    const duo_runs r = duo_runs_of(rows, columns, ld, device_ld);
    int64_t done;
    return duo_download_runs(res, host, &r, given, device_ld, direct, &done);
}

/* Up to three bytes, through one more stage. */
static duo_status transfer_rest(duo_resources *res, char *device, char *host, size_t bytes,
                                bool to_device)
{
    duo_status status = duo_stage_make(res, &res->up, bytes);
    if (go_unpinned(status)) {
        status = copy_bytes(res, duo_queue_copy_now, device, host, bytes, to_device);
        return status == DUO_OK ? duo_stage_still_there(res->queue_device) : status;
    }
    const int i = res->up.next;
    if (status == DUO_OK) status = duo_stage_wait(res, &res->up, i);
    if (status != DUO_OK) return status;
    char *const stage = res->up.stage[i].space.address;
    if (to_device) memcpy(stage, host, bytes);
    status = copy_bytes(res, duo_queue_copy, device, stage, bytes, to_device);
    if (status == DUO_OK) status = duo_stage_mark(res, &res->up, i, res->queue, res->queue_device);
    if (to_device || status != DUO_OK) return status;
    status = duo_stage_wait(res, &res->up, i);
    if (status == DUO_OK) memcpy(host, stage, bytes);
    return status;
}

/* Bytes: whole floats as one run, then the rest. */
static duo_status transfer_bytes(duo_resources *res, char *device, char *host, size_t bytes,
                                 bool direct, bool to_device)
{
    const int64_t floats = (int64_t)(bytes / sizeof(float));
    const size_t rest = bytes % sizeof(float), body = bytes - rest;
    duo_status status = DUO_OK;
    if (floats > 0 && to_device)
        status = duo_upload(res, (float *)(void *)device, floats, (float *)(void *)host, floats,
                            floats, 1, direct);
    else if (floats > 0)
        status = duo_download(res, (float *)(void *)host, floats, (float *)(void *)device, floats,
                              floats, 1, direct);
    if (status != DUO_OK || rest == 0) return status;
    return transfer_rest(res, device + body, host + body, rest, to_device);
}

duo_status duo_upload_bytes(duo_resources *res, void *device, const void *host, size_t bytes,
                            bool direct)
{
    return transfer_bytes(res, device, (char *)(uintptr_t)host, bytes, direct, true);
}

duo_status duo_download_bytes(duo_resources *res, void *host, const void *device, size_t bytes,
                              bool direct)
{
    return transfer_bytes(res, (char *)(uintptr_t)device, host, bytes, direct, false);
}
