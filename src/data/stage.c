/*
 * stage.c - host <-> device through pinned memory.
 *
 * Pageable memory goes through a ring of pinned stages: while the device copies one, the host packs
 * or unpacks another. Runs are packed without their gaps, so a gap is never read or written. Where
 * nothing can be pinned, pieces go one by one through plain memory.
 * Everything that a caller's memory needs has happened when a function here returns.
 */
#include <stdlib.h>
#include <string.h>

#include "call/context.h"
#include "host/team.h"

enum {
    SHORTEST_RUN = 64,
    SMALL_STAGE = 64 << 10,
    LARGE_STAGE = 4 << 20,
    SHARE_FLOATS = 1 << 15, /* that one thread packs at once: 10 us */
    PACKING_THREADS = 8
};

/* One transfer: `columns` runs of `rows` floats as one list of elements, taken in pieces. */
typedef struct runs {
    int64_t rows, columns, ld;
} runs;

/* Contiguous runs are one run. */
static runs flatten(int64_t rows, int64_t columns, int64_t ld, int64_t device_ld)
{
    if (columns == 1 || (ld == rows && device_ld == rows)) return (runs){rows * columns, 1, 1};
    return (runs){rows, columns, ld};
}

/* ---- The ring ---- */

/* What a device did is worth nothing if another thread has found it lost and given its memory back. */
static duo_status still_there(const duo_context *ctx)
{
    return duo_device_usable(ctx->queue_device) ? DUO_OK : DUO_ERR_LOST;
}

/*
 * A mark failed, or the waiting for one: waits for everything that was queued, which says as much. DUO_OK,
 * or DUO_ERR_LOST.
 */
static duo_status wait_for_all(duo_context *ctx, duo_status status, const char *doing)
{
    (void)duo_context_failed(ctx, status, doing);
    if (status == DUO_ERR_LOST) return status;
    if (duo_queue_drain(ctx->queue) == DUO_OK) return still_there(ctx);
    return duo_context_failed(ctx, DUO_ERR_LOST, doing);
}

/*
 * A copy could not be queued, while others may be under way on memory that is about to be used otherwise:
 * waits for them. Returns the status to hand on: the failure, or DUO_ERR_LOST.
 */
static duo_status give_up(duo_context *ctx, duo_status status, const char *doing)
{
    return wait_for_all(ctx, status, doing) == DUO_OK ? status : DUO_ERR_LOST;
}

static duo_status wait_stage(duo_context *ctx, int i)
{
    if (!ctx->stage_busy[i]) return DUO_OK;
    ctx->stage_busy[i] = false;
    const duo_status status = duo_queue_wait_mark(ctx->queue, i);
    return status == DUO_OK ? still_there(ctx) : wait_for_all(ctx, status, "wait for a transfer");
}

/* The queue has work on stage i now, and on the next transfer comes the next stage. */
static duo_status mark_stage(duo_context *ctx, int i)
{
    const duo_status status = duo_queue_mark(ctx->queue, i);
    ctx->stage_next = (i + 1) % DUO_STAGES;
    ctx->stage_busy[i] = status == DUO_OK;
    if (status == DUO_OK) return status;
    return wait_for_all(ctx, status, "mark a transfer");
}

/* All stages are at least `bytes` large, as far as their largest size goes. */
static duo_status make_stages(duo_context *ctx, size_t bytes)
{
    const size_t wanted = bytes <= SMALL_STAGE ? SMALL_STAGE : LARGE_STAGE;
    for (int i = 0; i < DUO_STAGES; i++) {
        if (ctx->stage[i].bytes >= wanted) continue;
        duo_status status = wait_stage(ctx, i);
        if (status != DUO_OK) return status;
        if (ctx->stage[i].address != NULL)
            (void)duo_backend_current()->unpin(ctx->stage[i].address);
        ctx->stage[i] = (duo_space){0};
        status = duo_backend_current()->pin(ctx->queue_device, wanted, &ctx->stage[i].address);
        if (status != DUO_OK) {
            ctx->stage[i].address = NULL;
            return duo_context_failed(ctx, status, "pin a stage");
        }
        ctx->stage[i].bytes = wanted;
    }
    return DUO_OK;
}

void duo_stage_free(duo_context *ctx)
{
    for (int i = 0; i < DUO_STAGES; i++) {
        if (ctx->stage[i].address != NULL)
            (void)duo_backend_current()->unpin(ctx->stage[i].address);
        ctx->stage[i] = (duo_space){0};
        ctx->stage_busy[i] = false;
    }
}

