/*
 * batch.c - the way of a batch of products (batch.h).
 *
 * On the device a batch is one launch; what is in host memory is sent there before, and comes home
 * after it, as a whole. On the CPU the team's threads take products by turns, each on one thread,
 * which gives a product the bits that it has alone. What neither serves, or does not pay (products
 * that fill the machine by themselves; lists that are spread over host and device memory), goes
 * product by product, as calls of their own.
 */
#define _GNU_SOURCE
#include "call/batch.h"

#include <math.h>

#include "call/batch_call.h"
#include "call/capture.h"
#include "call/execute.h"
#include "call/verbose.h"
#include "data/locate.h"
#include "host/clock.h"
#include "host/stack.h"

/* ---- Product by product ---- */

static duo_status capture(duo_context *ctx, const duo_call *one)
{
    const duo_operand *const o = one->operand;
    const duo_work work = {.size = sizeof work,
                           .kind = DUO_WORK_SGEMM,
                           .math = ctx->policy.math,
                           .layout = DUO_COL_MAJOR,
                           .transa = one->transa ? DUO_TRANS : DUO_NO_TRANS,
                           .transb = one->transb ? DUO_TRANS : DUO_NO_TRANS,
                           .m = one->m,
                           .n = one->n,
                           .k = one->k,
                           .alpha = one->alpha,
                           .beta = one->beta,
                           .a = o[DUO_A].address,
                           .b = o[DUO_B].address,
                           .c = o[DUO_C].address,
                           .lda = o[DUO_A].ld,
                           .ldb = o[DUO_B].ld,
                           .ldc = o[DUO_C].ld};
    return ctx->policy.capture->add(ctx, &work);
}

static duo_call one_of(const duo_call *call, const duo_batch *batch, int64_t number)
{
    duo_call one = *call;
    for (int i = 0; i < DUO_OPERANDS; i++)
        if (duo_operand_touched(&one.operand[i]))
            one.operand[i].address = duo_batch_address(batch, call, i, number);
    return one;
}

static duo_status one_by_one(duo_context *ctx, const duo_call *call, const duo_batch *batch)
{
    duo_status status = DUO_OK;
    for (int64_t p = 0; p < batch->count && status == DUO_OK; p++) {
        duo_call one = one_of(call, batch, p);
        one.program = duo_policy_program(&ctx->policy);
        status = ctx->policy.capture != NULL ? capture(ctx, &one) : duo_execute(ctx, &one);
    }
    return status;
}

/* ---- Which of them ---- */

/* Seconds that a call takes beside its work, where its operands may be in regions. */
static const double kCall = 2e-7;

typedef enum way { ONE_BY_ONE, LAUNCH, TEAM } way;

/* What each way is predicted to take. */
typedef struct prediction {
    double seconds[3];                        /* by way; infinite: it cannot be */
    duo_choice on_one_thread[DUO_CANDIDATES]; /* of a product in host memory */
    int count, best;                          /* of these */
} prediction;

static void predict(duo_batch_call *b, prediction *p)
{
    double *const seconds = p->seconds;
    seconds[ONE_BY_ONE] = seconds[LAUNCH] = seconds[TEAM] = (double)INFINITY;
    b->count = duo_memo_predict(b->ctx->memo, b->call, &b->conditions, b->choice);
    const int best = duo_select(b->choice, b->count, &b->conditions);
    if (best >= 0)
        seconds[ONE_BY_ONE] = (b->choice[best].seconds + kCall) * (double)b->batch->count;
    p->count = duo_batch_predict_one(b, p->on_one_thread, &p->best);
    if (b->ctx->policy.path != DUO_PATH_GPU && duo_batch_fits_team(b) && p->best >= 0)
        seconds[TEAM] = duo_batch_team_seconds(b, p->on_one_thread[p->best].seconds);
    if (b->ctx->policy.path != DUO_PATH_CPU && duo_batch_fits_device(b))
        seconds[LAUNCH] = duo_batch_launch_seconds(b);
}

static way cheapest(const double seconds[3])
{
    const way cheaper = seconds[LAUNCH] < seconds[TEAM] ? LAUNCH : TEAM;
    return seconds[cheaper] < seconds[ONE_BY_ONE] ? cheaper : ONE_BY_ONE;
}

