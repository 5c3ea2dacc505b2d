/* execute.h - the way of a call: locate, select, place, run, take home. */
#ifndef DUO_EXECUTE_H
#define DUO_EXECUTE_H

#include "call/context.h"

/* The call's arguments are checked and its quick returns taken. */
duo_status duo_execute(duo_context *ctx, duo_call *call);

/* Writes a value to a result that may be anywhere: the reductions' quick returns. */
duo_status duo_execute_store(duo_context *ctx, duo_operation operation, int64_t n, float value,
                             float *result);

/* A call whose quick return leaves nothing to do. */
void duo_execute_nothing(duo_context *ctx, const duo_call *call);

#endif
