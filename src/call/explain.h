/* explain.h - what is told of the last call of a context: what was decided, and why. */
#ifndef DUO_CALL_EXPLAIN_H
#define DUO_CALL_EXPLAIN_H

#include "call/context.h"

/* Computes the facts that a small call left out. conditions: the context's now, for a tiny call. */
void duo_explain_complete(duo_last *last, const duo_conditions *conditions);

/* Fills in the public decision, except parts and reason, from a complete `last`. The caller has set
 * decision->size. */
void duo_explain_decision(const duo_last *last, const char *note, duo_decision *decision);

/* Adds the profile's own prediction, what a GPU would do (explain_gpu.h), and parts and the reason
 * if decision->size has room for them. no_gpu: why the context has no usable GPU; "": it has one,
 * or that is unknown. */
void duo_explain_reason(const duo_last *last, const char *no_gpu, duo_decision *decision);

/* Writes the line of the context's last call, if lines are wanted. */
void duo_explain_line(duo_context *ctx);

#endif
