/*
 * many_devices.h - products of host arrays on several devices: a machine where they always pay, and
 * products of small integers, which are exact in any division.
 */
#ifndef DUO_TESTS_MANY_DEVICES_H
#define DUO_TESTS_MANY_DEVICES_H

#include "algorithms.h"
#include "support/arrays.h"
#include "support/places.h"

/*
 * From now on sgemm takes 10^-6 s per multiply-add by this algorithm, ten times as long by others
 * of the GPU, and longer still on the CPU: so every device that may be used is used.
 */
void arithmetic_is_slow(duo_algorithm_id algorithm);

/* A column-major product with each array in one of these places. */
typedef struct many_product {
    test_place place;
    float beta;
    bool transa, transb;
    int64_t m, n, k;
    test_array a, b, c, expected, start; /* start: C before the call */
    test_placed placed[3];
} many_product;

void many_new(many_product *p, test_rng *rng); /* the caller has set the first six */
void many_end(many_product *p);

/* Puts the operands in their places, C as it was at the start; and takes them back. */
void many_put(many_product *p, duo_context *ctx);
void many_take(many_product *p, duo_context *ctx);

duo_status many_call(const many_product *p, duo_context *ctx);

/* Checks that C is right and everything else is as it was. */
void many_check(const many_product *p);

/* A bit for each device that computes in the log of the simulated devices (sim/clock.h). */
unsigned many_computed(void);

#endif
