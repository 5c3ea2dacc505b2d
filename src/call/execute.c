/*
 * execute.c - the way of a call (execute.h).
 *
 * An algorithm that cannot go on, and has written nothing yet, declines; the next cheapest runs.
 * When a device fails while C comes home, part of C is written already: what is left is computed as
 * calls of their own (rest.c). So a failure costs time, not the answer.
 */
#define _GNU_SOURCE
#include "call/execute.h"

#include <string.h>

#include "call/adapt.h"
#include "call/captured.h"
#include "call/credit.h"
#include "call/decide.h"
#include "call/rest.h"
#include "call/run_cpu.h"
#include "call/run_gpu.h"
#include "call/verbose.h"
#include "choice/learned.h"
#include "cpu/blas_library.h"
#include "data/locate.h"
#include "data/place_host.h"
#include "data/transfer.h"
#include "gpu/backend/devices.h"
#include "host/clock.h"
#include "host/stack.h"

static bool on_gpu(const duo_choice *choice) { return choice->algorithm->side == DUO_SIDE_GPU; }

static void remember(duo_context *ctx, const duo_call *call, const duo_choice *choice, int count)
{
    duo_last_begin(&ctx->last, call, choice, count);
    ctx->resources.report.note[0] = '\0';
}

/* ---- One call ---- */

typedef struct execution {
    duo_context *ctx;
    duo_call *call;
    duo_conditions conditions;
    duo_choice choice[DUO_CANDIDATES];
    int count;
    int first;  /* the candidate that goes before the cheapest; -1: none */
    bool asked; /* was the driver asked about operands that are not registered? */
    int losses; /* of devices, when the algorithms were predicted */
} execution;

/* The conditions of a call now. What was learned is copied: it stays the same while the call is
 * decided, and for duo_explain_last. */
static duo_conditions conditions_of(duo_context *ctx)
{
    duo_conditions conditions = duo_policy_conditions(&ctx->policy, &ctx->resources);
    if (!ctx->policy.adapt) return conditions;
    duo_learned_ratios(ctx->resources.device, conditions.profile, &ctx->last.ratios);
    conditions.ratios = &ctx->last.ratios;
    return conditions;
}

/* Predicts all algorithms; with cpu_first the CPU's alone, if one of those is sure to be chosen.
 * Returns whether they were. */
static bool predict_new(execution *e, bool cpu_first)
{
    e->count = cpu_first ? duo_predict_cpu(e->call, &e->conditions, e->choice) : 0;
    const bool short_list = e->count > 0;
    if (!short_list) e->count = duo_predict(e->call, &e->conditions, e->choice);
    duo_memo_note(e->ctx->memo, e->call, &e->conditions, cpu_first, short_list, e->choice,
                  e->count);
    return short_list;
}

static void predict(execution *e, bool cpu_first)
{
    duo_last *const last = &e->ctx->last;
    e->losses = duo_devices_losses();
    const duo_memo *const memo = duo_memo_find(e->ctx->memo, e->call, &e->conditions, cpu_first);
    bool short_list;
    if (memo != NULL) {
        e->count = memo->count;
        memcpy(e->choice, memo->choice, (size_t)memo->count * sizeof e->choice[0]);
        short_list = memo->short_list;
    } else {
        short_list = predict_new(e, cpu_first);
    }
    remember(e->ctx, e->call, e->choice, e->count);
    last->short_list = short_list;
    last->conditions = e->conditions;
}

/* There is no usable device: no GPU algorithm may be chosen any more. */
static void rule_out_gpu(execution *e)
{
    e->conditions.gpu = e->ctx->last.conditions.gpu = false;
    for (int i = 0; i < e->count; i++)
        if (on_gpu(&e->choice[i])) e->choice[i].accepts = false;
}

/* The CPU's algorithms alone were predicted, and the best of them declined: now all algorithms are
 * predicted, and that one stays declined. */
static void predict_all(execution *e, const duo_algorithm *declined)
{
    e->count = duo_predict(e->call, &e->conditions, e->choice);
    for (int i = 0; i < e->count; i++) e->choice[i].declined = e->choice[i].algorithm == declined;
    e->ctx->last.short_list = false;
    e->ctx->last.candidates = e->count;
}

/* Is the call so long that asking the driver about an operand takes less than 2 % of it? */
static bool worth_asking(const duo_choice *best, const duo_profile *profile)
{
    enum { SHARE = 50 };
    return best->seconds > SHARE * profile->query_seconds;
}

