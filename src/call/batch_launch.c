/* batch_launch.c - a batch on the device, in one launch (batch_call.h). */
#include <math.h>

#include "call/batch_call.h"
#include "data/place_device.h"
#include "data/place_host.h"
#include "data/stage.h"
#include "data/transfer.h"
#include "gpu/backend/devices.h"

bool duo_batch_fits_device(const duo_batch_call *b)
{
    if (!b->conditions.gpu || b->ctx->policy.math == DUO_MATH_FLOAT64) return false;
    for (int i = 0; i < DUO_OPERANDS; i++) {
        if (!duo_operand_touched(&b->call->operand[i]) || b->where[i] == DUO_BATCH_SCATTERED ||
            duo_batch_gathered(b, i))
            continue;
        const duo_operand *const o = &b->spans.operand[i];
        if (!o->on_device && !duo_operand_kept(o)) return false;
    }
    /* C is fetched product by product. The parts of a larger one are fetched while others are
     * multiplied, so as a call of its own it takes less. */
    return !duo_batch_gathered(b, DUO_C) ||
           duo_operand_bytes(&b->call->operand[DUO_C]) <= DUO_LARGEST_STAGE;
}

/* As if B and C of all products stood side by side, in binary32: that reads less of A. */
double duo_batch_launch_seconds(const duo_batch_call *b)
{
    duo_choice choice[DUO_CANDIDATES];
    duo_call all = *b->call;
    duo_conditions conditions = b->conditions;
    conditions.math = DUO_MATH_IEEE;
    duo_call_set_sizes(&all, all.m, all.n * b->batch->count, all.k);
    for (int i = 0; i < DUO_OPERANDS; i++) {
        duo_operand *const o = &all.operand[i];
        const duo_operand *const span = &b->spans.operand[i];
        const bool there = b->where[i] == DUO_BATCH_SCATTERED || duo_batch_gathered(b, i);
        if (!duo_operand_touched(o)) continue;
        o->residence = there ? DUO_AT_DEVICE : span->residence;
        o->on_device = there || span->on_device;
        o->on_host = !there && span->on_host;
        o->send_bytes = span->send_bytes;
        o->credit_seconds = span->credit_seconds;
    }
    const int count = duo_memo_predict(b->ctx->memo, &all, &conditions, choice);
    double least = (double)INFINITY;
    for (int i = 0; i < count; i++)
        if (choice[i].algorithm->side == DUO_SIDE_GPU && choice[i].accepts)
            least = fmin(least, choice[i].seconds);
    return least + duo_batch_gathered_seconds(b);
}

/* Lists at equal distances are strides: nothing has to be sent. */
static void find_strides(duo_call *call, duo_batch *batch)
{
    for (int i = 0; i < DUO_OPERANDS; i++) {
        if (batch->pointer[i] == NULL || !batch->list[i].even) continue;
        call->operand[i].address = duo_batch_address(batch, call, i, 0);
        batch->pointer[i] = NULL;
    }
}

/* Places the operands and queues the work. */
static duo_outcome queue(duo_batch_call *b, duo_call *local, duo_call *call)
{
    duo_resources *const res = &b->ctx->resources;
    duo_batch batch;
    if (duo_place_on_device(res, DUO_sgemm_gpu_ffma, &b->spans, local) != DUO_OK)
        return DUO_DECLINED;
    duo_batch_use_copies(b, local, call, &batch);
    const duo_status gathered = duo_batch_gather(b, call, &batch);
    if (gathered == DUO_ERR_MEMORY) return DUO_ERR_MEMORY;
    if (gathered != DUO_OK || duo_batch_claim(b) != DUO_OK) return DUO_DECLINED;
    find_strides(call, &batch);
    const duo_status status = duo_backend_current()->launch_batch(res->queue, call, &batch);
    if (status == DUO_OK) return DUO_OK;
    (void)duo_resources_failed(res, status, "launch");
    return DUO_DECLINED;
}

/* C comes home, or stays, and nobody has waited for it yet. */
static duo_outcome end(duo_batch_call *b, const duo_call *call)
{
    if (!duo_batch_gathered(b, DUO_C)) {
        b->ctx->resources.unwaited = true;
        return DUO_OK;
    }
    const duo_status status = duo_batch_fetch(b, call);
    return b->done == b->batch->count ? (duo_outcome)status : DUO_DECLINED;
}

static duo_outcome launch(duo_batch_call *b)
{
    duo_resources *const res = &b->ctx->resources;
    duo_call local, call;
    duo_outcome outcome = queue(b, &local, &call);
    duo_place_queued(res, &b->spans, &local, outcome == DUO_OK);
    if (duo_batch_queued(b, outcome == DUO_OK) != DUO_OK)
        (void)duo_queue_finish(res->queue); /* again: see place_host.h */
    if (outcome == DUO_OK) outcome = end(b, &call);
    duo_place_end(res, &b->spans, &local);
    return outcome;
}

duo_outcome duo_batch_launch(duo_batch_call *b)
{
    duo_resources *const res = &b->ctx->resources;
    if (duo_context_open(b->ctx) != DUO_OK) return DUO_DECLINED;
    res->on_gpu = true;
    const duo_outcome outcome = launch(b);
    res->on_gpu = false;
    (void)duo_upload_consumed(res); /* a failure here is met again by whoever waits for the data */
    return outcome;
}
