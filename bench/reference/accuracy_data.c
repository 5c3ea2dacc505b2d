/* accuracy_data.c - see accuracy_data.h */
#include "bench/reference/accuracy_data.h"

#include <math.h>

#include "bench/reference/ill_conditioned.h"
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
