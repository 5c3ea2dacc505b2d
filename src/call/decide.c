/* decide.c - see decide.h */
#include "call/decide.h"

#include <math.h>
#include <string.h>

#include "call/adapt.h"
#include "call/explain.h"
#include "call/route.h"
#include "choice/learned.h"
#include "choice/transfer_cost.h"
#include "cpu/blas_library.h"
#include "data/locate.h"
#include "data/region.h"
#include "data/remembered.h"
#include "data/residency.h"
#include "gpu/backend/devices.h"
#include "host/clock.h"

/* The conditions of a call now. The learned ratios are copied: they stay the same while the call is
 * decided, and for duo_explain_last. Parts of a call use the whole call's copy. */
static duo_conditions conditions_of(const duo_policy *policy, duo_execution *e)
{
    duo_context *const ctx = e->ctx;
    duo_conditions conditions = duo_policy_conditions(policy, &ctx->resources);
    conditions.recorded = e->conditions.recorded;
    if (conditions.recorded) conditions.path = DUO_PATH_GPU; /* the context's is ignored */
    if (!policy->adapt) return conditions;
    if (!e->part) duo_learned_ratios(ctx->resources.device, conditions.profile, &ctx->last.ratios);
    conditions.ratios = &ctx->last.ratios;
    return conditions;
}

/* ---- Candidates ---- */

static void predict(duo_execution *e, bool cpu_first)
{
    duo_memo *const memo = e->ctx->memo;
    if (e->ctx->resources.others != 0) e->losses = duo_devices_losses();
    const duo_memo *const found = duo_memo_find(memo, e->call, &e->conditions, cpu_first);
    if (found != NULL) {
        e->count = found->count;
        memcpy(e->choice, found->choice, (size_t)found->count * sizeof e->choice[0]);
        e->short_list = found->short_list;
        return;
    }
    e->count = duo_route_predict(e->call, &e->conditions, cpu_first, e->choice, &e->short_list);
    duo_memo_note(memo, e->call, &e->conditions, cpu_first, e->short_list, e->choice, e->count);
}

static void predict_all(duo_execution *e)
{
    e->count = duo_route_predict(e->call, &e->conditions, false, e->choice, &e->short_list);
}

static int cheapest(const duo_execution *e)
{
    return duo_select(e->choice, e->count, &e->conditions);
}

/* Opens the inner BLAS if the cheapest candidate calls it, or would run on the CPU in place of the
 * one that the user has named, and nobody has looked for it yet. Opening takes a thousand times as
 * long as a small product. Predictions may change then: the profile may be of another BLAS, or
 * there may be no BLAS. */
static bool opens_blas(const duo_execution *e)
{
    if (e->call->program != NULL || duo_blas_library_looked()) return false;
    const int best = cheapest(e);
    if (best < 0) return false;
    const duo_algorithm *const algorithm = e->choice[best].algorithm;
    const bool instead = duo_blas_library_asked() && algorithm->side == DUO_SIDE_CPU;
    if (!instead && algorithm->id != DUO_sgemm_cpu_openblas) return false;
    (void)duo_blas_library_get();
    return true;
}

/* ---- Before the cheapest ---- */

/* Asks the program which candidate is to run instead of choice[chosen]. -1: choice[chosen] runs. */
static int ask_program(duo_execution *e, int chosen)
{
    const duo_policy *const policy = &e->ctx->policy;
    if (policy->decide == NULL || chosen < 0) return -1;
    duo_decision decision = {.size = sizeof decision};
    duo_last *const last = &e->ctx->last;
    duo_last_ran(last, &e->choice[chosen]);
    duo_explain_decision(last, "", &decision);
    last->algorithm = NULL; /* nothing has run */
    const int index = policy->decide(policy->decide_user, &decision, chosen);
    return index >= 0 && index < e->count && index != chosen && e->choice[index].accepts ? index
                                                                                         : -1;
}

static void put_first(duo_execution *e)
{
    duo_last *const last = &e->ctx->last;
    const int best = cheapest(e);
    e->wanted = ask_program(e, best);
    if (e->wanted >= 0) last->why = DUO_WHY_ASKED;
    const bool asked = e->ctx->policy.decide != NULL;
    const int tried = duo_adapt_begin(e, e->wanted >= 0 ? e->wanted : best, !asked);
    if (tried < 0) return;
    last->why = DUO_WHY_TRIED;
    e->wanted = tried;
}

