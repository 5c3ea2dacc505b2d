/*
 * verify.c - see verify.h
 *
 * Each product is checked where its matrices are. If all of them are on the context's device, the
 * check is queued there behind the product, and duo_resources_finish learns what it has found. Else
 * they are brought to the host, where the team checks.
 *
 * The check needs C as it was before the call, if beta is not 0: on the host a copy of it, which
 * also lets a wrong result be computed again; on the device its sums.
 */
#include "call/verify.h"

#include <stdlib.h>

#include "call/verify_device.h"
#include "call/verify_host.h"
#include "call/verify_reduction.h"
#include "data/checked.h"
#include "gpu/backend/devices.h"
#include "host/float_mode.h"

/* ---- Which calls ---- */

static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* The draw of the context's next call. */
static bool draw(duo_policy *policy, uint64_t *seed)
{
    const uint64_t number = ++policy->verify_calls;
    const uint64_t drawn = mix(policy->verify_seed + number * UINT64_C(0x9E3779B97F4A7C15));
    *seed = mix(drawn);
    return (double)(drawn >> 11) * 0x1p-53 < policy->verify_rate;
}

/* ---- Parts ---- */

/* Its operands are only read, and not packed. */
static void only_reads(duo_call *call)
{
    for (int i = 0; i < DUO_OPERANDS; i++) {
        duo_operand *const o = &call->operand[i];
        o->read = duo_operand_touched(o);
        o->written = o->prepared = o->promised = false;
    }
}

/* The products of a call that has a shape and no groups: all in one part if they stand at equal
 * distances, else each in its own. */
static int64_t parts_of(const duo_call *call)
{
    bool even = true;
    for (int i = 0; i < DUO_OPERANDS && call->batch != NULL; i++)
        even &= !duo_operand_touched(&call->operand[i]) || duo_batch_even(call->batch, i);
    return even ? 1 : call->batch->count;
}

static void set_part(duo_verify_part *part, const duo_call *call)
{
    *part = (duo_verify_part){.call = *call};
    only_reads(&part->call);
    if (call->batch == NULL) return;
    part->batch = *call->batch;
    part->call.batch = &part->batch;
    for (int i = 0; i < DUO_OPERANDS; i++) {
        if (!duo_operand_touched(&call->operand[i])) continue;
        part->call.operand[i].address = duo_batch_address(call->batch, call, i, 0);
        part->batch.pointer[i] = NULL;
    }
}

static const duo_call *group_of(duo_call *call, int64_t g)
{
    return call->batch != NULL ? duo_call_group(call, g) : call;
}

/* Cuts the call into its parts. False: there is no memory, or a list that only the device reads. */
static bool cut(duo_verify *v, duo_call *call)
{
    const int64_t groups = call->batch != NULL ? duo_batch_groups(call->batch) : 1;
    int64_t all = 0;
    for (int64_t g = 0; g < groups; g++) {
        const duo_call *const group = group_of(call, g);
        if (group->batch != NULL && duo_batch_unread(group->batch)) return false;
        all += parts_of(group);
    }
    v->part = all > 1 ? calloc((size_t)all, sizeof *v->part) : &v->own;
    if (v->part == NULL) return false;
    for (int64_t g = 0; g < groups; g++) {
        const duo_call *const group = group_of(call, g);
        const int64_t parts = parts_of(group);
        for (int64_t p = 0; p < parts; p++) {
            duo_call one = *group;
            if (parts > 1) duo_call_products(group, p, 1, &one, NULL);
            set_part(&v->part[v->parts++], &one);
        }
    }
    return true;
}

static void free_parts(duo_verify *v)
{
    for (int64_t p = 0; p < v->parts; p++) free(v->part[p].before);
    if (v->part != &v->own) free(v->part);
}

/* ---- Products ---- */

