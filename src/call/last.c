/* last.c - the last call of a context (last.h). */
#include "call/last.h"

#include <stdio.h>
#include <string.h>

void duo_last_forget(duo_last *last)
{
    last->call.operation = DUO_OPERATIONS;
    last->tiny = last->short_list = false;
    last->seconds = -1.0;
}

void duo_last_begin(duo_last *last, const duo_call *call, const duo_choice *choice, int count)
{
    last->tiny = last->short_list = false;
    last->why = DUO_WHY_CHEAPEST;
    last->call = *call;
    last->candidates = count;
    if (count > 0) memcpy(last->choice, choice, (size_t)count * sizeof *choice);
    last->algorithm = NULL;
    last->seconds = -1.0;
}

static void predict(duo_last *last, const duo_conditions *conditions)
{
    last->candidates = duo_predict(&last->call, conditions, last->choice);
    last->short_list = false;
}

/* A tiny call left only its operation, sizes and factors behind. */
static void complete_tiny(duo_last *last, const duo_conditions *conditions)
{
    duo_call *const call = &last->call;
    if (call->operation == DUO_SGEMM) {
        const bool swapped = call->swapped;
        *call = duo_call_sgemm(call->transa, call->transb, call->m, call->n, call->k, call->alpha,
                               call->beta);
        call->swapped = swapped;
    } else {
        *call = duo_call_reduction(call->operation, call->n);
    }
    last->conditions = *conditions;
    last->why = DUO_WHY_TINY;
    predict(last, conditions);
    for (int i = 0; i < last->candidates; i++)
        if (last->choice[i].algorithm == last->algorithm)
            last->predicted_seconds = last->choice[i].seconds;
    last->threads = 1;
    last->seconds = -1.0;
    last->tiny = false;
}

void duo_last_complete(duo_last *last, const duo_conditions *conditions)
{
    if (last->tiny) complete_tiny(last, conditions);
    if (last->short_list) predict(last, &last->conditions);
}

void duo_last_describe(const duo_last *last, const char *note, duo_decision *decision)
{
    const duo_call *const call = &last->call;
    const size_t size = decision->size;
    memset(decision, 0, sizeof *decision);
    decision->size = size;
    decision->seconds = -1.0;
    decision->ran = -1;
    if (call->operation == DUO_OPERATIONS) return;
    decision->operation = duo_operation_name(call->operation);
    decision->m = call->swapped ? call->n : call->m;
    decision->n = call->swapped ? call->m : call->n;
    decision->k = call->k;
    for (int i = 0; i < DUO_OPERANDS; i++) {
        const int from = call->swapped && i < 2 ? 1 - i : i;
        decision->residence[i] = call->operand[from].residence;
    }
    (void)snprintf(decision->note, sizeof decision->note, "%s", note);
    decision->candidates = last->candidates;
    for (int i = 0; i < last->candidates; i++) {
        const duo_choice *const choice = &last->choice[i];
        if (choice->algorithm == last->algorithm) decision->ran = i;
        decision->candidate[i] = (duo_candidate){.algorithm = choice->algorithm->name,
                                                 .side = choice->algorithm->side,
                                                 .accepts = choice->accepts,
                                                 .threads = choice->threads,
                                                 .predicted_seconds = choice->seconds};
    }
    if (last->algorithm == NULL) return;
    decision->side = last->algorithm->side;
    decision->algorithm = last->algorithm->name;
    decision->threads = last->threads;
    decision->predicted_seconds = last->predicted_seconds;
    decision->seconds = last->seconds;
}
