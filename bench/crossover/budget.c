/* budget.c - see budget.h */
#include "bench/crossover/budget.h"

#include <math.h>
#include <stdlib.h>

/* duo_measure's calibration: the first call twice, unless it takes this share of the budget; then
 * runs that grow until one takes a part of a sample. */
static const double kOnceShare = 0.25;
static const double kCountingSamples = 0.5;

double duo_budget_seconds(const duo_effort *effort, double call_seconds)
{
    const double sample =
        call_seconds > effort->sample_seconds ? call_seconds : effort->sample_seconds;
    double warm = call_seconds;
    if (call_seconds < kOnceShare * effort->budget_seconds) warm += call_seconds;
    warm += fmax(kCountingSamples * effort->sample_seconds - call_seconds, 0.0);
    double rounds = effort->budget_seconds / sample;
    if (rounds > (double)effort->rounds) rounds = (double)effort->rounds;
    return warm + (double)(int)rounds * (sample + effort->warm_seconds + effort->settle_seconds);
}

static int more_valuable(const void *left, const void *right)
{
    const duo_budget_item *const a = left, *const b = right;
    if (a->value != b->value) return a->value > b->value ? -1 : 1;
    if (a->seconds != b->seconds) return a->seconds < b->seconds ? -1 : 1;
    return (a->owner > b->owner) - (a->owner < b->owner);
}

double duo_budget_fit(duo_budget_item *item, int count, double seconds)
{
    double taken = 0.0;
    qsort(item, (size_t)count, sizeof *item, more_valuable);
    for (int i = 0; i < count; i++) {
        item[i].fits = taken + item[i].seconds <= seconds;
        if (item[i].fits) taken += item[i].seconds;
    }
    return taken;
}