/* Finds all operands. *before: does a part read C? *device: is everything on the device? */
static bool find_parts(duo_verify *v, duo_context *ctx, bool *before, bool *device)
{
    *before = false;
    *device = true;
    for (int64_t p = 0; p < v->parts; p++) {
        duo_verify_part *const part = &v->part[p];
        if (duo_verify_locate(&ctx->resources, part) != DUO_OK) return false;
        *before |= part->call.beta != 0.0f;
        *device &= duo_verify_on_device(part);
    }
    return true;
}

static bool begin_products(duo_verify *v, duo_context *ctx)
{
    duo_resources *const res = &ctx->resources;
    bool before, device;
    if (!find_parts(v, ctx, &before, &device)) return false;
    if (!before) return true;
    device = device && duo_verify_make_room(v, ctx);
    for (int64_t p = 0; p < v->parts; p++) {
        duo_verify_part *const part = &v->part[p];
        if (part->call.beta == 0.0f) continue;
        part->sums = device && duo_verify_queue(v, ctx, part, true);
        if (!part->sums && !duo_verify_keep_before(res, part)) return false;
    }
    v->device = res->queue_device;
    return true;
}

/* Are the sums of what C was still there? Not if the queue was closed meanwhile. */
static bool has_before(const duo_verify *v, const duo_resources *res, const duo_verify_part *part)
{
    return !part->sums || (res->queue != NULL && res->queue_device == v->device &&
                           duo_device_usable(v->device) && res->checks.address != NULL);
}

/* Checks a part: queues that, or does it, and computes the part again if it is wrong. */
static duo_status end_part(duo_verify *v, duo_execution *e, duo_verify_part *part)
{
    duo_context *const ctx = e->ctx;
    duo_resources *const res = &ctx->resources;
    const duo_algorithm *const ran = e->choice[e->ran].algorithm;
    int64_t wrong = 0;
    v->own_bound = ran->id != DUO_sgemm_cpu_openblas && !e->partly;
    if (duo_verify_locate(res, part) != DUO_OK || !has_before(v, res, part)) return DUO_OK;
    if (part->before == NULL && duo_verify_on_device(part) &&
        (part->sums || duo_verify_make_room(v, ctx)) && duo_verify_queue(v, ctx, part, false)) {
        res->unwaited = true;
        duo_checked_count(1, 0);
        return DUO_OK;
    }
    if (duo_verify_check(v, ctx, part, &wrong) != DUO_OK) return DUO_OK;
    duo_checked_count(1, wrong > 0);
    if (wrong == 0) return DUO_OK;
    if (ran->side == DUO_SIDE_GPU) duo_checked_device(res->device);
    v->own_bound = true;
    if (duo_verify_compute_again(ctx, part) && duo_verify_check(v, ctx, part, &wrong) == DUO_OK &&
        wrong == 0) {
        duo_report_note(&res->report, "the result of %s was wrong; the CPU computed it again",
                        ran->name);
        return DUO_OK;
    }
    duo_report_note(&res->report, "the result of %s is wrong", ran->name);
    return DUO_ERR_WRONG;
}

/* ---- Calls ---- */

/* On the heap, as it is large: calls run on small stacks, too. */
duo_verify *duo_verify_begin(duo_context *ctx, duo_call *call)
{
    uint64_t seed;
    if (!draw(&ctx->policy, &seed)) return NULL;
    if (!float_mode_usual(float_mode_read())) return NULL; /* the bounds are for the default mode */
    duo_verify *const v = calloc(1, sizeof *v);
    if (v == NULL) return NULL;
    v->seed = seed;
    const bool ready = call->operation != DUO_SGEMM ? !duo_verify_overlaps(call)
                                                    : cut(v, call) && begin_products(v, ctx);
    if (ready) return v;
    free_parts(v);
    free(v);
    return NULL;
}

duo_status duo_verify_end(duo_verify *v, duo_execution *e, duo_status status)
{
    if (v == NULL) return status;
    if (e->call->operation != DUO_SGEMM && status == DUO_OK) status = duo_verify_reduction(e);
    for (int64_t p = 0; p < v->parts && status == DUO_OK; p++) status = end_part(v, e, &v->part[p]);
    free_parts(v);
    free(v);
    return status;
}
