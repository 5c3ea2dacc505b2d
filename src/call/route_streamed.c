/* route_streamed.c - a product on the GPU with operands in host memory: place, plan, run, note the
 * written bytes. */
#include <math.h>
#include <string.h>

#include "call/execution.h"
#include "choice/stream_cost.h"
#include "data/lanes.h"
#include "data/place.h"
#include "data/plan_make.h"
#include "data/plan_steps.h"
#include "data/remembered.h"
#include "data/stream.h"
#include "data/stream_parts.h"
#include "gpu/backend/devices.h"

/* Bytes of an element of A and B when the algorithm packs them; 0: it does not, or duo_prepare has
 * had them packed. */
static void packed_bytes(const duo_call *local, duo_algorithm_id id, double bytes[2])
{
    for (int i = DUO_A; i <= DUO_B; i++) {
        const duo_operand *const o = &local->operand[i];
        bytes[i] = 0.0;
        if (!o->read || o->packed != NULL || local->batch != NULL) continue;
        bytes[i] = (double)duo_backend_current()->packed_bytes(id, local, i) /
                   ((double)o->rows * (double)o->columns);
    }
}

/* Bytes that a plan may use on `device`: free memory, and the memory of earlier plans. On the first
 * device at least a quarter of that and all device copies, since copies can be evicted. */
static double room_on(const duo_resources *res, int device)
{
    const double least = 0.25;
    double bytes = duo_device_room(device);
    for (int i = 0; i < DUO_OPERANDS; i++) {
        if (device == res->queue_device) bytes += (double)res->workspace[i].bytes;
        for (int lane = 1; lane < DUO_LANES; lane++)
            if (res->lane[lane].device == device) bytes += (double)res->lane[lane].space[i].bytes;
    }
    if (device != res->queue_device) return bytes;
    return fmax(bytes, least * (bytes + duo_device_copies(device)));
}

/* Memory that a plan may use on each of the devices. */
static double memory_for(const duo_resources *res, const int *device, int devices)
{
    double least = INFINITY;
    for (int i = 0; i < devices; i++) least = fmin(least, room_on(res, device[i]));
    return duo_stream_memory(least);
}

/* The devices of the context that a call by this algorithm uses, its queue's first. A device with
 * far less room than the first is left out: a plan has the same slots on all. */
static int devices_for(const duo_resources *res, const duo_call *call,
                       const duo_algorithm *algorithm, duo_conditions *conditions,
                       int device[DUO_LANES])
{
    int all[DUO_LANES], devices = 0;
    double speed[DUO_LANES];
    duo_policy_devices(conditions, res);
    const int count = conditions->devices > 1 ? duo_resources_devices(res, all) : 0;
    device[0] = res->queue_device;
    if (count < conditions->devices || count == 0 || all[0] != res->queue_device) return 1;
    const double room = room_on(res, all[0]);
    for (int i = 0; i < conditions->devices; i++) {
        if (room_on(res, all[i]) < 0.5 * room) continue;
        speed[devices] = conditions->speed[i];
        device[devices++] = all[i];
    }
    memcpy(conditions->speed, speed, (size_t)devices * sizeof *speed);
    conditions->devices = devices;
    int best;
    (void)duo_stream_seconds(call, conditions, algorithm, &best);
    return best;
}

/* Makes the plan, if it is not the one that the last call had. */
static bool plan(duo_resources *res, const duo_plan_problem *of)
{
    duo_plan *const plan = &res->plan;
    duo_plan_problem like = *of;
    like.model = plan->of.model;
    if (plan->count > 0 && memcmp(&like, &plan->of, sizeof like) == 0) {
        plan->of.model = of->model;
        return true;
    }
    if (duo_plan_make(plan, of)) return true;
    plan->count = 0;
    return false;
}

bool duo_stream_did(const duo_plan *plan, duo_step_kind kind)
{
    if (!plan->ran) return false;
    for (int i = 0; i < plan->count; i++)
        if (plan->step[i].kind == kind && plan->step[i].done > 0) return true;
    return false;
}

/* If less memory is free than the cap says, plans for half as much are tried. DUO_ERR_MEMORY: these
 * devices cannot do it, and nothing was done. */
