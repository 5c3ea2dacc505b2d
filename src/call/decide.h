/*
 * decide.h - every decision: under which conditions a call is made, its candidates by all routes,
 * and which of them goes next. After the call: what it teaches, and what is told of it.
 */
#ifndef DUO_DECIDE_H
#define DUO_DECIDE_H

#include "call/execution.h"

/* Predicts the candidates of a located call. One goes before the cheapest where the program says so
 * (duo_set_decide), or as a trial (duo_set_adapt). Of a part of another call, that is the one by
 * the algorithm `by`, if this is not NULL. */
void duo_decide_begin(duo_execution *e, const duo_algorithm *by);

/* The candidate that goes next; -1: none is left. */
int duo_decide_next(duo_execution *e);

/* What a candidate's route has declined, or that no device is usable, changes what is left. The
 * call has been located again. */
void duo_decide_declined(duo_execution *e, int candidate);
void duo_decide_without_gpu(duo_execution *e);
/* Other devices are left: all candidates are predicted anew. */
void duo_decide_again(duo_execution *e);

/* The call has been carried out by choice[e->ran]: credit, learning, explanation. */
void duo_decide_end(duo_execution *e, duo_outcome outcome);

/*
 * Decides a call that is made many times while its operands stay where they are: under the
 * context's policy, with this math and at most so many CPU threads (0: the context's). All that the
 * call touches has to be on `side`: in host memory without a device copy, or in device memory on
 * the context's device. Sets what the algorithm needs of the call. False: it is not there, or no
 * algorithm takes it.
 */
bool duo_decide_once(duo_context *ctx, duo_call *call, duo_math math, int threads, duo_side side,
                     duo_choice *choice);

#endif
