/* decide.h - the program's say in a decision (duo_set_decide). */
#ifndef DUO_DECIDE_H
#define DUO_DECIDE_H

#include "call/context.h"

/* Asks the program which candidate of the context's last call, which has not run yet, is to run
 * instead of choice[chosen]. -1: that one. */
int duo_decide_ask(duo_context *ctx, const duo_choice *choice, int count, int chosen);

#endif
