/* budget.h - what fits into the time that there is. */
#ifndef DUO_BUDGET_H
#define DUO_BUDGET_H

#include <stdbool.h>

#include "bench/measure/benchmark.h"

/* Seconds that timing something takes whose call takes so long: warm-up, counting, all rounds. */
double duo_budget_seconds(const duo_effort *effort, double call_seconds);

typedef struct duo_budget_item {
    int value;      /* the higher, the sooner it is taken */
    double seconds; /* not finite: nobody knows, so it does not fit */
    bool fits;      /* set by duo_budget_fit */
    int owner;      /* the caller's own; the list is sorted */
} duo_budget_item;

/*
 * Marks what fits into so many seconds: the most valuable first, of the same value the shortest
 * first. So of a ladder of sizes the largest are left out, and none between others. Returns the
 * seconds of all that fits.
 */
double duo_budget_fit(duo_budget_item *item, int count, double seconds);

#endif
