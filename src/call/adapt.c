/*
 * adapt.c - learning from a context's calls (adapt.h).
 *
 * The host's clock is read before and after a call. So a call can be timed only if its work is done
 * when it returns, if it waits for no earlier work, and if its prediction covers all that it does.
 * No wait is added to time others.
 */
#include "call/adapt.h"

#include <math.h>

#include "call/route.h"
#include "choice/learned.h"
#include "host/clock.h"

double (*duo_adapt_clock)(void) = duo_now_seconds;

/* Can this call be timed on this side by the host's clock? Not if its output stays on the device or
 * comes later: it returns early. Not if a kept array is sent: credit changes its price. Not if an
 * operand is prepared: it may be packed now. */
static bool timeable(const duo_execution *e, duo_side side)
{
    const duo_call *const call = e->call;
    const duo_operand *const out = &call->operand[DUO_C]; /* DUO_RESULT is the same operand */
    const duo_resources *const res = &e->ctx->resources;
    bool good = !res->unwaited && duo_deferred_awaited(res->deferred).of == NULL;
    for (int i = 0; i < DUO_OPERANDS; i++)
        good &= side == DUO_SIDE_CPU ? !call->operand[i].promised : !call->operand[i].prepared;
    if (side == DUO_SIDE_CPU) return good && out->residence != DUO_AT_DEVICE;
    good &= call->operation == DUO_SGEMM || !res->async;
    return good && res->queue != NULL && duo_operand_lies_in_host(out) &&
           !duo_call_stale(duo_call_whole(call));
}

/* A trial moves no kept array, and opens no device. */
static bool may_try(const duo_execution *e, const duo_choice *candidate, const duo_choice *best)
{
    const duo_side side = candidate->algorithm->side;
    const duo_call *const whole = duo_call_whole(e->call);
    const bool other_side = side != best->algorithm->side;
    bool kept = false;
    for (int i = 0; i < DUO_OPERANDS; i++) kept |= duo_operand_kept(&whole->operand[i]);
    return candidate->accepts && candidate != best && candidate->seconds >= best->seconds &&
           candidate->seconds < kWorthTrying * best->seconds &&
           (!other_side || (e->conditions.path == DUO_PATH_AUTO && !kept)) && timeable(e, side) &&
           duo_learned_affords(e->ctx->resources.device, candidate->seconds - best->seconds);
}

static double learned_count(const duo_execution *e, const duo_choice *choice)
{
    return duo_learned_count(e->ctx->resources.device, choice->algorithm->id,
                             duo_route_work(e->call, &e->conditions, choice));
}

/* The candidate that was learned from least often; the cheapest if there are several. -1: none is
 * worth it. */
static int trial(const duo_execution *e, int best)
{
    int tried = -1;
    double least = INFINITY;
    for (int i = 0; i < e->count; i++) {
        if (!may_try(e, &e->choice[i], &e->choice[best])) continue;
        const double learned = learned_count(e, &e->choice[i]);
        if (learned > least ||
            (learned == least && e->choice[i].seconds >= e->choice[tried].seconds))
            continue;
        least = learned;
        tried = i;
    }
    return tried;
}

int duo_adapt_begin(duo_execution *e, int chosen, bool may_try_another)
{
    int other = -1;
    e->adapt = (duo_adapt){.expected = -1};
    if (e->conditions.ratios == NULL || chosen < 0) return -1;
    const double least = e->choice[chosen].seconds;
    if (may_try_another && least >= kLeastLearned) other = trial(e, chosen);
    const int expected = other >= 0 ? other : chosen;
    if (!timeable(e, e->choice[expected].algorithm->side)) return -1;
    if (other >= 0) duo_learned_trial(e->ctx->resources.device, e->choice[other].seconds - least);
    e->adapt = (duo_adapt){
        .expected = expected, .least = least, .trial = other >= 0, .start = duo_adapt_clock()};
    return other;
}

typedef struct candidate {
    const duo_call *call;
    const duo_choice *choice;
} candidate;

static double predict_candidate(const void *user, const duo_conditions *conditions)
{
    const candidate *const c = user;
    return duo_route_seconds(c->call, conditions, c->choice);
}

void duo_adapt_end(const duo_execution *e)
{
    const duo_adapt *const adapt = &e->adapt;
    const double seconds = duo_adapt_clock() - adapt->start;
    const int device = e->ctx->resources.device;
    const duo_choice *const c = &e->choice[e->ran];
    /* duo_adapt_begin has counted the predicted loss already. */
    if (adapt->trial)
        duo_learned_lost(device, fmax(seconds, adapt->least) - e->choice[adapt->expected].seconds);
    if (e->ran != adapt->expected || c->declined) return;
    if (c->seconds < kLeastLearned && seconds < kLeastLearned && learned_count(e, c) == 0.0) return;
    duo_learned_spent(device, fmin(seconds, kWorthTrying * c->seconds));
    const candidate of = {e->call, c};
    duo_learn(device, &e->conditions, c->algorithm->id, duo_route_work(e->call, &e->conditions, c),
              predict_candidate, &of, c->seconds, seconds);
}
