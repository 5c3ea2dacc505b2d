/* plan_clock.h - the seconds that plans of streamed products take (plan.h). */
#ifndef DUO_PLAN_CLOCK_H
#define DUO_PLAN_CLOCK_H

#include "data/plan.h"

/* Predicts when each step begins and ends; returns the seconds of the whole plan. */
double duo_plan_seconds(duo_plan *plan);

/*
 * No plan of the product takes less than these seconds. They are bounds for all bytes over the
 * link, for all arithmetic, and for the host's copies of pageable memory (at its rates while the
 * link is busy). Only parts that have arrived can be multiplied, which bounds it too.
 */
double duo_plan_bound(const duo_plan *plan);

#endif
