/*
 * verify_trial.h - one candidate of a drawn call, as a benchmark.
 *
 * It runs as dispatch would run it: the operands are located, brought to its side, and what it
 * writes goes where it belongs. The calls of a sample follow each other without a pause, and the
 * last is waited for.
 */
#ifndef DUO_VERIFY_TRIAL_H
#define DUO_VERIFY_TRIAL_H

#include "bench/crossover/verify.h"
#include "choice/costs.h"

typedef struct duo_trial {
    duo_context *context;
    const duo_drawn *drawn;
    const duo_call *call;
    const duo_conditions *conditions;
    const duo_timed *candidate; /* NULL: the public function */
} duo_trial;

/* The `run` of a benchmark whose `user` is a trial. */
bool duo_trial_run(void *user, int64_t calls);

/* Seconds of one call, of the second one if the first was short; negative: it failed. */
double duo_trial_look(duo_trial *trial);

#endif
