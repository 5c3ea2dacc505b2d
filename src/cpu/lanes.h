/*
 * lanes.h - the clone of the reductions that this CPU runs, picked at run time. There is one for
 * each instruction set, two for AVX-512. All sum in the documented order (numerics.md).
 */
#ifndef DUO_LANES_H
#define DUO_LANES_H

#include <stdatomic.h>

#include "cpu/lanes_clone.h"

/* The clones that this CPU can run, by index from the best on; NULL after the last. */
const duo_lanes *duo_lanes_clone(int index);

/* The clone in use: the best one, or the one that a test has set. NULL before the first use. */
extern _Atomic(const duo_lanes *) duo_lanes_in_use;

/* Sets the clone in use and returns it. NULL: the best one. */
const duo_lanes *duo_lanes_set(const duo_lanes *lanes);

/* The clone in use, set at the first call. Inline, so that it is cheap beside a sum of one
 * element. */
static inline const duo_lanes *duo_lanes_current(void)
{
    const duo_lanes *const in_use = atomic_load_explicit(&duo_lanes_in_use, memory_order_relaxed);
    return __builtin_expect(in_use != NULL, 1) ? in_use : duo_lanes_set(NULL);
}

#endif
