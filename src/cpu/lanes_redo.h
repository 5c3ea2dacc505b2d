/* lanes_redo.h - sums of blocks with a float32 sum that is not finite; these are rare. */
#ifndef DUO_LANES_REDO_H
#define DUO_LANES_REDO_H

#include "cpu/lanes_clone.h"

/*
 * The sum of a unit for which `unchecked`, in float32, returned no finite sum. `unchecked` sums
 * each of its blocks, and unit_float64 does so again if the block's sum is not finite.
 */
double duo_lanes_redo(duo_lanes_node unchecked, duo_lanes_node unit_float64, int64_t n,
                      const float *x, const float *y);

#endif
