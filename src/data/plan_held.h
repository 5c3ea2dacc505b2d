/* plan_held.h - plans of products that fit on the devices with everything they need (plan.h). */
#ifndef DUO_PLAN_HELD_H
#define DUO_PLAN_HELD_H

#include "data/plan_steps.h"

/* Tries panels of several sizes, and makes the plan that is predicted to take least; it replaces
 * w->plan. False: there is no host memory for it, or it has too many steps. */
bool duo_plan_make_held(duo_plan_making *w);

#endif
