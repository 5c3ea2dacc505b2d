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

#include "call/capture.h"
#include "call/execute.h"
#include "call/verbose.h"
#include "data/coherence.h"
#include "data/locate.h"
#include "data/place_device.h"
#include "data/place_host.h"
#include "data/residency.h"
#include "data/transfer.h"
#include "gpu/backend/devices.h"
#include "host/clock.h"
#include "host/team.h"

/* Where an operand of all products is. */
typedef enum where {
    PLAIN,    /* in host memory that is in no region */
    TOGETHER, /* its whole span may be in a region */
    SCATTERED /* in several regions, all of them memory of the context's device */
} where;

typedef struct batch_call {
    duo_context *ctx;
    duo_call *call; /* the first product */
    const duo_batch *batch;
    /* The spans of what is TOGETHER, as vectors, by which they are located and placed: gaps
     * included. Operands that are not are untouched in it. */
    duo_call spans;
    where where[DUO_OPERANDS];
    duo_conditions conditions;
    duo_choice choice[DUO_CANDIDATES]; /* of the first product alone */
    int count;
} batch_call;

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

/* ---- Where the operands are ---- */

/* What an operand spans, from where it begins. */
static void span_from(const duo_operand *operand, uintptr_t begin, uintptr_t *low, uintptr_t *high)
{
    duo_operand o = *operand;
    o.address = (float *)begin;
    duo_operand_span(&o, low, high);
}

static void span_of(const batch_call *b, int i, uintptr_t *low, uintptr_t *high)
{
    const duo_operand *const o = &b->call->operand[i];
    float *const *const list = b->batch->pointer[i];
    uintptr_t first = (uintptr_t)duo_batch_address(b->batch, b->call, i, 0), last = first, any;
    if (list == NULL) {
        const uintptr_t end =
            (uintptr_t)duo_batch_address(b->batch, b->call, i, b->batch->count - 1);
        if (end < first) first = end;
        if (end > last) last = end;
    }
    for (int64_t p = 0; p < b->batch->count && list != NULL; p++) {
        const uintptr_t begin = (uintptr_t)list[p];
        if (begin < first) first = begin;
        if (begin > last) last = begin;
    }
    span_from(o, first, low, &any);
    span_from(o, last, &any, high);
}

/* Does anything lie within the span that is not the operand's? */
static bool has_gaps(const batch_call *b, int i, uintptr_t low, uintptr_t high)
{
    const duo_operand *const o = &b->call->operand[i];
    return (double)(high - low) > duo_operand_bytes(o) * (double)b->batch->count;
}

static void set_span(batch_call *b, int i, uintptr_t low, uintptr_t high)
{
    const duo_operand *const o = &b->call->operand[i];
    const int64_t floats = (int64_t)((high - low) / sizeof(float));
    b->spans.operand[i] = (duo_operand){.address = (float *)low,
                                        .rows = floats,
                                        .columns = 1,
                                        .ld = floats,
                                        .read = o->read || has_gaps(b, i, low, high),
                                        .written = o->written};
}

/* Where a list leads, under the residency lock. False: to host memory and the device's, or to
 * several arrays in host memory. */
static bool find_list(batch_call *b, int i)
{
    const duo_operand *const o = &b->call->operand[i];
    const duo_region *region = NULL;
    bool any = false, none = false, several = false, on_device = true;
    for (int64_t p = 0; p < b->batch->count; p++) {
        uintptr_t low, high;
        span_from(o, (uintptr_t)b->batch->pointer[i][p], &low, &high);
        if (region != NULL && region->low <= low && high <= region->high) continue;
        bool crosses;
        const duo_region *const here = duo_residency_find(low, high, &crosses);
        if (crosses) return false;
        several |= any && here != region;
        none |= here == NULL;
        any |= here != NULL;
        if (here != NULL) region = here;
        on_device &= here != NULL && duo_region_is_device(here) && !here->lost &&
                     here->device == b->ctx->resources.device;
    }
    if (!any) {
        b->where[i] = PLAIN;
        return true;
    }
    b->where[i] = several ? SCATTERED : TOGETHER;
    return !none && (!several || on_device);
}

/* False: the batch goes product by product. */
static bool find_operand(batch_call *b, int i)
{
    uintptr_t low, high;
    span_of(b, i, &low, &high);
    b->where[i] = duo_residency_near(low, high) ? TOGETHER : PLAIN;
    if (b->where[i] == PLAIN) return true;
    if (b->batch->pointer[i] != NULL) {
        duo_residency_lock();
        const bool found = find_list(b, i);
        duo_residency_unlock();
        if (!found) return false;
    }
    if (b->where[i] == TOGETHER) set_span(b, i, low, high);
    return (high - low) % sizeof(float) == 0;
}

