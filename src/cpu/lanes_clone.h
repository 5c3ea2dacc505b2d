/*
 * lanes_clone.h - a clone of the reductions: a set of functions for one instruction set.
 *
 * A unit is a power of two of blocks, at most DUO_UNIT elements, at an index that is a multiple of
 * its length; the last unit has the rest. So its sum is one partial sum of the tree of blocks, and
 * any thread may compute it.
 */
#ifndef DUO_LANES_CLONE_H
#define DUO_LANES_CLONE_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "call.h"

enum { DUO_BLOCK = 8192, DUO_UNIT = 8 * DUO_BLOCK };

/* A whole reduction of 0 < n <= DUO_UNIT contiguous elements on the calling thread, rounded. Only
 * sdot uses y. */
typedef float (*duo_lanes_function)(int64_t n, const float *x, const float *y);

/* The sum of a unit before rounding: one partial sum of the tree of blocks. Only sdot uses y. */
typedef double (*duo_lanes_partial)(int64_t n, const float *x, const float *y);

typedef struct duo_lanes {
    const char *name;                         /* "avx512", "avx512_sae", "avx2", "portable" */
    const char *isa;                          /* "avx512", "avx2", "portable" */
    duo_lanes_function whole[DUO_OPERATIONS]; /* by duo_operation; [DUO_SGEMM] is NULL */
    duo_lanes_partial unit[DUO_OPERATIONS];
    duo_lanes_partial unit_float64[DUO_OPERATIONS]; /* in float64 throughout: DUO_MATH_FLOAT64 */
} duo_lanes;

/* Each is in the file of its name, on CPUs of its architecture; all include lanes_body.h. */
extern const duo_lanes duo_lanes_avx512, duo_lanes_avx512_sae, duo_lanes_avx2, duo_lanes_portable;

/* ---- How a sum ends: partial sums are added level by level, and the sum is rounded once ---- */

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
static inline double duo_lanes_add_partials(double *partial, int64_t count)
{
    for (int64_t step = 1; step < count; step *= 2)
        for (int64_t i = 0; i + step < count; i += 2 * step) partial[i] += partial[i + step];
    return partial[0];
}

/* ---- What all clones share ---- */

/*
 * The sum of a unit for which `unchecked`, in float32, returned no finite sum. `unchecked` sums
 * each of its blocks, and unit_float64 does so again if the block's sum is not finite.
 */
double duo_lanes_redo(duo_lanes_partial unchecked, duo_lanes_partial unit_float64, int64_t n,
                      const float *x, const float *y);

/* Calls whole(n, x, y) in the default mode, and restores the caller's mode and flags. */
float duo_lanes_in_fit_mode(duo_lanes_function whole, int64_t n, const float *x, const float *y);

#endif
