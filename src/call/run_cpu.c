/* run_cpu.c - place on the host, run, take home; and the rest of a product (run_cpu.h). */
#include "call/run_cpu.h"

#include "data/place_host.h"

duo_outcome duo_run_cpu(duo_context *ctx, const duo_call *call, const duo_algorithm *algorithm)
{
    duo_call local;
    duo_outcome status = duo_place_on_host(&ctx->resources, call, &local);
    if (status == DUO_OK) status = duo_context_run(ctx, algorithm, &local);
    if (status == DUO_OK) status = duo_place_from_host(&ctx->resources, call, &local);
    duo_place_end(call, &local);
    return status;
}

duo_outcome duo_run_cpu_rest(duo_context *ctx, const duo_call *call, const duo_algorithm *algorithm,
                             int64_t *finished)
{
    const int64_t done = *finished;
    duo_call rest = *call;
    duo_operand *const a = &rest.operand[DUO_A], *const b = &rest.operand[DUO_B],
                       *const c = &rest.operand[DUO_C];
    const int64_t column = done / call->m, rows_done = done % call->m;
    const int64_t b_step = call->transb ? 1 : b->ld, a_step = call->transa ? a->ld : 1;
    if (b->address != NULL) b->address += column * b_step;
    *(call->transb ? &b->rows : &b->columns) -= column;
    c->address += column * c->ld;
    if (rows_done > 0) {
        duo_call part = rest;
        part.m = call->m - rows_done;
        part.n = 1;
        if (part.operand[DUO_A].address != NULL) part.operand[DUO_A].address += rows_done * a_step;
        *(call->transa ? &part.operand[DUO_A].columns : &part.operand[DUO_A].rows) = part.m;
        *(call->transb ? &part.operand[DUO_B].rows : &part.operand[DUO_B].columns) = 1;
        part.operand[DUO_C].address += rows_done;
        part.operand[DUO_C].rows = part.m;
        part.operand[DUO_C].columns = 1;
        const duo_outcome status = duo_run_cpu(ctx, &part, algorithm);
        if (status != DUO_OK) return status;
        *finished += part.m; /* if whole columns are declined below, another algorithm does them */
        if (b->address != NULL) b->address += b_step;
        *(call->transb ? &b->rows : &b->columns) -= 1;
        c->address += c->ld;
    }
    rest.n = call->n - column - (rows_done > 0);
    c->columns = rest.n;
    return rest.n > 0 ? duo_run_cpu(ctx, &rest, algorithm) : DUO_OK;
}
