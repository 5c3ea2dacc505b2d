/*
 * exact_sum.h - sums of floats, and of products of two floats, without any rounding.
 *
 * The sum is a fixed-point number, wide enough for all terms. Its limbs have 32 bits but are kept
 * in 64, so that carries are rare. Benchmarks and tests judge by it; it shares no code with src/.
 */
#ifndef DUO_EXACT_SUM_H
#define DUO_EXACT_SUM_H

#include <stdint.h>

enum { DUO_EXACT_LIMBS = 22 };

typedef struct duo_exact_sum {
    int64_t limb[DUO_EXACT_LIMBS]; /* the value is the sum of limb[i] 2^(32 i - 352) */
    int64_t since_carry;           /* terms since the last carry */
} duo_exact_sum;

/* Adds a term: a finite float, or a product of two, which is exact in float64. A sum starts as {0}
 * and has at most 2^40 terms. */
void duo_exact_sum_add(duo_exact_sum *sum, double term);

/* The sum, with a relative error of at most 2^-52. */
double duo_exact_sum_value(const duo_exact_sum *sum);

#endif
