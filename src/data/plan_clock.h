/* plan_clock.h - the seconds that plans of streamed products take (plan.h). */
#ifndef DUO_PLAN_CLOCK_H
#define DUO_PLAN_CLOCK_H

#include "data/plan.h"

/* Predicts when each step begins and ends; returns the seconds of all. */
double duo_plan_seconds(duo_plan *plan);

/*
 * Seconds below which no such plan can come: all bytes over the link, all arithmetic,
 * the host's copying of pageable memory, at the rates that it has while the link is busy; and what
 * has arrived bounds what can multiply.
 */
double duo_plan_bound(const duo_plan *plan);

#endif
