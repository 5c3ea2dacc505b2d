/*
 * plan_make.c - makes plans (plan_make.h): of everything on the device if A, B and C fit, otherwise
 * of C in blocks.
 */
#include "data/plan_make.h"

#include <stdlib.h>

#include "data/plan_blocks.h"
#include "data/plan_clock.h"
#include "data/plan_held.h"
#include "data/plan_steps.h"

double duo_plan_bytes(const duo_plan *plan)
{
    double bytes = 0.0;
    for (int i = 0; i < DUO_OPERANDS; i++) {
        const duo_plan_space *const space = &plan->space[i];
        for (int slot = 0; slot < space->slots; slot++)
            bytes += (double)space->extent * (double)space->depth[slot] *
                     duo_plan_element_bytes(&plan->of, i);
    }
    return bytes;
}

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
    const bool made = held_bytes(problem) <= problem->memory_bytes ? duo_plan_make_held(&w)
                                                                   : duo_plan_make_blocks(&w);
    if (!made || w.failed) return false;
    plan->seconds = duo_plan_seconds(plan);
    return true;
}

void duo_plan_free(duo_plan *plan)
{
    free(plan->step);
    *plan = (duo_plan){.step = NULL};
}
