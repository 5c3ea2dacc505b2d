/* verify_reduction.c - see verify_reduction.h */
#include "call/verify_reduction.h"

#include <string.h>

#include "call/route.h"
#include "data/checked.h"
#include "data/locate.h"
#include "data/place.h"
#include "gpu/backend/devices.h"

bool duo_verify_overlaps(const duo_call *call)
{
    uintptr_t low, high, from, to;
    duo_operand_span(&call->operand[DUO_RESULT], &low, &high);
    for (int i = DUO_X; i <= DUO_Y; i++) {
        if (!call->operand[i].read) continue;
        duo_operand_span(&call->operand[i], &from, &to);
        if (low < to && from < high) return true;
    }
    return false;
}

/* Reads the result (write NULL), or writes it. */
static bool move_result(duo_resources *res, const duo_call *call, float *read, const float *write)
{
    duo_call of_result = {.operation = call->operation, .m = 1, .n = 1, .threads = 1}, local;
    duo_operand *const o = &of_result.operand[DUO_RESULT];
    *o = (duo_operand){.address = call->operand[DUO_RESULT].address,
                       .rows = 1,
                       .columns = 1,
                       .ld = 1,
                       .read = write == NULL,
                       .written = write != NULL};
    if (duo_locate(res->device, &of_result) != DUO_OK) return false;
    duo_status status = duo_place_on_host(res, &of_result, &local);
    float *const there = local.operand[DUO_RESULT].address;
    if (status == DUO_OK && write != NULL) {
        *there = *write;
        status = duo_place_from_host(res, &of_result, &local);
    } else if (status == DUO_OK) {
        *read = *there;
    }
    duo_place_end(res, &of_result, &local);
    return status == DUO_OK;
}

static const duo_algorithm *reduction_on(duo_operation operation, duo_side side, duo_math math)
{
    const duo_algorithm_table table = duo_algorithm_tables[operation];
    for (int i = 0; i < table.count; i++)
        if (table.algorithm[i].side == side && duo_algorithm_serves(&table.algorithm[i], math))
            return &table.algorithm[i];
    return NULL;
}

/* Reduces once more, on a side. */
static bool reduce_again(const duo_execution *e, duo_side side, float *value)
{
    duo_context *const ctx = e->ctx;
    duo_call call = *e->call;
    const duo_algorithm *const algorithm = reduction_on(call.operation, side, ctx->policy.math);
    call.operand[DUO_RESULT] =
        (duo_operand){.address = value, .rows = 1, .columns = 1, .ld = 1, .written = true};
    if (algorithm == NULL || duo_locate(ctx->resources.device, &call) != DUO_OK) return false;
    call.threads = duo_resources_threads(&ctx->resources);
    duo_execution again = {.ctx = ctx, .call = &call, .awaited = true, .conditions = e->conditions};
    again.choice = again.own;
    again.own[0] = (duo_choice){.algorithm = algorithm, .accepts = true, .threads = call.threads};
    const duo_route_id route = duo_route_alone(&call, &again.conditions, side);
    again.own[0].route = (unsigned char)route;
    return duo_routes[route].run(&again, &again.own[0]) == DUO_OK;
}

static bool same_bits(float x, float y) { return memcmp(&x, &y, sizeof x) == 0; }

/* The other side computes the result, too. If the two differ, the CPU's word counts: it computes
 * once more. */
duo_status duo_verify_reduction(duo_execution *e)
{
    duo_resources *const res = &e->ctx->resources;
    const bool gpu = e->choice[e->ran].algorithm->side == DUO_SIDE_GPU;
    const bool open = res->queue != NULL && duo_device_usable(res->device);
    const duo_side other = gpu || !open ? DUO_SIDE_CPU : DUO_SIDE_GPU;
    float result, check, right;
    if (!move_result(res, e->call, &result, NULL) || !reduce_again(e, other, &check)) return DUO_OK;
    if (same_bits(result, check)) {
        duo_checked_count(1, 0);
        return DUO_OK;
    }
    if (!reduce_again(e, DUO_SIDE_CPU, &right)) return DUO_OK;
    const bool wrong = !same_bits(result, right);
    duo_checked_count(1, wrong);
    if (gpu || other == DUO_SIDE_GPU) duo_checked_device(res->device);
    if (!wrong) return DUO_OK;
    const char *const by = e->choice[e->ran].algorithm->name;
    if (!move_result(res, e->call, NULL, &right)) return DUO_ERR_WRONG;
    duo_report_note(&res->report, "the result of %s was wrong; the CPU computed it again", by);
    return DUO_OK;
}