static bool find_operands(batch_call *b)
{
    b->spans = (duo_call){.operation = DUO_SGEMM, .threads = 1};
    for (int i = 0; i < DUO_OPERANDS; i++) {
        b->where[i] = PLAIN;
        if (duo_operand_touched(&b->call->operand[i]) && !find_operand(b, i)) return false;
    }
    return true;
}

/* Claims every region that a scattered list leads to. Under the residency lock. */
static duo_status claim_list(batch_call *b, int i)
{
    const bool written = b->call->operand[i].written;
    duo_region *region = NULL;
    duo_status status = DUO_OK;
    for (int64_t p = 0; p < b->batch->count && status == DUO_OK; p++) {
        uintptr_t low, high;
        bool crosses;
        span_from(&b->call->operand[i], (uintptr_t)b->batch->pointer[i][p], &low, &high);
        if (region == NULL || low < region->low || high > region->high) {
            region = duo_residency_find(low, high, &crosses);
            if (region == NULL || region->lost) return DUO_ERR_RANGE; /* it has gone meanwhile */
            status = duo_coherence_claim(&b->ctx->resources, region, written);
        }
        if (written) duo_packed_stale(&region->packed, low - region->low, high - region->low);
    }
    return status;
}

static duo_status claim_lists(batch_call *b)
{
    duo_status status = DUO_OK;
    duo_residency_lock();
    for (int i = 0; i < DUO_OPERANDS && status == DUO_OK; i++)
        if (b->where[i] == SCATTERED) status = claim_list(b, i);
    duo_residency_unlock();
    return status;
}

/* ---- In one launch ---- */

static bool fits_device(const batch_call *b)
{
    if (!b->conditions.gpu || b->ctx->policy.math == DUO_MATH_FLOAT64) return false;
    for (int i = 0; i < DUO_OPERANDS; i++) {
        if (!duo_operand_touched(&b->call->operand[i]) || b->where[i] == SCATTERED) continue;
        const duo_operand *const o = &b->spans.operand[i];
        if (b->where[i] == PLAIN || !(o->on_device || duo_operand_kept(o))) return false;
    }
    return true;
}

/* As if B and C of all products stood side by side, in binary32: that reads less of A. */
static double launch_seconds(const batch_call *b)
{
    duo_choice choice[DUO_CANDIDATES];
    duo_call all = *b->call;
    duo_conditions conditions = b->conditions;
    conditions.math = DUO_MATH_IEEE;
    duo_call_set_sizes(&all, all.m, all.n * b->batch->count, all.k);
    for (int i = 0; i < DUO_OPERANDS; i++) {
        duo_operand *const o = &all.operand[i];
        const duo_operand *const span = &b->spans.operand[i];
        const bool scattered = b->where[i] == SCATTERED;
        if (!duo_operand_touched(o)) continue;
        o->residence = scattered ? DUO_AT_DEVICE : span->residence;
        o->on_device = scattered || span->on_device;
        o->on_host = !scattered && span->on_host;
        o->send_bytes = span->send_bytes;
        o->credit_seconds = span->credit_seconds;
    }
    const int count = duo_predict(&all, &conditions, choice);
    double least = (double)INFINITY;
    for (int i = 0; i < count; i++)
        if (choice[i].algorithm->side == DUO_SIDE_GPU && choice[i].accepts)
            least = fmin(least, choice[i].seconds);
    return least;
}

/* The copies that are used instead of what the call and the lists say. */
static void use_copies(const batch_call *b, const duo_call *local, duo_call *call, duo_batch *batch)
{
    *call = *b->call;
    *batch = *b->batch;
    for (int i = 0; i < DUO_OPERANDS; i++) {
        if (b->where[i] != TOGETHER || !duo_operand_touched(&call->operand[i])) continue;
        const uintptr_t to = (uintptr_t)local->operand[i].address;
        batch->shift[i] = (int64_t)(to - (uintptr_t)b->spans.operand[i].address);
        if (batch->pointer[i] == NULL)
            call->operand[i].address =
                (float *)((uintptr_t)call->operand[i].address + (uintptr_t)batch->shift[i]);
    }
}

/* Lists at equal distances are strides: nothing has to be sent. */
static void find_strides(duo_call *call, duo_batch *batch)
{
    for (int i = 0; i < DUO_OPERANDS; i++) {
        float *const *const list = batch->pointer[i];
        if (list == NULL) continue;
        const intptr_t step = (intptr_t)list[1] - (intptr_t)list[0];
        bool even = step % (intptr_t)sizeof(float) == 0;
        for (int64_t p = 2; p < batch->count && even; p++)
            even = (intptr_t)list[p] - (intptr_t)list[p - 1] == step;
        if (!even) continue;
        call->operand[i].address = duo_batch_address(batch, call, i, 0);
        batch->pointer[i] = NULL;
        batch->stride[i] = step / (intptr_t)sizeof(float);
    }
}

