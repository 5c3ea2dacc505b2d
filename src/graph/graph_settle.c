/* graph_settle.c - see graph_steps.h */

#include <math.h>
#include <stdlib.h>

#include "data/coherence.h"
#include "data/prepared.h"
#include "data/residency.h"
#include "gpu/backend/devices.h"
#include "graph/graph_steps.h"
#include "host/fork.h"

/* ---- Memory that is used ---- */

/* Notes memory that a node of the part touches. False: out of memory. */
static bool use(duo_graph *g, duo_graph_part *part, uintptr_t low, uintptr_t high, bool written)
{
    bool crosses = false;
    if (g->uses == g->use_room) {
        const int room = g->use_room > 0 ? 2 * g->use_room : 64;
        duo_graph_use *const grown = realloc(g->use, (size_t)room * sizeof *grown);
        if (grown == NULL) return false;
        g->use = grown;
        g->use_room = room;
    }
    duo_region *region = NULL;
    if (duo_residency_near(low, high)) {
        duo_residency_lock();
        region = duo_residency_find(low, high, &crosses);
        duo_residency_unlock();
    }
    if (crosses) return false;
    g->use[g->uses++] = (duo_graph_use){.low = low,
                                        .high = high,
                                        .region = region,
                                        .kind = region != NULL ? region->kind : DUO_REGION_PLAIN,
                                        .written = written};
    part->uses++;
    return true;
}

/* Is the memory of these uses where it was? Under the residency lock. */
static bool still_there(const duo_graph *g, int first, int uses)
{
    for (int i = first; i < first + uses; i++) {
        const duo_graph_use *const u = &g->use[i];
        bool crosses;
        if (duo_residency_find(u->low, u->high, &crosses) != u->region || crosses) return false;
        if (u->region == NULL) continue;
        if (u->region->lost || u->region->kind != u->kind) return false;
        if (duo_region_lies_on_device(u->region) && u->region->device != g->device) return false;
    }
    return true;
}

bool duo_graph_hold(duo_graph *g, const duo_graph_part *part)
{
    bool there = duo_residency_changes() == g->changes || still_there(g, part->use, part->uses);
    for (int i = part->use; i < part->use + part->uses && there; i++) {
        duo_graph_use *const use = &g->use[i];
        if (use->region == NULL) continue;
        there = !use->region->leaving;
        use->held = there;
        if (there) duo_residency_hold(use->region, NULL);
    }
    if (!there) duo_graph_let_go(g, part);
    return there;
}

void duo_graph_let_go(duo_graph *g, const duo_graph_part *part)
{
    for (int i = part->use; i < part->use + part->uses; i++) {
        if (g->use[i].held) duo_residency_let_go(g->use[i].region, false);
        g->use[i].held = false;
    }
}

static bool is_written(const duo_graph *g, uintptr_t low, uintptr_t high)
{
    for (int i = 0; i < g->uses; i++)
        if (g->use[i].written && g->use[i].low < high && low < g->use[i].high) return true;
    return false;
}

/* ---- Decisions ---- */

static bool is_operation(const duo_graph_node *n)
{
    return n->work.kind >= DUO_WORK_SGEMM && n->work.kind <= DUO_WORK_SDOT;
}

/* Decides an operation, and notes the memory that it touches. */
static bool fix_operation(duo_graph *g, duo_graph_part *part, duo_graph_node *n)
{
    duo_call call;
    const bool product = n->work.kind == DUO_WORK_SGEMM, queued = n->side == DUO_NODE_QUEUED;
    if (duo_graph_describe(&n->work, &call) != DUO_OK) return false;
    n->choice = (duo_choice){.algorithm = NULL};
    n->call = call;
    n->use = g->uses;
    for (int i = 0; i < DUO_OPERANDS; i++) {
        const duo_operand *const o = &call.operand[i];
        uintptr_t low, high;
        if (!duo_operand_touched(o)) continue;
        duo_operand_span(o, &low, &high);
        if (!use(g, part, low, high, o->written)) return false;
    }
    /* Some operations only do nothing, or store a 0. They are fixed unless the array has been kept
     * since. */
    if (!duo_operand_touched(&call.operand[product ? DUO_C : DUO_X]))
        return product || g->use[n->use].region == NULL || g->use[n->use].kind != DUO_REGION_KEPT;
    return duo_decide_once(queued ? g->lane[n->lane] : g->host, &n->call, n->work.math,
                           queued ? 0 : duo_graph_threads(g, part->at_once),
                           queued ? DUO_SIDE_GPU : DUO_SIDE_CPU, &n->choice);
}

