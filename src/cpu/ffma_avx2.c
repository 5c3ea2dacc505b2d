/* ffma_avx2.c - sgemm_cpu_ffma for AVX2 with FMA (ffma_body.h). */
#include <stdint.h>

#include "cpu/avx2_store.h"
#include "cpu/ffma_x86.h"

#define CLONE          duo_ffma_avx2
#define FULL           8
#define HALF           4
#define COLUMNS        6
#define TALL           0
#define FUSES_ELEMENTS 0

typedef float number;
enum {
    BLOCK_ROWS = 96,
    UNPACKED_ROWS = 192,
    UNPACKED_A = 256 * BLOCK_ROWS,
    UNPACKED_B = 64 << 10,
    PANEL_BYTES = 16 << 20
};

static const int32_t first_lanes[16] = {-1, -1, -1, -1, -1, -1, -1, -1};

typedef __m256i mask8;

INLINE mask8 some8(int64_t count)
{
    return _mm256_loadu_si256((const __m256i *)(first_lanes + 8 - (count > 8 ? 8 : count)));
}
INLINE vec8 load_some8(const float *p, mask8 m) { return _mm256_maskload_ps(p, m); }
INLINE vec8 first8(const float *p, int64_t count) { return load_some8(p, some8(count)); }
INLINE vec8 filled8(const float *p, int64_t count)
{
    return _mm256_or_ps(first8(p, count), minus_zeros(count));
}

typedef __m128 vec4;
typedef __m128i mask4;

INLINE mask4 some4(int64_t count)
{
    return _mm_loadu_si128((const __m128i *)(first_lanes + 8 - (count > 4 ? 4 : count)));
}
INLINE vec4 zero4(void) { return _mm_setzero_ps(); }
INLINE vec4 load4(const float *p) { return _mm_loadu_ps(p); }
INLINE vec4 load_some4(const float *p, mask4 m) { return _mm_maskload_ps(p, m); }
INLINE void store4(float *p, vec4 v) { _mm_storeu_ps(p, v); }
INLINE vec4 splat4(float x) { return _mm_set1_ps(x); }
INLINE vec4 fused4(vec4 x, vec4 y, vec4 z) { return _mm_fmadd_ps(x, y, z); }
INLINE vec4 plus4(vec4 x, vec4 y) { return _mm_add_ps(x, y); }
INLINE vec4 times4(vec4 x, vec4 y) { return _mm_mul_ps(x, y); }

typedef __m128 seen4;

INLINE seen4 unseen4(void) { return zero4(); }
INLINE seen4 look4(seen4 nans, vec4 x, vec4 y)
{
    return _mm_or_ps(nans, _mm_cmp_ps(x, y, _CMP_UNORD_Q));
}
INLINE bool has_nan4(seen4 nans) { return _mm_movemask_ps(nans) != 0; }

#define load_number4  load4
#define store_number4 store4
#define blend4        fused4

INLINE void store_some4(float *p, mask4 m, vec4 v) { store_lanes(p, _mm_movemask_ps((vec4)m), v); }
INLINE void store_some8(float *p, mask8 m, vec8 v)
{
    const int lanes = _mm256_movemask_ps((vec8)m);
    if (lanes == 255) {
        store8(p, v);
        return;
    }
    store_lanes(p, lanes & 15, _mm256_castps256_ps128(v));
    store_lanes(p + 4, lanes >> 4, _mm256_extractf128_ps(v, 1));
}

INLINE vec8 unpack_low(vec8 x, vec8 y) { return (vec8)_mm256_unpacklo_pd((__m256d)x, (__m256d)y); }
INLINE vec8 unpack_high(vec8 x, vec8 y) { return (vec8)_mm256_unpackhi_pd((__m256d)x, (__m256d)y); }

/* Transposes 4 x 4 in each half of four vectors. */
INLINE void transpose_halves(vec8 x[4], const vec8 r[4])
{
    const vec8 a = _mm256_unpacklo_ps(r[0], r[1]), b = _mm256_unpackhi_ps(r[0], r[1]);
    const vec8 c = _mm256_unpacklo_ps(r[2], r[3]), d = _mm256_unpackhi_ps(r[2], r[3]);
    x[0] = unpack_low(a, c);
    x[1] = unpack_high(a, c);
    x[2] = unpack_low(b, d);
    x[3] = unpack_high(b, d);
}

INLINE void columns_4(vec8 x[4], const float *p, int64_t ld)
{
    vec8 r[4];
    for (int i = 0; i < 4; i++)
        r[i] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(p + i * ld)),
                                    _mm_loadu_ps(p + (i + 4) * ld), 1);
    transpose_halves(x, r);
}

INLINE void columns_all(vec8 x[8], const float *p, int64_t ld)
{
    vec8 r[8], low[4], high[4];
    for (int i = 0; i < 8; i++) r[i] = _mm256_loadu_ps(p + i * ld);
    transpose_halves(low, r);
    transpose_halves(high, r + 4);
    for (int z = 0; z < 4; z++) {
        x[z] = _mm256_permute2f128_ps(low[z], high[z], 0x20);
        x[z + 4] = _mm256_permute2f128_ps(low[z], high[z], 0x31);
    }
}

#include "cpu/ffma_body.h"
