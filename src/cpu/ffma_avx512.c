/* ffma_avx512.c - sgemm_cpu_ffma for AVX-512 (ffma_body.h). */
#include <stdint.h>

#include "cpu/ffma_x86.h"

#define CLONE          duo_ffma_avx512
#define FULL           16
#define HALF           8
#define COLUMNS        12
#define TALL           1
#define FUSES_ELEMENTS 1

typedef float number;
enum {
    BLOCK_ROWS = 192,
    UNPACKED_ROWS = 32,
    UNPACKED_A = 256 * BLOCK_ROWS,
    UNPACKED_B = 64 << 10,
    PANEL_BYTES = 16 << 20
};

typedef __m512 vec16;
typedef __mmask16 mask16;

INLINE mask16 some16(int64_t count) { return count >= 16 ? 0xFFFF : (mask16)((1u << count) - 1); }
INLINE vec16 zero16(void) { return _mm512_setzero_ps(); }
INLINE vec16 load16(const float *p) { return _mm512_loadu_ps(p); }
INLINE vec16 load_some16(const float *p, mask16 m) { return _mm512_maskz_loadu_ps(m, p); }
INLINE void store16(float *p, vec16 v) { _mm512_storeu_ps(p, v); }
INLINE void store_some16(float *p, mask16 m, vec16 v) { _mm512_mask_storeu_ps(p, m, v); }
INLINE vec16 splat16(float x) { return _mm512_set1_ps(x); }
INLINE vec16 fused16(vec16 x, vec16 y, vec16 z) { return _mm512_fmadd_ps(x, y, z); }
INLINE vec16 plus16(vec16 x, vec16 y) { return _mm512_add_ps(x, y); }
INLINE vec16 times16(vec16 x, vec16 y) { return _mm512_mul_ps(x, y); }

typedef __mmask16 seen16;

/* Lanes without a NaN so far. */
INLINE seen16 unseen16(void) { return 0xFFFF; }
INLINE seen16 look16(seen16 nans, vec16 x, vec16 y)
{
    return _mm512_mask_cmp_ps_mask(nans, x, y, _CMP_ORD_Q);
}
INLINE bool has_nan16(seen16 nans) { return nans != 0xFFFF; }

#define load_number16  load16
#define store_number16 store16
#define blend16        fused16

typedef __mmask8 mask8;

INLINE mask8 some8(int64_t count) { return count >= 8 ? 0xFF : (mask8)((1u << count) - 1); }
INLINE vec8 load_some8(const float *p, mask8 m) { return _mm256_maskz_loadu_ps(m, p); }
INLINE void store_some8(float *p, mask8 m, vec8 v) { _mm256_mask_storeu_ps(p, m, v); }
INLINE vec8 first8(const float *p, int64_t count) { return load_some8(p, some8(count)); }
INLINE vec8 filled8(const float *p, int64_t count)
{
    return _mm256_or_ps(first8(p, count), minus_zeros(count));
}

INLINE vec16 unpack_low(vec16 x, vec16 y)
{
    return (vec16)_mm512_unpacklo_pd((__m512d)x, (__m512d)y);
}
INLINE vec16 unpack_high(vec16 x, vec16 y)
{
    return (vec16)_mm512_unpackhi_pd((__m512d)x, (__m512d)y);
}

/* Transposes 4 x 4 in each 128 bits of four vectors. */
INLINE void transpose_quarters(vec16 x[4], const vec16 r[4])
{
    const vec16 a = _mm512_unpacklo_ps(r[0], r[1]), b = _mm512_unpackhi_ps(r[0], r[1]);
    const vec16 c = _mm512_unpacklo_ps(r[2], r[3]), d = _mm512_unpackhi_ps(r[2], r[3]);
    x[0] = unpack_low(a, c);
    x[1] = unpack_high(a, c);
    x[2] = unpack_low(b, d);
    x[3] = unpack_high(b, d);
}

INLINE void columns_4(vec16 x[4], const float *p, int64_t ld)
{
    vec16 r[4];
    for (int i = 0; i < 4; i++) { /* rows i, i + 4, i + 8, i + 12 */
        r[i] = _mm512_castps128_ps512(_mm_loadu_ps(p + i * ld));
        r[i] = _mm512_insertf32x4(r[i], _mm_loadu_ps(p + (i + 4) * ld), 1);
        r[i] = _mm512_insertf32x4(r[i], _mm_loadu_ps(p + (i + 8) * ld), 2);
        r[i] = _mm512_insertf32x4(r[i], _mm_loadu_ps(p + (i + 12) * ld), 3);
    }
    transpose_quarters(x, r);
}

INLINE void columns_all(vec16 x[16], const float *p, int64_t ld)
{
    vec16 r[16];
    for (int i = 0; i < 16; i++) r[i] = _mm512_loadu_ps(p + i * ld);
    for (int i = 0; i < 16; i += 4) { /* quarter q of r[i + z] gets column 4 q + z */
        vec16 t[4];
        transpose_quarters(t, r + i);
        for (int z = 0; z < 4; z++) r[i + z] = t[z];
    }
    for (int z = 0; z < 4; z++) {
        const vec16 a = _mm512_shuffle_f32x4(r[z], r[z + 4], 0x44);
        const vec16 b = _mm512_shuffle_f32x4(r[z], r[z + 4], 0xEE);
        const vec16 c = _mm512_shuffle_f32x4(r[z + 8], r[z + 12], 0x44);
        const vec16 d = _mm512_shuffle_f32x4(r[z + 8], r[z + 12], 0xEE);
        x[z] = _mm512_shuffle_f32x4(a, c, 0x88);
        x[z + 4] = _mm512_shuffle_f32x4(a, c, 0xDD);
        x[z + 8] = _mm512_shuffle_f32x4(b, d, 0x88);
        x[z + 12] = _mm512_shuffle_f32x4(b, d, 0xDD);
    }
}

#include "cpu/ffma_body.h"