static void put_algorithm_first(duo_execution *e, const duo_algorithm *algorithm)
{
    for (int i = 0; i < e->count; i++)
        if (e->choice[i].algorithm == algorithm && e->choice[i].accepts) e->wanted = i;
}

/* Notes the decision for duo_explain_last. */
static void remember(const duo_execution *e)
{
    duo_last *const last = &e->ctx->last;
    last->short_list = e->short_list;
    last->candidates = e->count;
    last->conditions = e->conditions;
}

void duo_decide_begin(duo_execution *e, const duo_algorithm *by)
{
    duo_context *const ctx = e->ctx;
    /* Is it enough to predict only the CPU's algorithms? Not if the program or the log gets them
     * all. */
    const bool cpu_first =
        e->start == 0.0 && ctx->policy.decide == NULL && (by == NULL || by->side == DUO_SIDE_CPU);
    e->wanted = -1;
    e->offered = false;
    e->adapt.expected = -1;
    e->call->ordered = ctx->policy.math == DUO_MATH_IEEE;
    e->conditions = conditions_of(&e->ctx->policy, e);
    if (!e->part) duo_last_begin(&ctx->last, e->call);
    predict(e, cpu_first);
    if (e->call->operation == DUO_SGEMM && opens_blas(e)) {
        if (e->start > 0.0) e->start = duo_now_seconds();
        duo_memo_forget(ctx->memo);
        e->conditions = conditions_of(&e->ctx->policy, e);
        predict(e, cpu_first);
    }
    if (e->part) {
        put_algorithm_first(e, by);
        return;
    }
    remember(e);
    if (ctx->policy.decide != NULL || e->conditions.ratios != NULL) put_first(e);
}

int duo_decide_next(duo_execution *e)
{
    const bool offered = e->offered;
    e->offered = true;
    return e->wanted >= 0 && !offered ? e->wanted : duo_select(e->choice, e->count, &e->conditions);
}

/* ---- After a candidate has declined ---- */

void duo_decide_without_gpu(duo_execution *e)
{
    e->conditions.gpu = false;
    for (int i = 0; i < e->count; i++)
        if (e->choice[i].algorithm->side == DUO_SIDE_GPU) e->choice[i].accepts = false;
    if (!e->part) remember(e);
}

/* If only the CPU's algorithms were predicted, predicts all; this one stays declined. */
void duo_decide_declined(duo_execution *e, int candidate)
{
    const duo_algorithm *const algorithm = e->choice[candidate].algorithm;
    duo_route_declined(e->call, &e->conditions, &e->choice[candidate]);
    if (!e->short_list && e->choice[candidate].algorithm->side == DUO_SIDE_GPU)
        duo_route_located(e->call, &e->conditions, e->choice, e->count);
    if (!e->short_list) return;
    predict_all(e);
    for (int i = 0; i < e->count; i++) e->choice[i].declined = e->choice[i].algorithm == algorithm;
    if (!e->part) remember(e);
}

void duo_decide_again(duo_execution *e)
{
    const duo_why why = e->ctx->last.why;
    if (!e->part) duo_last_begin(&e->ctx->last, e->call);
    e->ctx->last.why = why;
    e->losses = duo_devices_losses();
    e->conditions = conditions_of(&e->ctx->policy, e);
    predict_all(e);
    if (!e->part) remember(e);
}

/* ---- After the call ---- */

/* Seconds to send the call's kept arrays that are stale on the GPU. */
static double sending_seconds(const duo_call *call, const duo_conditions *conditions)
{
    duo_call sent = *call;
    for (int i = 0; i < DUO_OPERANDS; i++)
        if (sent.operand[i].residence == DUO_AT_STALE) sent.operand[i].on_device = true;
    return duo_transfer_seconds(call, DUO_SIDE_GPU, conditions) -
           duo_transfer_seconds(&sent, DUO_SIDE_GPU, conditions);
}

