/* axis.c - see axis.h */
#include "bench/crossover/axis.h"

#include <math.h>

/* More labels than this would touch each other. */
enum { MOST_LABELS = 9 };

void duo_axis_begin(duo_axis *axis, double from, double to)
{
    *axis = (duo_axis){.low = (double)INFINITY, .high = 0.0, .from = from, .to = to};
}

void duo_axis_take(duo_axis *axis, double value)
{
    axis->low = fmin(axis->low, value);
    axis->high = fmax(axis->high, value);
}

void duo_axis_round(duo_axis *axis)
{
    if (!(axis->high >= axis->low)) return;
    axis->low = pow(10.0, floor(log10(axis->low) + 1e-9));
    axis->high = pow(10.0, ceil(log10(axis->high) - 1e-9));
}

double duo_axis_at(const duo_axis *axis, double value)
{
    if (!(axis->high > axis->low)) return 0.5 * (axis->from + axis->to);
    const double part = log(value / axis->low) / log(axis->high / axis->low);
    return axis->from + part * (axis->to - axis->from);
}

/* Ticks of every `step`-th decade, at these digits. */
static int list_ticks(const duo_axis *axis, int step, int digits, double tick[DUO_TICKS])
{
    static const double digit[] = {1.0, 2.0, 5.0};
    int count = 0;
    for (double e = floor(log10(axis->low)); e <= ceil(log10(axis->high)); e += step)
        for (int i = 0; i < digits && count < DUO_TICKS; i++) {
            const double value = digit[i] * pow(10.0, e);
            if (value >= axis->low * 0.999 && value <= axis->high * 1.001) tick[count++] = value;
        }
    return count;
}

int duo_axis_ticks(const duo_axis *axis, double tick[DUO_TICKS])
{
    if (!(axis->high >= axis->low)) return 0;
    int count = list_ticks(axis, 1, 3, tick);
    for (int step = 1; count > MOST_LABELS && step < 4; step++)
        count = list_ticks(axis, step, 1, tick);
    return count;
}
