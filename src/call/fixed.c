/* fixed.c - calls that are decided once (fixed.h). */
#include "call/fixed.h"

#include "data/locate.h"

static bool all_on(const duo_call *call, duo_side side)
{
    for (int i = 0; i < DUO_OPERANDS; i++) {
        const duo_operand *const o = &call->operand[i];
        if (!duo_operand_touched(o)) continue;
        if (side == DUO_SIDE_GPU ? o->residence != DUO_AT_DEVICE || !o->on_device
                                 : !duo_operand_lies_in_host(o) || o->crosses)
            return false;
    }
    return true;
}

bool duo_fix(duo_context *ctx, const duo_call *described, duo_math math, int threads, duo_side side,
             uint32_t declined, duo_fixed *fixed)
{
    duo_choice choice[DUO_CANDIDATES];
    duo_policy policy = ctx->policy;
    duo_call *const call = &fixed->call;
    *call = *described;
    if (duo_locate(ctx->resources.device, call) != DUO_OK || !all_on(call, side)) return false;
    policy.math = math;
    policy.path = side == DUO_SIDE_GPU ? DUO_PATH_GPU : DUO_PATH_CPU;
    duo_conditions conditions = duo_policy_conditions(&policy, &ctx->resources);
    if (threads > 0 && conditions.threads > threads) conditions.threads = threads;
    const int count = duo_predict(call, &conditions, choice);
    for (int i = 0; i < count; i++)
        choice[i].declined = (declined >> choice[i].algorithm->id & 1u) != 0;
    const int best = duo_select(choice, count, &conditions);
    if (best < 0 || choice[best].algorithm->side != side) return false;
    fixed->algorithm = choice[best].algorithm;
    fixed->seconds = choice[best].seconds;
    call->threads = choice[best].threads > 0 ? choice[best].threads : 1;
    return true;
}
