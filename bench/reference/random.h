/*
 * random.h - random numbers for measuring errors. Floats have all their 24 bits, since sums on a
 * coarser grid would be exact.
 */
#ifndef DUO_RANDOM_H
#define DUO_RANDOM_H

#include <stdint.h>

/* splitmix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014 */
static inline uint64_t duo_random_bits(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Uniform in (0, 1), never 0. */
static inline double duo_random_unit(uint64_t *state)
{
    return ((double)(duo_random_bits(state) >> 12) + 0.5) * 0x1p-52;
}

/* Uniform in [-1, 1], never 0. */
static inline float duo_random_signed(uint64_t *state)
{
    return (float)(2.0 * duo_random_unit(state) - 1.0);
}

#endif
