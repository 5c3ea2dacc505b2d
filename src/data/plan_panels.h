/* plan_panels.h - plans of products whose A, B and C fit on the device (plan.h). */
#ifndef DUO_PLAN_PANELS_H
#define DUO_PLAN_PANELS_H

#include "data/plan_steps.h"

/* Tries panels of several sizes, and makes the plan that is predicted to take least; it replaces
 * w->plan. False: there is no host memory for it, or it has too many steps. */
bool duo_plan_panels(duo_plan_making *w);

#endif
