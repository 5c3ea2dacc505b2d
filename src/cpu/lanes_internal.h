/*
 * lanes_internal.h - what the clones (lanes_body.h) share with lanes.c, lanes_redo.c and
 * lanes_reduce.c.
 */
#ifndef DUO_LANES_INTERNAL_H
#define DUO_LANES_INTERNAL_H

#include <math.h>
#include <string.h>

#include "cpu/lanes.h"

extern const duo_lanes duo_lanes_avx512, duo_lanes_avx512_sae, duo_lanes_avx2, duo_lanes_portable;

/*
 * The sum of a unit whose float32 arithmetic gave `unchecked` no finite result: every block that
 * is not finite by itself is done again by unit_float64.
 */
double duo_lanes_redo(duo_lanes_node unchecked, duo_lanes_node unit_float64, int64_t n,
                      const float *x, const float *y);

/* whole(n, x, y) in the mode that the order needs, whatever the caller's is. */
float duo_lanes_in_fit_mode(duo_lanes_function whole, int64_t n, const float *x, const float *y);

/* The one rounding at the end: never -0, and one NaN, whatever the side that made it. */
static inline float duo_lanes_round(double sum)
{
    float result = (float)(sum + 0.0);
    if (isnan(result)) {
        const uint32_t canonical_nan = 0x7FC00000u;
        memcpy(&result, &canonical_nan, sizeof result);
    }
    return result;
}

/* Adds neighbours level by level; an odd one moves up unchanged. */
static inline double duo_lanes_add_nodes(double *node, int count)
{
    for (int step = 1; step < count; step *= 2)
        for (int i = 0; i + step < count; i += 2 * step) node[i] += node[i + step];
    return node[0];
}

#endif
