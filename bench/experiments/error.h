/* error.h - errors against float64, of what an implementation gave at slot 0 of its stock. */
#ifndef DUO_ERROR_H
#define DUO_ERROR_H

#include "bench/experiments/setup.h"
#include "bench/reference/product_error.h"

/* A reduction of slot 0 in float64: its value, and the sum of |terms|. */
typedef struct duo_exact {
    double sum, scale;
} duo_exact;

duo_exact duo_bench_exact(const duo_problem *problem, const duo_stock *host);

/*
 * The error of a reduction's last result: |error| / sum of |terms|, in units of 2^-24. Negative:
 * the result could not be fetched.
 */
double duo_bench_error(duo_context *context, const duo_problem *problem, const duo_exact *exact,
                       const duo_implementation *implementation);

/* The exact product of slot 0, by the device if its peers can be used. */
bool duo_bench_exact_product(const duo_bench *bench, const duo_problem *problem,
                             duo_product_exact *exact);

#endif