static duo_outcome launch(batch_call *b)
{
    duo_resources *const res = &b->ctx->resources;
    duo_call local, call;
    duo_batch batch;
    duo_outcome outcome = duo_place_on_device(res, DUO_sgemm_gpu_ffma, &b->spans, &local);
    if (outcome == DUO_OK && claim_lists(b) != DUO_OK) outcome = DUO_DECLINED;
    if (outcome == DUO_OK) {
        use_copies(b, &local, &call, &batch);
        find_strides(&call, &batch);
        outcome = duo_backend_current()->launch_batch(res->queue, &call, &batch);
        if (outcome != DUO_OK) (void)duo_resources_failed(res, (duo_status)outcome, "launch");
    }
    duo_place_queued(res, &b->spans, &local, outcome == DUO_OK);
    duo_place_end(&b->spans, &local);
    if (outcome != DUO_OK) return DUO_DECLINED;
    if (claim_lists(b) != DUO_OK) (void)duo_queue_finish(res->queue); /* again: see place_host.h */
    res->unwaited = true;
    return DUO_OK;
}

static duo_outcome run_on_device(batch_call *b)
{
    duo_resources *const res = &b->ctx->resources;
    if (duo_context_open(b->ctx) != DUO_OK) return DUO_DECLINED;
    res->on_gpu = true;
    const duo_outcome outcome = launch(b);
    res->on_gpu = false;
    (void)duo_upload_consumed(res); /* a failure here is met again by whoever waits for the data */
    return outcome;
}

/* ---- Over the team ---- */

typedef struct team_job {
    const duo_call *call;
    const duo_batch *batch;
    const duo_choice *choice; /* the CPU's algorithms on one thread, `count` in all */
    int count, best;
    int64_t per_piece;
} team_job;

/* The best algorithm, or, where it declines, any that does not. */
static void do_product(const team_job *job, const duo_call *one)
{
    if (job->choice[job->best].algorithm->run(one) == DUO_OK) return;
    for (int i = 0; i < job->count; i++)
        if (job->choice[i].algorithm->side == DUO_SIDE_CPU && job->choice[i].accepts &&
            i != job->best && job->choice[i].algorithm->run(one) == DUO_OK)
            return;
}

static void do_products(void *user, int64_t piece)
{
    const team_job *const job = user;
    const int64_t from = piece * job->per_piece, left = job->batch->count - from;
    duo_call one = *job->call;
    for (int64_t p = from; p < from + (left < job->per_piece ? left : job->per_piece); p++) {
        for (int i = 0; i < DUO_OPERANDS; i++)
            if (duo_operand_touched(&one.operand[i]))
                one.operand[i].address = duo_batch_address(job->batch, job->call, i, p);
        do_product(job, &one);
    }
}

/* The CPU's algorithms for a product in host memory, on one thread. */
static int predict_on_one_thread(const batch_call *b, duo_choice choice[DUO_CANDIDATES], int *best)
{
    duo_call one = *b->call;
    duo_conditions conditions = b->conditions;
    conditions.threads = 1;
    for (int i = 0; i < DUO_OPERANDS; i++) {
        duo_operand *const o = &one.operand[i];
        o->on_host = duo_operand_touched(o);
        o->residence = o->on_host ? DUO_AT_PAGEABLE : DUO_AT_UNUSED;
    }
    const int count = duo_predict(&one, &conditions, choice);
    *best = -1;
    for (int i = 0; i < count; i++)
        if (choice[i].algorithm->side == DUO_SIDE_CPU && choice[i].accepts &&
            (*best < 0 || choice[i].seconds < choice[*best].seconds))
            *best = i;
    return count;
}

/* What is between a scattered list's products is not the batch's to copy; nor is what is in the
 * gaps of C on the device, which others may write meanwhile. */
static bool fits_team(const batch_call *b)
{
    const duo_operand *const c = &b->spans.operand[DUO_C];
    for (int i = 0; i < DUO_OPERANDS; i++)
        if (b->where[i] == SCATTERED) return false;
    return b->where[DUO_C] == PLAIN || c->residence != DUO_AT_DEVICE ||
           !has_gaps(b, DUO_C, (uintptr_t)c->address, (uintptr_t)(c->address + c->rows));
}

/* Beside the products: what comes from the device, and goes back there. */
static double team_seconds(const batch_call *b, double one_product)
{
    const duo_profile *const profile = b->conditions.profile;
    const int threads = b->conditions.threads;
    double seconds = profile->fork_seconds + threads * profile->fork_seconds_per_thread +
                     one_product * ceil((double)b->batch->count / threads);
    for (int i = 0; i < DUO_OPERANDS; i++) {
        const duo_operand *const o = &b->spans.operand[i];
        if (!duo_operand_touched(o) || o->on_host) continue;
        const double bytes = duo_operand_bytes(o);
        if (o->read) seconds += profile->copy_seconds + bytes / profile->download_pageable;
        if (o->written) seconds += profile->copy_seconds + bytes / profile->upload_pageable;
    }
    return seconds;
}

