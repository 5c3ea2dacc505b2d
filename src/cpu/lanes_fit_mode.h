/* lanes_fit_mode.h - a reduction in the floating-point mode that the order of summation needs. */
#ifndef DUO_LANES_FIT_MODE_H
#define DUO_LANES_FIT_MODE_H

#include "cpu/lanes_clone.h"

/* Calls whole(n, x, y) in the default mode, and restores the caller's mode and flags. */
float duo_lanes_in_fit_mode(duo_lanes_function whole, int64_t n, const float *x, const float *y);

#endif
