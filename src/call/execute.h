/* execute.h - the way of a call: locate, select, place, run, take home. */
#ifndef DUO_EXECUTE_H
#define DUO_EXECUTE_H

#include "call/context.h"

/* Runs a call whose arguments are checked and whose quick returns are taken. */
duo_status duo_execute(duo_context *ctx, duo_call *call);

/* A reduction's quick return: writes `value` to the result, wherever that is. */
duo_status duo_execute_store(duo_context *ctx, duo_operation operation, int64_t n, float value,
                             float *result);

/* sgemm's quick return: remembers a call that has nothing to do. */
void duo_execute_nothing(duo_context *ctx, const duo_call *call);

#endif
