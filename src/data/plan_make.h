/* plan_make.h - makes plans of streamed products (plan.h). */
#ifndef DUO_PLAN_MAKE_H
#define DUO_PLAN_MAKE_H

#include "data/plan.h"

/*
 * Makes the plan that is predicted to take least. `plan` is zeroed or was made before; then its
 * memory is used again. False: the product needs more device memory than it may use, or there is no
 * host memory for the plan.
 */
bool duo_plan_make(duo_plan *plan, const duo_plan_problem *problem);
void duo_plan_free(duo_plan *plan);

#endif
