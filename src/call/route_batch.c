/* route_batch.c - a batch on the device: in one launch, or, with an operand in host memory,
 * streamed. So are several groups of products, all in device memory, in one launch. */
#include <math.h>

#include "call/execution.h"
#include "choice/ratios.h"
#include "choice/sgemm_gpu_costs.h"
#include "choice/stream_cost.h"
#include "choice/transfer_cost.h"
#include "data/place.h"
#include "gpu/backend/devices.h"
#include "gpu/batched/plan_groups.h"

static bool is_on_device(const duo_call *call, int i)
{
    const duo_operand *const o = &call->batch->spans.operand[i];
    return duo_batch_by_list(call, i) || duo_call_hosts(call, i) || o->on_device ||
           duo_operand_kept(o);
}

/* Microseconds of the kernels by fp32 FMA, or on tensor cores, on an H100; infinite: none takes the
 * batch. */
static double kernel_microseconds(const duo_call *call, const duo_conditions *conditions,
                                  bool tensor)
{
    const duo_batched_size size = duo_batched_size_of(call, call->batch);
    const duo_batched_device device = duo_batched_device_of(conditions);
    double microseconds;
    (void)duo_batched_least(&size, &device, tensor ? DUO_BATCHED_TENSOR : DUO_BATCHED_TILE_8,
                            tensor ? DUO_BATCHED_KERNELS : DUO_BATCHED_TENSOR, &microseconds);
    return microseconds;
}

double duo_batch_kernel_seconds(const duo_call *call, const duo_conditions *conditions)
{
    double microseconds = kernel_microseconds(call, conditions, false);
    if (conditions->math != DUO_MATH_IEEE)
        microseconds = fmin(microseconds, kernel_microseconds(call, conditions, true));
    return microseconds * 1e-6;
}

/* The same for groups. */
static double groups_microseconds(const duo_call *call, const duo_conditions *conditions,
                                  bool tensor)
{
    const duo_batched_device device = duo_batched_device_of(conditions);
    duo_batched_sums sums = {.alone = 0.0};
    for (int64_t g = 0; g < call->batch->groups; g++) {
        const duo_group *const group = &call->batch->group[g];
        const duo_batched_size size = duo_batched_size_of(&group->call, &group->batch);
        duo_batched_add(&sums, &size, &device, tensor);
    }
    if (tensor && !sums.any[DUO_BATCHED_BY_TENSOR]) return (double)INFINITY;
    return duo_batched_total(&sums);
}

/* Has the algorithm kernels for the batch? */
static bool has_kernels(const duo_call *call, const duo_conditions *conditions,
                        const duo_algorithm *algorithm)
{
    if (algorithm->id == DUO_sgemm_gpu_ffma) return true;
    if (algorithm->id != DUO_sgemm_gpu_mma) return false;
    return isfinite(call->batch->group != NULL ? groups_microseconds(call, conditions, true)
                                               : kernel_microseconds(call, conditions, true));
}

bool duo_batch_takes(const duo_call *call, const duo_conditions *conditions,
                     const duo_algorithm *algorithm)
{
    if (!conditions->gpu || call->batch->mixed || !has_kernels(call, conditions, algorithm))
        return false;
    if (duo_call_together(call)) return duo_batch_resides(call);
    for (int i = 0; i < DUO_OPERANDS; i++)
        if (duo_operand_touched(&call->operand[i]) && !is_on_device(call, i)) return false;
    return true;
}

