/*
 * float64_portable.c - sgemm_cpu_float64 for any processor (ffma_body.h), in vectors of the
 * compiler. A product of two floats is exact in float64, so a processor without a fused
 * multiply-add rounds as one with it does.
 */
#include <stdbool.h>
#include <stdint.h>
#if defined(__aarch64__)
#include <arm_neon.h>
#endif

#define CLONE          duo_float64_portable
#define FULL           2
#define HALF           2
#define COLUMNS        6
#define TALL           0
#define FUSES_ELEMENTS 0

typedef double number;
enum {
    BLOCK_ROWS = 96,
    UNPACKED_ROWS = 0,
    UNPACKED_A = 1 << 10,
    UNPACKED_B = 0,
    PANEL_BYTES = 4 << 20
};

#define INLINE static inline __attribute__((always_inline))

typedef double vec2 __attribute__((vector_size(16)));
typedef int mask2;

INLINE mask2 some2(int64_t count) { return count > 2 ? 2 : (int)count; }
INLINE vec2 zero2(void) { return (vec2){0.0}; }
INLINE vec2 splat2(double x) { return (vec2){x, x}; }
INLINE vec2 plus2(vec2 x, vec2 y) { return x + y; }
INLINE vec2 times2(vec2 x, vec2 y) { return x * y; }
INLINE vec2 blend2(vec2 alpha, vec2 sum, vec2 c) { return alpha * sum + c; }

typedef int seen2;

INLINE seen2 unseen2(void) { return 0; }
INLINE seen2 look2(seen2 nans, vec2 x, vec2 y)
{
    return nans | (x[0] != x[0]) | (x[1] != x[1]) | (y[0] != y[0]) | (y[1] != y[1]);
}
INLINE bool has_nan2(seen2 nans) { return nans != 0; }

INLINE double blend(double alpha, double sum, double c) { return alpha * sum + c; }

#if defined(__aarch64__)
INLINE vec2 fused2(vec2 x, vec2 y, vec2 z) { return vfmaq_f64(z, x, y); }
#else
INLINE vec2 fused2(vec2 x, vec2 y, vec2 z) { return x * y + z; }
#endif

INLINE vec2 load2(const float *p) { return (vec2){p[0], p[1]}; }
INLINE vec2 load_some2(const float *p, mask2 m)
{
    return m == 2 ? load2(p) : (vec2){m > 0 ? p[0] : 0.0f};
}

INLINE void store2(float *p, vec2 v)
{
    p[0] = (float)v[0];
    p[1] = (float)v[1];
}

INLINE void store_some2(float *p, mask2 m, vec2 v)
{
    for (int i = 0; i < m; i++) p[i] = (float)v[i];
}

INLINE vec2 load_number2(const double *p)
{
    vec2 v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}

INLINE void store_number2(double *p, vec2 v) { __builtin_memcpy(p, &v, sizeof v); }

typedef struct vec8 {
    vec2 part[4];
} vec8;

INLINE vec8 zero8(void) { return (vec8){{zero2(), zero2(), zero2(), zero2()}}; }
INLINE vec8 load8(const float *p)
{
    return (vec8){{load2(p), load2(p + 2), load2(p + 4), load2(p + 6)}};
}

INLINE vec8 first8(const float *p, int64_t count)
{
    vec8 v = zero8();
    for (int i = 0; i < 4 && 2 * i < count; i++)
        v.part[i] = load_some2(p + 2 * i, some2(count - 2 * i));
    return v;
}
#define filled8 first8

INLINE vec8 load_number8(const double *p)
{
    return (vec8){{load_number2(p), load_number2(p + 2), load_number2(p + 4), load_number2(p + 6)}};
}

INLINE void store_number8(double *p, vec8 v)
{
    for (int i = 0; i < 4; i++) store_number2(p + 2 * i, v.part[i]);
}

INLINE vec8 fused8(vec8 x, vec8 y, vec8 z)
{
    return (vec8){{fused2(x.part[0], y.part[0], z.part[0]), fused2(x.part[1], y.part[1], z.part[1]),
                   fused2(x.part[2], y.part[2], z.part[2]),
                   fused2(x.part[3], y.part[3], z.part[3])}};
}

INLINE void columns_4(vec2 x[4], const float *p, int64_t ld)
{
    for (int z = 0; z < 4; z++) x[z] = (vec2){p[z], p[z + ld]};
}

INLINE void columns_all(vec2 x[2], const float *p, int64_t ld)
{
    for (int z = 0; z < 2; z++) x[z] = (vec2){p[z], p[z + ld]};
}

INLINE void transpose_4(double *to, int64_t step, const float *p, int64_t ld)
{
    for (int z = 0; z < 4; z++)
        for (int i = 0; i < 4; i++) to[z * step + i] = p[z + i * ld];
}

#include "cpu/ffma_body.h"
