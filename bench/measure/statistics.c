/* statistics.c - see statistics.h */
#include "bench/measure/statistics.h"

#include <stdlib.h>

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double duo_median(double *value, int count)
{
    qsort(value, (size_t)count, sizeof value[0], ascending);
    return 0.5 * (value[count / 2] + value[(count - 1) / 2]);
}

double duo_quantile(double *value, int count, double share)
{
    qsort(value, (size_t)count, sizeof value[0], ascending);
    return value[(int)(share * (double)(count - 1) + 0.5)];
}

double duo_low_quantile(double *value, int count)
{
    qsort(value, (size_t)count, sizeof value[0], ascending);
    return value[count / 5];
}

double duo_high_quantile(double *value, int count)
{
    qsort(value, (size_t)count, sizeof value[0], ascending);
    return value[count - 1 - count / 10];
}
