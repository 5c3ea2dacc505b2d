/* curve.h - seconds for an amount of work, from measured points. */
#ifndef DUO_CURVE_H
#define DUO_CURVE_H

#include <stdbool.h>

enum { DUO_CURVE_POINTS = 40 };

/*
 * Measured seconds by size. A reduction's size is n; an sgemm's is the edge of a cube, m = n = k. A
 * CPU algorithm is measured on one thread with operands in host memory, a reduction also on all
 * threads. A GPU algorithm is measured with operands on the device, in a queue that is kept busy:
 * this includes the launch, but not the result's way to the host.
 */
typedef struct duo_curve {
    int count; /* 0: not measured */
    double size[DUO_CURVE_POINTS], seconds[DUO_CURVE_POINTS];
} duo_curve;

/*
 * Seconds for an amount of work, which is size^growth: n of a reduction (growth 1), m*n*k of sgemm
 * (growth 3). Between two points seconds are linear in the work; below the first point they are
 * its seconds; above the last point they are proportional to the work. Infinite without points.
 */
double duo_curve_seconds(const duo_curve *curve, double work, int growth);

/*
 * Is this much work beyond the last point of a curve, while another curve goes further? Then the
 * first curve must not win there: extended, a single disturbed figure would decide what runs at all
 * larger sizes.
 */
bool duo_curve_ends_before(const duo_curve *curve, const duo_curve *further, double work,
                           int growth);

#endif
