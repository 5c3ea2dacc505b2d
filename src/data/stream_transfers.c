/* stream_transfers.c - sends and fetches of a streamed product: from and to pinned memory, through
 * stages, and from device to device (stream_transfers.h). */
#include "data/stream_transfers.h"

#include "data/lanes.h"
#include "data/pump.h"
#include "data/recording.h"
#include "data/stage.h"
#include "gpu/backend/devices.h"
#include "host/pages.h"

static duo_pump pump_of(const duo_stream *s, const duo_step *step, duo_ring *ring)
{
    return (duo_pump){.res = s->res,
                      .ring = ring,
                      .plain = s->plain,
                      .threads = s->threads,
                      .packing = s->packing,
                      .step = step};
}

static duo_piece piece_of(const duo_part *p, int64_t from, int64_t count)
{
    return (duo_piece){&p->runs, p->host, p->device, p->device_ld, from, count};
}

/* The whole part in one copy between pinned memory and the device. */
static duo_status copy_part(duo_queue *queue, const duo_part *p, bool to_device)
{
    const duo_runs *const r = &p->runs;
    const size_t width = (size_t)r->rows * sizeof(float);
    const size_t here = r->columns > 1 ? (size_t)r->ld * sizeof(float) : width;
    const size_t there = r->columns > 1 ? (size_t)p->device_ld * sizeof(float) : width;
    return to_device
               ? duo_queue_copy(queue, p->device, there, p->host, here, width, (size_t)r->columns)
               : duo_queue_copy(queue, p->host, here, p->device, there, width, (size_t)r->columns);
}

/* ---- Up ---- */

duo_status duo_stream_share(duo_stream *s, const duo_step *step)
{
    const duo_lane *const lane = duo_stream_lane(s, step);
    duo_step there = *step;
    there.device = step->source;
    const duo_part to = duo_stream_part(s, step, step->operand),
                   from = duo_stream_part(s, &there, step->operand);
    const size_t width = (size_t)to.rows * sizeof(float);
    const size_t pitch = (size_t)to.device_ld * sizeof(float);
    const duo_lane *const source = &s->res->lane[step->source];
    duo_status status = duo_queue_after(lane->peer, source->up);
    duo_record_begin(s->res, step, DUO_ROW_PEER);
    if (status == DUO_OK)
        status = duo_queue_copy(lane->peer, to.device, pitch, from.device, pitch, width,
                                (size_t)to.columns);
    duo_record_end(s->res, step, DUO_ROW_PEER);
    s->follows_peer[step->device] = true;
    return status == DUO_OK
               ? DUO_OK
               : duo_lanes_failed_between(s->res, lane, source, status, "copy between devices");
}

/* The whole part in one copy from pinned memory. */
static duo_status send_direct(duo_stream *s, const duo_step *step, const duo_part *p)
{
    const duo_lane *const lane = duo_stream_lane(s, step);
    duo_status status = duo_stream_follow(s, step, lane->up);
    duo_record_begin(s->res, step, DUO_ROW_UP);
    if (status == DUO_OK) status = copy_part(lane->up, p, true);
    duo_record_end(s->res, step, DUO_ROW_UP);
    s->follows[step->device] = true;
    return status == DUO_OK ? DUO_OK : duo_stream_failed(s, step, status, "queue a transfer");
}

/* Sends a piece of the step; the stage is free. */
static duo_status send_piece(duo_stream *s, const duo_step *step, const duo_part *p)
{
    const duo_runs *const r = &p->runs;
    const duo_lane *const lane = duo_stream_lane(s, step);
    const duo_pump pump = pump_of(s, step, &s->res->up);
    /* Small pieces first, so that the link soon has work. */
    const int64_t least = 1 << 18;
    const int64_t left = r->rows * r->columns - s->sent;
    const int64_t count = duo_stream_piece(&pump, r, s->pieces, least, left);
    const duo_piece piece = piece_of(p, s->sent, count);
    duo_status status = s->sent == 0 ? duo_stream_follow(s, step, lane->up) : DUO_OK;
    s->follows[step->device] = true;
    if (status != DUO_OK) return duo_stream_failed(s, step, status, "follow a product");
    s->sent += count;
    s->pieces += count;
    return duo_pump_up(&pump, lane->up, lane->device, &piece);
}

