/*
 * explain.h - what `duoblas explain` prints: the plan of a streamed product (parts, bytes,
 * seconds), its steps, and the candidates.
 */
#ifndef DUO_EXPLAIN_H
#define DUO_EXPLAIN_H

#include <stdio.h>

#include "bench/tool/text.h"
#include "choice/algorithm.h"
#include "choice/stream_cost.h"
#include "data/plan.h"

/* A plan and what it refers to. Not to be copied. */
typedef struct duo_explained_plan {
    duo_stream_model model;
    duo_plan plan;
    double free_bytes; /* of device memory, on each device */
} duo_explained_plan;

/* Makes the plan by which the algorithm would do the call on `devices` devices. False, and said on
 * stderr: there is none. */
bool duo_explain_plan_open(duo_explained_plan *explained, const duo_call *call,
                           const duo_algorithm *algorithm, const duo_conditions *conditions,
                           int devices, double free_bytes);
void duo_explain_plan_close(duo_explained_plan *explained);

void duo_explain_plan_print(const duo_explained_plan *explained);

/* ---- Steps as lines of device,lane,step,begin_ms,end_ms ---- */

/* What the step works on: "A 8192" (the first row), "pack B 0", "C 8192 0" (row and column); in a
 * later slab of k "B 0 k 4096". */
const char *duo_steps_name(const duo_step *step, char text[DUO_TEXT]);

/* The names of the columns; and of a step, which was in that lane from begin to end. */
void duo_steps_head(FILE *file);
void duo_steps_line(FILE *file, const duo_step *step, const char *lane, double begin_seconds,
                    double end_seconds);

/* All steps of a plan, in the lanes up, multiply, down and peer, when they are predicted to run. */
void duo_steps_predicted(FILE *file, const duo_plan *plan);

/* ---- explain_print.c: operands, candidates, and the reason ---- */

/* The names of an operation's operands, DUO_OPERANDS of them. */
const char *const *duo_explain_operands(duo_operation operation);

/* Without a GPU it tells what a machine with one would run, and what runs here. */
void duo_explain_print(const duo_call *call, const duo_conditions *conditions, bool gpu);

#endif
