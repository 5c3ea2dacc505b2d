/* contender.c - see contender.h */
#include "bench/measure/contender.h"

#include <stdlib.h>

#include "gpu/backend/devices.h"
#include "host/environment.h"

/* Of very small problems so many are not enough to empty a cache; more would themselves fill it. */
enum { MOST_SLOTS = 16384 };

/* ---- Rows below the API ---- */

static bool run_cpu_row(const duo_contender *self, const duo_call *call)
{
    return self->algorithm->run(call) == DUO_OK;
}

duo_contender duo_contender_cpu_algorithm(const duo_algorithm *row, int threads,
                                          const duo_stock *stock)
{
    return (duo_contender){.name = row->name,
                           .side = DUO_SIDE_CPU,
                           .threads = threads,
                           .stock = stock,
                           .algorithm = row,
                           .call = run_cpu_row};
}

static bool finish_queue(const duo_contender *self)
{
    return duo_backend_current()->finish(self->queue) == DUO_OK;
}

static bool launch_gpu_row(const duo_contender *self, const duo_call *call)
{
    return duo_backend_current()->launch(self->queue, self->algorithm->id, call, NULL, 0) == DUO_OK;
}

duo_contender duo_contender_gpu_algorithm(const duo_algorithm *row, duo_queue *queue,
                                          const duo_stock *stock, bool wait_each)
{
    return (duo_contender){.name = row->name,
                           .side = DUO_SIDE_GPU,
                           .stock = stock,
                           .wait_each = wait_each,
                           .algorithm = row,
                           .queue = queue,
                           .call = launch_gpu_row,
                           .finish = finish_queue};
}

/* ---- The public API ---- */

static bool call_api(const duo_contender *self, const duo_call *call)
{
    const duo_operand *const o = call->operand;
    duo_context *const ctx = self->context;
    float *const result = self->result;
    switch (call->operation) {
    case DUO_SGEMM:
        return duo_sgemm(ctx, DUO_COL_MAJOR, call->transa ? DUO_TRANS : DUO_NO_TRANS,
                         call->transb ? DUO_TRANS : DUO_NO_TRANS, call->m, call->n, call->k,
                         call->alpha, o[DUO_A].address, o[DUO_A].ld, o[DUO_B].address, o[DUO_B].ld,
                         call->beta, o[DUO_C].address, o[DUO_C].ld) == DUO_OK;
    case DUO_SASUM:
        return duo_sasum(ctx, call->n, o[DUO_X].address, 1, result) == DUO_OK;
    case DUO_SSUM:
        return duo_ssum(ctx, call->n, o[DUO_X].address, 1, result) == DUO_OK;
    default:
        return duo_sdot(ctx, call->n, o[DUO_X].address, 1, o[DUO_Y].address, 1, result) == DUO_OK;
    }
}

static bool finish_context(const duo_contender *self)
{
    return duo_synchronize(self->context) == DUO_OK;
}

duo_contender duo_contender_api(duo_context *context, const duo_stock *stock, bool wait_each)
{
    static float result;
    return (duo_contender){.name = "duo API",
                           .side = DUO_SIDE_GPU,
                           .stock = stock,
                           .wait_each = wait_each,
                           .context = context,
                           .result = &result,
                           .call = call_api,
                           .finish = finish_context};
}

/* ---- Trials ---- */

/* The forms of what the contender has prepared, in every slot. False: there is no room. */
static bool write_packed(duo_trial *trial)
{
    const duo_contender *const c = trial->contender;
    const duo_backend *const backend = duo_backend_current();
    const int device = duo_environment_get()->device;
    trial->packed = calloc(2 * (size_t)trial->slots, sizeof *trial->packed);
    if (trial->packed == NULL) return false;
    for (int64_t i = 0; i < 2 * trial->slots; i++) {
        duo_call *const call = &trial->prepared[i / 2];
        const int operand = (int)(i % 2);
        duo_space *const form = &trial->packed[i];
        form->bytes = backend->packed_bytes(c->algorithm->id, call, operand);
        if ((c->prepared >> operand & 1) == 0 || form->bytes == 0) continue;
        if (duo_device_allocate(device, form->bytes, &form->address) != DUO_OK ||
            backend->pack(c->queue, c->algorithm->id, call, operand, form->address) != DUO_OK)
            return false;
        call->operand[operand].packed = form->address;
    }
    return true;
}

bool duo_trial_open(duo_trial *trial, const duo_contender *contender, const duo_problem *problem)
{
    *trial = (duo_trial){.contender = contender};
    trial->slots = duo_stock_slots(contender->stock, problem);
    if (trial->slots > MOST_SLOTS) trial->slots = MOST_SLOTS;
    if (trial->slots == 0) return false;
    trial->prepared = malloc((size_t)trial->slots * sizeof *trial->prepared);
    if (trial->prepared == NULL) return false;
    for (int64_t slot = 0; slot < trial->slots; slot++) {
        trial->prepared[slot] = duo_problem_call(problem, contender->stock, slot);
        if (contender->threads > 0) trial->prepared[slot].threads = contender->threads;
    }
    return contender->prepared == 0 || write_packed(trial);
}

void duo_trial_close(duo_trial *trial)
{
    for (int64_t i = 0; trial->packed != NULL && i < 2 * trial->slots; i++)
        if (trial->packed[i].address != NULL)
            (void)duo_device_release(duo_environment_get()->device, trial->packed[i].address,
                                     trial->packed[i].bytes);
    free(trial->packed);
    free(trial->prepared);
    trial->packed = NULL;
    trial->prepared = NULL;
}

bool duo_trial_run(void *user, int64_t calls)
{
    duo_trial *const trial = user;
    const duo_contender *const contender = trial->contender;
    for (int64_t i = 0; i < calls; i++) {
        if (!contender->call(contender, &trial->prepared[trial->next])) return false;
        if (++trial->next == trial->slots) trial->next = 0;
        if (contender->wait_each && !contender->finish(contender)) return false;
    }
    return contender->finish == NULL || contender->finish(contender);
}
