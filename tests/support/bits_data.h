/* bits_data.h - the kinds of data on which bits are compared: they tempt a sum to differ. */
#ifndef BITS_DATA_H
#define BITS_DATA_H

#include "support/data.h"

/*
 * An element of either vector; i is its place, on which the rates of special values depend. y of a
 * dot product is drawn by `y`: two subnormal factors would leave only zeros, and two of -0 would
 * leave no -0.
 */
typedef struct bits_data {
    const char *name;
    float (*x)(test_rng *rng, int64_t i);
    float (*y)(test_rng *rng, int64_t i);
} bits_data;

enum { BITS_KINDS = 7, BITS_PLAIN_KINDS = 3 }; /* the first have no Inf, NaN or overflow */
extern const bits_data bits_kinds[BITS_KINDS];

float bits_to_float(uint32_t bits);

#endif
