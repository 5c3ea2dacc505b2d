/* stream_down.c - fetches, to pinned memory and through stages (stream_down.h). */
#include "data/stream_down.h"

#include "data/piece.h"
#include "data/recording.h"
#include "data/stage.h"
#include "gpu/backend/devices.h"

/* Does the device itself write this part of C to host memory? */
static bool fetched_direct(const duo_stream *s, const duo_part *p)
{
    const duo_runs r = duo_runs_of(p->rows, p->columns, p->ld, p->device_ld);
    return s->plan->of.pinned[DUO_C] && duo_runs_direct(&r);
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
    if (status == DUO_OK)
        status = duo_queue_copy(lane->down, p->host, (size_t)p->ld * sizeof(float), p->device,
                                (size_t)p->device_ld * sizeof(float),
                                (size_t)p->rows * sizeof(float), (size_t)p->columns);
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

/* A piece of the tile through plain memory. */
static duo_status fetch_plain(duo_stream *s, duo_step *step, const duo_part *p, const duo_runs *r,
                              int64_t count)
{
    const duo_lane *const lane = duo_stream_lane(s, step);
    duo_record_begin(s->res, step, DUO_ROW_DOWN);
    duo_status status = duo_piece_copy(lane->down, duo_queue_copy_now, r, p->device, p->device_ld,
                                       s->plain, s->fetched, count, false);
    duo_record_end(s->res, step, DUO_ROW_DOWN);
    if (status == DUO_OK) status = duo_stage_still_there(lane->device);
    if (status != DUO_OK) return duo_stream_failed(s, step, status, "fetch a tile");
    status = duo_stream_all_there(s);
    if (status != DUO_OK) return status;
    duo_runs_pack(r, p->host, s->plain, s->fetched, count, DUO_UNPACK, s->threads);
    step->done += count;
    return DUO_OK;
}

/* Queues a piece of the tile into the free stage. */
static duo_status fetch_stage(duo_stream *s, int index, const duo_part *p, const duo_runs *r,
                              int64_t count)
{
    duo_resources *const res = s->res;
    const duo_step *const step = &s->plan->step[index];
    const duo_lane *const lane = duo_stream_lane(s, step);
    const int stage = res->down.next;
    duo_record_begin(res, step, DUO_ROW_DOWN);
    const duo_status status =
        duo_piece_copy(lane->down, duo_queue_copy, r, p->device, p->device_ld,
                       res->down.stage[stage].space.address, s->fetched, count, false);
    duo_record_end(res, step, DUO_ROW_DOWN);
    if (status != DUO_OK) return duo_stream_failed(s, step, status, "queue a transfer");
    s->flying[(s->first + s->count++) % DUO_STAGES] = (duo_flight){stage, index, s->fetched, count};
    return duo_stage_mark(res, &res->down, stage, lane->down, lane->device);
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
        const duo_runs r = duo_runs_of(p.rows, p.columns, p.ld, p.device_ld);
        const int64_t left = r.rows * r.columns - s->fetched;
        /* Small ones last: the host unpacks the last one while nothing else runs. */
        const int64_t least = 1 << 17,
                      count = duo_stream_piece(s, &s->res->down, &r, left, least, left);
        if (s->fetched == 0) status = follow_product(s, index);
        if (status != DUO_OK) return duo_stream_failed(s, step, status, "follow a product");
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

duo_status duo_stream_unpack(duo_stream *s, bool *moved)
{
    if (s->count == 0) return DUO_OK;
    const duo_flight f = s->flying[s->first];
    bool arrived = false;
    duo_status status = duo_stage_look(s->res, &s->res->down, f.stage, &arrived);
    if (status != DUO_OK || !arrived) return status;
    status = duo_stream_all_there(s);
    if (status != DUO_OK) return status;
    duo_step *const step = &s->plan->step[f.step];
    const duo_part p = duo_stream_part(s, step, DUO_C);
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
