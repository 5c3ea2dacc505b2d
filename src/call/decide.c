/* decide.c - asks the program which candidate is to run (decide.h). */
#include "call/decide.h"

int duo_decide_ask(duo_context *ctx, const duo_choice *choice, int count, int chosen)
{
    const duo_policy *const policy = &ctx->policy;
    if (policy->decide == NULL || chosen < 0) return -1;
    duo_decision decision = {.size = sizeof decision};
    duo_last *const last = &ctx->last;
    last->algorithm = choice[chosen].algorithm;
    last->threads = choice[chosen].threads;
    last->predicted_seconds = choice[chosen].seconds;
    duo_last_describe(last, "", &decision);
    last->algorithm = NULL; /* nothing has run */
    const int index = policy->decide(policy->decide_user, &decision, chosen);
    return index >= 0 && index < count && index != chosen && choice[index].accepts ? index : -1;
}
