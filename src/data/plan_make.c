/*
 * plan_make.c - makes plans (plan_make.h): of a batch, of everything on the device if A, B and C
 * fit, otherwise of C in blocks.
 */
#include "data/plan_make.h"

#include <stdlib.h>

#include "data/plan_batch.h"
#include "data/plan_blocks.h"
#include "data/plan_clock.h"
#include "data/plan_panels.h"

/* Bytes on a device of everything that is sent, packed or fetched. */
static double held_bytes(const duo_plan_problem *of)
{
    const double n = (double)duo_plan_most_columns(of);
    return (double)of->m * (double)of->k * duo_plan_element_bytes(of, DUO_A) +
           n * (double)of->k * duo_plan_element_bytes(of, DUO_B) +
           (double)of->m * n * duo_plan_element_bytes(of, DUO_C);
}

bool duo_plan_make(duo_plan *plan, const duo_plan_problem *problem)
{
    duo_plan_making w = {.plan = plan, .of = problem};
    plan->of = *problem;
    const bool made = problem->products > 0                          ? duo_plan_batch(&w)
                      : held_bytes(problem) <= problem->memory_bytes ? duo_plan_panels(&w)
                                                                     : duo_plan_blocks(&w);
    if (!made || w.failed) return false;
    plan->seconds = duo_plan_seconds(plan);
    return true;
}

void duo_plan_free(duo_plan *plan)
{
    free(plan->step);
    *plan = (duo_plan){.step = NULL};
}
