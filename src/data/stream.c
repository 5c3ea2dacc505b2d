/* stream.c - runs a plan (stream.h). */
#define _GNU_SOURCE
#include "data/stream.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "data/recording.h"
#include "data/room.h"
#include "data/stage.h"
#include "data/stream_parts.h"
#include "data/stream_transfers.h"
#include "gpu/backend/devices.h"
#include "host/clock.h"

/* ---- The compute queue ---- */

static duo_status compute(duo_stream *s, duo_step *step)
{
    const duo_backend *const backend = duo_backend_current();
    const duo_lane *const lane = duo_stream_lane(s, step);
    duo_status status = DUO_OK;
    if (s->follows[step->device]) status = duo_queue_after(lane->compute, lane->up);
    if (s->follows_peer[step->device] && status == DUO_OK)
        status = duo_queue_after(lane->compute, lane->peer);
    s->follows[step->device] = s->follows_peer[step->device] = false;
    if (status == DUO_OK) status = duo_stream_follow(s, step, lane->compute);
    if (status != DUO_OK) return duo_stream_failed(s, step, status, "follow a transfer");
    duo_group piece; /* of a batch; else its call is the product */
    piece.call = duo_stream_call(s, step, &piece.batch);
    const duo_call *const call = &piece.call;
    duo_record_begin(s->res, step, DUO_ROW_COMPUTE);
    if (step->kind == DUO_STEP_PACK) {
        void *const memory = call->operand[step->operand].packed;
        status = backend->pack(lane->compute, s->algorithm, call, step->operand, memory);
        duo_record_end(s->res, step, DUO_ROW_COMPUTE);
        return status == DUO_OK ? DUO_OK : duo_stream_failed(s, step, status, "pack a panel");
    }
    status = call->batch != NULL ? backend->launch_batch(lane->compute, s->algorithm, &piece, 1)
                                 : backend->launch(lane->compute, s->algorithm, call, NULL, 0);
    duo_record_end(s->res, step, DUO_ROW_COMPUTE);
    if (status != DUO_OK) return duo_stream_failed(s, step, status, "launch");
    step->done = 1;
    step->mark = DUO_FIRST_MARK + s->products[step->device]++ % DUO_STEP_MARKS;
    status = duo_queue_mark(lane->compute, step->mark);
    return status == DUO_OK ? DUO_OK : duo_stream_failed(s, step, status, "mark a product");
}

/* ---- Progress: an event each second, if events are told ---- */

static const double kInterval = 1.0; /* seconds from event to event */

static void begin_to_tell(duo_stream *s)
{
    const duo_report *const report = &s->res->report;
    s->told = report->verbose >= 2 || report->log != NULL;
    if (!s->told) return;
    s->begin_seconds = duo_now_seconds();
    s->tell_seconds = s->begin_seconds + kInterval;
}

/*
 * The part of all products that is done. Looks from the last step back: on each device, every step
 * before a mark that has passed is done. Marks older than the last DUO_STEP_MARKS of a kind have
 * been set again behind later steps. A queue that does not answer has failed: the next wait finds
 * that out.
 */
static double share_done(const duo_stream *s)
{
    bool passed[DUO_LANES] = {false};
    int looked[2][DUO_LANES] = {{0}};
    double done = 0.0, all = 0.0;
    for (int i = s->plan->count - 1; i >= 0; i--) {
        const duo_step *const step = &s->plan->step[i];
        const duo_lane *const lane = &s->res->lane[step->device];
        const bool tile = step->kind == DUO_STEP_FETCH, product = step->kind == DUO_STEP_MULTIPLY;
        if (!tile && !product) continue;
        const bool there = i < (tile ? s->fetch : s->next);
        if (there && !passed[step->device] && looked[tile][step->device]++ < DUO_STEP_MARKS)
            (void)duo_queue_passed(tile ? lane->down : lane->compute, step->mark,
                                   &passed[step->device]);
        const double work =
            (double)step->products * (double)step->m * (double)step->n * (double)step->k;
        if (product) all += work;
        if (product && passed[step->device]) done += work;
    }
    return all > 0.0 ? done / all : 1.0;
}

