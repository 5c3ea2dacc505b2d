/*
 * lanes.h - which clone of the reductions this CPU runs, in the documented order of summation
 * (docs/numerics.md): one clone per instruction set, two for AVX-512, picked at run time.
 */
#ifndef DUO_LANES_H
#define DUO_LANES_H

#include <stdatomic.h>

#include "cpu/lanes_clone.h"

/* Clones that this CPU can run, best first; NULL after the last. Tests walk them. */
const duo_lanes *duo_lanes_clone(int index);

/* The clone in use: the best one, or the one a test has set. NULL before the first use. */
extern _Atomic(const duo_lanes *) duo_lanes_in_use;

const duo_lanes *duo_lanes_set(const duo_lanes *lanes); /* NULL: the best again; returns it */

/* Cheap enough for a call of one element. */
static inline const duo_lanes *duo_lanes_current(void)
{
    const duo_lanes *const in_use = atomic_load_explicit(&duo_lanes_in_use, memory_order_relaxed);
    return __builtin_expect(in_use != NULL, 1) ? in_use : duo_lanes_set(NULL);
}

#endif
