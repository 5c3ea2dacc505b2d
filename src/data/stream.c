/* stream.c - runs a plan (stream.h). */
#include "data/stream.h"

#include <sched.h>
#include <stdlib.h>

#include "data/piece.h"
#include "data/room.h"
#include "data/stream_progress.h"
#include "data/recording.h"
#include "data/runs.h"
#include "data/stage.h"
#include "gpu/backend/devices.h"
#include "host/machine.h"

/* Marks of a lane's queues: those of the rings' stages, and behind them those of products and
 * tiles. A mark that is set again stands behind more work than before, so whoever waits for it
 * waits long enough. */
enum { FIRST_MARK = 2 * DUO_STAGES, STEP_MARKS = 32 };
_Static_assert(FIRST_MARK + STEP_MARKS < DUO_MARKS, "the last mark is duo_upload_consumed's");

/* A piece of a tile of C that is on its way to a stage. */
typedef struct flight {
    int stage, step;
    int64_t from, count;
} flight;

/* Where the slots of an operand begin in the lane's space: as sent, and packed. */
typedef struct slot_places {
    size_t sent[DUO_PLAN_SLOTS], packed[DUO_PLAN_SLOTS], bytes;
} slot_places;

typedef struct stream {
    duo_resources *res;
    duo_algorithm_id algorithm;
    const duo_call *local;
    duo_plan *plan;
    slot_places places[DUO_OPERANDS];
    int threads;
    duo_packing_way packing;
    float *plain; /* instead of stages, where nothing can be pinned; else NULL */

    int next;                /* the step that is begun next */
    int64_t sent;            /* elements of it that are under way, if it is a SEND through stages */
    int64_t pieces;          /* elements that all sends through stages have sent */
    bool follows[DUO_LANES]; /* must the compute queue still be told to follow the up queue? */

    int fetch;       /* the FETCH whose pieces are queued next, or a step before it */
    int64_t fetched; /* elements of it that are under way */
    flight flying[DUO_STAGES];
    int first, count; /* of those in flight: a ring */
    int products[DUO_LANES], tiles[DUO_LANES];
    duo_stream_progress progress;
} stream;

/* ---- Lanes ---- */

static duo_status open_queue(duo_resources *res, int device, duo_queue **queue)
{
    if (*queue != NULL) return DUO_OK;
    const duo_status status = duo_queue_open(device, NULL, queue);
    if (status == DUO_OK) return DUO_OK;
    *queue = NULL;
    return duo_resources_failed_on(res, device, status, "open a queue");
}

/* Opens a lane on a device. One that was open on another device is closed: a device may have been
 * lost meanwhile. *fresh: it was not open before. */
static duo_status open_lane(duo_resources *res, int i, int device, bool *fresh)
{
    duo_lane *const lane = &res->lane[i];
    if (lane->compute != NULL && lane->device != device) duo_resources_close_lane(res, i);
    *fresh |= lane->down == NULL;
    lane->device = device;
    if (i == 0) lane->compute = res->queue;
    duo_status status = open_queue(res, device, &lane->compute);
    if (status == DUO_OK) status = open_queue(res, device, &lane->up);
    if (status == DUO_OK) status = open_queue(res, device, &lane->down);
    return status;
}

/* Something that concerns two lanes failed. Where a device is lost the failure does not say which:
 * a queue of each does. */
static duo_status failed_between(duo_resources *res, const duo_lane *one, const duo_lane *other,
                                 duo_status status, const char *doing)
{
    const duo_lane *const lanes[] = {one, other};
    bool idle, found = false;
    for (int i = 0; i < 2 && status == DUO_ERR_LOST; i++)
        if (duo_queue_idle(lanes[i]->up, &idle) == DUO_ERR_LOST) {
            (void)duo_resources_failed_on(res, lanes[i]->device, DUO_ERR_LOST, doing);
            found = true;
        }
    return found ? status : duo_resources_failed_on(res, one->device, status, doing);
}

