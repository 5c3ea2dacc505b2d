/* lanes_redo.h - sums of blocks whose float32 sum is not finite, which are rare. */
#ifndef DUO_LANES_REDO_H
#define DUO_LANES_REDO_H

#include "cpu/lanes_clone.h"

/*
 * The sum of a unit for which `unchecked`, in float32, returned no finite sum: each of its blocks
 * is summed by `unchecked`, and again by unit_float64 if its own sum is not finite.
 */
double duo_lanes_redo(duo_lanes_node unchecked, duo_lanes_node unit_float64, int64_t n,
                      const float *x, const float *y);

#endif
