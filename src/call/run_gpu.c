/* run_gpu.c - place on the device, launch, wait for a result or leave it there (run_gpu.h). */
#include "call/run_gpu.h"

#include <string.h>

#include "call/stream_product.h"
#include "choice/stream_cost.h"
#include "call/stream_reduction.h"
#include "data/place_device.h"
#include "data/place_host.h"
#include "gpu/backend/devices.h"

/* Waits until the pinned word has this reduction's ticket, and takes the result out of it. Now and
 * then the queue is asked whether it still works. */
static duo_status poll_result(const duo_resources *res, float *value)
{
    enum { SPINS = 4096 }; /* looks at the word between two questions to the driver */
    bool idle = false;
    for (;;) {
        for (int spin = 0; spin < SPINS; spin++) {
            const uint64_t seen = __atomic_load_n(res->pinned_result, __ATOMIC_ACQUIRE);
            if ((uint32_t)(seen >> 32) == res->ticket) {
                const uint32_t bits = (uint32_t)seen;
                memcpy(value, &bits, sizeof bits);
                return duo_device_usable(res->device) ? DUO_OK : DUO_ERR_LOST;
            }
#if defined(__x86_64__)
            __builtin_ia32_pause();
#endif
        }
        if (idle) return DUO_ERR_LOST; /* the queue had done all, and no result has come */
        const duo_status status = duo_backend_current()->idle(res->queue, &idle);
        if (status != DUO_OK) return status;
    }
}

/* Places the operands and queues the work. *polled: will the result come by the pinned word? */
static duo_outcome launch(duo_resources *res, const duo_call *call, duo_call *local,
                          const duo_algorithm *algorithm, bool *polled)
{
    const duo_outcome placed = duo_place_on_device(res, algorithm->id, call, local);
    if (placed != DUO_OK) {
        duo_place_queued(res, call, local, false);
        return placed == DUO_ERR_LOST && duo_device_usable(res->device) ? DUO_ERR_LOST
                                                                        : DUO_DECLINED;
    }
    *polled = call->operation != DUO_SGEMM && local->operand[DUO_RESULT].address == NULL;
    if (*polled && duo_resources_pin_result(res) != DUO_OK) {
        duo_place_queued(res, call, local, false);
        return DUO_DECLINED;
    }
    res->ticket++;
    const duo_status status = duo_backend_current()->launch(
        res->queue, algorithm->id, local, *polled ? res->pinned_result : NULL, res->ticket);
    duo_place_queued(res, call, local, status == DUO_OK);
    if (status == DUO_OK) return DUO_OK;
    (void)duo_resources_failed(res, status, "launch");
    return DUO_DECLINED;
}

static duo_outcome take_result(duo_resources *res, const duo_call *call)
{
    float value;
    const duo_status status = poll_result(res, &value);
    if (status != DUO_OK) {
        (void)duo_resources_failed(res, status, "wait for the result");
        return DUO_DECLINED;
    }
    res->reading_host = false; /* the result is there, so every operand has been read */
    return duo_place_result(res, &call->operand[DUO_RESULT], value);
}

/* Queues a call whose operands are all on the device, or are reduced; waits for a result that
 * belongs in host memory. */
static duo_outcome run(duo_resources *res, const duo_call *call, duo_call *local,
                       const duo_algorithm *algorithm)
{
    if (duo_reduction_streams(res, call))
        return duo_stream_reduction(res, algorithm->id, call, local);
    bool polled;
    const duo_outcome launched = launch(res, call, local, algorithm, &polled);
    if (launched != DUO_OK || !polled) return launched;
    return take_result(res, call) == DUO_OK ? DUO_OK : DUO_DECLINED;
}

duo_outcome duo_run_gpu(duo_context *ctx, const duo_call *call, const duo_algorithm *algorithm,
                        const duo_conditions *conditions, bool *partly)
{
    duo_resources *const res = &ctx->resources;
    duo_call local;
    *partly = false;
    res->on_gpu = true;
    const duo_outcome outcome =
        duo_streams(call) ? duo_stream_product(res, call, &local, algorithm, conditions, partly)
                          : run(res, call, &local, algorithm);
    res->on_gpu = false;
    /* Nobody has waited yet for an output that stays on the device. */
    const duo_operand *const out = &call->operand[DUO_C]; /* DUO_RESULT is the same operand */
    if (outcome == DUO_OK && !duo_operand_hosted(out)) res->unwaited = true;
    duo_place_end(call, &local);
    return outcome;
}
