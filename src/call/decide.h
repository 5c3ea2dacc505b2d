/*
 * decide.h - every decision: under which conditions a call is made, its candidates by all routes,
 * and which of them goes next. After the call: learning from it, and explaining it.
 */
#ifndef DUO_DECIDE_H
#define DUO_DECIDE_H

#include "call/execution.h"

/* Predicts the candidates of a located call. Another one goes before the cheapest if the program
 * says so (duo_set_decide), or as a trial (duo_set_adapt). For a part of another call, the
 * candidate by the algorithm `by` goes first, unless that is NULL. */
void duo_decide_begin(duo_execution *e, const duo_algorithm *by);

/* The candidate that goes next; -1: none is left. */
int duo_decide_next(duo_execution *e);

/* A candidate's route has declined, and the call was located again; or no device is usable. Updates
 * the candidates that are left. */
void duo_decide_declined(duo_execution *e, int candidate);
void duo_decide_without_gpu(duo_execution *e);
/* Other devices are left: all candidates are predicted anew. */
void duo_decide_again(duo_execution *e);

/* The call has been carried out by choice[e->ran]: credit, learning, explanation. */
void duo_decide_end(duo_execution *e, duo_outcome outcome);

/*
 * Decides a call that is made many times while its operands stay where they are: under the
 * context's policy, with this math and at most `threads` CPU threads (0: the context's). All
 * operands must be on `side`: in host memory without a device copy, or in device memory on the
 * context's device. Sets the fields of the call that the algorithm needs. False: an operand is
 * elsewhere, or no algorithm takes the call.
 */
bool duo_decide_once(duo_context *ctx, duo_call *call, duo_math math, int threads, duo_side side,
                     duo_choice *choice);

#endif