/* The batch, or the first group of several. */
static const duo_call *first_of(const duo_call *call)
{
    return call->batch->group != NULL ? &call->batch->group[0].call : call;
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
        const bool there = duo_batch_by_list(call, i) || duo_call_hosts(call, i);
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
 * faster than the others. Groups take as much longer than the first one as their kernels do. */
static double batch_work(const duo_call *call, const duo_call *all,
                         const duo_conditions *conditions, const duo_algorithm *algorithm)
{
    const double work = work_of(all, conditions);
    const bool tensor = algorithm->id == DUO_sgemm_gpu_mma;
    if (call->batch->group == NULL && !tensor) return work;
    return work *
           (call->batch->group != NULL ? groups_microseconds(call, conditions, tensor)
                                       : kernel_microseconds(call, conditions, true)) /
           kernel_microseconds(first_of(call), conditions, false);
}

double duo_batch_work(const duo_call *call, const duo_conditions *conditions,
                      const duo_algorithm *algorithm)
{
    const duo_call all = side_by_side(first_of(call));
    return batch_work(call, &all, conditions, algorithm);
}

double duo_batch_seconds(const duo_call *call, const duo_conditions *conditions,
                         const duo_algorithm *algorithm)
{
    const duo_call all = side_by_side(first_of(call));
    const double profiled = batch_work(call, &all, conditions, algorithm);
    const double work = profiled * duo_work_ratio(conditions, algorithm->id, profiled);
    const double transfers = duo_transfer_seconds(&all, DUO_SIDE_GPU, conditions);
    if (duo_call_together(call)) return work + transfers;
    return duo_stream_batch_seconds(call, conditions, work) + transfers;
}

/* Lists of pointers at equal distances need not be sent: the first product's operands, and strides,
 * tell the same. */
static void find_strides(duo_call *call, duo_batch *batch)
{
    for (int i = 0; i < DUO_OPERANDS; i++)
        if (batch->pointer[i] != NULL && batch->list[i].even)
            call->operand[i].address = duo_batch_address(batch, call, i, 0);
}

/* Launches `one`, or the call's groups. */
static duo_status launch_all(duo_execution *e, const duo_algorithm *algorithm, duo_group *one)
{
    duo_group *const group = e->call->batch->group != NULL ? e->call->batch->group : one;
    const int64_t groups = duo_batch_groups(e->call->batch);
    for (int64_t g = 0; g < groups; g++) find_strides(&group[g].call, &group[g].batch);
    return duo_backend_current()->launch_batch(e->ctx->resources.queue, algorithm->id, group,
                                               groups);
}

static bool is_streamed(const duo_call *call)
{
    bool any = false;
    for (int i = 0; i < DUO_OPERANDS && !duo_call_together(call); i++)
        any |= duo_call_hosts(call, i);
    return any;
}

static duo_outcome launch(duo_execution *e, const duo_algorithm *algorithm, duo_group *one)
{
    const duo_status status = launch_all(e, algorithm, one);
    if (status == DUO_OK) return DUO_OK;
    (void)duo_resources_failed(&e->ctx->resources, status, "launch");
    return DUO_DECLINED;
}

/* Places the operands and queues the work; if it is streamed, runs it. *queued: was a product
 * queued? */
static duo_outcome begin(duo_execution *e, const duo_algorithm *algorithm, duo_call *local,
                         bool *queued)
{
    duo_resources *const res = &e->ctx->resources;
    duo_group one;
    *queued = res->plan.ran = false;
    if (duo_place_on_device(res, algorithm->id, duo_call_whole(e->call), local) != DUO_OK)
        return DUO_DECLINED;
    if (duo_batch_claim(e) != DUO_OK) return DUO_DECLINED;
    duo_batch_use_copies(e->call, local, &one.call, &one.batch);
    one.call.number = one.batch.spans.number;
    const bool streamed = is_streamed(e->call);
    if (streamed) find_strides(&one.call, &one.batch);
    const duo_outcome outcome =
        streamed ? duo_stream_alone(e, &one.call, algorithm) : launch(e, algorithm, &one);
    *queued = streamed ? duo_stream_did(&res->plan, DUO_STEP_MULTIPLY) : outcome == DUO_OK;
    return outcome;
}

/* Tells who holds copies of C that it was written. Also for products that came before a failure. */
static duo_status wrote_home(duo_execution *e)
{
    duo_batch_wrote_list(e);
    if (e->call->batch->where[DUO_C] == DUO_BATCH_HOSTED) return DUO_OK;
    return duo_place_wrote_host(&e->ctx->resources, &e->call->batch->spans.operand[DUO_C]);
}

duo_outcome duo_run_batch(duo_execution *e, duo_choice *choice)
{
    duo_resources *const res = &e->ctx->resources;
    const duo_call *const whole = duo_call_whole(e->call);
    const bool home = !duo_call_together(e->call) && duo_call_hosts(e->call, DUO_C);
    duo_call local;
    bool queued;
    res->on_gpu = true;
    duo_outcome outcome = begin(e, choice->algorithm, &local, &queued);
    const bool came = home && duo_stream_did(&res->plan, DUO_STEP_FETCH);
    e->partly = outcome != DUO_OK && (home ? came : queued);
    duo_place_queued(res, whole, &local, queued);
    if (duo_batch_queued(e, queued) != DUO_OK)
        (void)duo_queue_finish(res->queue); /* as claim_again does in data/place.c */
    res->unwaited |= queued && !home;
    const duo_status told = came ? wrote_home(e) : DUO_OK;
    if (outcome == DUO_OK) outcome = told;
    duo_place_end(res, whole, &local);
    res->on_gpu = false;
    return outcome;
}
