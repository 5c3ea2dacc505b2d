/*
 * accuracy_data.h - kinds of vectors, for measuring errors and testing bounds.
 */
#ifndef DUO_ACCURACY_DATA_H
#define DUO_ACCURACY_DATA_H

#include <stdint.h>

#include "call.h"

typedef struct duo_accuracy_data {
    const char *name;
    double condition; /* sum|terms| / |sum of terms|; 0: not chosen */
    /* half: a term is a product of two elements, so each gets half the exponent */
    float (*draw)(uint64_t *random, bool half);
} duo_accuracy_data;

enum { DUO_ACCURACY_KINDS = 7, DUO_ACCURACY_SHORTEST_ILL = 32 };
extern const duo_accuracy_data duo_accuracy_kinds[DUO_ACCURACY_KINDS];

/* Fills the vectors; y only for sdot. n >= DUO_ACCURACY_SHORTEST_ILL if the kind has a
 * condition. */
void duo_accuracy_fill(const duo_accuracy_data *data, duo_operation operation, int64_t n,
                       uint64_t seed, float *x, float *y);

/* ---- Ill-conditioned sums ---- */

/* Vectors with a sum, or inner product, that nearly cancels. The condition is sum|terms| / |sum of
 * terms|: the factor from an error relative to sum|terms| to one relative to the result. It is met
 * within 0.1 % from 10^2 to 10^8. */

/* n >= 16. */
void duo_ill_conditioned_dot(int64_t n, double condition, uint64_t seed, float *x, float *y);

/* n >= 32. */
void duo_ill_conditioned_sum(int64_t n, double condition, uint64_t seed, float *x);

#endif
