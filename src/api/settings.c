/* settings.c - the setters of a context: path, math, threads, devices, stream, priority, log,
 * learning, checks, results that come later, the program's BLAS and its say in decisions. */
#include "call/context.h"
#include "cpu/blas_library.h"
#include "data/checked.h"
#include "gpu/backend/devices.h"
#include "host/team.h"

duo_status duo_set_path(duo_context *given, duo_path path)
{
    duo_context *const ctx = duo_context_of(given);
    if (ctx == NULL) return DUO_ERR_CONTEXT;
    if (path != DUO_PATH_AUTO && path != DUO_PATH_CPU && path != DUO_PATH_GPU) return DUO_ERR_ENUM;
    ctx->policy.path = path;
    duo_policy_changed(&ctx->policy, &ctx->resources);
    return DUO_OK;
}

duo_status duo_set_math(duo_context *given, duo_math math)
{
    duo_context *const ctx = duo_context_of(given);
    if (ctx == NULL) return DUO_ERR_CONTEXT;
    if (math != DUO_MATH_ACCURATE && math != DUO_MATH_IEEE && math != DUO_MATH_TF32 &&
        math != DUO_MATH_FLOAT64)
        return DUO_ERR_ENUM;
    ctx->policy.math = math;
    duo_policy_changed(&ctx->policy, &ctx->resources);
    return DUO_OK;
}

duo_status duo_set_threads(duo_context *given, int threads)
{
    duo_context *const ctx = duo_context_of(given);
    if (ctx == NULL) return DUO_ERR_CONTEXT;
    if (threads < 0) return DUO_ERR_SIZE;
    ctx->resources.threads = threads < DUO_TEAM_MOST ? threads : DUO_TEAM_MOST;
    duo_policy_changed(&ctx->policy, &ctx->resources);
    return DUO_OK;
}

duo_status duo_get_threads(duo_context *given, int *threads)
{
    const duo_context *const ctx = duo_context_of(given);
    if (ctx == NULL) return DUO_ERR_CONTEXT;
    if (threads == NULL) return DUO_ERR_NULL;
    *threads = duo_resources_threads(&ctx->resources);
    return DUO_OK;
}

duo_status duo_set_device(duo_context *given, int device)
{
    return duo_set_devices(given, &device, 1);
}

/* Notes why the device cannot be used (duo_error_detail). */
static duo_status no_device(duo_context *ctx, int device, const char *why)
{
    const char *none;
    const int there = duo_devices(&none);
    if (there == 0)
        duo_report_note(&ctx->resources.report, "there is no usable GPU: %s", none);
    else if (device < 0 || device >= there)
        duo_report_note(&ctx->resources.report, "there is no GPU %d; they are 0 to %d", device,
                        there - 1);
    else
        duo_report_note(&ctx->resources.report, "GPU %d: %s", device, why);
    return DUO_ERR_DEVICE;
}

duo_status duo_set_devices(duo_context *given, const int *devices, int count)
{
    duo_context *const ctx = duo_context_of(given);
    const char *why;
    if (ctx == NULL) return DUO_ERR_CONTEXT;
    if (count < 0 || count > DUO_LANES) return DUO_ERR_SIZE;
    if (count > 0 && devices == NULL) return DUO_ERR_NULL;
    if (duo_context_captured(ctx)) return DUO_ERR_CAPTURE;
    const int there = duo_devices(&why);
    if (there == 0) return no_device(ctx, 0, why);
    for (int i = 0; i < count; i++) {
        if (devices[i] < 0 || devices[i] >= there) return no_device(ctx, devices[i], why);
        for (int before = 0; before < i; before++)
            if (devices[before] == devices[i])
                return no_device(ctx, devices[i], "it is named twice");
    }
    duo_resources *const res = &ctx->resources;
    duo_resources_settle_device(res);
    duo_resources_set_others(res, count > 1 ? devices + 1 : NULL, count - 1);
    if (count == 0 || devices[0] == res->device) return DUO_OK;
    duo_resources_close(res);
    res->device = devices[0];
    res->stream = NULL;
    duo_policy_changed(&ctx->policy, res);
    return DUO_OK;
}

duo_status duo_set_stream(duo_context *given, void *cuda_stream)
{
    duo_context *const ctx = duo_context_of(given);
    const char *why;
    if (ctx == NULL) return DUO_ERR_CONTEXT;
    if (duo_context_captured(ctx)) return DUO_ERR_CAPTURE;
    const int count = duo_devices(&why);
    duo_resources_settle_device(&ctx->resources);
    if (count == 0 || !duo_device_usable(ctx->resources.device))
        return no_device(ctx, ctx->resources.device, duo_device_why(ctx->resources.device));
    if (ctx->resources.stream == cuda_stream) return DUO_OK;
    duo_resources_close(&ctx->resources);
    ctx->resources.stream = cuda_stream;
    duo_policy_changed(&ctx->policy, &ctx->resources);
    return DUO_OK;
}

