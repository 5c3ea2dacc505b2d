/* curve.h - seconds for an amount of work, from measured points. */
#ifndef DUO_CURVE_H
#define DUO_CURVE_H

enum { DUO_CURVE_POINTS = 40 };

/*
 * Seconds against a size: reductions against n, sgemm against the edge of the cube, cbrt(m*n*k).
 * CPU algorithms: one thread, operands in host memory. GPU algorithms: operands on the device, from
 * the call to the end of the kernel as seen from a queue that is kept busy (launch included, the
 * result's way to the host not).
 */
typedef struct duo_curve {
    int count; /* 0: not measured */
    double size[DUO_CURVE_POINTS], seconds[DUO_CURVE_POINTS];
} duo_curve;

/*
 * Seconds for so much work: n of a reduction (growth 1: a size is work), m*n*k of sgemm (growth 3:
 * a size is the edge of a cube). Between two points straight in the work; below the first point its
 * seconds; above the last point growing with the work. Infinite if there are no points.
 */
double duo_curve_seconds(const duo_curve *curve, double work, int growth);

#endif
