/*
 * accuracy_data.h - the kinds of vectors on which errors are measured and bounds are tested.
 */
#ifndef DUO_ACCURACY_DATA_H
#define DUO_ACCURACY_DATA_H

#include <stdint.h>

#include "call.h"

typedef struct duo_accuracy_data {
    const char *name;
    double condition; /* sum|terms| / |sum of terms|; 0: whatever comes */
    /* half: the operation multiplies two of them, and each has half the exponent of the term */
    float (*draw)(uint64_t *random, bool half);
} duo_accuracy_data;

enum { DUO_ACCURACY_KINDS = 7, DUO_ACCURACY_SHORTEST_ILL = 32 };
extern const duo_accuracy_data duo_accuracy_kinds[DUO_ACCURACY_KINDS];

/* y: only of sdot. n >= DUO_ACCURACY_SHORTEST_ILL where the kind has a condition. */
void duo_accuracy_fill(const duo_accuracy_data *data, duo_operation operation, int64_t n,
                       uint64_t seed, float *x, float *y);

/* ---- Ill-conditioned sums ---- */

/* Vectors whose sum, or whose inner product, nearly cancels. The condition is sum|terms| / |sum of
 * terms|: an error relative to sum|terms| counts as many times as much relative to the result.
 * Reached to within 0.1 % from 10^2 to 10^8. */

/* n >= 16. */
void duo_ill_conditioned_dot(int64_t n, double condition, uint64_t seed, float *x, float *y);

/* n >= 32. */
void duo_ill_conditioned_sum(int64_t n, double condition, uint64_t seed, float *x);

#endif