/* ---- Packing ---- */

/* Copies elements [from, from + count) of the list between host runs and a packed buffer. */
static void pack_piece(const runs *r, float *host, float *packed, int64_t from, int64_t count,
                       bool to_host)
{
    if (r->rows == 1 && r->columns > 1) { /* a strided vector */
        float *element = host + from * r->ld;
        for (int64_t i = 0; i < count; i++, element += r->ld) {
            if (to_host)
                *element = packed[i];
            else
                packed[i] = *element;
        }
        return;
    }
    int64_t column = from / r->rows, row = from % r->rows;
    for (int64_t i = 0; i < count; column++, row = 0) {
        const int64_t piece = r->rows - row < count - i ? r->rows - row : count - i;
        float *const run = host + column * r->ld + row;
        if (to_host)
            memcpy(run, packed + i, (size_t)piece * sizeof(float));
        else
            memcpy(packed + i, run, (size_t)piece * sizeof(float));
        i += piece;
    }
}

typedef struct packing {
    const runs *r;
    float *host, *packed;
    int64_t from, count;
    bool to_host;
} packing;

static void pack_share(void *job, int64_t share)
{
    const packing *const p = job;
    const int64_t low = share * SHARE_FLOATS;
    const int64_t count = p->count - low < SHARE_FLOATS ? p->count - low : SHARE_FLOATS;
    pack_piece(p->r, p->host, p->packed + low, p->from + low, count, p->to_host);
}

/* The same by several threads, where there is enough to copy. */
static void pack(const runs *r, float *host, float *packed, int64_t from, int64_t count,
                 bool to_host, int most_threads)
{
    packing job = {r, host, packed, from, count, to_host};
    duo_team_run(pack_share, &job, (count + SHARE_FLOATS - 1) / SHARE_FLOATS,
                 most_threads < PACKING_THREADS ? most_threads : PACKING_THREADS);
}

/* ---- The device's side of a piece ---- */

/* duo_queue_copy, or duo_queue_copy_now where the packed buffer is plain memory. */
typedef duo_status (*copying)(duo_queue *queue, void *dst, size_t dst_pitch, const void *src,
                              size_t src_pitch, size_t width, size_t height);

/* Copies elements [from, from + count) between a packed buffer and runs device_ld apart. */
static duo_status copy_piece(duo_context *ctx, copying copy, const runs *r, float *device,
                             int64_t device_ld, float *packed, int64_t from, int64_t count,
                             bool to_device)
{
    duo_status status = DUO_OK;
    int64_t i = 0;
    if (device_ld == r->rows) { /* no gaps there */
        float *const there = device + from;
        const size_t width = (size_t)count * sizeof(float);
        status = to_device ? copy(ctx->queue, there, width, packed, width, width, 1)
                           : copy(ctx->queue, packed, width, there, width, width, 1);
        i = count;
    }
    while (i < count && status == DUO_OK) {
        const int64_t column = (from + i) / r->rows, row = (from + i) % r->rows;
        float *const there = device + column * device_ld + row;
        /* Whole runs at once; a partial run alone. */
        int64_t piece = r->rows - row < count - i ? r->rows - row : count - i, columns = 1;
        if (row == 0 && count - i >= r->rows) columns = (count - i) / r->rows;
        const size_t width = (size_t)piece * sizeof(float);
        const size_t pitch = columns > 1 ? (size_t)device_ld * sizeof(float) : width;
        if (to_device)
            status = copy(ctx->queue, there, pitch, packed + i, width, width, (size_t)columns);
        else
            status = copy(ctx->queue, packed + i, width, there, pitch, width, (size_t)columns);
        i += piece * columns;
    }
    return status == DUO_OK ? DUO_OK : give_up(ctx, status, "queue a transfer");
}

/* The device reads or writes pinned host memory itself. */
static duo_status copy_direct(duo_context *ctx, const runs *r, float *device, int64_t device_ld,
                              float *host, bool to_device)
{
    const size_t width = (size_t)r->rows * sizeof(float);
    const size_t there = r->columns > 1 ? (size_t)device_ld * sizeof(float) : width;
    const size_t here = r->columns > 1 ? (size_t)r->ld * sizeof(float) : width;
    duo_status status =
        to_device
            ? duo_queue_copy(ctx->queue, device, there, host, here, width, (size_t)r->columns)
            : duo_queue_copy(ctx->queue, host, here, device, there, width, (size_t)r->columns);
    if (status != DUO_OK) return give_up(ctx, status, "queue a transfer");
    if (to_device) { /* the call may have a later reason to wait anyway */
        ctx->reading_host = true;
        return DUO_OK;
    }
    status = duo_queue_finish(ctx->queue);
    return status == DUO_OK ? still_there(ctx) : wait_for_all(ctx, status, "wait for a transfer");
}

