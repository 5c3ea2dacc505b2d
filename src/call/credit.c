/* credit.c - what calls lost because a kept array was not sent (credit.h). */
#include "call/credit.h"

#include <math.h>

#include "choice/transfer_cost.h"
#include "data/region.h"
#include "data/residency.h"

void duo_credit_earn(const duo_call *call, const duo_choice *choice, int count, int ran,
                     const duo_conditions *conditions)
{
    if (!duo_call_stale(call) || choice[ran].algorithm->side == DUO_SIDE_GPU) return;
    duo_call sent = *call;
    for (int i = 0; i < DUO_OPERANDS; i++)
        if (sent.operand[i].residence == DUO_AT_STALE) sent.operand[i].on_device = true;
    const double saved_transfer = duo_transfer_seconds(call, DUO_SIDE_GPU, conditions) -
                                  duo_transfer_seconds(&sent, DUO_SIDE_GPU, conditions);
    double best = INFINITY;
    for (int i = 0; i < count; i++)
        if (choice[i].algorithm->side == DUO_SIDE_GPU && choice[i].accepts && !choice[i].declined)
            best = fmin(best, choice[i].seconds - saved_transfer);
    const double lost = choice[ran].seconds - best;
    if (!(lost > 0.0)) return;
    duo_residency_lock();
    for (int i = 0; i < DUO_OPERANDS; i++)
        if (call->operand[i].read && call->operand[i].residence == DUO_AT_STALE) {
            duo_region *const region = duo_residency_of(&call->operand[i]);
            if (region != NULL) region->credit_seconds += lost; /* else it has gone meanwhile */
        }
    duo_residency_unlock();
}
