/* plan_blocks.h - plans of products that do not fit on the device (plan.h). */
#ifndef DUO_PLAN_BLOCKS_H
#define DUO_PLAN_BLOCKS_H

#include "data/plan_steps.h"

/* Makes the plan of the blocks that are predicted to take least; it replaces w->plan. False: no
 * blocks fit the memory that the plan may use. w->failed: a step could not be added. */
bool duo_plan_blocks(duo_plan_making *w);

#endif
