/* explain_gpu.c - see explain_gpu.h */
#include "call/explain_gpu.h"

#include <math.h>

#include "call/route.h"
#include "choice/profile_in_use.h"
#include "choice/transfer_cost.h"

/* The conditions with a GPU, as if it was open: the profile's, or an H100 if none can be used. */
static duo_conditions with_gpu(const duo_last *last, bool none)
{
    duo_conditions conditions = last->conditions;
    if (conditions.gpu) return conditions;
    conditions.gpu = true;
    conditions.devices = 1;
    conditions.device_memory_bytes = (double)INFINITY;
    if (none) conditions.profile = duo_profile_built_in("h100");
    return conditions;
}

static double batch_seconds(const duo_last *last, const duo_conditions *conditions)
{
    duo_choice choice[DUO_CANDIDATES];
    bool short_list;
    double best = (double)INFINITY;
    const int count = duo_route_predict(&last->call, conditions, false, choice, &short_list);
    for (int i = 0; i < count; i++)
        if (choice[i].algorithm->side == DUO_SIDE_GPU && choice[i].accepts)
            best = fmin(best, choice[i].seconds);
    return best;
}

/* Seconds of the call on a GPU under these conditions; infinite if the CPU takes no longer. */
static double faster_seconds(const duo_last *last, const duo_conditions *conditions)
{
    const double cpu = last->predicted_seconds;
    const double seconds = last->call.batch != NULL ? batch_seconds(last, conditions)
                                                    : duo_predict_gpu(&last->call, conditions, cpu);
    return seconds < cpu ? seconds : (double)INFINITY;
}

static double sending_seconds(const duo_operand *o, const duo_conditions *conditions)
{
    duo_operand sent = *o;
    sent.residence = DUO_AT_PAGEABLE;
    return duo_link_seconds(&sent, conditions, true);
}

void duo_explain_gpu(const duo_last *last, const char *no_gpu, duo_decision *d)
{
    const duo_conditions *const now = &last->conditions;
    const bool none = *no_gpu != '\0';
    const duo_conditions with = with_gpu(last, none);
    const bool open = d->side == DUO_SIDE_GPU || (now->gpu && !now->gpu_unseen);
    d->gpu = none ? -1 : open;
    d->open_seconds = with.profile->open_seconds;
    d->gpu_seconds = -1.0;
    if (d->side == DUO_SIDE_CPU && now->path == DUO_PATH_AUTO && !now->recorded)
        d->gpu_seconds = faster_seconds(last, &with);
    for (int i = 0; i < DUO_OPERANDS; i++) {
        const duo_operand *const o = &last->call.operand[i];
        if (o->residence != DUO_AT_REMEMBERED || d->side == DUO_SIDE_CPU) continue;
        d->checked_bytes += o->check_bytes;
        d->spared_seconds += sending_seconds(o, now) - duo_check_seconds(o, now);
    }
}
