/*
 * data.c - random data, by splitmix64, and the poison; see data.h.
 */
#include "support/data.h"

#include "support/harness.h"

#include <math.h>
#include <string.h>

test_rng test_rng_for(const char *label)
{
    uint64_t hash = 14695981039346656037u;
    for (; *label != '\0'; label++) hash = (hash ^ (unsigned char)*label) * 1099511628211u;
    return (test_rng){hash ^ (test_seed() * 0x9e3779b97f4a7c15u)};
}

uint64_t test_random(test_rng *rng)
{
    uint64_t z = rng->state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

int64_t test_between(test_rng *rng, int64_t low, int64_t high)
{
    return low + (int64_t)(test_random(rng) % (uint64_t)(high - low + 1));
}

double test_unit(test_rng *rng) { return (double)(test_random(rng) >> 11) * 0x1p-53; }

float test_wide(test_rng *rng)
{
    return ldexpf((float)(2.0 * test_unit(rng) - 1.0), (int)test_between(rng, -30, 0));
}

float test_hostile(test_rng *rng)
{
    static const uint32_t bits[] = {0x7F800000, 0xFF800000, 0x7FC00001, 0xFFC12345,
                                    0x7F800001, 0xFFFFFFFF, 0x7F7FFFFF, 0xFF7FFFFF,
                                    0x00000000, 0x80000000, 0x00000001, 0x807FFFFF};
    float x;
    memcpy(&x, &bits[test_between(rng, 0, sizeof bits / sizeof bits[0] - 1)], sizeof x);
    return x;
}

/* 24 random bits, so that every value of the uniform kinds is exact. */
static float unit_float(test_rng *rng) { return (float)(test_random(rng) >> 40) * 0x1p-24f; }

static float random_float(test_rng *rng, test_data data)
{
    switch (data) {
    case DATA_SIGNED:
        return 2.0f * unit_float(rng) - 1.0f;
    case DATA_UNIT:
        return unit_float(rng);
    case DATA_NORMAL: {
        const double radius = sqrt(-2.0 * log(1.0 - test_unit(rng)));
        return (float)(radius * cos(6.283185307179586 * test_unit(rng)));
    }
    case DATA_INTEGER:
        return (float)test_between(rng, -8, 8);
    case DATA_WIDE: {
        const float sign = test_random(rng) % 2 != 0 ? -1.0f : 1.0f;
        return sign * ldexpf(1.0f + unit_float(rng), (int)test_between(rng, -30, 30));
    }
    default:
        return test_poison();
    }
}

void test_fill(test_rng *rng, test_data data, float *x, int64_t count)
{
    for (int64_t i = 0; i < count; i++) x[i] = random_float(rng, data);
}

const char *test_data_name(test_data data)
{
    static const char *const names[DATA_KINDS] = {"signed",  "unit", "normal",
                                                  "integer", "wide", "nan"};
    return names[data];
}

static const uint32_t poison_bits = 0x7fc5a5a5u;

uint32_t test_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

bool test_same(float x, float y) { return test_bits(x) == test_bits(y); }

bool test_close(double x, double y, double relative) { return fabs(x - y) <= relative * fabs(y); }

float test_poison(void)
{
    float x;
    memcpy(&x, &poison_bits, sizeof x);
    return x;
}

bool test_is_poison(float x) { return test_bits(x) == poison_bits; }

void test_fill_poison(float *x, int64_t count)
{
    for (int64_t i = 0; i < count; i++) memcpy(&x[i], &poison_bits, sizeof *x);
}

bool test_all_poison(const float *x, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (!test_is_poison(x[i])) return false;
    return true;
}
