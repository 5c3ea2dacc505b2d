/* lanes_reduce.h - reductions of any length, increment and number of threads. */
#ifndef DUO_LANES_REDUCE_H
#define DUO_LANES_REDUCE_H

#include <stdint.h>

#include "call.h"

/* n >= 1. x and y point to their logical first elements; increments may be negative or zero. Only
 * sdot uses y. */
float duo_lanes_reduce(duo_operation operation, int64_t n, const float *x, int64_t incx,
                       const float *y, int64_t incy, int threads);
/* In float64 throughout: DUO_MATH_FLOAT64. */
float duo_lanes_reduce_float64(duo_operation operation, int64_t n, const float *x, int64_t incx,
                               const float *y, int64_t incy, int threads);

/* The end of a sum of pieces that were summed elsewhere: adds their sums in adjacent pairs, and
 * rounds once. All pieces but the last have the same number of blocks, a power of two; count >= 1.
 * Overwrites node[]. */
float duo_lanes_add_pieces(double *node, int64_t count);

#endif
