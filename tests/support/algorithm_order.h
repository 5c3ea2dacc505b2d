/*
 * algorithm_order.h - the literal order of summation that each algorithm of the reductions must
 * give.
 */
#ifndef DUO_TESTS_ALGORITHM_ORDER_H
#define DUO_TESTS_ALGORITHM_ORDER_H

#include "choice/algorithm.h"

/* Vectors by their logical first elements; only DUO_SDOT reads y. */
typedef float (*reference_function)(duo_operation operation, int64_t n, const float *x,
                                    int64_t incx, const float *y, int64_t incy);

typedef struct algorithm_order {
    const char *name; /* the algorithm's, without its operation */
    duo_math math;    /* the public functions choose it under this math */
    reference_function order;
} algorithm_order;

/* NULL if the algorithm has no line in the table; the test that walks the list must then fail. */
const algorithm_order *order_of_algorithm(const duo_algorithm *algorithm);

#endif
