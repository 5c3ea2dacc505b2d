/* accuracy_data.c - see accuracy_data.h */
#include "bench/reference/accuracy_data.h"

#include <math.h>
#include <stddef.h>

#include "bench/reference/exact_sum.h"
#include "bench/reference/random.h"

static float uniform(uint64_t *random, bool half)
{
    (void)half;
    return (float)duo_random_unit(random);
}

static float normal(uint64_t *random, bool half)
{
    (void)half;
    const double radius = sqrt(-2.0 * log(duo_random_unit(random)));
    return (float)(radius * cos(6.283185307179586 * duo_random_unit(random)));
}

/* Terms from 2^-60 to 2^60, every exponent equally likely. */
static float huge_and_tiny(uint64_t *random, bool half)
{
    const int most = half ? 30 : 60;
    const int exponent = (int)(duo_random_bits(random) % (uint64_t)(2 * most + 1)) - most;
    const float sign = duo_random_bits(random) >> 63 != 0 ? -1.0f : 1.0f;
    return sign * ldexpf(1.0f + (float)duo_random_unit(random), exponent);
}

const duo_accuracy_data duo_accuracy_kinds[DUO_ACCURACY_KINDS] = {
    {"uniform", 0.0, uniform},
    {"normal", 0.0, normal},
    {"huge and tiny", 0.0, huge_and_tiny},
    {"condition 1e2", 1e2, NULL},
    {"condition 1e4", 1e4, NULL},
    {"condition 1e6", 1e6, NULL},
    {"condition 1e8", 1e8, NULL},
};

void duo_accuracy_fill(const duo_accuracy_data *data, duo_operation operation, int64_t n,
                       uint64_t seed, float *x, float *y)
{
    const bool dot = operation == DUO_SDOT;
    if (data->condition > 0.0 && dot) {
        duo_ill_conditioned_dot(n, data->condition, seed, x, y);
    } else if (data->condition > 0.0) {
        duo_ill_conditioned_sum(n, data->condition, seed, x);
    } else {
        for (int64_t i = 0; i < n; i++) x[i] = data->draw(&seed, dot);
        for (int64_t i = 0; i < n && dot; i++) y[i] = data->draw(&seed, dot);
    }
}

/* ---- Ill-conditioned sums ---- */

/*
 * After T. Ogita, S. M. Rump, S. Oishi, "Accurate sum and dot product", SIAM J. Sci. Comput. 26
 * (2005) 1955-1988, algorithm 6.1, for float32. The first half of the terms is random, with
 * exponents up to the condition's. Each other term brings the exact sum down to a random value; its
 * exponent falls from term to term. Only the last term differs from their algorithm: with it the
 * sum meets the condition at every n, not only its order of magnitude.
 */

static void swap(float *x, int64_t i, int64_t j)
{
    const float other = x[i];
    x[i] = x[j];
    x[j] = other;
}

/* Shuffles x, and y alike; y may be NULL. */
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

/* Uses the terms of an inner product of half the length. Each term is split exactly into the
 * nearest float and the rest, which is a float, too. So twice as many terms have the same sum. */
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