/* Tells how far the product is, if it is time. */
static void tell(duo_stream *s)
{
    if (!s->told) return;
    const double now = duo_now_seconds();
    if (now < s->tell_seconds) return;
    s->tell_seconds += kInterval;
    if (s->tell_seconds < now) s->tell_seconds = now + kInterval; /* the process was stopped */
    const duo_call *const call = s->local;
    const double share = share_done(s), spent = now - s->begin_seconds;
    char text[160], left[48] = "";
    if (share > 0.0)
        (void)snprintf(left, sizeof left, ", about %.0f s left", spent * (1.0 - share) / share);
    (void)snprintf(text, sizeof text,
                   "sgemm m=%" PRId64 " n=%" PRId64 " k=%" PRId64 ": %.0f %% after %.1f s%s",
                   call->swapped ? call->n : call->m, call->swapped ? call->m : call->n, call->k,
                   100.0 * share, spent, left);
    duo_report_event(&s->res->report, text);
}

/* ---- All steps ---- */

/* A step cannot be queued yet if it follows a FETCH and not all pieces of that are queued. */
static bool must_wait(const duo_stream *s, const duo_step *step)
{
    return step->follows >= 0 && s->plan->step[step->follows].kind == DUO_STEP_FETCH &&
           step->follows >= s->fetch;
}

static duo_status begin_next(duo_stream *s, bool *moved)
{
    if (s->next == s->plan->count) return DUO_OK;
    duo_step *const step = &s->plan->step[s->next];
    bool done = true;
    duo_status status = DUO_OK;
    if (must_wait(s, step)) return DUO_OK;
    switch (step->kind) {
    case DUO_STEP_SEND:
        status = duo_stream_send(s, step, &done, moved);
        break;
    case DUO_STEP_SHARE:
        status = duo_stream_share(s, step);
        *moved = true;
        break;
    case DUO_STEP_PACK:
    case DUO_STEP_MULTIPLY:
        status = compute(s, step);
        *moved = true;
        break;
    case DUO_STEP_FETCH: /* duo_stream_fetch queues it */
        *moved = true;
        break;
    }
    if (done && status == DUO_OK) s->next++;
    return status;
}

/* Nothing could be done: waits a moment for the devices. */
static void pause_a_moment(int turns)
{
    enum { SPINS = 2000 };
    if (turns > SPINS) (void)sched_yield();
#if defined(__x86_64__)
    for (int i = 0; i < 16; i++) __builtin_ia32_pause();
#endif
}

static duo_status run_steps(duo_stream *s)
{
    duo_status status = DUO_OK;
    int idle = 0;
    while (s->next < s->plan->count || s->fetch < s->plan->count || s->count > 0) {
        bool moved = false;
        status = duo_stream_unpack(s, &moved);
        if (status == DUO_OK) status = duo_stream_fetch(s, &moved);
        if (status == DUO_OK) {
            bool began = false;
            status = begin_next(s, &began);
            moved |= began;
        }
        if (status != DUO_OK) return status;
        tell(s);
        if (!moved) moved = duo_stream_make_pages(s);
        idle = moved ? 0 : idle + 1;
        if (!moved) pause_a_moment(idle);
    }
    return DUO_OK;
}

/* Tells of the progress until all is done. A failure ends this: the next wait finds it. */
static void tell_rest(duo_stream *s)
{
    for (int i = 0; i < s->plan->of.devices; i++) {
        const duo_lane *const lane = &s->res->lane[i];
        bool idle = false;
        for (int turns = 0; !idle; turns++) {
            if (duo_backend_current()->idle(s->plan->of.fetched ? lane->down : lane->up, &idle) !=
                DUO_OK)
                return;
            tell(s);
            if (!idle) pause_a_moment(turns);
        }
    }
}

/* Waits for this call's work in the queues up, peer and down. */
static duo_status finish_transfers(duo_stream *s)
{
    if (s->told) tell_rest(s);
    for (int i = 0; i < s->plan->of.devices; i++) {
        const duo_lane *const lane = &s->res->lane[i];
        duo_status status = duo_queue_finish(lane->up);
        if (status == DUO_OK && lane->peer != NULL) status = duo_queue_finish(lane->peer);
        if (status == DUO_OK && s->plan->of.fetched) status = duo_queue_finish(lane->down);
        if (status == DUO_OK) status = duo_stage_still_there(lane->device);
        if (status != DUO_OK)
            return duo_resources_failed_on(s->res, lane->device, status, "wait for a transfer");
    }
    const duo_status there = duo_stream_all_there(s);
    if (there != DUO_OK) return there;
    for (int i = 0; i < s->plan->count; i++) { /* a direct FETCH does not count pieces */
        duo_step *const step = &s->plan->step[i];
        if (step->kind == DUO_STEP_FETCH) step->done = step->products * step->m * step->n;
    }
    return DUO_OK;
}

