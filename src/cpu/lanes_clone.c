/*
 * lanes_clone.c - what all clones share (lanes_clone.h). It is a file of its own, so that nothing
 * is inlined and no arithmetic moves across a change of the floating-point mode.
 */
#include "cpu/lanes_clone.h"

#include <math.h>

#include "host/float_mode.h"

/* ---- Blocks with a float32 sum that is not finite ---- */

/*
 * Sums of blocks with a float32 sum that is not finite.
 *
 * The block overflowed on the way, or has an Inf or a NaN in it. It is summed again in float64, in
 * the same shape: products of two floats are exact there and nothing overflows, so the result is
 * finite unless the data are not.
 */

double duo_lanes_redo(duo_lanes_partial unchecked, duo_lanes_partial unit_float64, int64_t n,
                      const float *x, const float *y)
{
    double partial[DUO_UNIT / DUO_BLOCK];
    int partials = 0;
    for (int64_t i = 0; i < n; i += DUO_BLOCK) {
        const int64_t count = n - i < DUO_BLOCK ? n - i : DUO_BLOCK;
        double sum = unchecked(count, x + i, y + i);
        if (!isfinite(sum)) sum = unit_float64(count, x + i, y + i);
        if (isnan(sum)) return sum; /* then the sum of all is a NaN */
        partial[partials++] = sum;
    }
    return duo_lanes_add_partials(partial, partials);
}

/* ---- A reduction in the mode that it needs ---- */

float duo_lanes_in_fit_mode(duo_lanes_function whole, int64_t n, const float *x, const float *y)
{
    const float_mode caller = float_mode_enter();
    const float result = whole(n, x, y);
    float_mode_leave(caller);
    return result;
}