static duo_status run_on_team(batch_call *b, const duo_choice *choice, int count, int best)
{
    static const double kPiece = 1e-5; /* seconds; shorter ones are not worth a thread's while */
    duo_resources *const res = &b->ctx->resources;
    duo_call local, call;
    duo_batch batch;
    duo_status status = duo_place_on_host(res, &b->spans, &local);
    if (status == DUO_OK) {
        use_copies(b, &local, &call, &batch);
        call.threads = 1;
        const double pieces = ceil(kPiece / fmax(choice[best].seconds, 1e-9));
        const team_job job = {.call = &call,
                              .batch = &batch,
                              .choice = choice,
                              .count = count,
                              .best = best,
                              .per_piece = (int64_t)fmin(pieces, (double)batch.count)};
        b->ctx->running = choice[best].algorithm;
        duo_team_run(do_products, (void *)(uintptr_t)&job,
                     (batch.count + job.per_piece - 1) / job.per_piece, b->conditions.threads);
        b->ctx->running = NULL;
        status = duo_place_from_host(res, &b->spans, &local);
    }
    duo_place_end(&b->spans, &local);
    return status;
}

/* ---- Which of them ---- */

typedef enum way { ONE_BY_ONE, LAUNCH, TEAM } way;

static way choose(const batch_call *b, double seconds[3])
{
    const duo_path path = b->ctx->policy.path;
    if (path != DUO_PATH_CPU && fits_device(b)) seconds[LAUNCH] = launch_seconds(b);
    if (path == DUO_PATH_GPU) return isfinite(seconds[LAUNCH]) ? LAUNCH : ONE_BY_ONE;
    const way cheaper = seconds[LAUNCH] < seconds[TEAM] ? LAUNCH : TEAM;
    return seconds[cheaper] < seconds[ONE_BY_ONE] ? cheaper : ONE_BY_ONE;
}

static void tell(batch_call *b, const duo_algorithm *algorithm, double predicted, double begin)
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

static duo_status decide_and_run(batch_call *b, double begin)
{
    duo_choice team[DUO_CANDIDATES];
    int best_of_team;
    double seconds[3] = {[ONE_BY_ONE] = (double)INFINITY, (double)INFINITY, (double)INFINITY};
    b->count = duo_predict(b->call, &b->conditions, b->choice);
    const int best = duo_select(b->choice, b->count, &b->conditions);
    if (best >= 0) seconds[ONE_BY_ONE] = b->choice[best].seconds * (double)b->batch->count;
    const int count = predict_on_one_thread(b, team, &best_of_team);
    if (fits_team(b) && best_of_team >= 0)
        seconds[TEAM] = team_seconds(b, team[best_of_team].seconds);
    const way chosen = choose(b, seconds);
    b->ctx->resources.report.note[0] = '\0';
    if (chosen == LAUNCH && run_on_device(b) == DUO_OK) {
        tell(b, duo_algorithm_of(DUO_sgemm_gpu_ffma), seconds[LAUNCH], begin);
        return DUO_OK;
    }
    if (chosen != TEAM) return one_by_one(b->ctx, b->call, b->batch);
    const duo_status status = run_on_team(b, team, count, best_of_team);
    tell(b, team[best_of_team].algorithm, seconds[TEAM], begin);
    return status;
}

duo_status duo_execute_batch(duo_context *ctx, duo_call *call, const duo_batch *batch)
{
    duo_resources *const res = &ctx->resources;
    const double begin = duo_report_wanted(&res->report) ? duo_now_seconds() : 0.0;
    batch_call b = {.ctx = ctx, .call = call, .batch = batch};
    if (batch->count == 1 || duo_context_captured(ctx) || ctx->policy.program != NULL ||
        ctx->policy.decide != NULL)
        return one_by_one(ctx, call, batch);
    duo_resources_replace_device(res);
    if (!find_operands(&b)) return one_by_one(ctx, call, batch);
    duo_status status = duo_locate(res->device, &b.spans);
    if (status == DUO_OK) status = duo_locate(res->device, call);
    if (status == DUO_OK) status = duo_locate_ask(&res->report, call);
    if (status != DUO_OK) return status;
    for (int i = 0; i < DUO_OPERANDS; i++) b.spans.operand[i].prepared = false;
    b.conditions = duo_policy_conditions(&ctx->policy, res);
    return decide_and_run(&b, begin);
}
