/*
 * steps.h - steps of a streamed product (data/plan.h) as lines of
 * device,lane,step,begin_ms,end_ms: what the study `timeline` draws.
 */
#ifndef DUO_STEPS_H
#define DUO_STEPS_H

#include <stdio.h>

#include "bench/tool/text.h"
#include "data/plan.h"

/* What the step works on: "A 8192" (the first row), "pack B 0", "C 8192 0" (row and column); in a
 * later slab of k "B 0 k 4096". */
const char *duo_steps_name(const duo_step *step, char text[DUO_TEXT]);

/* The names of the columns; and of a step, which was in that lane from begin to end. */
void duo_steps_head(FILE *file);
void duo_steps_line(FILE *file, const duo_step *step, const char *lane, double begin_seconds,
                    double end_seconds);

/* All steps of a plan, in the lanes up, multiply, down and peer, when they are predicted to run. */
void duo_steps_predicted(FILE *file, const duo_plan *plan);

#endif