static bool use_runs(duo_graph *g, duo_graph_part *part, const void *address, size_t pitch,
                     const duo_work *w, bool written)
{
    const uintptr_t low = (uintptr_t)address;
    return use(g, part, low, low + (w->height - 1) * pitch + w->width, written);
}

static bool use_copy(duo_graph *g, duo_graph_part *part, const duo_graph_node *n)
{
    const duo_work *const w = &n->work;
    if ((w->kind != DUO_WORK_COPY && w->kind != DUO_WORK_SET) || w->width == 0 || w->height == 0)
        return true;
    return use_runs(g, part, w->dst, w->dst_pitch, w, true) &&
           (w->kind == DUO_WORK_SET || use_runs(g, part, w->src, w->src_pitch, w, false));
}

/* Fixes the operations of a part. False: it cannot be recorded. The host's nodes need not all be
 * fixed. */
static bool fix_part(duo_graph *g, duo_graph_part *part)
{
    bool all = true;
    part->use = g->uses;
    part->uses = 0;
    for (int at = part->from; at < part->to; at++) {
        duo_graph_node *const n = &g->node[g->order[at]];
        n->choice.seconds = 0.0;
        n->fixed = is_operation(n) && n->side != DUO_NODE_CALLED && fix_operation(g, part, n);
        all &= n->fixed || !is_operation(n);
        if (n->side == DUO_NODE_QUEUED) all &= use_copy(g, part, n);
    }
    return all;
}

/* ---- Preparing to record ---- */

/*
 * Nodes of one wave run side by side, as many as there are lanes. Each counts on a share of the
 * device equal to its share of their work, so that all end together. So an algorithm that would cut
 * k to fill the whole device does not, and writes no parts of C.
 */
static void share_device(duo_graph *g, const duo_graph_part *part)
{
    for (int from = part->from, to = from; from < part->to; from = to) {
        double seconds = 0.0;
        int running = 0;
        for (; to < part->to && g->node[g->order[to]].wave == g->node[g->order[from]].wave; to++) {
            seconds += g->node[g->order[to]].choice.seconds;
            running += g->node[g->order[to]].choice.seconds > 0.0;
        }
        if (running > DUO_GRAPH_LANES) seconds *= (double)DUO_GRAPH_LANES / running;
        for (int at = from; at < to; at++) {
            duo_graph_node *const n = &g->node[g->order[at]];
            n->share = n->choice.seconds > 0.0 ? fmin(1.0, n->choice.seconds / seconds) : 1.0;
        }
    }
}

static bool open_lanes(duo_graph *g)
{
    for (int i = 0; i < g->lanes; i++) {
        duo_context *const lane = g->lane[i];
        if (duo_context_open(lane) != DUO_OK || lane->resources.queue_device != g->device)
            return false;
    }
    return true;
}

/* Makes the lanes' memory large enough for every operation of every part: later it must not
 * move. */
static bool reserve(duo_graph *g)
{
    for (int i = 0; i < g->nodes; i++) {
        const duo_graph_node *const n = &g->node[i];
        if (n->side != DUO_NODE_QUEUED || !n->fixed || n->choice.algorithm == NULL) continue;
        duo_queue *const queue = g->lane[n->lane]->resources.queue;
        duo_backend_current()->share(queue, n->share);
        const duo_status status =
            duo_backend_current()->reserve(queue, n->choice.algorithm->id, &n->call);
        duo_backend_current()->share(queue, 1.0);
        if (status != DUO_OK) return false;
    }
    return true;
}

/* Packs operands under duo_prepare that the graph does not write: once now, instead of in each
 * launch. */
