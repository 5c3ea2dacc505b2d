/* stream_up.c - sends, from pinned memory, through stages, and from device to device
 * (stream_up.h). */
#include "data/stream_up.h"

#include "data/lanes.h"
#include "data/piece.h"
#include "data/recording.h"
#include "data/stage.h"
#include "gpu/backend/devices.h"

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
    const size_t width = (size_t)p->rows * sizeof(float);
    duo_status status = duo_stream_follow(s, step, lane->up);
    duo_record_begin(s->res, step, DUO_ROW_UP);
    if (status == DUO_OK)
        status = duo_queue_copy(lane->up, p->device, (size_t)p->device_ld * sizeof(float), p->host,
                                (size_t)p->ld * sizeof(float), width, (size_t)p->columns);
    duo_record_end(s->res, step, DUO_ROW_UP);
    s->follows[step->device] = true;
    return status == DUO_OK ? DUO_OK : duo_stream_failed(s, step, status, "queue a transfer");
}

/* Sends a piece of the step; the stage is free. */
static duo_status send_piece(duo_stream *s, const duo_step *step, const duo_part *p,
                             const duo_runs *r)
{
    duo_resources *const res = s->res;
    const duo_lane *const lane = duo_stream_lane(s, step);
    duo_ring *const ring = &res->up;
    /* Small ones first, so that the link soon has work. */
    const int64_t least = 1 << 18;
    const int64_t left = r->rows * r->columns - s->sent;
    const int64_t count = duo_stream_piece(s, ring, r, s->pieces, least, left);
    float *const packed = s->plain != NULL ? s->plain : ring->stage[ring->next].space.address;
    duo_status status = s->sent == 0 ? duo_stream_follow(s, step, lane->up) : DUO_OK;
    duo_record_begin(res, step, DUO_ROW_HOST);
    duo_runs_pack(r, p->host, packed, s->sent, count, s->packing, s->threads);
    duo_record_end(res, step, DUO_ROW_HOST);
    duo_record_begin(res, step, DUO_ROW_UP);
    if (status == DUO_OK)
        status = duo_piece_copy(lane->up, s->plain != NULL ? duo_queue_copy_now : duo_queue_copy, r,
                                p->device, p->device_ld, packed, s->sent, count, true);
    duo_record_end(res, step, DUO_ROW_UP);
    s->follows[step->device] = true;
    if (status != DUO_OK) return duo_stream_failed(s, step, status, "queue a transfer");
    s->sent += count;
    s->pieces += count;
    return s->plain != NULL ? DUO_OK
                            : duo_stage_mark(res, ring, ring->next, lane->up, lane->device);
}

duo_status duo_stream_send(duo_stream *s, const duo_step *step, bool *done, bool *moved)
{
    const duo_part p = duo_stream_part(s, step, step->operand);
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
