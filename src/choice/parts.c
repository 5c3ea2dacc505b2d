/* parts.c - splits a prediction into transfers, launches and compute (parts.h). */
#include "choice/parts.h"

#include <math.h>

#include "choice/stream_cost.h"

/* A product or vector of one element. */
static duo_call smallest(const duo_call *call)
{
    duo_call least = *call;
    if (call->operation == DUO_SGEMM) {
        duo_call_set_sizes(&least, 1, 1, 1);
        return least;
    }
    least.n = 1;
    for (int i = 0; i < DUO_OPERANDS; i++) least.operand[i].columns = 1;
    return least;
}

/* Seconds to launch on the GPU, and to see the result in host memory. */
static double launch_on_gpu(const duo_call *call, const duo_conditions *conditions,
                            const duo_choice *choice)
{
    int threads;
    const duo_profile *const p = conditions->profile;
    const duo_call least = smallest(call);
    const double launch = duo_algorithm_seconds(choice->algorithm, &least, conditions, &threads);
    const double waits =
        duo_operand_lies_in_host(&call->operand[DUO_C]) ? p->round_trip_seconds : 0.0;
    if (!duo_streams(call)) return launch + waits;
    return launch + duo_stream_starts(call, p) * choice->devices;
}

static double launch_on_cpu(const duo_conditions *conditions, const duo_choice *choice)
{
    const duo_profile *const p = conditions->profile;
    if (choice->threads <= 1) return 0.0;
    return p->fork_seconds + p->fork_seconds_per_thread * choice->threads;
}

duo_parts duo_parts_of(const duo_call *call, const duo_conditions *conditions,
                       const duo_choice *choice, double unmoved, double launches)
{
    const double stays = fmin(choice->seconds, unmoved);
    const double launch = fmin(stays, launches * (choice->algorithm->side == DUO_SIDE_GPU
                                                      ? launch_on_gpu(call, conditions, choice)
                                                      : launch_on_cpu(conditions, choice)));
    return (duo_parts){.transfer_seconds = choice->seconds - stays,
                       .launch_seconds = launch,
                       .compute_seconds = stays - launch};
}
