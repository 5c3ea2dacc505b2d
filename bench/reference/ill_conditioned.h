/*
 * ill_conditioned.h - vectors whose sum, or whose inner product, nearly cancels.
 *
 * The condition is sum|terms| / |sum of terms|: by so much an error relative to sum|terms| counts
 * more, relative to the result. Reached to within 0.1 % from 10^2 to 10^8.
 */
#ifndef DUO_ILL_CONDITIONED_H
#define DUO_ILL_CONDITIONED_H

#include <stdint.h>

/* n >= 16. */
void duo_ill_conditioned_dot(int64_t n, double condition, uint64_t seed, float *x, float *y);

/* n >= 32. */
void duo_ill_conditioned_sum(int64_t n, double condition, uint64_t seed, float *x);

#endif
