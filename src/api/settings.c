/* settings.c - the setters of a context: path, math, threads, device, stream, log, the program's
 * BLAS. */
#include "call/context.h"
#include "cpu/blas_library.h"
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

duo_status duo_set_device(duo_context *given, int device)
{
    duo_context *const ctx = duo_context_of(given);
    const char *why;
    if (ctx == NULL) return DUO_ERR_CONTEXT;
    if (device < 0 || device >= duo_devices(&why)) return DUO_ERR_DEVICE;
    duo_resources_settle_device(&ctx->resources);
    if (device == ctx->resources.device) return DUO_OK;
    (void)duo_resources_close(&ctx->resources);
    ctx->resources.device = device;
    ctx->resources.stream = NULL;
    return DUO_OK;
}

duo_status duo_set_stream(duo_context *given, void *cuda_stream)
{
    duo_context *const ctx = duo_context_of(given);
    const char *why;
    if (ctx == NULL) return DUO_ERR_CONTEXT;
    const int count = duo_devices(&why);
    duo_resources_settle_device(&ctx->resources);
    if (count == 0 || !duo_device_usable(ctx->resources.device)) return DUO_ERR_DEVICE;
    if (ctx->resources.stream == cuda_stream) return DUO_OK;
    (void)duo_resources_close(&ctx->resources);
    ctx->resources.stream = cuda_stream;
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

duo_status duo_set_cpu_sgemm(duo_context *given, void (*sgemm)(void))
{
    duo_context *const ctx = duo_context_of(given);
    if (ctx == NULL) return DUO_ERR_CONTEXT;
    const duo_fortran_sgemm program = (duo_fortran_sgemm)sgemm;
    ctx->policy.program = program != NULL && duo_blas_library_yields_to(program) ? program : NULL;
    duo_policy_changed(&ctx->policy, &ctx->resources);
    return DUO_OK;
}
