/* lanes_redo.h - the rare way: blocks whose float32 sum is not finite. */
#ifndef DUO_LANES_REDO_H
#define DUO_LANES_REDO_H

#include "cpu/lanes_clone.h"

/*
 * The sum of a unit whose float32 arithmetic gave `unchecked` no finite result: every block that
 * is not finite by itself is done again by unit_float64.
 */
double duo_lanes_redo(duo_lanes_node unchecked, duo_lanes_node unit_float64, int64_t n,
                      const float *x, const float *y);

#endif