duo_status duo_stream_send(duo_stream *s, const duo_step *step, bool *done, bool *moved)
{
    const duo_part p = duo_stream_part(s, step, step->operand);
    *done = *moved = true;
    if (s->plan->of.pinned[step->operand] && duo_runs_direct(&p.runs))
        return send_direct(s, step, &p);
    if (s->plain == NULL) {
        const duo_status status = duo_stage_look(s->res, &s->res->up, s->res->up.next, moved);
        *done = false;
        if (status != DUO_OK || !*moved) return status;
    }
    const duo_status status = send_piece(s, step, &p);
    *done = s->sent == p.runs.rows * p.runs.columns;
    if (*done) s->sent = 0;
    return status;
}

/* ---- Down ---- */

/* Does the device itself write this part of C to host memory? */
static bool fetched_direct(const duo_stream *s, const duo_part *p)
{
    return s->plan->of.pinned[DUO_C] && duo_runs_direct(&p->runs);
}

/* The fetch begins after the tile's product, which is the step before it. */
static duo_status follow_product(const duo_stream *s, int index)
{
    const duo_step *const step = &s->plan->step[index];
    const duo_lane *const lane = duo_stream_lane(s, step);
    return duo_queue_after_mark(lane->down, lane->compute, s->plan->step[index - 1].mark);
}

static duo_status mark_tile(duo_stream *s, duo_step *step)
{
    step->mark = DUO_FIRST_MARK + s->tiles[step->device]++ % DUO_STEP_MARKS;
    const duo_status status = duo_queue_mark(duo_stream_lane(s, step)->down, step->mark);
    return status == DUO_OK ? DUO_OK : duo_stream_failed(s, step, status, "mark a tile");
}

/* The device writes the tile to pinned memory itself. No more than DUO_STEP_MARKS tiles are
 * queued. */
static duo_status fetch_direct(duo_stream *s, int index, const duo_part *p)
{
    duo_step *const step = &s->plan->step[index];
    const duo_lane *const lane = duo_stream_lane(s, step);
    duo_status status = DUO_OK;
    if (s->tiles[step->device] >= DUO_STEP_MARKS)
        status = duo_queue_wait_mark(lane->down,
                                     DUO_FIRST_MARK + s->tiles[step->device] % DUO_STEP_MARKS);
    if (status == DUO_OK) status = follow_product(s, index);
    duo_record_begin(s->res, step, DUO_ROW_DOWN);
    if (status == DUO_OK) status = copy_part(lane->down, p, false);
    duo_record_end(s->res, step, DUO_ROW_DOWN);
    if (status != DUO_OK) return duo_stream_failed(s, step, status, "queue a transfer");
    return mark_tile(s, step);
}

duo_status duo_stream_all_there(const duo_stream *s)
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

/* A piece of the tile has arrived. */
static duo_status unpack(duo_stream *s, duo_step *step, int stage, const duo_piece *piece)
{
    const duo_pump pump = pump_of(s, step, &s->res->down);
    const duo_status status = duo_stream_all_there(s);
    if (status != DUO_OK) return status;
    duo_pump_unpack(&pump, stage, piece);
    step->done += piece->count;
    return DUO_OK;
}

/* Queues a piece of the tile into the free stage. */
static duo_status fetch_piece(duo_stream *s, int index, const duo_piece *piece)
{
    duo_step *const step = &s->plan->step[index];
    const duo_lane *const lane = duo_stream_lane(s, step);
    const duo_pump pump = pump_of(s, step, &s->res->down);
    int stage;
    const duo_status status = duo_pump_down(&pump, lane->down, lane->device, piece, &stage);
    if (status != DUO_OK) return status;
    if (s->plain != NULL) return unpack(s, step, stage, piece);
    s->flying[(s->first + s->count++) % DUO_STAGES] =
        (duo_flight){stage, index, piece->from, piece->count};
    return DUO_OK;
}

