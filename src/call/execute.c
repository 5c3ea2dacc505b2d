/*
 * execute.c - the way of a call (execute.h).
 *
 * A candidate that cannot go on, and has written nothing yet, declines; the next cheapest runs.
 * If a part of the output is written already, the rest is computed by calls of its own (rest.c). So
 * a failure costs time, not the answer.
 */
#define _GNU_SOURCE
#include "call/execute.h"

#include <math.h>
#include <string.h>

#include "call/captured.h"
#include "call/decide.h"
#include "call/explain.h"
#include "call/opening.h"
#include "call/rest.h"
#include "call/route.h"
#include "call/verify.h"
#include "data/locate.h"
#include "data/place.h"
#include "data/remembered.h"
#include "data/transfer.h"
#include "gpu/backend/devices.h"
#include "host/clock.h"
#include "host/stack.h"

/* ---- Where the operands are ---- */

/* Asks the driver about operands that are not registered. Groups go together only if all of theirs
 * are. */
static duo_status ask_driver(duo_execution *e)
{
    if (e->call->batch != NULL && e->call->batch->group != NULL) return DUO_OK;
    duo_report *const report = &e->ctx->resources.report;
    const duo_status status = duo_locate_ask(report, e->call);
    return status == DUO_OK && e->call->batch != NULL
               ? duo_locate_ask(report, &e->call->batch->spans)
               : status;
}

static duo_status locate(duo_execution *e)
{
    const int device = e->ctx->resources.device;
    const duo_status status = duo_locate(device, e->call);
    return status == DUO_OK && e->call->batch != NULL ? duo_batch_locate(e->call, device) : status;
}

/* The call is about to run on the GPU: have its remembered factors still the same bytes? If not, it
 * is located and decided again, without the ones that have changed. */
static duo_status check_remembered(duo_execution *e, bool *again)
{
    bool any = false;
    for (int i = 0; i < DUO_OPERANDS; i++)
        any |= e->call->operand[i].residence == DUO_AT_REMEMBERED;
    *again = any && !duo_remembered_check(&e->ctx->resources, e->call);
    if (!*again) return DUO_OK;
    const duo_status status = locate(e);
    duo_remembered_find(&e->ctx->resources, e->call);
    duo_decide_again(e);
    if (e->wanted >= 0 && !e->choice[e->wanted].accepts) e->wanted = -1;
    e->offered = false;
    e->adapt.expected = -1; /* the check is in the call's time, and not in the prediction */
    return status;
}

/* Asks if the call is so long that asking about an operand takes less than 2 % of it. */
static duo_status ask_if_worth_it(duo_execution *e, const duo_choice *choice)
{
    enum { SHARE = 50 };
    if (!(choice->seconds > SHARE * e->conditions.profile->query_seconds)) return DUO_OK;
    if (duo_opening_goes_on()) return DUO_OK; /* the driver would answer when it is open */
    e->asked = true;
    return duo_locate_ask(&e->ctx->resources.report, e->call); /* no batch: that has been asked */
}

/* ---- Candidates, one after the other ---- */

/* A candidate declined after it did a part: computes the rest. The call counts as done by the
 * algorithm that did the last part. */
static duo_outcome run_rest(duo_execution *e)
{
    e->choice[e->ran].declined = true;
    return e->call->batch != NULL ? duo_rest_of_batch(e) : duo_rest_of_product(e);
}

/* Updates the candidates that are left, and where the operands are. */
static duo_status after_declining(duo_execution *e, int candidate)
{
    duo_resources *const res = &e->ctx->resources;
    const bool gpu =
        e->choice[candidate].algorithm->side == DUO_SIDE_GPU && !e->conditions.recorded;
    const bool fewer = gpu && res->others != 0 && duo_devices_losses() != e->losses;
    if (fewer) duo_resources_replace_device(res);
    const duo_status located = gpu ? locate(e) : DUO_OK; /* device copies may be gone */
    duo_decide_declined(e, candidate);
    if (gpu && !duo_device_usable(res->device)) duo_decide_without_gpu(e);
    if (located == DUO_OK && fewer) duo_decide_again(e);
    return located;
}

