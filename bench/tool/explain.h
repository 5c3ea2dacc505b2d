/*
 * explain.h - the parts of `duoblas explain`: the plan of a streamed product (parts, bytes,
 * seconds), its steps, and the candidates.
 */
#ifndef DUO_EXPLAIN_H
#define DUO_EXPLAIN_H

#include <stdio.h>

#include "bench/tool/text.h"
#include "choice/algorithm.h"
#include "choice/stream_cost.h"
#include "data/plan.h"

/* A plan, and the model that it refers to. It must not be copied. */
typedef struct duo_explained_plan {
    duo_stream_model model;
    duo_plan plan;
    double free_bytes;    /* device memory, on each device */
    double table_seconds; /* of the call, as predicted without a plan */
} duo_explained_plan;

/* Makes the algorithm's plan for the call on `devices` devices. False: there is none, which was
 * said on stderr. */
bool duo_explain_plan_open(duo_explained_plan *explained, const duo_call *call,
                           const duo_algorithm *algorithm, const duo_conditions *conditions,
                           int devices, double free_bytes);
void duo_explain_plan_close(duo_explained_plan *explained);

void duo_explain_plan_print(const duo_explained_plan *explained);

/* ---- Steps as lines of device,lane,step,begin_ms,end_ms ---- */

/* The part that a step works on: "A 8192" (first row), "pack B 0", "C 8192 0" (row and column); in
 * a later slab of k "B 0 k 4096". */
const char *duo_steps_name(const duo_step *step, char text[DUO_TEXT]);

/* Print the names of the columns; and a step that ran in `lane` from begin to end. */
void duo_steps_head(FILE *file);
void duo_steps_line(FILE *file, const duo_step *step, const char *lane, double begin_seconds,
                    double end_seconds);

/* Prints all steps of a plan, with predicted times, in the lanes up, multiply, down and peer. */
void duo_steps_predicted(FILE *file, const duo_plan *plan);

/* ---- explain_print.c: operands, candidates, and the reason ---- */

/* The names of an operation's operands: DUO_OPERANDS strings. */
const char *const *duo_explain_operands(duo_operation operation);

/* Prints the candidates. Without a GPU it marks the one that a machine with one would run, and the
 * one that runs here. */
void duo_explain_print(const duo_call *call, const duo_conditions *conditions, bool gpu);

#endif