static duo_outcome run_on(duo_resources *res, const duo_call *local, const duo_algorithm *algorithm,
                          const duo_conditions *conditions, const int *device, int devices)
{
    enum { TRIES = 4 };
    duo_stream_model model;
    double packed[2];
    packed_bytes(local, algorithm->id, packed);
    const duo_status opened = duo_lanes_open(res, device, devices);
    if (opened != DUO_OK) return opened == DUO_ERR_LOST ? DUO_DECLINED : DUO_ERR_MEMORY;
    duo_conditions now = *conditions;
    now.linked = !res->unlinked; /* known since the lanes were opened */
    double memory = memory_for(res, device, devices);
    for (int i = 0; i < TRIES; i++) {
        const duo_plan_problem of =
            duo_stream_problem(&model, local, algorithm, &now, devices, memory, packed);
        if (!plan(res, &of)) break;
        const duo_outcome outcome = duo_stream_run(res, algorithm->id, local);
        if (outcome != DUO_ERR_MEMORY) return outcome;
        memory = fmin(memory, duo_plan_bytes(&res->plan)) / 2.0;
        res->plan.count = 0;
        res->plan.ran = false;
    }
    return DUO_ERR_MEMORY;
}

/* Runs the call on several devices if that pays and they can do it, otherwise on the first one. */
static duo_outcome plan_and_run(duo_resources *res, const duo_call *call, const duo_call *local,
                                const duo_algorithm *algorithm, const duo_conditions *given)
{
    int device[DUO_LANES];
    duo_conditions conditions = *given;
    const int devices = devices_for(res, call, algorithm, &conditions, device);
    duo_outcome outcome = run_on(res, local, algorithm, &conditions, device, devices);
    if (outcome == DUO_ERR_MEMORY && devices > 1)
        outcome = run_on(res, local, algorithm, &conditions, device, 1);
    return outcome == DUO_ERR_MEMORY ? DUO_DECLINED : outcome;
}

duo_outcome duo_stream_alone(duo_execution *e, const duo_call *local,
                             const duo_algorithm *algorithm)
{
    duo_resources *const res = &e->ctx->resources;
    const duo_outcome outcome =
        run_on(res, local, algorithm, &e->conditions, &res->queue_device, 1);
    return outcome == DUO_ERR_MEMORY ? DUO_DECLINED : outcome;
}

static duo_outcome run(duo_execution *e, duo_call *local, const duo_algorithm *algorithm)
{
    duo_resources *const res = &e->ctx->resources;
    const duo_call *const call = e->call;
    const duo_outcome placed = duo_place_on_device(res, algorithm->id, call, local);
    res->plan.ran = false;
    if (placed != DUO_OK) {
        duo_place_queued(res, call, local, false);
        return DUO_DECLINED;
    }
    if (!e->part) duo_remembered_begin(res, call, local);
    const duo_outcome outcome = plan_and_run(res, call, local, algorithm, &e->conditions);
    duo_remembered_end(local, outcome == DUO_OK && duo_stream_fills(&res->plan));
    const bool products = duo_stream_did(&res->plan, DUO_STEP_MULTIPLY);
    const bool tiles = duo_stream_did(&res->plan, DUO_STEP_FETCH);
    duo_place_queued(res, call, local, products);
    const bool home = duo_operand_lies_in_host(&call->operand[DUO_C]);
    e->partly = outcome != DUO_OK && (home ? tiles : products);
    if (!home && products) res->unwaited = true;
    /* Also for tiles that came before a failure: kept arrays that C touches have changed. */
    const duo_status told =
        home && tiles ? duo_place_wrote_host(res, &call->operand[DUO_C]) : DUO_OK;
    return outcome == DUO_OK && told == DUO_OK ? DUO_OK : DUO_DECLINED;
}

duo_outcome duo_run_streamed(duo_execution *e, duo_choice *choice)
{
    duo_resources *const res = &e->ctx->resources;
    duo_call local;
    res->on_gpu = true;
    const duo_outcome outcome = run(e, &local, choice->algorithm);
    res->on_gpu = false;
    duo_place_end(res, e->call, &local);
    return outcome;
}