/* No candidate is left. Only calls get here that are recorded, or go together or not at all: for
 * others one CPU algorithm never declines. */
static duo_outcome none_left(duo_execution *e)
{
    if (duo_call_together(e->call)) return DUO_DECLINED;
    if (e->failed != DUO_OK) return e->failed;
    return e->conditions.recorded ? duo_captured_refuse(&e->ctx->resources) : DUO_ERR_MEMORY;
}

/* Does the call run on the CPU, as the GPU is not open and is not to be waited for? */
static bool put_off(const duo_execution *e, const duo_choice *gpu)
{
    double least = (double)INFINITY;
    if (e->ctx->policy.open != DUO_OPEN_BACKGROUND || !e->conditions.gpu_unseen ||
        e->conditions.path != DUO_PATH_AUTO || e->conditions.recorded)
        return false;
    for (int i = 0; i < e->count; i++) {
        const duo_choice *const c = &e->choice[i];
        if (c->algorithm->side == DUO_SIDE_CPU && c->accepts && !c->declined)
            least = fmin(least, c->seconds);
    }
    return isfinite(least) &&
           duo_opening_put_off(fmax(0.0, least - gpu->seconds), e->conditions.profile->open_seconds,
                               e->ctx->resources.device);
}

static duo_outcome run(duo_execution *e)
{
    for (;;) {
        const int i = duo_decide_next(e);
        if (i < 0) return none_left(e);
        duo_choice *const choice = &e->choice[i];
        const bool gpu = choice->algorithm->side == DUO_SIDE_GPU;
        if (gpu && put_off(e, choice)) {
            duo_decide_without_gpu(e);
            continue;
        }
        if (gpu && !e->conditions.recorded && duo_context_open(e->ctx) != DUO_OK) {
            duo_decide_without_gpu(e);
            continue;
        }
        bool again = false;
        const duo_status checked = gpu ? check_remembered(e, &again) : DUO_OK;
        if (checked != DUO_OK) return checked;
        if (again) continue;
        const duo_status foreign = e->asked ? DUO_OK : ask_if_worth_it(e, choice);
        if (foreign != DUO_OK) return foreign;
        const duo_outcome outcome = duo_routes[choice->route].run(e, choice);
        if (outcome != DUO_DECLINED || e->partly) {
            e->ran = i;
            return outcome == DUO_DECLINED ? run_rest(e) : outcome;
        }
        const duo_status located = after_declining(e, i);
        if (located != DUO_OK) return located;
    }
}

/* Sets the candidate that did the last part: it may be another one than the call's. */
static void find_last_part(duo_execution *e)
{
    for (int i = 0; i < e->count; i++)
        if (e->choice[i].algorithm == e->last_part) e->ran = i;
}

/* ---- The call ---- */

static duo_outcome execute(duo_context *ctx, duo_call *call, duo_execution *whole);

static duo_status run_part(duo_execution *whole, duo_call *part)
{
    return (duo_status)execute(whole->ctx, part, whole);
}

/* Finds out all that a decision needs. */
static duo_status begin(duo_execution *e, bool captured)
{
    duo_resources *const res = &e->ctx->resources;
    e->conditions.recorded = captured;
    e->asked = captured || e->call->batch != NULL;
    if (!e->part) res->report.note[0] = '\0';
    if (captured && res->queue == NULL) return duo_captured_refuse(res);
    if (!captured && res->others != 0) duo_resources_replace_device(res);
    const duo_status located = locate(e);
    if (located != DUO_OK) return located;
    if (!captured && !e->part) duo_remembered_find(res, e->call);
    return e->asked ? ask_driver(e) : DUO_OK;
}

