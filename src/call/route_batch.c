/* route_batch.c - a batch on the device, in one launch. Operands in host memory are sent before it,
 * and C is fetched after it, each as a whole (batch.c). */
#include <math.h>

#include "call/execution.h"
#include "choice/ratios.h"
#include "choice/sgemm_gpu_costs.h"
#include "choice/transfer_cost.h"
#include "data/place.h"
#include "data/stage.h"
#include "data/transfer.h"
#include "gpu/backend/devices.h"
#include "gpu/batched/plan.h"

static bool is_on_device(const duo_call *call, int i)
{
    const duo_operand *const o = &call->batch->spans.operand[i];
    return call->batch->where[i] == DUO_BATCH_SCATTERED || duo_batch_gathered(call, i) ||
           o->on_device || duo_operand_kept(o);
}

/* Microseconds of the kernels by fp32 FMA, or on tensor cores, on an H100; infinite: none takes the
 * batch. */
static double kernel_microseconds(const duo_call *call, const duo_conditions *conditions,
                                  bool tensor)
{
    const duo_batched_size size = duo_batched_size_of(call, call->batch);
    const duo_batched_device device = {.multiprocessors = (int)duo_multiprocessors(conditions),
                                       .capability = conditions->capability,
                                       .shared_bytes = 227 << 10};
    double microseconds;
    (void)duo_batched_least(&size, &device, tensor ? DUO_BATCHED_TENSOR : DUO_BATCHED_TILE_8,
                            tensor ? DUO_BATCHED_KERNELS : DUO_BATCHED_TENSOR, &microseconds);
    return microseconds;
}

/* Has the algorithm kernels for the batch? */
static bool has_kernels(const duo_call *call, const duo_conditions *conditions,
                        const duo_algorithm *algorithm)
{
    if (algorithm->id == DUO_sgemm_gpu_ffma) return true;
    return algorithm->id == DUO_sgemm_gpu_mma &&
           isfinite(kernel_microseconds(call, conditions, true));
}

bool duo_batch_takes(const duo_call *call, const duo_conditions *conditions,
                     const duo_algorithm *algorithm)
{
    if (!conditions->gpu || call->batch->mixed || !has_kernels(call, conditions, algorithm))
        return false;
    for (int i = 0; i < DUO_OPERANDS; i++)
        if (duo_operand_touched(&call->operand[i]) && !is_on_device(call, i)) return false;
    /* C is fetched product by product. A larger product takes less as a call of its own: parts of C
     * are then fetched while others are multiplied. */
    return !duo_batch_gathered(call, DUO_C) ||
           duo_operand_bytes(&call->operand[DUO_C]) <= DUO_LARGEST_STAGE;
}

/* One product with B and C of all products side by side; its operands are where the launch has
 * them. */
static duo_call side_by_side(const duo_call *call)
{
    const duo_batch *const batch = call->batch;
    duo_call all = *call;
    duo_call_set_sizes(&all, all.m, all.n * batch->count, all.k);
    for (int i = 0; i < DUO_OPERANDS; i++) {
        duo_operand *const o = &all.operand[i];
        const duo_operand *const span = &batch->spans.operand[i];
        const bool there = batch->where[i] == DUO_BATCH_SCATTERED || duo_batch_gathered(call, i);
        if (!duo_operand_touched(o)) continue;
        o->residence = there ? DUO_AT_DEVICE : span->residence;
        o->on_device = there || span->on_device;
        o->on_host = !there && span->on_host;
        o->send_bytes = span->send_bytes;
        o->credit_seconds = span->credit_seconds;
    }
    return all;
}

/* Seconds of that product in binary32 by the fastest algorithm, without transfers. It reads less of
 * A than the batch. */
static double work_of(const duo_call *all, const duo_conditions *conditions)
{
    const duo_algorithm_table table = duo_algorithm_tables[DUO_SGEMM];
    duo_conditions ieee = *conditions;
    double least = (double)INFINITY;
    ieee.math = DUO_MATH_IEEE;
    for (int i = 0; i < table.count; i++) {
        const duo_algorithm *const algorithm = &table.algorithm[i];
        int threads;
        if (algorithm->side == DUO_SIDE_GPU && duo_algorithm_serves(algorithm, DUO_MATH_IEEE) &&
            algorithm->accepts(all, &ieee))
            least = fmin(least, duo_algorithm_seconds(algorithm, all, &ieee, &threads));
    }
    return least;
}

/* Seconds of the batch's work: of that product, and on tensor cores less by what their kernels are
 * faster than the others. */
