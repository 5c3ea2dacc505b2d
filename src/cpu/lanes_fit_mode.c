/* lanes_fit_mode.c - a reduction in the mode that it needs (lanes_fit_mode.h). A file of its own,
 * so that nothing is inlined and no arithmetic moves across the change of mode. */
#include "cpu/lanes_fit_mode.h"

#include "host/float_mode.h"

float duo_lanes_in_fit_mode(duo_lanes_function whole, int64_t n, const float *x, const float *y)
{
    const float_mode caller = float_mode_enter();
    const float result = whole(n, x, y);
    float_mode_leave(caller);
    return result;
}
