/*
 * lanes_portable.c - the reductions for any CPU, in GCC's and Clang's vectors of 16 bytes.
 *
 * Nearly every CPU has such vectors (SSE2, NEON, VSX); for others the compiler takes them apart. On
 * x86-64 this is the clone for SSE2.
 */
#include <string.h>

#include "host/float_mode.h"

#define CLONE portable
#define ISA   portable
enum { WIDTH = 4, PARTS = 4 };

typedef float vector __attribute__((vector_size(16)));
typedef unsigned int vector_bits __attribute__((vector_size(16)));

#if defined(__x86_64__)
#define VECTOR_REGISTER "x"
#elif defined(__aarch64__)
#define VECTOR_REGISTER "w"
#else
#define VECTOR_REGISTER "m" /* a register or not */
#endif

static inline vector load(const float *p)
{
    vector v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline vector load_some(const float *p, int count)
{
    if (count >= WIDTH) return load(p);
    vector v = {p[0]};
    if (count > 1) v[1] = p[1];
    if (count > 2) v[2] = p[2];
    return v;
}

typedef double wide __attribute__((vector_size(16)));

static inline wide widen(const float *p) { return (wide){(double)p[0], (double)p[1]}; }

static inline vector absolute(vector v) { return (vector)((vector_bits)v & 0x7FFFFFFFu); }

typedef struct wide_lanes {
    wide part[2 * PARTS];
} wide_lanes;

static inline wide widen_low(vector v) { return (wide){(double)v[0], (double)v[1]}; }
static inline wide widen_high(vector v) { return (wide){(double)v[2], (double)v[3]}; }

static inline double add_lanes(wide_lanes v)
{
    for (int step = PARTS; step >= 1; step /= 2)
        for (int p = 0; p < step; p++) v.part[p] += v.part[p + step];
    return v.part[0][0] + v.part[0][1];
}

static inline vector add(vector a, vector b) { return a + b; }
static inline vector multiply(vector a, vector b) { return a * b; }
static inline wide add_wide(wide a, wide b) { return a + b; }
static inline double add_doubles(double a, double b) { return a + b; }
static inline float to_float(double sum) { return (float)sum; }

#define mode_read      float_mode_read
#define mode_is_usable float_mode_fits
#define flags_restore  float_flags_restore

#include "cpu/lanes_body.h"
