/* wait.c - duo_warm_up, duo_synchronize, duo_trim. */
#include "call/context.h"
#include "call/execute.h"
#include "cpu/blas_library.h"
#include "data/lanes.h"
#include "data/locate.h"
#include "data/remembered.h"
#include "data/residency.h"
#include "data/transfer.h"
#include "gpu/backend/devices.h"
#include "host/scratch.h"
#include "host/stack.h"
#include "host/team.h"

/* Sums host memory on the GPU once, so that workspace and staging buffers exist in their first
 * sizes. The program has not called it: nothing is decided, or told. */
static void sum_once(duo_context *ctx)
{
    enum { LENGTH = 256 };
    float x[LENGTH] = {0.0f}, sum;
    bool partly;
    duo_call call = duo_call_reduction(DUO_SSUM, LENGTH);
    call.operand[DUO_X].address = x;
    call.operand[DUO_RESULT].address = &sum;
    if (duo_locate(ctx->resources.device, &call) != DUO_OK) return;
    const duo_conditions conditions = duo_policy_conditions(&ctx->policy, &ctx->resources);
    (void)duo_execute_by(ctx, &call, duo_algorithm_of(DUO_ssum_gpu_shuffle), &conditions, &partly);
    (void)duo_upload_consumed(&ctx->resources);
}

/* Opens the other devices for streamed products, if there are several. */
static void open_others(duo_resources *res)
{
    int device[DUO_LANES];
    const int devices = res->others != 0 ? duo_resources_devices(res, device) : 0;
    if (devices < 2 || device[0] != res->queue_device) return;
    for (int i = 1; i < devices; i++) {
        const duo_status status = duo_backend_current()->load(device[i]);
        if (status != DUO_OK)
            (void)duo_resources_failed_on(res, device[i], status, "load the kernels");
    }
    (void)duo_lanes_open(res, device, devices); /* the first call will meet a failure again */
}

static void warm_up(void *user)
{
    duo_context *const ctx = user;
    duo_resources *const res = &ctx->resources;
    if (duo_blas_library_asked()) (void)duo_blas_library_get();
    duo_team_warm_up(duo_resources_threads(res));
    if (ctx->policy.path == DUO_PATH_CPU || duo_context_open(ctx) != DUO_OK) return;
    if (duo_backend_current()->load(res->device) != DUO_OK)
        (void)duo_resources_failed(res, DUO_ERR_DEVICE, "load the kernels");
    open_others(res);
    sum_once(ctx);
    if (res->async) (void)duo_deferred_open(&res->deferred, res->queue_device);
}

duo_status duo_warm_up(duo_context *given)
{
    duo_context *const ctx = duo_context_of(given);
    if (ctx == NULL) return DUO_ERR_CONTEXT;
    if (duo_resources_captured(&ctx->resources)) return DUO_ERR_CAPTURE;
    duo_stack_run(warm_up, ctx);
    return DUO_OK;
}

duo_status duo_synchronize(duo_context *given)
{
    duo_context *const ctx = duo_context_of(given);
    if (ctx == NULL) return DUO_ERR_CONTEXT;
    if (duo_context_captured(ctx)) return DUO_ERR_CAPTURE;
    duo_resources *const res = &ctx->resources;
    if (res->queue == NULL) return duo_resources_tell(res);
    const duo_status status = duo_resources_finish(res);
    /* The program may capture the stream now: then others need not follow work that is done. */
    if (status == DUO_OK && res->stream != NULL) {
        duo_residency_lock();
        duo_residency_forget_queue(res->queue);
        duo_residency_unlock();
    }
    const bool unwaited = res->unwaited || duo_deferred_awaited(res->deferred).of != NULL;
    /* After another failure the outputs may still come: the program can wait again. */
    if (status != DUO_OK && status != DUO_ERR_LOST && unwaited) return status;
    if (res->unwaited && status == DUO_ERR_LOST) duo_resources_owe(res, status);
    res->unwaited = false;
    duo_resources_owe(res, duo_deferred_settle(&res->deferred));
    return duo_resources_tell(res);
}

duo_status duo_trim(duo_context *given)
{
    duo_context *const ctx = duo_context_of(given);
    if (ctx == NULL) return DUO_ERR_CONTEXT;
    if (duo_resources_captured(&ctx->resources)) return DUO_ERR_CAPTURE;
    duo_resources_trim(&ctx->resources);
    duo_context_forget_groups(ctx);
    duo_remembered_forget(0, UINTPTR_MAX);
    duo_scratch_trim();
    return DUO_OK;
}
