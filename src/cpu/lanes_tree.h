/* lanes_tree.h - how a sum ends: nodes are added level by level, and the sum is rounded once. */
#ifndef DUO_LANES_TREE_H
#define DUO_LANES_TREE_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* The one rounding at the end. It never gives -0, and always the same NaN, as on the GPU. */
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
static inline double duo_lanes_add_nodes(double *node, int64_t count)
{
    for (int64_t step = 1; step < count; step *= 2)
        for (int64_t i = 0; i + step < count; i += 2 * step) node[i] += node[i + step];
    return node[0];
}

#endif
