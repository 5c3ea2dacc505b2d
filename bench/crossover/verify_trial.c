/* verify_trial.c - see verify_trial.h */
#include "bench/crossover/verify_trial.h"

#include "bench/measure/benchmark.h"
#include "bench/measure/implementation.h"
#include "call/context.h"
#include "call/execute.h"
#include "data/locate.h"
#include "data/transfer.h"

/* ---- Calls ---- */

static bool run_candidate(const duo_trial *t)
{
    bool partly;
    duo_call call = *t->call;
    duo_context *const ctx = duo_context_of(t->context);
    const duo_algorithm *const algorithm = t->candidate->algorithm;
    const bool gpu = algorithm->side == DUO_SIDE_GPU;
    if (duo_locate(ctx->resources.device, &call) != DUO_OK) return false;
    if (gpu && duo_context_open(ctx) != DUO_OK) return false;
    if (!gpu) call.threads = t->candidate->threads;
    return duo_execute_by(ctx, &call, algorithm, t->conditions, &partly) == DUO_OK &&
           (!gpu || duo_upload_consumed(&ctx->resources) == DUO_OK);
}

bool duo_trial_run(void *user, int64_t calls)
{
    const duo_trial *const t = user;
    for (int64_t i = 0; i < calls; i++) {
        if (!duo_verify_make_stale(t->context, t->drawn, t->call)) return false;
        const bool done = t->candidate != NULL ? run_candidate(t)
                                               : duo_api_run(t->context, t->call,
                                                             t->call->operand[DUO_RESULT].address);
        if (!done) return false;
    }
    return duo_synchronize(t->context) == DUO_OK;
}

double duo_trial_look(duo_trial *t)
{
    const double long_enough = 0.01;
    double seconds = -1.0;
    for (int i = 0; i < 2 && seconds < long_enough; i++) {
        const double begin = duo_now_seconds();
        if (!duo_trial_run(t, 1)) return -1.0;
        seconds = duo_now_seconds() - begin;
    }
    return seconds;
}

/* ---- Operands ---- */

enum { SEED = 1, LEAST_FLOATS = 64 };

bool duo_verify_arrays_open(duo_verify_arrays *arrays)
{
    const int places = arrays->gpu ? DUO_PLACES : 1;
    for (int place = 0; place < places; place++)
        for (int i = 0; i < DUO_OPERANDS; i++) {
            const int64_t floats = arrays->floats[i];
            const duo_stock *const from =
                place == DUO_PLACE_PAGEABLE ? NULL : &arrays->stock[DUO_PLACE_PAGEABLE][i];
            if (!duo_stock_open(&arrays->stock[place][i], arrays->context, (duo_place)place,
                                (size_t)(floats > 0 ? floats : LEAST_FLOATS), LEAST_FLOATS, SEED,
                                from))
                return false;
        }
    return true;
}

void duo_verify_arrays_close(duo_verify_arrays *arrays)
{
    for (int place = DUO_PLACES - 1; place >= 0; place--)
        for (int i = 0; i < DUO_OPERANDS; i++) duo_stock_close(&arrays->stock[place][i]);
}

/* The memory of an operand's array; kept arrays are in plain host memory, too. */
static duo_place place_of(duo_residence at)
{
    return at == DUO_AT_DEVICE   ? DUO_PLACE_DEVICE
           : at == DUO_AT_PINNED ? DUO_PLACE_PINNED
                                 : DUO_PLACE_PAGEABLE;
}

static bool is_kept(const duo_drawn *drawn, int i)
{
    return drawn->at[i] == DUO_AT_KEPT || drawn->at[i] == DUO_AT_STALE;
}

static size_t bytes_of(const duo_drawn *drawn, int i)
{
    return 4 * (size_t)duo_drawn_floats(drawn, i);
}

/* Keeps an array and sends it, by a call that uses all of it on the GPU. */
static bool keep(duo_context *context, float *address, size_t bytes)
{
    float sum;
    const bool good = duo_keep(context, address, bytes) == DUO_OK &&
                      duo_set_path(context, DUO_PATH_GPU) == DUO_OK &&
                      duo_ssum(context, (int64_t)(bytes / 4), address, 1, &sum) == DUO_OK;
    return duo_set_path(context, DUO_PATH_AUTO) == DUO_OK && good;
}

bool duo_verify_place(duo_verify_arrays *arrays, const duo_drawn *drawn, duo_call *call)
{
    bool good = true;
    *call = duo_drawn_call(drawn);
    for (int i = 0; i < DUO_OPERANDS; i++) {
        duo_operand *const o = &call->operand[i];
        if (drawn->at[i] == DUO_AT_UNUSED) continue;
        o->address = arrays->stock[place_of(drawn->at[i])][i].input;
        if (is_kept(drawn, i)) good = good && keep(arrays->context, o->address, bytes_of(drawn, i));
    }
    return good;
}

void duo_verify_place_end(duo_verify_arrays *arrays, const duo_drawn *drawn, const duo_call *call)
{
    for (int i = 0; i < DUO_OPERANDS; i++)
        if (is_kept(drawn, i)) (void)duo_release(arrays->context, call->operand[i].address);
}

bool duo_verify_make_stale(duo_context *context, const duo_drawn *drawn, const duo_call *call)
{
    bool good = true;
    for (int i = 0; i < DUO_OPERANDS; i++)
        if (drawn->at[i] == DUO_AT_STALE)
            good = good &&
                   duo_changed(context, call->operand[i].address, bytes_of(drawn, i)) == DUO_OK;
    return good;
}
