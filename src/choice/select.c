/* select.c - predicts every algorithm's time for a call and picks the cheapest that accepts. */
#include "choice/select.h"

#include <math.h>

#include "choice/ratios.h"
#include "choice/stream_cost.h"
#include "choice/transfer_cost.h"

/* Seconds of an algorithm that accepts, without `transfer`. */
static double work_seconds(const duo_call *call, const duo_conditions *conditions, duo_choice *c)
{
    const duo_algorithm *const algorithm = c->algorithm;
    if (algorithm->side == DUO_SIDE_GPU && duo_streams(call))
        return duo_stream_seconds(call, conditions, algorithm, &c->devices);
    const double seconds = duo_algorithm_seconds(algorithm, call, conditions, &c->threads);
    return seconds * duo_work_ratio(conditions, algorithm->id, seconds);
}

double duo_predict_one(const duo_call *call, const duo_conditions *conditions,
                       const duo_algorithm *algorithm)
{
    duo_choice c = {.algorithm = algorithm};
    return work_seconds(call, conditions, &c) +
           duo_transfer_seconds(call, algorithm->side, conditions);
}

/* duo_predict for some sides only; `sides` has a bit for each. */
static int predict(const duo_call *call, const duo_conditions *conditions, unsigned sides,
                   duo_choice choice[DUO_CANDIDATES])
{
    const duo_algorithm_table table = duo_algorithm_tables[call->operation];
    double transfer[2] = {-1.0, -1.0}; /* by duo_side; < 0: not computed yet */
    int count = 0;
    for (int i = 0; i < table.count; i++) {
        const duo_algorithm *const algorithm = &table.algorithm[i];
        if ((sides >> algorithm->side & 1u) == 0) continue;
        if (!duo_algorithm_serves(algorithm, conditions->math)) continue;
        duo_choice *const c = &choice[count++];
        *c = (duo_choice){.algorithm = algorithm, .accepts = algorithm->accepts(call, conditions)};
        if (!c->accepts) { /* most candidates without a GPU: nothing more is computed */
            c->seconds = (double)INFINITY;
            continue;
        }
        if (transfer[algorithm->side] < 0.0)
            transfer[algorithm->side] = duo_transfer_seconds(call, algorithm->side, conditions);
        c->seconds = work_seconds(call, conditions, c) + transfer[algorithm->side];
    }
    return count;
}

int duo_predict(const duo_call *call, const duo_conditions *conditions,
                duo_choice choice[DUO_CANDIDATES])
{
    return predict(call, conditions, 1u << DUO_SIDE_CPU | 1u << DUO_SIDE_GPU, choice);
}

/* Least seconds on the GPU, without any arithmetic. */
static double least_on_gpu(const duo_call *call, const duo_conditions *conditions)
{
    const double moved = duo_transfer_seconds(call, DUO_SIDE_GPU, conditions);
    return duo_streams(call) ? moved + duo_stream_seconds(call, conditions, NULL, NULL) : moved;
}

double duo_predict_gpu(const duo_call *call, const duo_conditions *conditions, double most)
{
    duo_choice choice[DUO_CANDIDATES];
    if (!(least_on_gpu(call, conditions) < most)) return (double)INFINITY;
    const int count = predict(call, conditions, 1u << DUO_SIDE_GPU, choice);
    const int best = duo_select(choice, count, conditions);
    return best >= 0 ? choice[best].seconds : (double)INFINITY;
}

int duo_predict_cpu(const duo_call *call, const duo_conditions *conditions,
                    duo_choice choice[DUO_CANDIDATES])
{
    if (conditions->path != DUO_PATH_AUTO) return 0;
    if (duo_call_stale(call)) return 0;
    const int count = predict(call, conditions, 1u << DUO_SIDE_CPU, choice);
    double least = least_on_gpu(call, conditions);
    if (conditions->ratios != NULL) least /= kWorthTrying; /* the GPU is a candidate for trials */
    const double seconds = choice[duo_select(choice, count, conditions)].seconds;
    return seconds < least ? count : 0;
}

int duo_select(const duo_choice *choice, int count, const duo_conditions *conditions)
{
    int best = -1;
    for (int i = 0; i < count; i++) {
        if (!choice[i].accepts || choice[i].declined) continue;
        if (best < 0) {
            best = i;
            continue;
        }
        const duo_side side = choice[i].algorithm->side, best_side = choice[best].algorithm->side;
        const bool better = conditions->path == DUO_PATH_GPU && side != best_side
                                ? side == DUO_SIDE_GPU
                                : choice[i].seconds < choice[best].seconds;
        if (better) best = i;
    }
    return best;
}

/* ---- The parts of a prediction: transfers, launches and compute ---- */

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
