/* bits_data.c - see bits_data.h */
#include "support/bits_data.h"

#include "support/data.h"

#include <math.h>
#include <string.h>

float bits_to_float(uint32_t bits)
{
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* The rate of special values changes along the pool, from 1/64 to 1/65536, so that short and long
 * vectors meet them. */
static bool now_and_then(test_rng *rng, int64_t i)
{
    return test_random(rng) % (UINT64_C(64) << 2 * (i / 4096 % 6)) == 0;
}

static float plain(test_rng *rng) { return (float)(test_random(rng) >> 40) * 0x1p-23f - 1.0f; }

static float draw_normal(test_rng *rng, int64_t i)
{
    (void)i;
    float x;
    test_fill(rng, DATA_NORMAL, &x, 1);
    return x;
}

static float draw_any_exponent(test_rng *rng, int64_t i)
{
    (void)i;
    return ldexpf(plain(rng), (int)test_between(rng, -120, 100));
}

static float draw_subnormal(test_rng *rng, int64_t i)
{
    (void)i;
    return bits_to_float((uint32_t)test_random(rng) & 0x807FFFFF);
}

/*
 * A few large elements and a few small ones. Some elements after a large one comes its negative, in
 * the same lane. A small one that is added in between is lost. Without such data the rounding at
 * the end hides the order of lanes, quarters and blocks. i ascends from 0.
 */
static float draw_cancelling(test_rng *rng, int64_t i)
{
    enum { LATEST = 8192, LANES = 16 };
    static float later[LATEST];
    if (i == 0) memset(later, 0, sizeof later);
    const float due = later[i % LATEST];
    later[i % LATEST] = 0.0f;
    if (due != 0.0f) return due;
    if (test_between(rng, 0, 127) == 0) return 1.0f;
    if (test_between(rng, 0, 8191) > 0) return 0.0f;
    const int64_t distance = LANES * test_between(rng, 1, LATEST / LANES - 1);
    later[(i + distance) % LATEST] = -0x1p100f;
    return 0x1p100f;
}

static float draw_one(test_rng *rng, int64_t i)
{
    (void)rng;
    (void)i;
    return 1.0f;
}

static float draw_overflowing(test_rng *rng, int64_t i)
{
    const float x = plain(rng);
    return now_and_then(rng, i) ? copysignf(3e38f, x) : x;
}

static float draw_infinities(test_rng *rng, int64_t i)
{
    const float x = plain(rng);
    return now_and_then(rng, i) ? copysignf(INFINITY, x) : x;
}

/* Any payload, quiet and signalling. */
static float draw_nans(test_rng *rng, int64_t i)
{
    const float x = plain(rng);
    return now_and_then(rng, i) ? bits_to_float((uint32_t)test_random(rng) | 0x7F800001) : x;
}

/* A third of all elements, and long runs of -0: the sum of whole blocks of -0 is +0. */
static float draw_negative_zeros(test_rng *rng, int64_t i)
{
    const float x = plain(rng);
    return (i >> 21 & 1) == 0 || test_random(rng) % 3 == 0 ? -0.0f : x;
}

static float draw_positive(test_rng *rng, int64_t i) { return fabsf(draw_normal(rng, i)); }

const bits_data bits_kinds[BITS_KINDS] = {
    {"normal", draw_normal, draw_normal},
    {"any exponent", draw_any_exponent, draw_any_exponent},
    {"subnormal", draw_subnormal, draw_normal},
    {"cancelling", draw_cancelling, draw_one},
    {"overflowing", draw_overflowing, draw_overflowing},
    {"Inf", draw_infinities, draw_infinities},
    {"NaN", draw_nans, draw_nans},
    {"-0", draw_negative_zeros, draw_positive},
};
