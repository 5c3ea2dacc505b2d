/*
 * ill_conditioned.c - see ill_conditioned.h
 *
 * After T. Ogita, S. M. Rump, S. Oishi, "Accurate sum and dot product", SIAM J. Sci. Comput. 26
 * (2005) 1955-1988, algorithm 6.1, for float32. The first half of the terms is random, with
 * exponents up to the condition's; each of the others brings the exact sum so far down to a random
 * value of a falling exponent. Only the last term differs from theirs: it leaves a sum that meets
 * the condition at every n, not its order of magnitude alone.
 */
#include "bench/reference/ill_conditioned.h"

#include <math.h>
#include <stddef.h>

#include "bench/reference/exact_sum.h"
#include "bench/reference/random.h"

static void swap(float *x, int64_t i, int64_t j)
{
    const float other = x[i];
    x[i] = x[j];
    x[j] = other;
}

/* y may be NULL. */
static void shuffle(int64_t n, float *x, float *y, uint64_t *state)
{
    for (int64_t i = n - 1; i > 0; i--) {
        const int64_t j = (int64_t)(duo_random_bits(state) % (uint64_t)(i + 1));
        swap(x, i, j);
        if (y != NULL) swap(y, i, j);
    }
}

static void in_order(int64_t n, double condition, uint64_t *state, float *x, float *y)
{
    const double bits = log2(condition);
    const int64_t half = n / 2;
    duo_exact_sum sum = {0};
    double magnitude = 0.0;
    for (int64_t i = 0; i < n; i++) {
        if (i < half) {
            const double part = duo_random_unit(state);
            const int exponent = i == 0 ? (int)lrint(bits / 2) + 1 : (int)lrint(part * bits / 2);
            x[i] = ldexpf(duo_random_signed(state), i == half - 1 ? 0 : exponent);
            y[i] = ldexpf(duo_random_signed(state), i == half - 1 ? 0 : exponent);
        } else {
            const double left = (double)(n - 1 - i) / (double)(n - 1 - half);
            const int exponent = (int)lrint(left * bits / 2);
            x[i] = ldexpf(duo_random_signed(state), exponent);
            const double so_far = duo_exact_sum_value(&sum);
            double aim = (double)ldexpf(duo_random_signed(state), exponent);
            if (i == n - 1) aim = -copysign((magnitude + fabs(so_far)) / (condition - 1.0), so_far);
            y[i] = (float)((aim - so_far) / (double)x[i]);
        }
        const double term = (double)x[i] * (double)y[i];
        duo_exact_sum_add(&sum, term);
        magnitude += fabs(term);
    }
}

void duo_ill_conditioned_dot(int64_t n, double condition, uint64_t seed, float *x, float *y)
{
    in_order(n, condition, &seed, x, y);
    shuffle(n, x, y, &seed);
}

/* The terms of an inner product of half the length, each split exactly into the float next to it
 * and the rest, which is a float as well: the same sum of twice as many. */
void duo_ill_conditioned_sum(int64_t n, double condition, uint64_t seed, float *x)
{
    const int64_t half = n / 2;
    float *const y = x + half;
    x[n - 1] = 0.0f;
    in_order(half, condition, &seed, x, y);
    for (int64_t i = 0; i < half; i++) {
        const double term = (double)x[i] * (double)y[i];
        x[i] = (float)term;
        y[i] = (float)(term - (double)x[i]);
    }
    shuffle(n, x, NULL, &seed);
}
