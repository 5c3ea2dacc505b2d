/* run_cpu.c - place on the host, run, take home (run_cpu.h). */
#include "call/run_cpu.h"

#include "data/place_host.h"

duo_outcome duo_run_cpu(duo_context *ctx, const duo_call *call, const duo_algorithm *algorithm)
{
    duo_call local;
    duo_outcome status = duo_place_on_host(&ctx->resources, call, &local);
    if (status == DUO_OK) status = duo_context_run(ctx, algorithm, &local);
    if (status == DUO_OK) status = duo_place_from_host(&ctx->resources, call, &local);
    duo_place_end(&ctx->resources, call, &local);
    return status;
}