static double batch_work(const duo_call *call, const duo_call *all,
                         const duo_conditions *conditions, const duo_algorithm *algorithm)
{
    const double work = work_of(all, conditions);
    if (algorithm->id == DUO_sgemm_gpu_ffma) return work;
    return work * kernel_microseconds(call, conditions, true) /
           kernel_microseconds(call, conditions, false);
}

double duo_batch_work(const duo_call *call, const duo_conditions *conditions,
                      const duo_algorithm *algorithm)
{
    const duo_call all = side_by_side(call);
    return batch_work(call, &all, conditions, algorithm);
}

double duo_batch_seconds(const duo_call *call, const duo_conditions *conditions,
                         const duo_algorithm *algorithm)
{
    const duo_call all = side_by_side(call);
    const double work = batch_work(call, &all, conditions, algorithm);
    return work * duo_work_ratio(conditions, algorithm->id, work) +
           duo_transfer_seconds(&all, DUO_SIDE_GPU, conditions) +
           duo_batch_gathered_seconds(call, conditions);
}

/* Replaces lists of pointers at equal distances by strides: these lists need not be sent. */
static void find_strides(duo_call *call, duo_batch *batch)
{
    for (int i = 0; i < DUO_OPERANDS; i++) {
        if (batch->pointer[i] == NULL || !batch->list[i].even) continue;
        call->operand[i].address = duo_batch_address(batch, call, i, 0);
        batch->pointer[i] = NULL;
    }
}

/* Places the operands and queues the work. */
static duo_outcome queue(duo_execution *e, const duo_algorithm *algorithm, duo_call *local,
                         duo_call *call)
{
    duo_resources *const res = &e->ctx->resources;
    duo_batch batch;
    if (duo_place_on_device(res, algorithm->id, duo_call_whole(e->call), local) != DUO_OK)
        return DUO_DECLINED;
    duo_batch_use_copies(e->call, local, call, &batch);
    const duo_status gathered = duo_batch_gather(e, call, &batch);
    if (gathered == DUO_ERR_MEMORY) return DUO_ERR_MEMORY;
    if (gathered != DUO_OK || duo_batch_claim(e) != DUO_OK) return DUO_DECLINED;
    find_strides(call, &batch);
    const duo_status status =
        duo_backend_current()->launch_batch(res->queue, algorithm->id, call, &batch);
    if (status == DUO_OK) return DUO_OK;
    (void)duo_resources_failed(res, status, "launch");
    return DUO_DECLINED;
}

/* Fetches C; or C stays on the device, and nobody has waited for it yet. */
static duo_outcome end(duo_execution *e, const duo_call *call)
{
    if (!duo_batch_gathered(e->call, DUO_C)) {
        e->ctx->resources.unwaited = true;
        return DUO_OK;
    }
    const duo_status status = duo_batch_fetch(e, call);
    e->partly = e->done > 0;
    return e->done == e->call->batch->count ? (duo_outcome)status : DUO_DECLINED;
}

static duo_outcome launch(duo_execution *e, const duo_algorithm *algorithm)
{
    duo_resources *const res = &e->ctx->resources;
    const duo_call *const whole = duo_call_whole(e->call);
    duo_call local, call;
    duo_outcome outcome = queue(e, algorithm, &local, &call);
    duo_place_queued(res, whole, &local, outcome == DUO_OK);
    if (duo_batch_queued(e, outcome == DUO_OK) != DUO_OK)
        (void)duo_queue_finish(res->queue); /* as claim_again does in data/place.c */
    if (outcome == DUO_OK) outcome = end(e, &call);
    duo_place_end(res, whole, &local);
    return outcome;
}

/* Runs the batch in two halves: the device has no room for all that would be sent. */
static duo_outcome in_halves(duo_execution *e)
{
    const int64_t count = e->call->batch->count, half = count / 2;
    for (int64_t first = 0; first < count; first = first == 0 ? half : count) {
        duo_call part;
        duo_batch batch;
        duo_call_products(e->call, first, first == 0 ? half : count - half, &part, &batch);
        const duo_status status = e->run_part(e, &part);
        if (status != DUO_OK) return status;
    }
    return DUO_OK;
}

duo_outcome duo_run_batch(duo_execution *e, duo_choice *choice)
{
    duo_resources *const res = &e->ctx->resources;
    if (!duo_batch_has_room(e->call, &e->conditions)) return in_halves(e);
    res->on_gpu = true;
    const duo_outcome outcome = launch(e, choice->algorithm);
    res->on_gpu = false;
    (void)duo_upload_consumed(res); /* if this fails, the wait for the data will fail too */
    return outcome == DUO_ERR_MEMORY ? in_halves(e) : outcome;
}