/* whole: the call that this one is a part of, or NULL. DUO_DECLINED: see duo_execute_together. */
static duo_outcome execute(duo_context *ctx, duo_call *call, duo_execution *whole)
{
    duo_execution e;
    duo_resources *const res = &ctx->resources;
    e.ctx = ctx;
    e.call = call;
    e.part = whole != NULL;
    e.start = !e.part && duo_report_wanted(&res->report) ? duo_now_seconds() : 0.0;
    e.awaited = e.partly = false;
    e.choice = e.part ? e.own : ctx->last.choice;
    e.ran = -1;
    e.failed = DUO_OK;
    e.run_part = run_part;
    e.by = e.last_part = NULL;
    e.held = 0;
    const duo_status begun = begin(&e, res->stream != NULL && duo_resources_captured(res));
    if (begun != DUO_OK) return begun;
    duo_verify *verify = NULL;
    if (!e.part && !e.conditions.recorded && ctx->policy.verify_rate > 0.0)
        verify = duo_verify_begin(ctx, call);
    e.awaited = verify != NULL; /* a reduction's result must be there to be checked */
    duo_decide_begin(&e, whole != NULL ? whole->by : NULL);
    if (!e.part && ctx->policy.path == DUO_PATH_GPU && !e.conditions.gpu)
        (void)duo_context_open(ctx); /* for the note that says why */
    const duo_outcome outcome = run(&e);
    /* A failure here is met again by whoever waits for the data. */
    if (res->reading_host) (void)duo_upload_consumed(res);
    /* Nothing could run: an error before anything was written. */
    if (e.ran < 0) return duo_verify_end(verify, &e, outcome);
    if (e.last_part != NULL) find_last_part(&e);
    if (whole != NULL) whole->last_part = e.choice[e.ran].algorithm;
    duo_decide_end(&e, outcome);
    return duo_verify_end(verify, &e, outcome);
}

typedef struct request {
    duo_context *ctx;
    duo_call *call;
    duo_outcome outcome;
} request;

static void execute_request(void *user)
{
    request *const r = user;
    r->outcome = execute(r->ctx, r->call, NULL);
}

duo_outcome duo_execute_together(duo_context *ctx, duo_call *call)
{
    if (!duo_stack_is_small()) return execute(ctx, call, NULL);
    request r = {.ctx = ctx, .call = call};
    duo_stack_run(execute_request, &r);
    return r.outcome;
}

duo_status duo_execute(duo_context *ctx, duo_call *call)
{
    return (duo_status)duo_execute_together(ctx, call);
}

duo_outcome duo_execute_by(duo_context *ctx, duo_call *call, const duo_algorithm *algorithm,
                           const duo_conditions *conditions, bool *partly)
{
    duo_execution e = {
        .ctx = ctx, .call = call, .awaited = true, .conditions = *conditions, .run_part = run_part};
    e.choice = e.own;
    e.own[0] = (duo_choice){.algorithm = algorithm, .accepts = true, .threads = call->threads};
    e.own[0].route = (unsigned char)duo_route_alone(call, conditions, algorithm->side);
    const duo_outcome outcome = duo_routes[e.own[0].route].run(&e, &e.own[0]);
    *partly = e.partly;
    return outcome;
}

/* ---- Quick returns ---- */

static void remember(duo_context *ctx, const duo_call *call)
{
    duo_last_begin(&ctx->last, call);
    ctx->last.candidates = 0;
    ctx->resources.report.note[0] = '\0';
}

duo_status duo_execute_store(duo_context *ctx, duo_operation operation, int64_t n, float value,
                             float *result)
{
    duo_resources *const res = &ctx->resources;
    if (res->stream != NULL && duo_resources_captured(res)) return duo_captured_zero(ctx, result);
    duo_call call = {.operation = operation, .m = 1, .n = n, .threads = 1};
    call.operand[DUO_RESULT] =
        (duo_operand){.address = result, .rows = 1, .columns = 1, .ld = 1, .written = true};
    const duo_status located = duo_locate(res->device, &call);
    if (located != DUO_OK) return located;
    remember(ctx, &call);
    duo_call local;
    duo_status status = duo_place_on_host(res, &call, &local);
    if (status == DUO_OK) {
        *local.operand[DUO_RESULT].address = value;
        status = duo_place_from_host(res, &call, &local);
    }
    duo_place_end(res, &call, &local);
    if (status == DUO_OK) duo_explain_line(ctx);
    return status;
}

void duo_execute_nothing(duo_context *ctx, const duo_call *call)
{
    remember(ctx, call);
    for (int i = 0; i < DUO_OPERANDS; i++) ctx->last.call.operand[i].residence = DUO_AT_UNUSED;
    duo_explain_line(ctx);
}