static duo_outcome run(execution *e, const duo_choice *best, bool *partly)
{
    duo_call *const call = e->call;
    call->threads = best->threads > 0 ? best->threads : 1;
    *partly = false;
    if (!on_gpu(best)) return duo_run_cpu(e->ctx, call, best->algorithm);
    return duo_run_gpu(e->ctx, call, best->algorithm, &e->conditions, partly);
}

static duo_status execute_part(duo_context *ctx, duo_call *part);

/* The GPU declined when part of C was final: computes the rest. The call counts as done by the
 * algorithm that did the last part. */
static duo_outcome run_rest(execution *e, int *ran)
{
    duo_context *const ctx = e->ctx;
    const duo_last last = ctx->last;
    char note[sizeof ctx->resources.report.note];
    memcpy(note, ctx->resources.report.note, sizeof note);
    const duo_status status = duo_rest_run(ctx, e->call, execute_part);
    const duo_algorithm *const algorithm = ctx->last.algorithm;
    for (int i = 0; i < e->count; i++)
        if (e->choice[i].algorithm == algorithm) *ran = i;
    ctx->last = last;
    memcpy(ctx->resources.report.note, note, sizeof note);
    return status;
}

/* One of several devices was lost: what declined may run on the others. */
static void predict_on_the_others(execution *e)
{
    e->losses = duo_devices_losses();
    e->conditions = conditions_of(e->ctx);
    e->count = duo_predict(e->call, &e->conditions, e->choice);
    e->ctx->last.short_list = false;
    e->ctx->last.candidates = e->count;
}

/* choice[best] has declined: updates what is left to choose from, and where the operands are. */
static duo_status after_declining(execution *e, int best)
{
    const bool gpu = on_gpu(&e->choice[best]);
    e->choice[best].declined = true;
    if (e->ctx->last.short_list) predict_all(e, e->choice[best].algorithm);
    if (!gpu) return DUO_OK;
    duo_resources *const res = &e->ctx->resources;
    const bool fewer = res->others != 0 && duo_devices_losses() != e->losses;
    if (fewer) duo_resources_replace_device(res);
    if (!duo_device_usable(res->device)) rule_out_gpu(e);
    const duo_status located = duo_locate(res->device, e->call); /* device copies may be gone */
    if (located == DUO_OK && fewer) predict_on_the_others(e);
    return located;
}

/* The candidate that goes next: `first`, once, or else the cheapest. */
static int next(execution *e)
{
    const int first = e->first;
    e->first = -1;
    return first >= 0 ? first : duo_select(e->choice, e->count, &e->conditions);
}

/* Runs the cheapest that accepts, and the next if it declines. *ran: its index in choice[]. */
static duo_outcome run_cheapest(execution *e, int *ran)
{
    for (;;) {
        const int i = next(e);
        if (i < 0) return DUO_ERR_MEMORY; /* not reached: one CPU algorithm never declines */
        const duo_choice *const best = &e->choice[i];
        if (on_gpu(best) && duo_context_open(e->ctx) != DUO_OK) {
            rule_out_gpu(e);
            continue;
        }
        if (!e->asked && worth_asking(best, e->conditions.profile)) {
            e->asked = true;
            const duo_status foreign = duo_locate_ask(&e->ctx->resources.report, e->call);
            if (foreign != DUO_OK) return foreign;
        }
        bool partly;
        const duo_outcome outcome = run(e, best, &partly);
        if (outcome == DUO_DECLINED && partly) {
            e->choice[i].declined = true;
            *ran = i;
            return run_rest(e, ran);
        }
        if (outcome != DUO_DECLINED) {
            *ran = i;
            return outcome;
        }
        const duo_status again = after_declining(e, i);
        if (again != DUO_OK) return again;
    }
}

/* Runs the cheapest, or what the program or a trial puts before it. */
static duo_outcome run_chosen(execution *e, int *ran)
{
    duo_last *const last = &e->ctx->last;
    duo_adapt adapt;
    const int cheapest = duo_select(e->choice, e->count, &e->conditions);
    e->first = duo_decide_ask(e->ctx, e->choice, e->count, cheapest);
    const bool asked = e->ctx->policy.decide != NULL;
    if (e->first >= 0) last->why = DUO_WHY_ASKED;
    const int tried = duo_adapt_begin(&adapt, e->ctx, e->call, &e->conditions, e->choice, e->count,
                                      e->first >= 0 ? e->first : cheapest, !asked);
    if (tried >= 0) last->why = DUO_WHY_TRIED;
    if (tried >= 0) e->first = tried;
    const int first = e->first;
    const duo_outcome outcome = run_cheapest(e, ran);
    if (first >= 0 && *ran != first) last->why = DUO_WHY_CHEAPEST;
    if (outcome == DUO_OK) duo_adapt_end(&adapt, e->ctx, e->call, &e->conditions, e->choice, *ran);
    return outcome;
}

