/* verify_trial.c - see verify_trial.h */
#include "bench/crossover/verify_trial.h"

#include "bench/crossover/verify_arrays.h"
#include "bench/measure/benchmark.h"
#include "bench/measure/implementation.h"
#include "call/context.h"
#include "call/run_cpu.h"
#include "call/run_gpu.h"
#include "data/locate.h"
#include "data/transfer.h"

static bool run_on_gpu(const duo_trial *t, const duo_call *call)
{
    bool partly;
    return duo_context_open(duo_context_of(t->context)) == DUO_OK &&
           duo_run_gpu(duo_context_of(t->context), call, t->candidate->algorithm, t->conditions,
                       &partly) == DUO_OK &&
           duo_upload_consumed(&duo_context_of(t->context)->resources) == DUO_OK;
}

static bool run_candidate(const duo_trial *t)
{
    duo_call call = *t->call;
    if (duo_locate(duo_context_of(t->context)->resources.device, &call) != DUO_OK) return false;
    if (t->candidate->algorithm->side == DUO_SIDE_GPU) return run_on_gpu(t, &call);
    call.threads = t->candidate->threads;
    return duo_run_cpu(duo_context_of(t->context), &call, t->candidate->algorithm) == DUO_OK;
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
