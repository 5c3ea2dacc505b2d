/* last.c - the last call of a context (last.h). */
#include "call/last.h"

void duo_last_forget(duo_last *last)
{
    last->call.operation = DUO_OPERATIONS;
    last->tiny = last->short_list = false;
    last->seconds = -1.0;
}

void duo_last_begin(duo_last *last, const duo_call *call)
{
    last->tiny = last->short_list = false;
    last->why = DUO_WHY_CHEAPEST;
    last->call = *call;
    if (call->batch != NULL) last->batch = *call->batch;
    if (call->batch != NULL) last->call.batch = &last->batch;
    last->candidates = 0;
    last->algorithm = NULL;
    last->seconds = -1.0;
}

void duo_last_ran(duo_last *last, const duo_choice *choice)
{
    const bool cpu = choice->algorithm->side == DUO_SIDE_CPU;
    last->algorithm = choice->algorithm;
    last->threads = cpu && choice->threads < 1 ? 1 : choice->threads;
    last->predicted_seconds = choice->seconds;
}
