/* route_cpu.c - on the CPU: place on the host, run, take the output home. */
#include "call/execution.h"
#include "data/place.h"

duo_outcome duo_run_cpu(duo_execution *e, duo_choice *choice)
{
    duo_call local;
    duo_call *const call = e->call;
    duo_resources *const res = &e->ctx->resources;
    call->threads = choice->threads > 0 ? choice->threads : 1;
    duo_outcome status = duo_place_on_host(res, call, &local);
    if (status == DUO_OK) {
        duo_place_packed(choice->algorithm->id, &local);
        status = choice->algorithm->run(&local);
    }
    if (status == DUO_OK) status = duo_place_from_host(res, call, &local);
    duo_place_end(res, call, &local);
    return status;
}