/* Links every two lanes. */
static duo_status link_lanes(duo_resources *res, int devices)
{
    res->unlinked = false;
    for (int i = 0; i < devices; i++)
        for (int other = 0; other < devices; other++) {
            const duo_lane *const lane = &res->lane[i], *const to = &res->lane[other];
            bool direct = true;
            if (i == other) continue;
            const duo_status status = duo_device_link(lane->device, to->device, &direct);
            if (status == DUO_ERR_LOST)
                return failed_between(res, lane, to, status, "link devices");
            if (status != DUO_OK || !direct) res->unlinked = true;
        }
    return DUO_OK;
}

duo_status duo_stream_open(duo_resources *res, const int *device, int devices)
{
    bool fresh = false;
    for (int i = 0; i < devices; i++) {
        const duo_status status = open_lane(res, i, device[i], &fresh);
        if (status != DUO_OK) return status;
    }
    return fresh && devices > 1 ? link_lanes(res, devices) : DUO_OK;
}

static duo_lane *lane_of(const stream *s, const duo_step *step)
{
    return &s->res->lane[step->device];
}

static duo_space *spaces_of(const stream *s, int lane)
{
    return lane == 0 ? s->res->workspace : s->res->lane[lane].space;
}

/* ---- Where things are ---- */

/* Are neighbours in the operand's memory neighbours in k? */
static bool along_k(const duo_call *call, int i)
{
    return i == DUO_A ? call->transa : i == DUO_B && !call->transb;
}

static bool in_slots(const stream *s, int i)
{
    return i == DUO_C ? s->plan->of.fetched : s->plan->of.sent[i];
}

/* An operand of a slot's size, for the backend's packed_bytes. */
static duo_call slot_call(const stream *s, int i, int slot)
{
    const duo_plan_space *const space = &s->plan->space[i];
    duo_call call = *s->local;
    call.k = space->depth[slot];
    if (i == DUO_A) call.m = space->extent;
    if (i == DUO_B) call.n = space->extent;
    duo_operand *const o = &call.operand[i];
    o->rows = along_k(&call, i) ? call.k : space->extent;
    o->columns = along_k(&call, i) ? space->extent : call.k;
    o->ld = o->rows;
    return call;
}

