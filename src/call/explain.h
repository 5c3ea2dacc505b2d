/* explain.h - what is told of the last call of a context: what was decided, and why. */
#ifndef DUO_CALL_EXPLAIN_H
#define DUO_CALL_EXPLAIN_H

#include "call/context.h"

/* Computes what was left out. conditions: those of the context now, for a tiny call. */
void duo_explain_complete(duo_last *last, const duo_conditions *conditions);

/* Fills in the public decision from a complete `last`, but for parts and reason. The caller has set
 * decision->size. */
void duo_explain_decision(const duo_last *last, const char *note, duo_decision *decision);

/* Adds parts, the profile's own prediction and the reason; without parts and reason, if
 * decision->size has no room for them. no_gpu: why the context has no usable GPU; "": it has one, or
 * nobody knows. */
void duo_explain_reason(const duo_last *last, const char *no_gpu, duo_decision *decision);

/* Writes the line of the context's last call, if anyone wants lines. */
void duo_explain_line(duo_context *ctx);

#endif