/* After a failure nothing may use the caller's memory, or the stages, any more. */
static void give_up(duo_stream *s)
{
    duo_resources *const res = s->res;
    for (int i = 0; i < s->plan->of.devices; i++) {
        const duo_lane *const lane = &res->lane[i];
        duo_queue *const queues[] = {lane->up, lane->peer, lane->compute, lane->down};
        for (size_t q = 0; q < sizeof queues / sizeof queues[0]; q++)
            if (queues[q] != NULL && duo_queue_drain(queues[q]) != DUO_OK)
                (void)duo_resources_failed_on(res, lane->device, DUO_ERR_LOST, "give up");
    }
}

/* All work on the stages has been waited for. If another device takes a stage next, it must not
 * meet the loss of the device that had it before. */
static void free_stages(duo_resources *res)
{
    for (int i = 0; i < DUO_STAGES; i++) res->up.stage[i].queue = res->down.stage[i].queue = NULL;
}

/* ---- Memory ---- */

static bool any_pageable(const duo_stream *s, bool down)
{
    const duo_plan_problem *const of = &s->plan->of;
    for (int i = 0; i < s->plan->count; i++) {
        const duo_step *const step = &s->plan->step[i];
        if (step->kind != (down ? DUO_STEP_FETCH : DUO_STEP_SEND)) continue;
        const int operand = down ? DUO_C : step->operand;
        const duo_part p = duo_stream_part(s, step, operand);
        if (!of->pinned[operand] || !duo_runs_direct(&p.runs)) return true;
    }
    return false;
}

static double bytes_of(const duo_call *call, bool down)
{
    double bytes = 0.0;
    for (int i = 0; i < DUO_OPERANDS; i++)
        if (down ? i == DUO_C : call->operand[i].read) bytes += duo_call_bytes(call, i);
    return bytes;
}

/* Makes the stages that the steps need; if none can be pinned, a buffer of plain memory. */
static duo_status make_stages(duo_stream *s)
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

static duo_status make_slots(duo_stream *s)
{
    duo_stream_place_slots(s);
    for (int lane = 0; lane < s->plan->of.devices; lane++)
        for (int i = 0; i < DUO_OPERANDS; i++) {
            if (s->places[i].bytes == 0) continue;
            duo_space *const space = &duo_stream_spaces(s, lane)[i];
            const size_t bytes = s->places[i].bytes;
            const duo_status status =
                lane == 0 /* device copies may go */
                    ? duo_room_grow(s->res, space, bytes, s->local->number)
                    : duo_resources_grow(s->res, s->res->lane[lane].device, space, bytes);
            if (status != DUO_OK) return status;
        }
    return DUO_OK;
}

/* Lets the copies wait for the last call's products: they may still use the slots, if that call's C
 * stays on the device. */
static duo_status follow_last_call(duo_stream *s)
{
    for (int i = 0; i < s->plan->of.devices; i++) {
        const duo_lane *const lane = &s->res->lane[i];
        duo_status status = duo_queue_after(lane->up, lane->compute);
        if (status == DUO_OK && lane->peer != NULL)
            status = duo_queue_after(lane->peer, lane->compute);
        if (status != DUO_OK)
            return duo_resources_failed_on(s->res, lane->device, status, "follow the last call");
    }
    return DUO_OK;
}

duo_outcome duo_stream_run(duo_resources *res, duo_algorithm_id algorithm, const duo_call *local)
{
    duo_stream s = {.res = res,
                    .algorithm = algorithm,
                    .local = local,
                    .plan = &res->plan,
                    .threads = duo_resources_threads(res)};
    for (int i = 0; i < s.plan->count; i++) s.plan->step[i].done = 0;
    s.plan->ran = true;
    s.packing = duo_packing_way_of(bytes_of(local, false) + bytes_of(local, true));
    duo_status status = make_slots(&s);
    if (status == DUO_ERR_MEMORY) return DUO_ERR_MEMORY;
    if (status == DUO_OK) status = make_stages(&s);
    if (status == DUO_OK) status = follow_last_call(&s);
    if (status == DUO_OK) {
        begin_to_tell(&s);
        duo_stream_look_for_pages(&s);
        duo_recording_begin(res);
        status = run_steps(&s);
        if (status == DUO_OK) status = finish_transfers(&s);
        if (status == DUO_OK) duo_recording_end(res);
        if (status != DUO_OK) give_up(&s);
        free_stages(res);
    }
    free(s.plain);
    return status == DUO_OK ? DUO_OK : DUO_DECLINED;
}
