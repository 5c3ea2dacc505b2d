/* curve.c - seconds at a size, from measured points. */
#include <math.h>

#include "profile.h"

double duo_curve_seconds(const duo_curve *curve, double size, double growth)
{
    const int last = curve->count - 1;
    if (last < 0) return (double)INFINITY;
    if (!(size > curve->size[0])) return curve->seconds[0];
    if (size >= curve->size[last])
        return curve->seconds[last] * pow(size / curve->size[last], growth);
    int low = 0, high = last; /* size[low] <= size < size[high] */
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        if (curve->size[middle] <= size)
            low = middle;
        else
            high = middle;
    }
    /* Straight between the points in size^growth: exact for a + b*size^growth, and monotone. */
    const double from = pow(curve->size[low], growth), to = pow(curve->size[high], growth);
    const double part = (pow(size, growth) - from) / (to - from);
    return curve->seconds[low] + part * (curve->seconds[high] - curve->seconds[low]);
}
