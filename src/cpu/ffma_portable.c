/*
 * ffma_portable.c - sgemm_cpu_ffma for any processor (ffma_body.h), in vectors of the compiler.
 * Where the processor has a fused multiply-add in hardware (all of ARM's 64-bit ones), it is fast.
 * Elsewhere fmaf is a function in software: right, and slow.
 */
#include <stdbool.h>
#include <stdint.h>
#if defined(__aarch64__)
#include <arm_neon.h>
#endif

#define CLONE          duo_ffma_portable
#define FULL           4
#define HALF           4
#define COLUMNS        6
#define TALL           0
#define FUSES_ELEMENTS 0

typedef float number;
enum {
    BLOCK_ROWS = 96,
    UNPACKED_ROWS = 64,
    UNPACKED_A = 256 * BLOCK_ROWS,
    UNPACKED_B = 64 << 10,
    PANEL_BYTES = 16 << 20
};

#define INLINE static inline __attribute__((always_inline))

typedef float vec4 __attribute__((vector_size(16)));
typedef int mask4;

INLINE mask4 some4(int64_t count) { return count > 4 ? 4 : (int)count; }
INLINE vec4 zero4(void) { return (vec4){0.0f}; }
INLINE vec4 splat4(float x) { return (vec4){x, x, x, x}; }
INLINE vec4 plus4(vec4 x, vec4 y) { return x + y; }
INLINE vec4 times4(vec4 x, vec4 y) { return x * y; }

INLINE vec4 load4(const float *p)
{
    vec4 v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}

INLINE void store4(float *p, vec4 v) { __builtin_memcpy(p, &v, sizeof v); }

INLINE vec4 load_some4(const float *p, mask4 m)
{
    vec4 v = {0.0f};
    if (m == 4) return load4(p);
    if (m > 0) v[0] = p[0];
    if (m > 1) v[1] = p[1];
    if (m > 2) v[2] = p[2];
    return v;
}

INLINE void store_some4(float *p, mask4 m, vec4 v)
{
    if (m == 4) {
        store4(p, v);
        return;
    }
    if (m > 0) p[0] = v[0];
    if (m > 1) p[1] = v[1];
    if (m > 2) p[2] = v[2];
}

#if defined(__aarch64__)
INLINE vec4 fused4(vec4 x, vec4 y, vec4 z) { return vfmaq_f32(z, x, y); }
#else
INLINE vec4 fused4(vec4 x, vec4 y, vec4 z)
{
    return (vec4){__builtin_fmaf(x[0], y[0], z[0]), __builtin_fmaf(x[1], y[1], z[1]),
                  __builtin_fmaf(x[2], y[2], z[2]), __builtin_fmaf(x[3], y[3], z[3])};
}
#endif

typedef int32_t seen4 __attribute__((vector_size(16)));

INLINE seen4 unseen4(void) { return (seen4){0}; }
INLINE seen4 look4(seen4 nans, vec4 x, vec4 y) { return nans | (x != x) | (y != y); }
INLINE bool has_nan4(seen4 nans) { return (nans[0] | nans[1] | nans[2] | nans[3]) != 0; }

#define load_number4  load4
#define store_number4 store4
#define blend4        fused4
INLINE float blend(float alpha, float sum, float c) { return __builtin_fmaf(alpha, sum, c); }

#include "cpu/ffma_eight.h"

INLINE void columns_4(vec4 x[4], const float *p, int64_t ld)
{
    for (int z = 0; z < 4; z++) x[z] = (vec4){p[z], p[z + ld], p[z + 2 * ld], p[z + 3 * ld]};
}

INLINE void columns_all(vec4 x[4], const float *p, int64_t ld) { columns_4(x, p, ld); }

INLINE void transpose_4(float *to, int64_t step, const float *p, int64_t ld)
{
    vec4 x[4];
    columns_4(x, p, ld);
    for (int z = 0; z < 4; z++) store4(to + z * step, x[z]);
}

#include "cpu/ffma_body.h"
