/* plan_blocks.h - plans of products that do not fit on the devices as a whole (plan.h). */
#ifndef DUO_PLAN_BLOCKS_H
#define DUO_PLAN_BLOCKS_H

#include "data/plan_steps.h"

/*
 * Makes the plan of the blocks that are predicted to take least, in place of what was in w->plan.
 * False: no blocks fit the memory that the plan may use. Whether all steps were added, w->failed
 * tells.
 */
bool duo_plan_make_blocks(duo_plan_making *w);

#endif
