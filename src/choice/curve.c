/* curve.c - seconds for an amount of work, from measured points. */
#include "choice/curve.h"

#include <math.h>

/* x^exponent, exponent >= 1. pow would take longer than the rest of a prediction. */
static double power(double x, int exponent)
{
    double result = x;
    while (--exponent > 0) result *= x;
    return result;
}

double duo_curve_seconds(const duo_curve *curve, double work, int growth)
{
    const int last = curve->count - 1;
    if (last < 0) return (double)INFINITY;
    if (!(work > power(curve->size[0], growth))) return curve->seconds[0];
    const double most = power(curve->size[last], growth);
    if (work >= most) return curve->seconds[last] * (work / most);
    int low = 0, high = last; /* the work of `low` <= work < the work of `high` */
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        if (power(curve->size[middle], growth) <= work)
            low = middle;
        else
            high = middle;
    }
    /* Linear between the points: exact for a + b * work, and never falling. */
    const double from = power(curve->size[low], growth), to = power(curve->size[high], growth);
    const double part = (work - from) / (to - from);
    return curve->seconds[low] + part * (curve->seconds[high] - curve->seconds[low]);
}

bool duo_curve_ends_before(const duo_curve *curve, const duo_curve *further, double work,
                           int growth)
{
    const int last = curve->count - 1, furthest = further->count - 1;
    return last >= 0 && furthest >= 0 && further->size[furthest] > curve->size[last] &&
           work > power(curve->size[last], growth);
}
