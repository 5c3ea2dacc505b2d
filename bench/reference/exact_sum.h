/*
 * exact_sum.h - sums of floats, and of products of two floats, without any rounding.
 *
 * A fixed-point number wide enough for all of them, in limbs of 32 bits that are kept in 64, so
 * that carries are rare. Benchmarks and tests judge by it; it shares no code with src/.
 */
#ifndef DUO_EXACT_SUM_H
#define DUO_EXACT_SUM_H

#include <stdint.h>

enum { DUO_EXACT_LIMBS = 22 };

typedef struct duo_exact_sum {
    int64_t limb[DUO_EXACT_LIMBS]; /* the sum of limb[i] 2^(32 i - 352) */
    int64_t since_carry;           /* terms */
} duo_exact_sum;

/* Starts as {0}. A term is a finite float, or a product of two (which float64 holds exactly); there
 * may be 2^40 of them. */
void duo_exact_sum_add(duo_exact_sum *sum, double term);

/* The sum, to within 2^-52 of itself. */
double duo_exact_sum_value(const duo_exact_sum *sum);

#endif