static void credit(const duo_call *call, double seconds)
{
    duo_residency_lock();
    for (int i = 0; i < DUO_OPERANDS; i++) {
        if (!call->operand[i].read || call->operand[i].residence != DUO_AT_STALE) continue;
        duo_region *const region = duo_residency_of(&call->operand[i]);
        if (region != NULL) region->credit_seconds += seconds; /* else it has gone meanwhile */
    }
    duo_residency_unlock();
}

/*
 * A kept array with a stale device copy is not sent until that pays. A call that ran on the CPU
 * only for that reason credits the array with the time that it lost. So in all at most twice the
 * least possible time is spent.
 */
static void earn_credit(const duo_execution *e)
{
    const duo_call *const whole = duo_call_whole(e->call);
    if (e->choice[e->ran].algorithm->side == DUO_SIDE_GPU || !duo_call_stale(whole)) return;
    const double sending = sending_seconds(whole, &e->conditions);
    double best = (double)INFINITY;
    for (int i = 0; i < e->count; i++) {
        const duo_choice *const c = &e->choice[i];
        if (c->algorithm->side == DUO_SIDE_GPU && c->accepts && !c->declined)
            best = fmin(best, c->seconds - sending);
    }
    const double lost = e->choice[e->ran].seconds - best;
    if (lost > 0.0) credit(whole, lost);
}

/* The same for a factor in plain host memory that comes again: if the GPU had been faster with the
 * factor there, the call credits it with the time that it lost. */
static void earn_remembered(const duo_execution *e)
{
    duo_call hoped;
    const duo_choice *const ran = &e->choice[e->ran];
    if (ran->algorithm->side == DUO_SIDE_GPU || !e->conditions.gpu || e->conditions.recorded)
        return;
    if (!duo_remembered_hope(&e->ctx->resources, e->call, &hoped)) return;
    const double lost = ran->seconds - duo_predict_gpu(&hoped, &e->conditions, ran->seconds);
    if (lost > 0.0) duo_remembered_earn(e->call, &hoped, lost);
}

void duo_decide_end(duo_execution *e, duo_outcome outcome)
{
    duo_last *const last = &e->ctx->last;
    if (e->part) return;
    if (e->wanted >= 0 && e->ran != e->wanted) last->why = DUO_WHY_CHEAPEST;
    duo_last_ran(last, &e->choice[e->ran]);
    if (outcome == DUO_OK && e->adapt.expected >= 0) duo_adapt_end(e);
    if (outcome == DUO_OK && e->call->number != 0) earn_credit(e);
    if (outcome == DUO_OK) earn_remembered(e);
    if (e->start > 0.0) last->seconds = duo_now_seconds() - e->start;
    if (e->start > 0.0) duo_explain_line(e->ctx);
}

/* ---- Calls that are decided once ---- */

static bool all_on(const duo_call *call, duo_side side)
{
    for (int i = 0; i < DUO_OPERANDS; i++) {
        const duo_operand *const o = &call->operand[i];
        if (!duo_operand_touched(o)) continue;
        if (side == DUO_SIDE_GPU ? o->residence != DUO_AT_DEVICE || !o->on_device
                                 : !duo_operand_lies_in_host(o) || o->crosses)
            return false;
    }
    return true;
}

bool duo_decide_once(duo_context *ctx, duo_call *call, duo_math math, int threads, duo_side side,
                     duo_choice *choice)
{
    duo_execution e = {.ctx = ctx, .call = call};
    duo_policy policy = ctx->policy;
    bool short_list;
    if (duo_locate(ctx->resources.device, call) != DUO_OK || !all_on(call, side)) return false;
    policy.math = math;
    call->ordered = math == DUO_MATH_IEEE;
    policy.path = side == DUO_SIDE_GPU ? DUO_PATH_GPU : DUO_PATH_CPU;
    duo_conditions conditions = conditions_of(&policy, &e);
    if (threads > 0 && conditions.threads > threads) conditions.threads = threads;
    const int count = duo_route_predict(call, &conditions, false, e.own, &short_list);
    const int best = duo_select(e.own, count, &conditions);
    if (best < 0 || e.own[best].algorithm->side != side) return false;
    *choice = e.own[best];
    call->threads = choice->threads > 0 ? choice->threads : 1;
    return true;
}
