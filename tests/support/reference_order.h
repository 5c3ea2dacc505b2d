/*
 * reference_order.h - the documented order of summation (numerics.md), taken literally. One
 * addition at a time, in scalar code that shares only the names of the operations with src/. Every
 * reduction of the library must give these bits, on every side.
 */
#ifndef REFERENCE_ORDER_H
#define REFERENCE_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "call.h"

/*
 * DUO_SASUM, DUO_SSUM or DUO_SDOT of n elements; n <= 0 gives 0. x and y point to their logical
 * first elements, element i is x[i*incx]; only DUO_SDOT reads y. Needs the default rounding mode,
 * without flushing of subnormals.
 */
float reference_order(duo_operation operation, int64_t n, const float *x, int64_t incx,
                      const float *y, int64_t incy);

/* The order of DUO_MATH_FLOAT64: every block in float64. */
float reference_order_float64(duo_operation operation, int64_t n, const float *x, int64_t incx,
                              const float *y, int64_t incy);

/* The same sums before the one rounding at the end. */
double reference_order_unrounded(duo_operation operation, int64_t n, const float *x, int64_t incx,
                                 const float *y, int64_t incy, bool float64);

#endif