duo_status duo_stage_consumed(duo_context *ctx)
{
    if (!ctx->reading_host) return DUO_OK;
    ctx->reading_host = false;
    duo_status status = duo_queue_mark(ctx->queue, DUO_MARKS - 1);
    if (status == DUO_OK) status = duo_queue_wait_mark(ctx->queue, DUO_MARKS - 1);
    return status == DUO_OK ? DUO_OK : wait_for_all(ctx, status, "wait for a transfer");
}

/* Short runs are packed first: the device would fetch them one by one over the link. */
static bool can_go_direct(const runs *r)
{
    return r->columns == 1 || (r->rows >= SHORTEST_RUN && r->ld >= r->rows);
}

/* ---- Without pinned memory ---- */

/* Did the stages fail for want of pinned memory, so that there is the other way? */
static bool go_unpinned(duo_status stages) { return stages != DUO_OK && stages != DUO_ERR_LOST; }

/* Piece by piece through plain memory. *done as in duo_stage_download. */
static duo_status transfer_unpinned(duo_context *ctx, const runs *r, float *device,
                                    int64_t device_ld, float *host, bool to_device, int64_t *done)
{
    const int64_t total = r->rows * r->columns, most = LARGE_STAGE / (int64_t)sizeof(float);
    const int64_t fits = total < most ? total : most;
    const int threads = duo_context_conditions(ctx).threads;
    float *const packed = malloc((size_t)fits * sizeof *packed);
    duo_status status = packed != NULL ? DUO_OK : DUO_ERR_MEMORY;
    for (*done = 0; status == DUO_OK && *done < total;) {
        const int64_t count = total - *done < fits ? total - *done : fits;
        if (to_device) pack(r, host, packed, *done, count, false, threads);
        status = copy_piece(ctx, duo_queue_copy_now, r, device, device_ld, packed, *done, count,
                            to_device);
        if (status == DUO_OK) status = still_there(ctx);
        if (status != DUO_OK) break;
        if (!to_device) pack(r, host, packed, *done, count, true, threads);
        *done += count;
    }
    free(packed);
    return status;
}

/* ---- Transfers ---- */

duo_status duo_stage_upload(duo_context *ctx, float *device, int64_t device_ld, const float *given,
                            int64_t ld, int64_t rows, int64_t columns, bool direct)
{
    const runs r = flatten(rows, columns, ld, device_ld);
    const int64_t total = r.rows * r.columns;
    float *const host = (float *)(uintptr_t)given; /* only read */
    if (direct && can_go_direct(&r)) return copy_direct(ctx, &r, device, device_ld, host, true);
    duo_status status = make_stages(ctx, (size_t)total * sizeof(float));
    if (go_unpinned(status)) {
        int64_t sent;
        return transfer_unpinned(ctx, &r, device, device_ld, host, true, &sent);
    }
    const int threads = duo_context_conditions(ctx).threads;
    for (int64_t from = 0; from < total && status == DUO_OK;) {
        const int i = ctx->stage_next;
        const int64_t fits = (int64_t)(ctx->stage[i].bytes / sizeof(float));
        const int64_t count = total - from < fits ? total - from : fits;
        status = wait_stage(ctx, i);
        if (status != DUO_OK) break;
        pack(&r, host, ctx->stage[i].address, from, count, false, threads);
        status = copy_piece(ctx, duo_queue_copy, &r, device, device_ld, ctx->stage[i].address, from,
                            count, true);
        if (status != DUO_OK) break;
        status = mark_stage(ctx, i);
        from += count;
    }
    return status;
}

