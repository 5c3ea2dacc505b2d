/* stream_progress.c - how far a streamed product is (stream_progress.h). */
#define _GNU_SOURCE
#include "data/stream_progress.h"

#include <inttypes.h>
#include <stdio.h>

#include "gpu/backend/devices.h"
#include "host/clock.h"

static const double kInterval = 1.0; /* seconds from event to event */

void duo_stream_progress_begin(duo_stream_progress *p, const duo_resources *res,
                               const duo_call *call)
{
    const duo_report *const report = &res->report;
    p->told = report->verbose >= 2 || report->log != NULL;
    if (!p->told) return;
    p->begin = duo_now_seconds();
    p->next = p->begin + kInterval;
    p->call = call;
    p->res = res;
}

/*
 * The part of all products that is done. Looks from the last step back: on each device, every step
 * before a mark that has passed is done. Marks older than the last `marks` of a kind have been set
 * again behind later steps. A queue that does not answer has failed: the engine finds that out
 * itself.
 */
static double share_done(const duo_stream_progress *p, int marks, int queued, int fetched)
{
    const duo_plan *const plan = &p->res->plan;
    bool passed[DUO_LANES] = {false};
    int looked[2][DUO_LANES] = {{0}};
    double done = 0.0, all = 0.0;
    for (int i = plan->count - 1; i >= 0; i--) {
        const duo_step *const s = &plan->step[i];
        const duo_lane *const lane = &p->res->lane[s->device];
        const bool tile = s->kind == DUO_STEP_FETCH, product = s->kind == DUO_STEP_MULTIPLY;
        if (!tile && !product) continue;
        const bool there = i < (tile ? fetched : queued);
        if (there && !passed[s->device] && looked[tile][s->device]++ < marks)
            (void)duo_queue_passed(tile ? lane->down : lane->compute, s->mark, &passed[s->device]);
        const double work = (double)s->m * (double)s->n * (double)s->k;
        if (product) all += work;
        if (product && passed[s->device]) done += work;
    }
    return all > 0.0 ? done / all : 1.0;
}

void duo_stream_progress_tell(duo_stream_progress *p, int marks, int queued, int fetched)
{
    if (!p->told) return;
    const double now = duo_now_seconds();
    if (now < p->next) return;
    p->next += kInterval;
    if (p->next < now) p->next = now + kInterval; /* the process was stopped meanwhile */
    const duo_call *const call = p->call;
    const double share = share_done(p, marks, queued, fetched), spent = now - p->begin;
    char text[160], left[48] = "";
    if (share > 0.0)
        (void)snprintf(left, sizeof left, ", about %.0f s left", spent * (1.0 - share) / share);
    (void)snprintf(text, sizeof text,
                   "sgemm m=%" PRId64 " n=%" PRId64 " k=%" PRId64 ": %.0f %% after %.1f s%s",
                   call->swapped ? call->n : call->m, call->swapped ? call->m : call->n, call->k,
                   100.0 * share, spent, left);
    duo_report_event(&p->res->report, text);
}
