/* bits_data.h - the kinds of data that tempt a sum to differ; tests compare the bits of results
 * with them. */
#ifndef BITS_DATA_H
#define BITS_DATA_H

#include "support/data.h"

/*
 * Draws an element of a vector; the rates of special values depend on its place i. For a dot
 * product `y` draws the vector y: two subnormal factors would leave only zeros, and two factors of
 * -0 no -0.
 */
typedef struct bits_data {
    const char *name;
    float (*x)(test_rng *rng, int64_t i);
    float (*y)(test_rng *rng, int64_t i);
} bits_data;

enum { BITS_KINDS = 8, BITS_PLAIN_KINDS = 4 }; /* the first have no Inf, NaN or overflow */
extern const bits_data bits_kinds[BITS_KINDS];

float bits_to_float(uint32_t bits);

#endif
