/* batch.h - the way of a batch of products: over the team, in one launch, or one by one. */
#ifndef DUO_CALL_BATCH_H
#define DUO_CALL_BATCH_H

#include "batch.h"
#include "call/context.h"

/* `call` is the first product. Every operand that is touched has its addresses, and count > 0. */
duo_status duo_execute_batch(duo_context *ctx, duo_call *call, const duo_batch *batch);

#endif
