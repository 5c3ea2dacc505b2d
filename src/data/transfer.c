/*
 * transfer.c - transfers between host and device (transfer.h).
 *
 * Pageable memory goes through the pump, by the ring of stages `up`.
 */
#include "data/transfer.h"

#include <stdlib.h>
#include <string.h>

#include "data/pump.h"
#include "data/stage.h"
#include "gpu/backend/devices.h"

/* Copies bytes in one run; `now` from or to plain memory. */
static duo_status copy_bytes(duo_resources *res, bool now, char *device, char *here, size_t bytes,
                             bool to_device)
{
    char *const dst = to_device ? device : here, *const src = to_device ? here : device;
    const duo_status status = now ? duo_queue_copy_now(res->queue, dst, bytes, src, bytes, bytes, 1)
                                  : duo_queue_copy(res->queue, dst, bytes, src, bytes, bytes, 1);
    return status == DUO_OK
               ? DUO_OK
               : duo_stage_give_up(res, res->queue, res->queue_device, status, "queue a transfer");
}

static duo_status waiting_failed(duo_resources *res, duo_status status)
{
    return duo_stage_wait_for_all(res, res->queue, res->queue_device, status,
                                  "wait for a transfer");
}

/* The device reads or writes pinned host memory itself, in one run. */
static duo_status copy_direct(duo_resources *res, void *device, void *host, size_t bytes,
                              bool to_device)
{
    duo_status status = to_device
                            ? duo_queue_copy(res->queue, device, bytes, host, bytes, bytes, 1)
                            : duo_queue_copy(res->queue, host, bytes, device, bytes, bytes, 1);
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

/* Could no stages be pinned? Then a transfer goes through plain memory. */
static bool go_unpinned(duo_status stages) { return stages != DUO_OK && stages != DUO_ERR_LOST; }

/* Opens the pump for these runs. */
static duo_status open_pump(duo_resources *res, const duo_runs *r, duo_pump *pump)
{
    const size_t most = (size_t)(r->rows * r->columns) * sizeof(float);
    *pump = (duo_pump){.res = res,
                       .ring = &res->up,
                       .threads = duo_resources_threads(res),
                       .packing = duo_packing_way_of((double)most)};
    const duo_status status = duo_stage_make(res, &res->up, most);
    if (!go_unpinned(status)) return status;
    pump->packing = DUO_PACK;
    pump->plain = malloc(most < DUO_LARGEST_STAGE ? most : DUO_LARGEST_STAGE);
    return pump->plain != NULL ? DUO_OK : DUO_ERR_MEMORY;
}

/* Waits until the next piece has room: for its stage. */
static duo_status await_room(const duo_pump *pump)
{
    return pump->plain != NULL ? DUO_OK : duo_stage_wait(pump->res, pump->ring, pump->ring->next);
}

/* Elements of the next piece, if `left` are left. */
static int64_t piece_of(const duo_pump *pump, int64_t left)
{
    const int64_t fits = duo_pump_room(pump);
    return left < fits ? left : fits;
}

/* ---- Transfers ---- */

duo_status duo_upload(duo_resources *res, float *device, int64_t device_ld, const float *given,
                      int64_t ld, int64_t rows, int64_t columns, bool direct)
{
    const duo_runs r = duo_runs_of(rows, columns, ld, device_ld);
    const int64_t total = rows * columns;
    float *const host = (float *)(uintptr_t)given; /* only read */
    if (direct && r.columns == 1)
        return copy_direct(res, device, host, (size_t)total * sizeof(float), true);
    duo_pump pump;
    duo_piece piece = {.runs = &r, .host = host, .device = device, .device_ld = device_ld};
    duo_status status = open_pump(res, &r, &pump);
    while (status == DUO_OK && piece.from < total) {
        status = await_room(&pump);
        if (status != DUO_OK) break;
        piece.count = piece_of(&pump, total - piece.from);
        status = duo_pump_up(&pump, res->queue, res->queue_device, &piece);
        piece.from += piece.count;
    }
    free(pump.plain);
    return status;
}

/* Fetches all runs; the device copies pieces while earlier ones are unpacked. */
static duo_status fetch_pieces(const duo_pump *pump, duo_piece *next, int64_t total)
{
    duo_resources *const res = pump->res;
    const int most = pump->plain != NULL ? 1 : DUO_STAGES;
    struct { /* a ring of pieces that the device copies */
        int stage;
        duo_piece piece;
    } flight[DUO_STAGES];
    int64_t done = 0;
    int first = 0, flying = 0;
    duo_status status = DUO_OK;
    while (status == DUO_OK && done < total) {
        if (flying < most && next->from < total) {
            const int at = (first + flying++) % DUO_STAGES;
            status = await_room(pump);
            if (status != DUO_OK) break;
            next->count = piece_of(pump, total - next->from);
            flight[at].piece = *next;
            status = duo_pump_down(pump, res->queue, res->queue_device, next, &flight[at].stage);
            next->from += next->count;
            continue;
        }
        if (pump->plain == NULL) status = duo_stage_wait(res, pump->ring, flight[first].stage);
        if (status != DUO_OK) break;
        duo_pump_unpack(pump, flight[first].stage, &flight[first].piece);
        done += flight[first].piece.count;
        first = (first + 1) % DUO_STAGES;
        flying--;
    }
    return status;
}

duo_status duo_download(duo_resources *res, float *host, int64_t ld, const float *given,
                        int64_t device_ld, int64_t rows, int64_t columns)
{
    const duo_runs r = duo_runs_of(rows, columns, ld, device_ld);
    float *const device = (float *)(uintptr_t)given; /* only read */
    duo_pump pump;
    duo_piece piece = {.runs = &r, .host = host, .device = device, .device_ld = device_ld};
    duo_status status = open_pump(res, &r, &pump);
    if (status == DUO_OK) status = fetch_pieces(&pump, &piece, rows * columns);
    free(pump.plain);
    return status;
}

/* Up to three bytes, through one more stage. */
static duo_status transfer_rest(duo_resources *res, char *device, char *host, size_t bytes,
                                bool to_device)
{
    duo_status status = duo_stage_make(res, &res->up, bytes);
    if (go_unpinned(status)) {
        status = copy_bytes(res, true, device, host, bytes, to_device);
        return status == DUO_OK ? duo_stage_still_there(res->queue_device) : status;
    }
    const int i = res->up.next;
    if (status == DUO_OK) status = duo_stage_wait(res, &res->up, i);
    if (status != DUO_OK) return status;
    char *const stage = res->up.stage[i].space.address;
    if (to_device) memcpy(stage, host, bytes);
    status = copy_bytes(res, false, device, stage, bytes, to_device);
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
    if (floats > 0 && direct)
        status = copy_direct(res, device, host, body, to_device);
    else if (floats > 0 && to_device)
        status = duo_upload(res, (float *)(void *)device, floats, (float *)(void *)host, floats,
                            floats, 1, false);
    else if (floats > 0)
        status = duo_download(res, (float *)(void *)host, floats, (float *)(void *)device, floats,
                              floats, 1);
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
