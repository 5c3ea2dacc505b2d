/*
 * data.h - random data, the same in every run with the same -seed; and the poison, a NaN: its bits
 * show that a float was not read and not written.
 */
#ifndef DUO_TESTS_DATA_H
#define DUO_TESTS_DATA_H

#include <stdbool.h>
#include <stdint.h>

typedef struct test_rng {
    uint64_t state;
} test_rng;

/* A generator for one test; it depends only on -seed and on the label. */
test_rng test_rng_for(const char *label);
uint64_t test_random(test_rng *rng);
int64_t test_between(test_rng *rng, int64_t low, int64_t high); /* both ends included */
double test_unit(test_rng *rng);                                /* [0, 1) */

/* A full mantissa at an exponent of -30 to 0: sums of them need more than 53 bits. */
float test_wide(test_rng *rng);

/* Inf, a zero, a NaN of any payload and sign, or a number near overflow or underflow. */
float test_hostile(test_rng *rng);

typedef enum test_data {
    DATA_SIGNED,  /* uniform in [-1, 1) */
    DATA_UNIT,    /* uniform in [0, 1) */
    DATA_NORMAL,  /* normal, variance 1 */
    DATA_INTEGER, /* integers -8 .. 8 */
    DATA_WIDE,    /* exponents -30 .. 30, random sign */
    DATA_NAN,     /* the poison */
    DATA_KINDS
} test_data;

void test_fill(test_rng *rng, test_data data, float *x, int64_t count);
const char *test_data_name(test_data data);

uint32_t test_bits(float x);
bool test_same(float x, float y);                     /* same bits */
bool test_close(double x, double y, double relative); /* false for a NaN */

float test_poison(void); /* the NaN that fills gaps and unread outputs */
bool test_is_poison(float x);
void test_fill_poison(float *x, int64_t count);
bool test_all_poison(const float *x, int64_t count);

#endif