/* ---- Parts ---- */

static duo_status execute_from(const duo_batch_call *b, int64_t first)
{
    duo_call call = *b->call;
    const duo_batch rest = duo_batch_from(b->batch, &call, first);
    return duo_execute_batch(b->ctx, &call, &rest);
}

/* The device has no room for what the batch would send there. */
static duo_status in_halves(const duo_batch_call *b)
{
    duo_call call = *b->call;
    duo_batch half = *b->batch;
    half.count /= 2;
    const duo_status status = duo_execute_batch(b->ctx, &call, &half);
    return status == DUO_OK ? execute_from(b, half.count) : status;
}

/* ---- A batch ---- */

static void tell(duo_batch_call *b, const duo_algorithm *algorithm, double predicted, double begin)
{
    duo_last *const last = &b->ctx->last;
    duo_last_begin(last, b->call, b->choice, b->count);
    last->conditions = b->conditions;
    last->algorithm = algorithm;
    last->threads = algorithm->side == DUO_SIDE_GPU ? 0 : b->conditions.threads;
    last->predicted_seconds = predicted;
    if (begin <= 0.0) return;
    last->seconds = duo_now_seconds() - begin;
    duo_verbose_call(b->ctx);
}

/* Goes the cheapest way that is left. */
static duo_status run(duo_batch_call *b, const prediction *p, double begin)
{
    if (cheapest(p->seconds) == ONE_BY_ONE) return one_by_one(b->ctx, b->call, b->batch);
    const duo_status status = duo_batch_run_on_team(b, p->on_one_thread, p->count, p->best);
    tell(b, p->on_one_thread[p->best].algorithm, p->seconds[TEAM], begin);
    return status;
}

static duo_status decide_and_run(duo_batch_call *b, double begin)
{
    prediction p;
    predict(b, &p);
    b->ctx->resources.report.note[0] = '\0';
    if (cheapest(p.seconds) != LAUNCH) return run(b, &p, begin);
    const duo_outcome outcome = duo_batch_has_room(b) ? duo_batch_launch(b) : DUO_ERR_MEMORY;
    if (outcome == DUO_ERR_MEMORY) return in_halves(b);
    if (outcome == DUO_OK) tell(b, duo_algorithm_of(DUO_sgemm_gpu_ffma), p.seconds[LAUNCH], begin);
    if (outcome != DUO_DECLINED) return (duo_status)outcome;
    if (b->done > 0) return execute_from(b, b->done);
    p.seconds[LAUNCH] = (double)INFINITY;
    return run(b, &p, begin);
}

static duo_status execute(duo_context *ctx, duo_call *call, const duo_batch *batch)
{
    duo_resources *const res = &ctx->resources;
    const double begin = duo_report_wanted(&res->report) ? duo_now_seconds() : 0.0;
    duo_batch_call b = {.ctx = ctx, .call = call, .batch = batch};
    if (batch->count == 1 || duo_context_captured(ctx) ||
        duo_policy_program(&ctx->policy) != NULL || ctx->policy.decide != NULL)
        return one_by_one(ctx, call, batch);
    duo_resources_replace_device(res);
    if (!duo_batch_find(&b)) return one_by_one(ctx, call, batch);
    duo_status status = duo_locate(res->device, &b.spans);
    if (status == DUO_OK) status = duo_locate(res->device, call);
    if (status == DUO_OK) status = duo_locate_ask(&res->report, call);
    if (status == DUO_OK) status = duo_locate_ask(&res->report, &b.spans);
    if (status != DUO_OK) return status;
    for (int i = 0; i < DUO_OPERANDS; i++) b.spans.operand[i].prepared = false;
    b.conditions = duo_policy_conditions(&ctx->policy, res);
    return decide_and_run(&b, begin);
}

typedef struct request {
    duo_context *ctx;
    duo_call *call;
    const duo_batch *batch;
    duo_status status;
} request;

static void execute_request(void *user)
{
    request *const r = user;
    r->status = execute(r->ctx, r->call, r->batch);
}

duo_status duo_execute_batch(duo_context *ctx, duo_call *call, const duo_batch *batch)
{
    request r = {.ctx = ctx, .call = call, .batch = batch};
    duo_stack_run(execute_request, &r);
    return r.status;
}
