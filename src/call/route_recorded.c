/* route_recorded.c - calls and copies in a stream that the program captures (captured.h). */
#include "call/captured.h"
#include "call/execution.h"
#include "data/residency.h"
#include "gpu/backend/devices.h"

static duo_status refuse(duo_resources *res, const char *why)
{
    duo_report_note(&res->report, "in a captured stream: %s", why);
    return DUO_ERR_CAPTURE;
}

/* The graph may write these bytes at any time, so operands packed from them are never valid
 * again. */
static void will_be_written(uintptr_t low, uintptr_t high)
{
    bool crosses;
    duo_residency_lock();
    duo_region *const region = duo_residency_find(low, high, &crosses);
    if (region != NULL) {
        duo_packed_stale(&region->packed, low - region->low, high - region->low);
        region->packed.promised = (duo_range){0, 0};
    }
    duo_residency_unlock();
}

bool duo_recordable(const duo_call *call)
{
    for (int i = 0; i < DUO_OPERANDS; i++) {
        const duo_operand *const o = &call->operand[i];
        if (duo_operand_touched(o) && (o->residence != DUO_AT_DEVICE || !o->on_device))
            return false;
    }
    return true;
}

duo_status duo_captured_refuse(duo_resources *res)
{
    return refuse(res, res->queue == NULL ? "call duo_warm_up before the capture"
                                          : "operands have to be in device memory");
}

duo_outcome duo_run_recorded(duo_execution *e, duo_choice *choice)
{
    const duo_call *const call = e->call;
    duo_resources *const res = &e->ctx->resources;
    uintptr_t low, high;
    e->failed = duo_backend_current()->launch(res->queue, choice->algorithm->id, call, NULL, 0);
    if (e->failed != DUO_OK) {
        (void)duo_resources_failed(res, e->failed, "launch");
        return e->failed == DUO_ERR_LOST ? DUO_ERR_LOST : DUO_DECLINED;
    }
    duo_operand_span(&call->operand[DUO_C], &low, &high); /* DUO_RESULT is the same */
    will_be_written(low, high);
    return DUO_OK;
}

/* Is this in device memory of the context's device, or in pinned memory that the library gave? */
static bool direct(const duo_resources *res, const void *address, size_t bytes, bool *on_device)
{
    const uintptr_t low = (uintptr_t)address;
    bool crosses;
    duo_residency_lock();
    const duo_region *const region = duo_residency_find(low, low + bytes, &crosses);
    *on_device = region != NULL && duo_region_lies_on_device(region) && !region->lost &&
                 region->device == res->device;
    const bool pinned = region != NULL && region->kind == DUO_REGION_PINNED;
    duo_residency_unlock();
    return *on_device || pinned;
}

duo_status duo_captured_copy(duo_context *ctx, void *dst, const void *src, size_t bytes)
{
    duo_resources *const res = &ctx->resources;
    bool to, from;
    if (res->queue == NULL) return duo_captured_refuse(res);
    if (!direct(res, dst, bytes, &to) || !direct(res, src, bytes, &from) || (!to && !from))
        return refuse(res, "only device and pinned memory can be copied");
    const duo_status status =
        duo_backend_current()->copy(res->queue, dst, bytes, src, bytes, bytes, 1);
    if (status != DUO_OK) return duo_resources_failed(res, status, "copy");
    will_be_written((uintptr_t)dst, (uintptr_t)dst + bytes);
    return DUO_OK;
}

duo_status duo_captured_zero(duo_context *ctx, float *result)
{
    duo_resources *const res = &ctx->resources;
    const uintptr_t low = (uintptr_t)result;
    bool on_device;
    if (res->queue == NULL) return duo_captured_refuse(res);
    (void)direct(res, result, sizeof *result, &on_device);
    if (!on_device) return refuse(res, "the result has to be in device memory");
    const duo_status status =
        duo_backend_current()->fill(res->queue, result, sizeof *result, 0, sizeof *result, 1);
    if (status != DUO_OK) return duo_resources_failed(res, status, "store a result");
    will_be_written(low, low + sizeof *result);
    return DUO_OK;
}
