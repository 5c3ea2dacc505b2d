/*
 * learner.h - a context that learns from calls (duo_set_adapt) on the machine made by hand. Its
 * profile lies, and its clock is made by hand: a call takes the time that the test sets for its
 * side.
 */
#ifndef DUO_TESTS_LEARNER_H
#define DUO_TESTS_LEARNER_H

#include "support/made_machine.h"

extern double real_seconds[2]; /* of a call on each side; tests change them */
extern int clock_reads;        /* how often since machine_that_takes */

/* A context that learns, on a machine that takes real_cpu and real_gpu seconds; its profile says
 * cpu and gpu. */
duo_context *machine_that_takes(double cpu, double gpu, double real_cpu, double real_gpu);
void learner_end(duo_context *ctx); /* ends it; forgets all that was learned */

/* Sums the vector in `calls` calls. Returns how many run on this side. */
int sums_on(duo_context *ctx, duo_side side, int calls);

#endif