static size_t aligned(size_t bytes)
{
    enum { ALIGNMENT = 1024 };
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static void place_slots(stream *s)
{
    const duo_plan *const plan = s->plan;
    for (int i = 0; i < DUO_OPERANDS; i++) {
        slot_places *const places = &s->places[i];
        *places = (slot_places){.bytes = 0};
        for (int slot = 0; slot < plan->space[i].slots; slot++) {
            const size_t elements =
                (size_t)plan->space[i].extent * (size_t)plan->space[i].depth[slot];
            places->sent[slot] = places->bytes;
            if (in_slots(s, i)) places->bytes += aligned(elements * sizeof(float));
            places->packed[slot] = places->bytes;
            if (i == DUO_C || plan->of.packed_bytes[i] <= 0.0) continue;
            const duo_call call = slot_call(s, i, slot);
            places->bytes += aligned(duo_backend_current()->packed_bytes(s->algorithm, &call, i));
        }
    }
}

/* A part of an operand, here and there. */
typedef struct part {
    int64_t rows, columns, ld, device_ld;
    float *host, *device;
} part;

static part part_of(const stream *s, const duo_step *step, int i)
{
    const duo_operand *const o = &s->local->operand[i];
    const bool k_first = along_k(s->local, i);
    const int64_t extent = i == DUO_B ? step->n : step->m, depth = i == DUO_C ? step->n : step->k;
    const int64_t from = i == DUO_B ? step->j : step->i, deep = i == DUO_C ? step->j : step->p;
    const duo_plan_space *const space = &s->plan->space[i];
    part p = {.rows = k_first ? depth : extent, .columns = k_first ? extent : depth, .ld = o->ld};
    if (!duo_operand_touched(o)) return p;
    float *const here = o->address + (k_first ? deep + from * o->ld : from + deep * o->ld);
    if (!in_slots(s, i)) {
        p.device = here;
        p.device_ld = o->ld;
        return p;
    }
    const int slot = step->slot[i];
    char *const memory = (char *)spaces_of(s, step->device)[i].address + s->places[i].sent[slot];
    const int64_t first = step->first[i];
    p.host = here;
    p.device_ld = k_first ? space->depth[slot] : space->extent;
    p.device = (float *)(void *)memory + (k_first      ? first * p.device_ld
                                          : i == DUO_C ? first + step->column * p.device_ld
                                                       : first);
    return p;
}

/* The step as a call on the device, for the backend. */
static duo_call call_of(const stream *s, const duo_step *step)
{
    duo_call call = *s->local;
    call.m = step->m;
    call.n = step->n;
    call.k = step->k;
    if (!step->starts) call.beta = 1.0f;
    for (int i = 0; i < DUO_OPERANDS; i++) {
        duo_operand *const o = &call.operand[i];
        const part p = part_of(s, step, i);
        const bool whole = step->k == s->local->k;
        o->address = p.device;
        o->rows = p.rows;
        o->columns = p.columns;
        o->ld = p.device_ld;
        o->on_device = true;
        if (i == DUO_C) continue;
        if (s->plan->of.packed_bytes[i] > 0.0) {
            o->packed =
                (char *)spaces_of(s, step->device)[i].address + s->places[i].packed[step->slot[i]];
            o->packed_rows = step->all[i];
            o->packed_first = step->first[i];
        } else if (o->packed != NULL && whole) { /* by duo_prepare, as a whole */
            o->packed_rows = i == DUO_A ? s->local->m : s->local->n;
            o->packed_first = i == DUO_A ? step->i : step->j;
        } else {
            o->packed = NULL;
        }
    }
    call.operand[DUO_C].read = call.beta != 0.0f;
    return call;
}

/* ---- Steps of the compute queue ---- */

static duo_status failed(const stream *s, const duo_step *step, duo_status status,
                         const char *doing)
{
    return duo_resources_failed_on(s->res, lane_of(s, step)->device, status, doing);
}

/* Makes the queue follow the step that used the memory before. */
static duo_status follow(const stream *s, const duo_step *step, duo_queue *queue)
{
    if (step->follows < 0) return DUO_OK;
    const duo_step *const before = &s->plan->step[step->follows];
    const duo_lane *const lane = lane_of(s, before);
    return duo_queue_after_mark(queue, before->kind == DUO_STEP_FETCH ? lane->down : lane->compute,
                                before->mark);
}

static duo_status compute(stream *s, duo_step *step)
{
    const duo_backend *const backend = duo_backend_current();
    const duo_lane *const lane = lane_of(s, step);
    duo_status status = DUO_OK;
    if (s->follows[step->device]) status = duo_queue_after(lane->compute, lane->up);
    s->follows[step->device] = false;
    if (status == DUO_OK) status = follow(s, step, lane->compute);
    if (status != DUO_OK) return failed(s, step, status, "follow a transfer");
    const duo_call call = call_of(s, step);
    duo_record_begin(s->res, step, DUO_ROW_COMPUTE);
    if (step->kind == DUO_STEP_PACK) {
        void *const memory = call.operand[step->operand].packed;
        status = backend->pack(lane->compute, s->algorithm, &call, step->operand, memory);
        duo_record_end(s->res, step, DUO_ROW_COMPUTE);
        return status == DUO_OK ? DUO_OK : failed(s, step, status, "pack a panel");
    }
    status = backend->launch(lane->compute, s->algorithm, &call, NULL, 0);
    duo_record_end(s->res, step, DUO_ROW_COMPUTE);
    if (status != DUO_OK) return failed(s, step, status, "launch");
    step->done = 1;
    step->mark = FIRST_MARK + s->products[step->device]++ % STEP_MARKS;
    status = duo_queue_mark(lane->compute, step->mark);
    return status == DUO_OK ? DUO_OK : failed(s, step, status, "mark a product");
}

/* ---- Steps of the up queue ---- */

static duo_status share(stream *s, const duo_step *step)
{
    const duo_lane *const lane = lane_of(s, step);
    duo_step there = *step;
    there.device = step->source;
    const part to = part_of(s, step, step->operand), from = part_of(s, &there, step->operand);
    const size_t width = (size_t)to.rows * sizeof(float);
    const size_t pitch = (size_t)to.device_ld * sizeof(float);
    const duo_lane *const source = &s->res->lane[step->source];
    duo_status status = duo_queue_after(lane->up, source->up);
    duo_record_begin(s->res, step, DUO_ROW_UP);
    if (status == DUO_OK)
        status = duo_queue_copy(lane->up, to.device, pitch, from.device, pitch, width,
                                (size_t)to.columns);
    duo_record_end(s->res, step, DUO_ROW_UP);
    s->follows[step->device] = true;
    return status == DUO_OK ? DUO_OK
                            : failed_between(s->res, lane, source, status, "copy between devices");
}

/* The whole part in one copy from pinned memory. */
static duo_status send_direct(stream *s, const duo_step *step, const part *p)
{
    const duo_lane *const lane = lane_of(s, step);
    const size_t width = (size_t)p->rows * sizeof(float);
    duo_status status = follow(s, step, lane->up);
    duo_record_begin(s->res, step, DUO_ROW_UP);
    if (status == DUO_OK)
        status = duo_queue_copy(lane->up, p->device, (size_t)p->device_ld * sizeof(float), p->host,
                                (size_t)p->ld * sizeof(float), width, (size_t)p->columns);
    duo_record_end(s->res, step, DUO_ROW_UP);
    s->follows[step->device] = true;
    return status == DUO_OK ? DUO_OK : failed(s, step, status, "queue a transfer");
}

/* Elements of the next piece of these runs: half of `of`, at least `least`, whole runs if it can. */
static int64_t piece_of(const stream *s, const duo_ring *ring, const duo_runs *r, int64_t of,
                        int64_t least, int64_t left)
{
    const int64_t most = s->plain != NULL
                             ? DUO_LARGEST_STAGE / (int64_t)sizeof(float)
                             : (int64_t)(ring->stage[ring->next].space.bytes / sizeof(float));
    const int64_t wanted = of / 2 > least ? of / 2 : least;
    const int64_t piece = wanted < most ? wanted : most;
    if (piece >= left) return left;
    return piece > r->rows ? piece / r->rows * r->rows : piece;
}

/* Sends a piece of the step; the stage is free. */
static duo_status send_piece(stream *s, const duo_step *step, const part *p, const duo_runs *r)
{
    duo_resources *const res = s->res;
    const duo_lane *const lane = lane_of(s, step);
    duo_ring *const ring = &res->up;
    /* Small ones first, so that the link soon has something to do. */
    const int64_t least = 1 << 18;
    const int64_t left = r->rows * r->columns - s->sent;
    const int64_t count = piece_of(s, ring, r, s->pieces, least, left);
    float *const packed = s->plain != NULL ? s->plain : ring->stage[ring->next].space.address;
    duo_status status = s->sent == 0 ? follow(s, step, lane->up) : DUO_OK;
    duo_record_begin(res, step, DUO_ROW_HOST);
    duo_runs_pack(r, p->host, packed, s->sent, count, s->packing, s->threads);
    duo_record_end(res, step, DUO_ROW_HOST);
    duo_record_begin(res, step, DUO_ROW_UP);
    if (status == DUO_OK)
        status = duo_piece_copy(lane->up, s->plain != NULL ? duo_queue_copy_now : duo_queue_copy, r,
                                p->device, p->device_ld, packed, s->sent, count, true);
    duo_record_end(res, step, DUO_ROW_UP);
    s->follows[step->device] = true;
    if (status != DUO_OK) return failed(s, step, status, "queue a transfer");
    s->sent += count;
    s->pieces += count;
    return s->plain != NULL ? DUO_OK
                            : duo_stage_mark(res, ring, ring->next, lane->up, lane->device);
}

/* Begins a SEND, or goes on with it. *done: is all of it under way? *moved: was something done? */
static duo_status send(stream *s, const duo_step *step, bool *done, bool *moved)
{
    const part p = part_of(s, step, step->operand);
    const duo_runs r = duo_runs_of(p.rows, p.columns, p.ld, p.device_ld);
    *done = *moved = true;
    if (s->plan->of.pinned[step->operand] && duo_runs_direct(&r)) return send_direct(s, step, &p);
    if (s->plain == NULL) {
        const duo_status status = duo_stage_look(s->res, &s->res->up, s->res->up.next, moved);
        *done = false;
        if (status != DUO_OK || !*moved) return status;
    }
    const duo_status status = send_piece(s, step, &p, &r);
    *done = s->sent == r.rows * r.columns;
    if (*done) s->sent = 0;
    return status;
}

/* ---- Steps of the down queue ---- */

static bool fetched_direct(const stream *s, const part *p)
{
    const duo_runs r = duo_runs_of(p->rows, p->columns, p->ld, p->device_ld);
    return s->plan->of.pinned[DUO_C] && duo_runs_direct(&r);
}

/* The tile's product is done before its fetch begins: it is the step before it. */
static duo_status follow_product(const stream *s, int index)
{
    const duo_step *const step = &s->plan->step[index];
    const duo_lane *const lane = lane_of(s, step);
    return duo_queue_after_mark(lane->down, lane->compute, s->plan->step[index - 1].mark);
}

static duo_status mark_tile(stream *s, duo_step *step)
{
    step->mark = FIRST_MARK + s->tiles[step->device]++ % STEP_MARKS;
    const duo_status status = duo_queue_mark(lane_of(s, step)->down, step->mark);
    return status == DUO_OK ? DUO_OK : failed(s, step, status, "mark a tile");
}

/* The device writes the tile to pinned memory itself. No more than STEP_MARKS tiles are queued. */
static duo_status fetch_direct(stream *s, int index, const part *p)
{
    duo_step *const step = &s->plan->step[index];
    const duo_lane *const lane = lane_of(s, step);
    duo_status status = DUO_OK;
    if (s->tiles[step->device] >= STEP_MARKS)
        status = duo_queue_wait_mark(lane->down, FIRST_MARK + s->tiles[step->device] % STEP_MARKS);
    if (status == DUO_OK) status = follow_product(s, index);
    duo_record_begin(s->res, step, DUO_ROW_DOWN);
    if (status == DUO_OK)
        status = duo_queue_copy(lane->down, p->host, (size_t)p->ld * sizeof(float), p->device,
                                (size_t)p->device_ld * sizeof(float),
                                (size_t)p->rows * sizeof(float), (size_t)p->columns);
    duo_record_end(s->res, step, DUO_ROW_DOWN);
    if (status != DUO_OK) return failed(s, step, status, "queue a transfer");
    return mark_tile(s, step);
}

/*
 * Is every device there? To be asked when a part of C has arrived, and before it is taken for good:
 * panels that a device copied from one that was lost before are garbage, and no queue of its own
 * fails (backend.h). If all are there now, they were when these panels were copied.
 */
static duo_status all_there(const stream *s)
{
    const int devices = s->plan->of.devices;
    for (int i = 0; i < devices && devices > 1; i++) {
        const duo_lane *const lane = &s->res->lane[i];
        bool idle;
        duo_status status = duo_queue_idle(lane->up, &idle);
        if (status == DUO_OK) status = duo_stage_still_there(lane->device);
        if (status != DUO_OK)
            return duo_resources_failed_on(s->res, lane->device, status, "ask a device");
    }
    return DUO_OK;
}

/* A piece of the tile through plain memory. */
static duo_status fetch_plain(stream *s, duo_step *step, const part *p, const duo_runs *r,
                              int64_t count)
{
    const duo_lane *const lane = lane_of(s, step);
    duo_record_begin(s->res, step, DUO_ROW_DOWN);
    duo_status status = duo_piece_copy(lane->down, duo_queue_copy_now, r, p->device, p->device_ld,
                                       s->plain, s->fetched, count, false);
    duo_record_end(s->res, step, DUO_ROW_DOWN);
    if (status == DUO_OK) status = duo_stage_still_there(lane->device);
    if (status != DUO_OK) return failed(s, step, status, "fetch a tile");
    status = all_there(s);
    if (status != DUO_OK) return status;
    duo_runs_pack(r, p->host, s->plain, s->fetched, count, DUO_UNPACK, s->threads);
    step->done += count;
    return DUO_OK;
}

/* Queues a piece of the tile into the free stage. */
static duo_status fetch_stage(stream *s, int index, const part *p, const duo_runs *r, int64_t count)
{
    duo_resources *const res = s->res;
    const duo_step *const step = &s->plan->step[index];
    const duo_lane *const lane = lane_of(s, step);
    const int stage = res->down.next;
    duo_record_begin(res, step, DUO_ROW_DOWN);
    const duo_status status =
        duo_piece_copy(lane->down, duo_queue_copy, r, p->device, p->device_ld,
                       res->down.stage[stage].space.address, s->fetched, count, false);
    duo_record_end(res, step, DUO_ROW_DOWN);
    if (status != DUO_OK) return failed(s, step, status, "queue a transfer");
    s->flying[(s->first + s->count++) % DUO_STAGES] = (flight){stage, index, s->fetched, count};
    return duo_stage_mark(res, &res->down, stage, lane->down, lane->device);
}

/* Queues what can be queued of the tiles whose products are queued. */
static duo_status fetch_on(stream *s, bool *moved)
{
    duo_status status = DUO_OK;
    while (s->fetch < s->next && status == DUO_OK) {
        const int index = s->fetch;
        duo_step *const step = &s->plan->step[index];
        if (step->kind != DUO_STEP_FETCH) {
            s->fetch++;
            continue;
        }
        const part p = part_of(s, step, DUO_C);
        if (fetched_direct(s, &p)) {
            status = fetch_direct(s, index, &p);
            s->fetch++;
            *moved = true;
            continue;
        }
        if (s->count == DUO_STAGES) return DUO_OK;
        const duo_runs r = duo_runs_of(p.rows, p.columns, p.ld, p.device_ld);
        const int64_t left = r.rows * r.columns - s->fetched;
        /* Small ones last: the last one has to be unpacked after it came. */
        const int64_t least = 1 << 17, count = piece_of(s, &s->res->down, &r, left, least, left);
        if (s->fetched == 0) status = follow_product(s, index);
        if (status != DUO_OK) return failed(s, step, status, "follow a product");
        status = s->plain != NULL ? fetch_plain(s, step, &p, &r, count)
                                  : fetch_stage(s, index, &p, &r, count);
        s->fetched += count;
        *moved = true;
        if (count < left || status != DUO_OK) continue;
        s->fetched = 0;
        s->fetch++;
        status = mark_tile(s, step);
    }
    return status;
}

/* Unpacks the first piece in flight if it has arrived. */
static duo_status unpack(stream *s, bool *moved)
{
    if (s->count == 0) return DUO_OK;
    const flight f = s->flying[s->first];
    bool arrived = false;
    duo_status status = duo_stage_look(s->res, &s->res->down, f.stage, &arrived);
    if (status != DUO_OK || !arrived) return status;
    status = all_there(s);
    if (status != DUO_OK) return status;
    duo_step *const step = &s->plan->step[f.step];
    const part p = part_of(s, step, DUO_C);
    const duo_runs r = duo_runs_of(p.rows, p.columns, p.ld, p.device_ld);
    duo_record_begin(s->res, step, DUO_ROW_HOST);
    duo_runs_pack(&r, p.host, s->res->down.stage[f.stage].space.address, f.from, f.count,
                  DUO_UNPACK, s->threads);
    duo_record_end(s->res, step, DUO_ROW_HOST);
    step->done += f.count;
    s->first = (s->first + 1) % DUO_STAGES;
    s->count--;
    *moved = true;
    return DUO_OK;
}

/* ---- All steps ---- */

/* A step that follows a FETCH whose pieces are not all queued cannot be queued yet. */
static bool must_wait(const stream *s, const duo_step *step)
{
    return step->follows >= 0 && s->plan->step[step->follows].kind == DUO_STEP_FETCH &&
           step->follows >= s->fetch;
}

static duo_status begin_next(stream *s, bool *moved)
{
    if (s->next == s->plan->count) return DUO_OK;
    duo_step *const step = &s->plan->step[s->next];
    bool done = true;
    duo_status status = DUO_OK;
    if (must_wait(s, step)) return DUO_OK;
    switch (step->kind) {
    case DUO_STEP_SEND:
        status = send(s, step, &done, moved);
        break;
    case DUO_STEP_SHARE:
        status = share(s, step);
        *moved = true;
        break;
    case DUO_STEP_PACK:
    case DUO_STEP_MULTIPLY:
        status = compute(s, step);
        *moved = true;
        break;
    case DUO_STEP_FETCH: /* fetch_on sees it */
        *moved = true;
        break;
    }
    if (done && status == DUO_OK) s->next++;
    return status;
}

/* Nothing could be done: lets the devices go on for a moment. */
static void pause_a_moment(int turns)
{
    enum { SPINS = 2000 };
    if (turns > SPINS) (void)sched_yield();
#if defined(__x86_64__)
    for (int i = 0; i < 16; i++) __builtin_ia32_pause();
#endif
}

static duo_status run_steps(stream *s)
{
    duo_status status = DUO_OK;
    int idle = 0;
    while (s->next < s->plan->count || s->fetch < s->plan->count || s->count > 0) {
        bool moved = false;
        status = unpack(s, &moved);
        if (status == DUO_OK) status = fetch_on(s, &moved);
        if (status == DUO_OK) {
            bool began = false;
            status = begin_next(s, &began);
            moved |= began;
        }
        if (status != DUO_OK) return status;
        duo_stream_progress_tell(&s->progress, STEP_MARKS, s->next, s->fetch);
        idle = moved ? 0 : idle + 1;
        if (!moved) pause_a_moment(idle);
    }
    return DUO_OK;
}

/* Tells how the rest goes. A failure ends that: whoever waits next finds it. */
static void tell_rest(stream *s)
{
    for (int i = 0; i < s->plan->of.devices; i++) {
        const duo_lane *const lane = &s->res->lane[i];
        bool idle = false;
        for (int turns = 0; !idle; turns++) {
            if (duo_backend_current()->idle(s->plan->of.fetched ? lane->down : lane->up, &idle) !=
                DUO_OK)
                return;
            duo_stream_progress_tell(&s->progress, STEP_MARKS, s->next, s->fetch);
            if (!idle) pause_a_moment(turns);
        }
    }
}

/* Waits for what this call has in the up and down queues. */
static duo_status finish_transfers(stream *s)
{
    if (s->progress.told) tell_rest(s);
    for (int i = 0; i < s->plan->of.devices; i++) {
        const duo_lane *const lane = &s->res->lane[i];
        duo_status status = duo_queue_finish(lane->up);
        if (status == DUO_OK && s->plan->of.fetched) status = duo_queue_finish(lane->down);
        if (status == DUO_OK) status = duo_stage_still_there(lane->device);
        if (status != DUO_OK)
            return duo_resources_failed_on(s->res, lane->device, status, "wait for a transfer");
    }
    const duo_status there = all_there(s);
    if (there != DUO_OK) return there;
    for (int i = 0; i < s->plan->count; i++) { /* direct ones have no pieces that count them */
        duo_step *const step = &s->plan->step[i];
        if (step->kind == DUO_STEP_FETCH) step->done = step->m * step->n;
    }
    return DUO_OK;
}

/* After a failure nothing may use the caller's memory, or the stages, any more. */
static void give_up(stream *s)
{
    duo_resources *const res = s->res;
    for (int i = 0; i < s->plan->of.devices; i++) {
        const duo_lane *const lane = &res->lane[i];
        duo_queue *const queues[] = {lane->up, lane->compute, lane->down};
        for (int q = 0; q < 3; q++)
            if (queues[q] != NULL && duo_queue_drain(queues[q]) != DUO_OK)
                (void)duo_resources_failed_on(res, lane->device, DUO_ERR_LOST, "give up");
    }
    for (int i = 0; i < DUO_STAGES; i++) res->up.stage[i].queue = res->down.stage[i].queue = NULL;
}

/* ---- Memory ---- */

static bool any_pageable(const stream *s, bool down)
{
    const duo_plan_problem *const of = &s->plan->of;
    for (int i = 0; i < s->plan->count; i++) {
        const duo_step *const step = &s->plan->step[i];
        if (step->kind != (down ? DUO_STEP_FETCH : DUO_STEP_SEND)) continue;
        const int operand = down ? DUO_C : step->operand;
        const part p = part_of(s, step, operand);
        const duo_runs r = duo_runs_of(p.rows, p.columns, p.ld, p.device_ld);
        if (!of->pinned[operand] || !duo_runs_direct(&r)) return true;
    }
    return false;
}

static double bytes_of(const duo_call *call, bool down)
{
    double bytes = 0.0;
    for (int i = 0; i < DUO_OPERANDS; i++)
        if (down ? i == DUO_C : call->operand[i].read)
            bytes += duo_operand_bytes(&call->operand[i]);
    return bytes;
}

/* Makes the stages that the steps need; where none can be pinned, a buffer of plain memory. */
static duo_status make_stages(stream *s)
{
    for (int down = 0; down < 2; down++) {
        if (!any_pageable(s, down != 0)) continue;
        const duo_status status = duo_stage_make(s->res, down ? &s->res->down : &s->res->up,
                                                 (size_t)bytes_of(s->local, down != 0));
        if (status == DUO_ERR_LOST) return status;
        if (status != DUO_OK && s->plain == NULL) s->plain = malloc(DUO_LARGEST_STAGE);
        if (status != DUO_OK && s->plain == NULL) return DUO_ERR_MEMORY;
    }
    return DUO_OK;
}

static duo_status make_slots(stream *s)
{
    place_slots(s);
    for (int lane = 0; lane < s->plan->of.devices; lane++)
        for (int i = 0; i < DUO_OPERANDS; i++) {
            if (s->places[i].bytes == 0) continue;
            duo_space *const space = &spaces_of(s, lane)[i];
            const size_t bytes = s->places[i].bytes;
            duo_status status = duo_resources_grow(s->res, s->res->lane[lane].device, space, bytes);
            if (status == DUO_ERR_MEMORY && lane == 0) /* device copies may go */
                status = duo_room_grow(s->res, space, bytes, s->local->number);
            if (status != DUO_OK) return status;
        }
    return DUO_OK;
}

/* The slots may still be in use by products of the call before, whose C stays on the device. */
static duo_status follow_last_call(stream *s)
{
    for (int i = 0; i < s->plan->of.devices; i++) {
        const duo_lane *const lane = &s->res->lane[i];
        const duo_status status = duo_queue_after(lane->up, lane->compute);
        if (status != DUO_OK)
            return duo_resources_failed_on(s->res, lane->device, status, "follow the last call");
    }
    return DUO_OK;
}

duo_outcome duo_stream_run(duo_resources *res, duo_algorithm_id algorithm, const duo_call *local)
{
    stream s = {.res = res,
                .algorithm = algorithm,
                .local = local,
                .plan = &res->plan,
                .threads = duo_machine_threads_for(res->threads)};
    for (int i = 0; i < s.plan->count; i++) s.plan->step[i].done = 0;
    s.plan->ran = true;
    s.packing = duo_packing_way_of(bytes_of(local, false) + bytes_of(local, true));
    duo_status status = make_slots(&s);
    if (status == DUO_ERR_MEMORY) return DUO_ERR_MEMORY;
    if (status == DUO_OK) status = make_stages(&s);
    if (status == DUO_OK) status = follow_last_call(&s);
    if (status == DUO_OK) {
        duo_stream_progress_begin(&s.progress, res, local);
        duo_recording_begin(res);
        status = run_steps(&s);
        if (status == DUO_OK) status = finish_transfers(&s);
        if (status == DUO_OK) duo_recording_end(res);
        if (status != DUO_OK) give_up(&s);
    }
    free(s.plain);
    return status == DUO_OK ? DUO_OK : DUO_DECLINED;
}