duo_status duo_stage_download(duo_context *ctx, float *host, int64_t ld, const float *given,
                              int64_t device_ld, int64_t rows, int64_t columns, bool direct,
                              int64_t *done)
{
    const runs r = flatten(rows, columns, ld, device_ld);
    const int64_t total = r.rows * r.columns;
    float *const device = (float *)(uintptr_t)given; /* only read */
    int64_t written = 0;
    if (done == NULL) done = &written;
    *done = 0;
    if (direct && can_go_direct(&r)) {
        const duo_status status = copy_direct(ctx, &r, device, device_ld, host, false);
        if (status == DUO_OK) *done = total;
        return status;
    }
    duo_status status = make_stages(ctx, (size_t)total * sizeof(float));
    if (go_unpinned(status))
        return transfer_unpinned(ctx, &r, device, device_ld, host, false, done);
    const int threads = duo_context_conditions(ctx).threads;
    struct {
        int stage;
        int64_t from, count;
    } flight[DUO_STAGES];
    int first = 0, flying = 0;
    int64_t queued = 0;
    while (status == DUO_OK && *done < total) {
        while (flying < DUO_STAGES && queued < total) {
            const int i = ctx->stage_next;
            const int64_t fits = (int64_t)(ctx->stage[i].bytes / sizeof(float));
            const int64_t count = total - queued < fits ? total - queued : fits;
            status = wait_stage(ctx, i);
            if (status == DUO_OK)
                status = copy_piece(ctx, duo_queue_copy, &r, device, device_ld,
                                    ctx->stage[i].address, queued, count, false);
            if (status != DUO_OK) return status;
            status = mark_stage(ctx, i);
            if (status != DUO_OK) return status;
            const int at = (first + flying++) % DUO_STAGES;
            flight[at].stage = i;
            flight[at].from = queued;
            flight[at].count = count;
            queued += count;
        }
        const int i = flight[first].stage;
        status = wait_stage(ctx, i);
        if (status != DUO_OK) break;
        pack(&r, host, ctx->stage[i].address, flight[first].from, flight[first].count, true,
             threads);
        *done += flight[first].count;
        first = (first + 1) % DUO_STAGES;
        flying--;
    }
    return status;
}

static duo_status copy_bytes(duo_context *ctx, copying copy, char *device, char *here, size_t bytes,
                             bool to_device)
{
    const duo_status status = to_device ? copy(ctx->queue, device, bytes, here, bytes, bytes, 1)
                                        : copy(ctx->queue, here, bytes, device, bytes, bytes, 1);
    return status == DUO_OK ? DUO_OK : give_up(ctx, status, "queue a transfer");
}

/* Up to three bytes, through one more stage. */
static duo_status transfer_rest(duo_context *ctx, char *device, char *host, size_t bytes,
                                bool to_device)
{
    duo_status status = make_stages(ctx, bytes);
    if (go_unpinned(status)) {
        status = copy_bytes(ctx, duo_queue_copy_now, device, host, bytes, to_device);
        return status == DUO_OK ? still_there(ctx) : status;
    }
    const int i = ctx->stage_next;
    if (status == DUO_OK) status = wait_stage(ctx, i);
    if (status != DUO_OK) return status;
    char *const stage = ctx->stage[i].address;
    if (to_device) memcpy(stage, host, bytes);
    status = copy_bytes(ctx, duo_queue_copy, device, stage, bytes, to_device);
    if (status == DUO_OK) status = mark_stage(ctx, i);
    if (to_device || status != DUO_OK) return status;
    status = wait_stage(ctx, i);
    if (status == DUO_OK) memcpy(host, stage, bytes);
    return status;
}

/* Bytes: whole floats through the ring, and the rest. */
static duo_status transfer_bytes(duo_context *ctx, char *device, char *host, size_t bytes,
                                 bool direct, bool to_device)
{
    const int64_t floats = (int64_t)(bytes / sizeof(float));
    const size_t rest = bytes % sizeof(float), body = bytes - rest;
    duo_status status = DUO_OK;
    if (floats > 0 && to_device)
        status = duo_stage_upload(ctx, (float *)(void *)device, floats, (float *)(void *)host,
                                  floats, floats, 1, direct);
    else if (floats > 0)
        status = duo_stage_download(ctx, (float *)(void *)host, floats, (float *)(void *)device,
                                    floats, floats, 1, direct, NULL);
    if (status != DUO_OK || rest == 0) return status;
    return transfer_rest(ctx, device + body, host + body, rest, to_device);
}

duo_status duo_stage_upload_bytes(duo_context *ctx, void *device, const void *host, size_t bytes,
                                  bool direct)
{
    return transfer_bytes(ctx, device, (char *)(uintptr_t)host, bytes, direct, true);
}

duo_status duo_stage_download_bytes(duo_context *ctx, void *host, const void *device, size_t bytes,
                                    bool direct)
{
    return transfer_bytes(ctx, (char *)(uintptr_t)device, host, bytes, direct, false);
}