duo_status duo_set_priority(duo_context *given, duo_priority priority)
{
    duo_context *const ctx = duo_context_of(given);
    if (ctx == NULL) return DUO_ERR_CONTEXT;
    if (priority != DUO_PRIORITY_NORMAL && priority != DUO_PRIORITY_HIGH) return DUO_ERR_ENUM;
    if (ctx->resources.priority == priority) return DUO_OK;
    if (duo_resources_captured(&ctx->resources)) return DUO_ERR_CAPTURE;
    duo_resources_close(&ctx->resources);
    ctx->resources.priority = priority;
    return DUO_OK;
}

duo_status duo_set_log(duo_context *given, void (*log)(void *user, const char *line), void *user)
{
    duo_context *const ctx = duo_context_of(given);
    if (ctx == NULL) return DUO_ERR_CONTEXT;
    ctx->resources.report.log = log;
    ctx->resources.report.log_user = user;
    duo_policy_changed(&ctx->policy, &ctx->resources);
    return DUO_OK;
}

duo_status duo_set_adapt(duo_context *given, int on)
{
    duo_context *const ctx = duo_context_of(given);
    if (ctx == NULL) return DUO_ERR_CONTEXT;
    ctx->policy.adapt = on != 0;
    return DUO_OK;
}

duo_status duo_set_verify(duo_context *given, double rate, uint64_t seed)
{
    duo_context *const ctx = duo_context_of(given);
    if (ctx == NULL) return DUO_ERR_CONTEXT;
    if (!(rate >= 0.0 && rate <= 1.0)) return DUO_ERR_SIZE;
    ctx->policy.verify_rate = rate;
    ctx->policy.verify_seed = seed;
    ctx->policy.verify_calls = 0;
    duo_policy_changed(&ctx->policy, &ctx->resources);
    return DUO_OK;
}

duo_status duo_get_verified(int64_t *checked, int64_t *wrong)
{
    if (checked == NULL || wrong == NULL) return DUO_ERR_NULL;
    duo_checked_counts(checked, wrong);
    return DUO_OK;
}

duo_status duo_set_open(duo_context *given, duo_open open)
{
    duo_context *const ctx = duo_context_of(given);
    if (ctx == NULL) return DUO_ERR_CONTEXT;
    if (open != DUO_OPEN_FIRST && open != DUO_OPEN_BACKGROUND) return DUO_ERR_ENUM;
    ctx->policy.open = open;
    return DUO_OK;
}

duo_status duo_set_remember(duo_context *given, duo_remember remember)
{
    duo_context *const ctx = duo_context_of(given);
    if (ctx == NULL) return DUO_ERR_CONTEXT;
    if (remember != DUO_REMEMBER_NONE && remember != DUO_REMEMBER_BYTES &&
        remember != DUO_REMEMBER_PAGES)
        return DUO_ERR_ENUM;
    ctx->resources.remember = remember;
    return DUO_OK;
}

/* Functions on the default context give their result at return, as BLAS does: the drop-in's results
 * are values, and a thread may end with its stack. */
duo_status duo_set_async(duo_context *given, int on)
{
    duo_context *const ctx = duo_context_of(given);
    if (ctx == NULL) return DUO_ERR_CONTEXT;
    duo_resources *const res = &ctx->resources;
    duo_status status = DUO_OK;
    if (ctx == duo_context_default || (on != 0) == res->async) return DUO_OK;
    if (on && res->deferred == NULL) res->deferred = duo_deferred_make();
    if (on && res->deferred == NULL) return DUO_ERR_MEMORY;
    if (!on) status = duo_synchronize(ctx);
    if (status == DUO_OK || status == DUO_ERR_LOST || status == DUO_ERR_WRONG) res->async = on != 0;
    return status;
}

duo_status duo_set_decide(duo_context *given, duo_decide decide, void *user)
{
    duo_context *const ctx = duo_context_of(given);
    if (ctx == NULL) return DUO_ERR_CONTEXT;
    ctx->policy.decide = decide;
    ctx->policy.decide_user = user;
    duo_policy_changed(&ctx->policy, &ctx->resources);
    return DUO_OK;
}

duo_status duo_set_cpu_sgemm(duo_context *given, void (*sgemm)(void))
{
    duo_context *const ctx = duo_context_of(given);
    if (ctx == NULL) return DUO_ERR_CONTEXT;
    const duo_blas_library *const program = duo_blas_library_of((duo_fortran_sgemm)sgemm);
    ctx->policy.program = program;
    ctx->resources.program_threads = program != NULL ? program->get_threads : NULL;
    duo_policy_changed(&ctx->policy, &ctx->resources);
    return DUO_OK;
}
