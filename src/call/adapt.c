/*
 * adapt.c - learning from a context's calls (adapt.h).
 *
 * The host's clock is read before and after a call. So only calls can be timed that have done their
 * work when they return, that wait for no earlier work, and whose prediction was of all that they
 * do. No wait is added to time others.
 */
#include "call/adapt.h"

#include <math.h>

#include "choice/learned.h"
#include "host/clock.h"

double (*duo_adapt_clock)(void) = duo_now_seconds;

/* Would the host's clock tell how long this side takes for the call? Whose output stays on the
 * device, or may come later, returns before it is done; a kept array that is sent has its price
 * changed by credit; an operand that was prepared may be packed now. */
static bool timeable(const duo_context *ctx, const duo_call *call, duo_side side)
{
    const duo_operand *const out = &call->operand[DUO_C]; /* DUO_RESULT is the same operand */
    const duo_resources *const res = &ctx->resources;
    bool good = !res->unwaited && duo_deferred_awaited(res->deferred).of == NULL;
    for (int i = 0; i < DUO_OPERANDS; i++) good &= !call->operand[i].prepared;
    if (side == DUO_SIDE_CPU) return good && out->residence != DUO_AT_DEVICE;
    good &= call->operation == DUO_SGEMM || !res->async;
    return good && res->queue != NULL && duo_operand_lies_in_host(out) && !duo_call_stale(call);
}

/* A trial moves no kept array, and opens no device. */
static bool may_try(const duo_context *ctx, const duo_call *call, const duo_conditions *conditions,
                    const duo_choice *candidate, const duo_choice *best)
{
    const duo_side side = candidate->algorithm->side;
    const bool other_side = side != best->algorithm->side;
    bool kept = false;
    for (int i = 0; i < DUO_OPERANDS; i++) kept |= duo_operand_kept(&call->operand[i]);
    return candidate->accepts && candidate != best && candidate->seconds >= best->seconds &&
           candidate->seconds < kWorthTrying * best->seconds &&
           (!other_side || (conditions->path == DUO_PATH_AUTO && !kept)) &&
           timeable(ctx, call, side) &&
           duo_learned_affords(ctx->resources.device, candidate->seconds - best->seconds);
}

/* The candidate that was learned from least often; of several the cheapest. -1: none is worth it.
 */
static int trial(const duo_context *ctx, const duo_call *call, const duo_conditions *conditions,
                 const duo_choice *choice, int count, int best)
{
    int tried = -1;
    double least = INFINITY;
    for (int i = 0; i < count; i++) {
        if (!may_try(ctx, call, conditions, &choice[i], &choice[best])) continue;
        const double learned =
            duo_learned_count(ctx->resources.device, call, conditions, choice[i].algorithm);
        if (learned > least || (learned == least && choice[i].seconds >= choice[tried].seconds))
            continue;
        least = learned;
        tried = i;
    }
    return tried;
}

int duo_adapt_begin(duo_adapt *adapt, const duo_context *ctx, const duo_call *call,
                    const duo_conditions *conditions, const duo_choice *choice, int count,
                    int chosen, bool may_try_another)
{
    int other = -1;
    *adapt = (duo_adapt){.expected = -1};
    if (conditions->ratios == NULL || chosen < 0) return -1;
    const double least = choice[chosen].seconds;
    if (may_try_another && least >= kLeastLearned)
        other = trial(ctx, call, conditions, choice, count, chosen);
    const int expected = other >= 0 ? other : chosen;
    if (!timeable(ctx, call, choice[expected].algorithm->side)) return -1;
    if (other >= 0) duo_learned_trial(ctx->resources.device, choice[other].seconds - least);
    *adapt = (duo_adapt){
        .expected = expected, .least = least, .trial = other >= 0, .start = duo_adapt_clock()};
    return other;
}

void duo_adapt_end(const duo_adapt *adapt, const duo_context *ctx, const duo_call *call,
                   const duo_conditions *conditions, const duo_choice *choice, int ran)
{
    if (adapt->expected < 0) return;
    const double seconds = duo_adapt_clock() - adapt->start;
    const int device = ctx->resources.device;
    const duo_choice *const c = &choice[ran];
    /* What it was predicted to lose is counted already. */
    if (adapt->trial)
        duo_learned_lost(device, fmax(seconds, adapt->least) - choice[adapt->expected].seconds);
    if (ran != adapt->expected || c->declined) return;
    if (c->seconds < kLeastLearned && seconds < kLeastLearned &&
        duo_learned_count(device, call, conditions, c->algorithm) == 0.0)
        return;
    duo_learned_spent(device, fmin(seconds, kWorthTrying * c->seconds));
    duo_learn(device, call, conditions, c->algorithm, c->seconds, seconds);
}
