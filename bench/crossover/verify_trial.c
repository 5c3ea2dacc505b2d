/* verify_trial.c - see verify_trial.h */
#include "bench/crossover/verify_trial.h"

#include "bench/crossover/verify_arrays.h"
#include "bench/measure/benchmark.h"
#include "bench/measure/implementation.h"
#include "call/context.h"
#include "call/execute.h"
#include "data/locate.h"
#include "data/transfer.h"

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
