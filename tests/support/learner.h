/*
 * learner.h - a context that learns from calls (duo_set_adapt) on the machine made by hand. Its
 * profile lies, and its clock is made by hand: a call takes the time that the test sets for its
 * side.
 */
#ifndef DUO_TESTS_LEARNER_H
#define DUO_TESTS_LEARNER_H

#include "support/made_machine.h"

extern double real_seconds[2]; /* of a call, by side; tests change it */
extern int clock_reads;        /* since machine_that_takes */

/* A machine that is said to take cpu and gpu seconds and really takes the others, and a context
 * that learns. */
duo_context *machine_that_takes(double cpu, double gpu, double real_cpu, double real_gpu);
void learner_end(duo_context *ctx); /* ends it; forgets all that was learned */

/* Sums the vector in `calls` calls. Returns how many run on this side. */
int sums_on(duo_context *ctx, duo_side side, int calls);

#endif
