/*
 * lanes.h - reductions of contiguous data in the documented order of summation (docs/numerics.md).
 *
 * A unit is an aligned power of two of blocks, DUO_UNIT elements at most (the last one has what is
 * left): its partial sum is one node of the tree of blocks, so that units may be computed by any
 * thread. One clone per instruction set, two for AVX-512, picked at run time.
 */
#ifndef DUO_LANES_H
#define DUO_LANES_H

#include <stdatomic.h>
#include <stdint.h>

#include "call.h"

enum { DUO_BLOCK = 1024, DUO_UNIT = 64 * DUO_BLOCK };

/* The whole reduction of 0 < n <= DUO_UNIT contiguous elements on this thread, rounded. y: sdot
 * alone. */
typedef float (*duo_lanes_function)(int64_t n, const float *x, const float *y);

/* Sum of a unit before rounding: one node of the tree of blocks. y must be an address, also where
 * it is not used. */
typedef double (*duo_lanes_node)(int64_t n, const float *x, const float *y);

typedef struct duo_lanes {
    const char *name;                         /* "avx512", "avx512_sae", "avx2", "portable" */
    const char *isa;                          /* "avx512", "avx2", "portable" */
    duo_lanes_function whole[DUO_OPERATIONS]; /* by duo_operation; [DUO_SGEMM] is NULL */
    duo_lanes_node unit[DUO_OPERATIONS];
    duo_lanes_node unit_float64[DUO_OPERATIONS]; /* in float64 throughout: DUO_MATH_FLOAT64 */
} duo_lanes;

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

/* Any n >= 1, increments and threads: what the algorithms call. Vectors by logical first element, signed
 * increments. */
float duo_lanes_reduce(duo_operation operation, int64_t n, const float *x, int64_t incx,
                       const float *y, int64_t incy, int threads);
float duo_lanes_reduce_float64(duo_operation operation, int64_t n, const float *x, int64_t incx,
                               const float *y, int64_t incy, int threads);

#endif