duo_status duo_stream_fetch(duo_stream *s, bool *moved)
{
    duo_status status = DUO_OK;
    while (s->fetch < s->next && status == DUO_OK) {
        const int index = s->fetch;
        duo_step *const step = &s->plan->step[index];
        if (step->kind != DUO_STEP_FETCH) {
            s->fetch++;
            continue;
        }
        const duo_part p = duo_stream_part(s, step, DUO_C);
        if (fetched_direct(s, &p)) {
            status = fetch_direct(s, index, &p);
            s->fetch++;
            *moved = true;
            continue;
        }
        if (s->count == DUO_STAGES) return DUO_OK;
        const int64_t left = p.runs.rows * p.runs.columns - s->fetched;
        const duo_pump pump = pump_of(s, step, &s->res->down);
        /* Small pieces last: the host unpacks the last one while nothing else runs. */
        const int64_t least = 1 << 17, count = duo_stream_piece(&pump, &p.runs, left, least, left);
        if (s->fetched == 0) status = follow_product(s, index);
        if (status != DUO_OK) return duo_stream_failed(s, step, status, "follow a product");
        const duo_piece piece = piece_of(&p, s->fetched, count);
        status = fetch_piece(s, index, &piece);
        s->fetched += count;
        *moved = true;
        if (count < left || status != DUO_OK) continue;
        s->fetched = 0;
        s->fetch++;
        status = mark_tile(s, step);
    }
    return status;
}

/* ---- The pages of C ---- */

static duo_runs runs_of_c(const duo_stream *s)
{
    const duo_call *const call = s->local;
    const duo_operand *const c = &call->operand[DUO_C];
    return call->batch != NULL ? duo_runs_of_products(call, DUO_C, 0, call->batch->count)
                               : duo_runs_of(c->rows, c->columns, c->ld, c->ld);
}

/* Runs shorter than a page are left out: the system would be asked for each. So are runs that do
 * not follow each other in memory. */
void duo_stream_look_for_pages(duo_stream *s)
{
    enum { SHORTEST = 1024 };
    const duo_operand *const c = &s->local->operand[DUO_C];
    const duo_runs r = runs_of_c(s);
    const int64_t span = (r.columns - 1) * r.ld + r.rows;
    const bool in_order = r.columns == 1 || (r.each == 0 && r.ld >= r.rows);
    const bool unpacked = s->plan->of.fetched && !s->plan->of.pinned[DUO_C] && in_order;
    const bool missing = unpacked && r.rows >= SHORTEST &&
                         duo_pages_missing(c->address, (size_t)span * sizeof(float));
    s->pages_from = missing ? 0 : -1;
}

bool duo_stream_make_pages(duo_stream *s)
{
    if (s->pages_from < 0) return false;
    const duo_operand *const c = &s->local->operand[DUO_C];
    const duo_runs r = runs_of_c(s);
    const int64_t left = r.rows * r.columns - s->pages_from;
    const int64_t count = left < DUO_PAGE_ELEMENTS ? left : DUO_PAGE_ELEMENTS;
    duo_runs_make_pages(&r, c->address, s->pages_from, count, s->threads);
    s->pages_from = count < left ? s->pages_from + count : -1;
    return true;
}

/* Where element i of the runs is. */
static const float *element(const duo_runs *r, const float *host, int64_t i)
{
    return host + i / r->rows * r->ld + i % r->rows;
}

/* Are the pages of this piece of C there, up to its last element? */
static bool pages_there(const duo_stream *s, const duo_piece *p)
{
    if (s->pages_from < 0) return true;
    const duo_operand *const c = &s->local->operand[DUO_C];
    const duo_runs r = runs_of_c(s);
    return element(p->runs, p->host, p->from + p->count - 1) <
           element(&r, c->address, s->pages_from);
}

duo_status duo_stream_unpack(duo_stream *s, bool *moved)
{
    if (s->count == 0) return DUO_OK;
    const duo_flight f = s->flying[s->first];
    bool arrived = false;
    duo_status status = duo_stage_look(s->res, &s->res->down, f.stage, &arrived);
    if (status != DUO_OK || !arrived) return status;
    duo_step *const step = &s->plan->step[f.step];
    const duo_part p = duo_stream_part(s, step, DUO_C);
    const duo_piece piece = piece_of(&p, f.from, f.count);
    *moved = true;
    if (!pages_there(s, &piece) && duo_stream_make_pages(s)) return DUO_OK;
    status = unpack(s, step, f.stage, &piece);
    if (status != DUO_OK) return status;
    s->first = (s->first + 1) % DUO_STAGES;
    s->count--;
    return DUO_OK;
}
