/* float64_avx2.c - sgemm_cpu_float64 for AVX2 with FMA (ffma_body.h). */
#include <stdint.h>

#include "cpu/avx2_store.h"
#include "cpu/float64_x86.h"

#define CLONE          duo_float64_avx2
#define FULL           4
#define HALF           2
#define COLUMNS        6
#define TALL           0
#define FUSES_ELEMENTS 0

typedef double number;
enum {
    BLOCK_ROWS = 128,
    UNPACKED_ROWS = 0,
    UNPACKED_A = 1 << 10,
    UNPACKED_B = 0,
    PANEL_BYTES = 4 << 20
};

static const int32_t first_lanes[8] = {-1, -1, -1, -1};

typedef __m128i mask4;

INLINE mask4 some4(int64_t count)
{
    return _mm_loadu_si128((const __m128i *)(first_lanes + 4 - (count > 4 ? 4 : count)));
}
INLINE vec4 load_some4(const float *p, mask4 m) { return _mm256_cvtps_pd(_mm_maskload_ps(p, m)); }
INLINE void store_some4(float *p, mask4 m, vec4 v)
{
    store_lanes(p, _mm_movemask_ps((__m128)m), _mm256_cvtpd_ps(v));
}

typedef __m128d vec2;
typedef __m128i mask2;

INLINE mask2 some2(int64_t count) { return some4(count > 2 ? 2 : count); }
INLINE vec2 zero2(void) { return _mm_setzero_pd(); }
INLINE vec2 load2(const float *p)
{
    return _mm_cvtps_pd((__m128)_mm_loadl_epi64((const __m128i *)p));
}
INLINE vec2 load_some2(const float *p, mask2 m) { return _mm_cvtps_pd(_mm_maskload_ps(p, m)); }
INLINE void store2(float *p, vec2 v) { _mm_storel_epi64((__m128i *)p, (__m128i)_mm_cvtpd_ps(v)); }
INLINE void store_some2(float *p, mask2 m, vec2 v)
{
    store_lanes(p, _mm_movemask_ps((__m128)m), _mm_cvtpd_ps(v));
}
INLINE vec2 load_number2(const double *p) { return _mm_loadu_pd(p); }
INLINE void store_number2(double *p, vec2 v) { _mm_storeu_pd(p, v); }
INLINE vec2 splat2(double x) { return _mm_set1_pd(x); }
INLINE vec2 fused2(vec2 x, vec2 y, vec2 z) { return _mm_fmadd_pd(x, y, z); }
INLINE vec2 plus2(vec2 x, vec2 y) { return _mm_add_pd(x, y); }
INLINE vec2 times2(vec2 x, vec2 y) { return _mm_mul_pd(x, y); }
INLINE vec2 blend2(vec2 alpha, vec2 sum, vec2 c) { return plus2(times2(alpha, sum), c); }

typedef __m128d seen2;

INLINE seen2 unseen2(void) { return zero2(); }
INLINE seen2 look2(seen2 nans, vec2 x, vec2 y)
{
    return _mm_or_pd(nans, _mm_cmp_pd(x, y, _CMP_UNORD_Q));
}
INLINE bool has_nan2(seen2 nans) { return _mm_movemask_pd(nans) != 0; }

#include "cpu/ffma_eight.h"

INLINE void columns_4(vec4 x[4], const float *p, int64_t ld)
{
    __m128 column[4];
    columns_of_floats(column, p, ld);
    for (int z = 0; z < 4; z++) x[z] = _mm256_cvtps_pd(column[z]);
}

INLINE void columns_all(vec4 x[4], const float *p, int64_t ld) { columns_4(x, p, ld); }

#include "cpu/ffma_body.h"
