/* execute.h - the way of a call: locate, decide, run; the next candidate if one declines. */
#ifndef DUO_EXECUTE_H
#define DUO_EXECUTE_H

#include "call/context.h"

/* Runs a call whose arguments are checked and whose quick returns are taken. */
duo_status duo_execute(duo_context *ctx, duo_call *call);

/* The same for a call with groups, or with a list that the host has not read (batch.h).
 * DUO_DECLINED: it does not go in one piece, and nothing was written. */
duo_outcome duo_execute_together(duo_context *ctx, duo_call *call);

/* Carries a located call out by this algorithm: nothing is decided, explained, learned or logged. A
 * GPU algorithm needs the context's queue open; a CPU algorithm has call->threads threads. *partly:
 * it declined, but parts of C are final. */
duo_outcome duo_execute_by(duo_context *ctx, duo_call *call, const duo_algorithm *algorithm,
                           const duo_conditions *conditions, bool *partly);

/* A reduction's quick return: writes `value` to the result, wherever that is. */
duo_status duo_execute_store(duo_context *ctx, duo_operation operation, int64_t n, float value,
                             float *result);

/* sgemm's quick return: remembers a call that has nothing to do. */
void duo_execute_nothing(duo_context *ctx, const duo_call *call);

#endif
