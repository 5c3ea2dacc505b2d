/*
 * row_reference.h - which literal order of summation each row of the reductions must reproduce.
 */
#ifndef ROW_REFERENCE_H
#define ROW_REFERENCE_H

#include "choice/algorithm.h"

/* Vectors by their logical first elements; y is read by DUO_SDOT alone. */
typedef float (*reference_function)(duo_operation operation, int64_t n, const float *x,
                                    int64_t incx, const float *y, int64_t incy);

typedef struct row_reference {
    const char *algorithm; /* the row's name without its operation */
    duo_math math;         /* under which the public functions take the row */
    reference_function order;
} row_reference;

/* NULL for a row without a line in the table: the test that walks the rows must then fail. */
const row_reference *order_of_algorithm(const duo_algorithm *row);

#endif
