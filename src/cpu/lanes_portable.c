#include <string.h>

#define ISA portable
enum { WIDTH = 4, PARTS = 4 };

typedef float vector __attribute__((vector_size(16)));
typedef int vector_bits __attribute__((vector_size(16)));

static inline vector load(const float *p)
{
    vector v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline vector load_some(const float *p, int count)
{
    if (count >= WIDTH) return load(p);
    vector v = {0};
    for (int l = 0; l < count; l++) v[l] = p[l];
    return v;
}

static inline vector absolute(vector v) { return (vector)((vector_bits)v & 0x7FFFFFFF); }

static inline double add_lanes_mem(const float *p)
{
    double d[16];
    for (int l = 0; l < 16; l++) d[l] = (double)p[l];
    for (int step = 8; step >= 1; step /= 2)
        for (int l = 0; l < step; l++) d[l] += d[l + step];
    return d[0];
}
static inline double add_lanes(const vector v[PARTS])
{
    float lane[16];
    memcpy(lane, v, sizeof lane);
    return add_lanes_mem(lane);
}

#include "lanes_body.h"