/* Opens the inner BLAS if the cheapest candidate is the first that needs it. That takes a thousand
 * times as long as such a product, and what was predicted of it may not hold: the profile may be of
 * another BLAS, or there is none. */
static bool opens_blas(const execution *e)
{
    if (duo_blas_library_looked() || e->call->program != NULL) return false;
    const int best = duo_select(e->choice, e->count, &e->conditions);
    if (best < 0 || !duo_algorithm_calls_blas(e->choice[best].algorithm->id)) return false;
    (void)duo_blas_library_get();
    return true;
}

static duo_status execute(duo_context *ctx, duo_call *call, bool part)
{
    duo_resources *const res = &ctx->resources;
    duo_last *const last = &ctx->last;
    const bool timed = duo_report_wanted(&res->report);
    double start = timed ? duo_now_seconds() : 0.0;
    if (res->stream != NULL && duo_resources_captured(res)) return duo_captured_call(ctx, call);
    duo_resources_replace_device(res);
    const duo_status located = duo_locate(res->device, call);
    if (located != DUO_OK) return located;
    execution e;
    e.ctx = ctx;
    e.call = call;
    e.conditions = conditions_of(ctx);
    e.asked = false;
    e.first = -1;
    predict(&e, !timed && ctx->policy.decide == NULL);
    if (opens_blas(&e)) {
        if (timed) start = duo_now_seconds();
        duo_memo_forget(ctx->memo);
        e.conditions = conditions_of(ctx);
        predict(&e, !timed && ctx->policy.decide == NULL);
    }
    if (ctx->policy.path == DUO_PATH_GPU && !e.conditions.gpu)
        (void)duo_context_open(ctx); /* for the note that says why */
    int ran = -1;
    const duo_outcome outcome = part ? run_cheapest(&e, &ran) : run_chosen(&e, &ran);
    /* A failure here is met again by whoever waits for the data. */
    (void)duo_upload_consumed(res);
    /* Nothing could run: an error before anything was written. */
    if (ran < 0) return outcome;
    const duo_choice *const choice = &e.choice[ran];
    last->algorithm = choice->algorithm;
    last->threads = on_gpu(choice) ? 0 : call->threads;
    last->predicted_seconds = choice->seconds;
    if (outcome == DUO_OK) duo_credit_earn(call, e.choice, e.count, ran, &e.conditions);
    memcpy(last->choice, e.choice, sizeof e.choice[0] * (size_t)e.count); /* with what declined */
    if (timed) last->seconds = duo_now_seconds() - start;
    if (timed) duo_verbose_call(ctx);
    return (duo_status)outcome;
}

static duo_status execute_part(duo_context *ctx, duo_call *part)
{
    return execute(ctx, part, true);
}

typedef struct request {
    duo_context *ctx;
    duo_call *call;
    duo_status status;
} request;

static void execute_request(void *user)
{
    request *const r = user;
    r->status = execute(r->ctx, r->call, false);
}

duo_status duo_execute(duo_context *ctx, duo_call *call)
{
    if (!duo_stack_is_small()) return execute(ctx, call, false);
    request r = {.ctx = ctx, .call = call};
    duo_stack_run(execute_request, &r);
    return r.status;
}

/* ---- Quick returns ---- */

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
    remember(ctx, &call, NULL, 0);
    duo_call local;
    duo_status status = duo_place_on_host(res, &call, &local);
    if (status == DUO_OK) {
        *local.operand[DUO_RESULT].address = value;
        status = duo_place_from_host(res, &call, &local);
    }
    duo_place_end(res, &call, &local);
    if (status == DUO_OK) duo_verbose_call(ctx);
    return status;
}

void duo_execute_nothing(duo_context *ctx, const duo_call *call)
{
    remember(ctx, call, NULL, 0);
    for (int i = 0; i < DUO_OPERANDS; i++) ctx->last.call.operand[i].residence = DUO_AT_UNUSED;
    duo_verbose_call(ctx);
}