static void pack_operands(duo_graph *g, duo_graph_node *n)
{
    duo_resources *const res = &g->lane[0]->resources;
    int at = n->use;
    for (int i = 0; i < DUO_OPERANDS; i++) {
        duo_operand *const o = &n->call.operand[i];
        if (!duo_operand_touched(o)) continue;
        duo_graph_use *const here = &g->use[at++];
        if (o->prepared && !o->written && !is_written(g, here->low, here->high)) {
            duo_region *const region = here->region;
            const duo_range range = duo_region_part(region, o);
            duo_residency_lock();
            if (duo_coherence_claim_read(res, region) == DUO_OK)
                o->packed = duo_prepared(res, n->choice.algorithm->id, &n->call, i, region, range);
            if (o->packed != NULL) here->packed = duo_packed_in(&region->packed, o->packed)->number;
            duo_residency_unlock();
        }
    }
}

/* The part's memory is held until it is recorded. */
static void pack_part(duo_graph *g, const duo_graph_part *part)
{
    for (int at = part->from; at < part->to; at++) {
        duo_graph_node *const n = &g->node[g->order[at]];
        if (n->fixed && n->choice.algorithm != NULL) pack_operands(g, n);
    }
}

/* Waits for the lanes, and makes all regions forget them: no work may wait for a queue that
 * records, and other calls may use the same memory meanwhile. */
static bool leave_regions(duo_graph *g)
{
    for (int i = 0; i < g->lanes; i++) {
        duo_resources *const res = &g->lane[i]->resources;
        const duo_status status = duo_queue_finish(res->queue);
        if (status != DUO_OK) return duo_resources_failed(res, status, "finish a lane") == DUO_OK;
        duo_residency_lock();
        duo_residency_forget_queue(res->queue);
        duo_residency_unlock();
    }
    return true;
}

/* ---- The whole ---- */

static void drop(duo_graph_part *part)
{
    if (part->recorded != NULL && !duo_forked()) duo_backend_current()->forget(part->recorded);
    part->recorded = NULL;
}

void duo_graph_unsettle(duo_graph *g)
{
    for (int i = 0; i < g->parts; i++) drop(&g->part[i]);
    for (int i = 0; i < g->nodes; i++) g->node[i].fixed = false;
    g->uses = 0;
    g->settled = false;
}

/* Must each call leave a line in the log? */
static bool logged(const duo_graph *g)
{
    return (g->host != NULL && duo_report_wanted(&g->host->resources.report)) ||
           (g->lane[0] != NULL && duo_report_wanted(&g->lane[0]->resources.report));
}

static bool hold(duo_graph *g, const duo_graph_part *part)
{
    duo_residency_lock();
    const bool held = duo_graph_hold(g, part);
    duo_residency_unlock();
    return held;
}

static void let_go(duo_graph *g, const duo_graph_part *part)
{
    duo_residency_lock();
    duo_graph_let_go(g, part);
    duo_residency_unlock();
}

static void settle(duo_graph *g)
{
    bool *const whole = calloc((size_t)g->parts + 1, sizeof *whole);
    g->uses = 0;
    if (whole == NULL || logged(g)) {
        duo_graph_unsettle(g);
        free(whole);
        return;
    }
    for (int i = 0; i < g->parts; i++) {
        whole[i] = fix_part(g, &g->part[i]);
        if (g->part[i].queued) share_device(g, &g->part[i]);
    }
    const bool opened = duo_device_usable(g->device) && open_lanes(g) && reserve(g);
    for (int i = 0; i < g->parts && opened; i++) {
        whole[i] = whole[i] && g->part[i].queued && hold(g, &g->part[i]);
        if (whole[i]) pack_part(g, &g->part[i]);
    }
    const bool ready = opened && leave_regions(g);
    for (int i = 0; i < g->parts; i++) {
        duo_graph_part *const part = &g->part[i];
        if (!part->queued) continue;
        if (!ready || !whole[i] || duo_graph_record(g, part) != DUO_OK) drop(part);
        if (opened) let_go(g, part);
    }
    free(whole);
}

void duo_graph_settle(duo_graph *g)
{
    const uint64_t changes = duo_residency_changes();
    if (g->settled && changes == g->changes) return;
    if (g->settled) {
        duo_residency_lock();
        g->settled = still_there(g, 0, g->uses);
        duo_residency_unlock();
    }
    g->changes = changes;
    if (!g->settled) settle(g);
    g->settled = true;
}
