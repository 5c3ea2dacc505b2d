/*
 * lanes_portable.c - the reductions for any CPU. A vector is four of GCC's or Clang's, of 16 bytes.
 *
 * Nearly every CPU has such vectors (SSE2, NEON, VSX); for others the compiler takes them apart. On
 * x86-64 this is the clone for SSE2.
 */
#include <string.h>

#include "host/float_mode.h"

#define CLONE portable
#define ISA   portable

typedef float quad __attribute__((vector_size(16)));
typedef unsigned int quad_bits __attribute__((vector_size(16)));
typedef struct vector {
    quad part[4];
} vector;

#if defined(__x86_64__)
#define REGISTER "+x"
#elif defined(__aarch64__)
#define REGISTER "+w"
#else
#define REGISTER "+m" /* or not */
#endif
#define KEEP(v)                                                                                    \
    __asm__ volatile(""                                                                            \
                     : REGISTER((v).part[0]), REGISTER((v).part[1]), REGISTER((v).part[2]),        \
                       REGISTER((v).part[3])                                                       \
                     :                                                                             \
                     : "memory")

static inline quad load_quad(const float *p)
{
    quad v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline quad load_some_of_quad(const float *p, int count)
{
    if (count >= 4) return load_quad(p);
    quad v = {0};
    if (count > 0) v[0] = p[0];
    if (count > 1) v[1] = p[1];
    if (count > 2) v[2] = p[2];
    return v;
}

static inline vector load(const float *p)
{
    return (vector){{load_quad(p), load_quad(p + 4), load_quad(p + 8), load_quad(p + 12)}};
}

static inline vector load_some(const float *p, int count)
{
    return (vector){{load_some_of_quad(p, count), load_some_of_quad(p + 4, count - 4),
                     load_some_of_quad(p + 8, count - 8), load_some_of_quad(p + 12, count - 12)}};
}

enum { WIDE = 2 };
typedef double wide __attribute__((vector_size(16)));
typedef struct wide_lanes {
    wide part[8];
} wide_lanes;

static inline wide widen(const float *p) { return (wide){(double)p[0], (double)p[1]}; }

static inline wide_lanes widen_all(vector v)
{
    wide_lanes w;
    for (int p = 0; p < 4; p++) {
        w.part[2 * p] = (wide){(double)v.part[p][0], (double)v.part[p][1]};
        w.part[2 * p + 1] = (wide){(double)v.part[p][2], (double)v.part[p][3]};
    }
    return w;
}

static inline vector absolute(vector v)
{
    for (int p = 0; p < 4; p++) v.part[p] = (quad)((quad_bits)v.part[p] & 0x7FFFFFFFu);
    return v;
}

static inline double add_lanes(wide_lanes v)
{
    for (int step = 4; step >= 1; step /= 2)
        for (int p = 0; p < step; p++) v.part[p] += v.part[p + step];
    return v.part[0][0] + v.part[0][1];
}

static inline vector add(vector a, vector b)
{
    for (int p = 0; p < 4; p++) a.part[p] += b.part[p];
    return a;
}
static inline vector multiply(vector a, vector b)
{
    for (int p = 0; p < 4; p++) a.part[p] *= b.part[p];
    return a;
}
static inline wide add_wide(wide a, wide b) { return a + b; }
static inline double add_doubles(double a, double b) { return a + b; }
static inline float to_float(double sum) { return (float)sum; }

#define mode_read      float_mode_read
#define mode_is_usable float_mode_fits
#define flags_restore  float_flags_restore

#include "cpu/lanes_body.h"
