/* stream_product.c - a streamed product: place, plan, run, note what was written (stream_product.h). */
#include "call/stream_product.h"

#include <string.h>

#include "choice/stream_cost.h"
#include "data/place_device.h"
#include "data/place_host.h"
#include "data/plan_make.h"
#include "data/stream.h"
#include "gpu/backend/devices.h"

/* Bytes of an element of A and B when the algorithm packs them; 0: it does not, or duo_prepare has
 * had them packed. */
static void packed_bytes(const duo_call *local, duo_algorithm_id id, double bytes[2])
{
    for (int i = DUO_A; i <= DUO_B; i++) {
        const duo_operand *const o = &local->operand[i];
        bytes[i] = 0.0;
        if (!o->read || o->packed != NULL) continue;
        bytes[i] = (double)duo_backend_current()->packed_bytes(id, local, i) /
                   ((double)o->rows * (double)o->columns);
    }
}

/* Memory that a plan may use on the device: of what is free and what earlier plans have; at least a
 * quarter of what device copies have with it, which then make room. */
static double memory_for(const duo_resources *res)
{
    const double least = 0.25;
    double bytes = duo_device_room(res->queue_device);
    for (int i = 0; i < DUO_OPERANDS; i++) bytes += (double)res->workspace[i].bytes;
    const double all = bytes + duo_device_copies(res->queue_device);
    return duo_stream_memory(fmax(bytes, least * all));
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

/* Was a product of this plan queued? Is a part of C final? */
static bool any_done(const duo_plan *plan, duo_step_kind kind)
{
    for (int i = 0; i < plan->count; i++)
        if (plan->step[i].kind == kind && plan->step[i].done > 0) return true;
    return false;
}

/* Less memory may be free than the cap says: then a plan for less is tried. */
static duo_outcome plan_and_run(duo_resources *res, const duo_call *local,
                                const duo_algorithm *algorithm, const duo_conditions *conditions)
{
    enum { TRIES = 4 };
    duo_stream_model model;
    double packed[2];
    packed_bytes(local, algorithm->id, packed);
    double memory = memory_for(res);
    duo_outcome outcome = duo_stream_open(res, &res->queue_device, 1);
    if (outcome != DUO_OK) return DUO_DECLINED;
    for (int i = 0; i < TRIES; i++, memory /= 2.0) {
        const duo_plan_problem of =
            duo_stream_problem(&model, local, algorithm, conditions, 1, memory, packed);
        if (!plan(res, &of)) return DUO_DECLINED;
        outcome = duo_stream_run(res, algorithm->id, local);
        if (outcome != DUO_ERR_MEMORY) return outcome;
        res->plan.count = 0;
    }
    return DUO_DECLINED;
}

duo_outcome duo_stream_product(duo_resources *res, const duo_call *call, duo_call *local,
                               const duo_algorithm *algorithm, const duo_conditions *conditions,
                               bool *partly)
{
    const duo_outcome placed = duo_place_on_device(res, algorithm->id, call, local);
    res->plan.ran = false;
    if (placed != DUO_OK) {
        duo_place_queued(res, call, local, false);
        return placed == DUO_ERR_LOST && duo_device_usable(res->device) ? DUO_ERR_LOST
                                                                        : DUO_DECLINED;
    }
    const duo_outcome outcome = plan_and_run(res, local, algorithm, conditions);
    const bool products = res->plan.ran && any_done(&res->plan, DUO_STEP_MULTIPLY);
    const bool tiles = res->plan.ran && any_done(&res->plan, DUO_STEP_FETCH);
    duo_place_queued(res, call, local, products);
    const bool home = duo_operand_hosted(&call->operand[DUO_C]);
    *partly = outcome != DUO_OK && (home ? tiles : products);
    /* Also for tiles that came before a failure: kept arrays that C touches have changed. */
    const duo_status told =
        home && tiles ? duo_place_wrote_host(res, &call->operand[DUO_C]) : DUO_OK;
    return outcome == DUO_OK && told == DUO_OK ? DUO_OK : DUO_DECLINED;
}
