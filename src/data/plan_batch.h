/* plan_batch.h - plans of batches: pieces of whole products (plan.h). */
#ifndef DUO_PLAN_BATCH_H
#define DUO_PLAN_BATCH_H

#include "data/plan_steps.h"

/* Makes the plan that is predicted to take least. False: even single products do not fit, or
 * w->failed. */
bool duo_plan_batch(duo_plan_making *w);

#endif
