/* explain_plan.h - the plan of a streamed product, for `duoblas explain`: parts, bytes, seconds. */
#ifndef DUO_EXPLAIN_PLAN_H
#define DUO_EXPLAIN_PLAN_H

#include "choice/stream_cost.h"

/* A plan and what it refers to. Not to be copied. */
typedef struct duo_explained_plan {
    duo_stream_model model;
    duo_plan plan;
    double free_bytes; /* of device memory, on each device */
} duo_explained_plan;

/* Makes the plan by which the algorithm would do the call on so many devices. False, and said on
 * stderr: there is none. */
bool duo_explain_plan_open(duo_explained_plan *explained, const duo_call *call,
                           const duo_algorithm *algorithm, const duo_conditions *conditions,
                           int devices, double free_bytes);
void duo_explain_plan_close(duo_explained_plan *explained);

void duo_explain_plan_print(const duo_explained_plan *explained);

#endif
