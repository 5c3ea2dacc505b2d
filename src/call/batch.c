/*
 * batch.c - the way of a batch of products (batch.h).
 *
 * A batch whose operands are on the device is one launch there. Of one in host memory the team's
 * threads take products by turns, each on one thread, which gives a product the bits that it has
 * alone. What neither serves, or does not pay (products that fill the machine by themselves; lists
 * that are spread over host and device memory), goes product by product, as calls of their own.
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
        one.program = ctx->policy.program;
        status = ctx->policy.capture != NULL ? capture(ctx, &one) : duo_execute(ctx, &one);
    }
    return status;
}

/* ---- Which of them ---- */

/* Seconds that a call takes beside its work, where its operands may be in regions. */
static const double kCall = 2e-7;

typedef enum way { ONE_BY_ONE, LAUNCH, TEAM } way;

static way choose(const duo_batch_call *b, double seconds[3])
{
    const duo_path path = b->ctx->policy.path;
    if (path != DUO_PATH_CPU && duo_batch_fits_device(b))
        seconds[LAUNCH] = duo_batch_launch_seconds(b);
    if (path == DUO_PATH_GPU) return isfinite(seconds[LAUNCH]) ? LAUNCH : ONE_BY_ONE;
    const way cheaper = seconds[LAUNCH] < seconds[TEAM] ? LAUNCH : TEAM;
    return seconds[cheaper] < seconds[ONE_BY_ONE] ? cheaper : ONE_BY_ONE;
}

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

static duo_status decide_and_run(duo_batch_call *b, double begin)
{
    duo_choice team[DUO_CANDIDATES];
    int best_of_team;
    double seconds[3] = {[ONE_BY_ONE] = (double)INFINITY, (double)INFINITY, (double)INFINITY};
    b->count = duo_memo_predict(b->ctx->memo, b->call, &b->conditions, b->choice);
    const int best = duo_select(b->choice, b->count, &b->conditions);
    if (best >= 0)
        seconds[ONE_BY_ONE] = (b->choice[best].seconds + kCall) * (double)b->batch->count;
    const int count = duo_batch_predict_one(b, team, &best_of_team);
    if (duo_batch_fits_team(b) && best_of_team >= 0)
        seconds[TEAM] = duo_batch_team_seconds(b, team[best_of_team].seconds);
    const way chosen = choose(b, seconds);
    b->ctx->resources.report.note[0] = '\0';
    if (chosen == LAUNCH && duo_batch_launch(b) == DUO_OK) {
        tell(b, duo_algorithm_of(DUO_sgemm_gpu_ffma), seconds[LAUNCH], begin);
        return DUO_OK;
    }
    if (chosen != TEAM) return one_by_one(b->ctx, b->call, b->batch);
    const duo_status status = duo_batch_run_on_team(b, team, count, best_of_team);
    tell(b, team[best_of_team].algorithm, seconds[TEAM], begin);
    return status;
}

duo_status duo_execute_batch(duo_context *ctx, duo_call *call, const duo_batch *batch)
{
    duo_resources *const res = &ctx->resources;
    const double begin = duo_report_wanted(&res->report) ? duo_now_seconds() : 0.0;
    duo_batch_call b = {.ctx = ctx, .call = call, .batch = batch};
    if (batch->count == 1 || duo_context_captured(ctx) || ctx->policy.program != NULL ||
        ctx->policy.decide != NULL)
        return one_by_one(ctx, call, batch);
    duo_resources_replace_device(res);
    if (!duo_batch_find(&b)) return one_by_one(ctx, call, batch);
    duo_status status = duo_locate(res->device, &b.spans);
    if (status == DUO_OK) status = duo_locate(res->device, call);
    if (status == DUO_OK) status = duo_locate_ask(&res->report, call);
    if (status != DUO_OK) return status;
    for (int i = 0; i < DUO_OPERANDS; i++) b.spans.operand[i].prepared = false;
    b.conditions = duo_policy_conditions(&ctx->policy, res);
    return decide_and_run(&b, begin);
}
