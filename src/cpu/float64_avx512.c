/* float64_avx512.c - sgemm_cpu_float64 for AVX-512 (ffma_body.h). */
#include <stdint.h>

#include "cpu/float64_x86.h"

#define CLONE          duo_float64_avx512
#define FULL           8
#define HALF           4
#define COLUMNS        12
#define TALL           1
#define FUSES_ELEMENTS 0

typedef double number;
enum {
    BLOCK_ROWS = 192,
    UNPACKED_ROWS = 0,
    UNPACKED_A = 1 << 10,
    UNPACKED_B = 0,
    PANEL_BYTES = 4 << 20
};

typedef __m512d vec8;
typedef __mmask8 mask8;

INLINE mask8 some8(int64_t count) { return count >= 8 ? 0xFF : (mask8)((1u << count) - 1); }
INLINE vec8 zero8(void) { return _mm512_setzero_pd(); }
INLINE vec8 load8(const float *p) { return _mm512_cvtps_pd(_mm256_loadu_ps(p)); }
INLINE vec8 load_some8(const float *p, mask8 m)
{
    return _mm512_cvtps_pd(_mm256_maskz_loadu_ps(m, p));
}
INLINE vec8 first8(const float *p, int64_t count) { return load_some8(p, some8(count)); }
#define filled8 first8
INLINE void store8(float *p, vec8 v) { _mm256_storeu_ps(p, _mm512_cvtpd_ps(v)); }
INLINE void store_some8(float *p, mask8 m, vec8 v)
{
    _mm256_mask_storeu_ps(p, m, _mm512_cvtpd_ps(v));
}
INLINE vec8 load_number8(const double *p) { return _mm512_loadu_pd(p); }
INLINE void store_number8(double *p, vec8 v) { _mm512_storeu_pd(p, v); }
INLINE vec8 splat8(double x) { return _mm512_set1_pd(x); }
INLINE vec8 fused8(vec8 x, vec8 y, vec8 z) { return _mm512_fmadd_pd(x, y, z); }
INLINE vec8 plus8(vec8 x, vec8 y) { return _mm512_add_pd(x, y); }
INLINE vec8 times8(vec8 x, vec8 y) { return _mm512_mul_pd(x, y); }
INLINE vec8 blend8(vec8 alpha, vec8 sum, vec8 c) { return plus8(times8(alpha, sum), c); }

typedef __mmask8 seen8;

/* Lanes without a NaN so far. */
INLINE seen8 unseen8(void) { return 0xFF; }
INLINE seen8 look8(seen8 nans, vec8 x, vec8 y)
{
    return _mm512_mask_cmp_pd_mask(nans, x, y, _CMP_ORD_Q);
}
INLINE bool has_nan8(seen8 nans) { return nans != 0xFF; }

typedef __mmask8 mask4;

INLINE mask4 some4(int64_t count) { return count >= 4 ? 0xF : (mask4)((1u << count) - 1); }
INLINE vec4 load_some4(const float *p, mask4 m)
{
    return _mm256_cvtps_pd(_mm_maskz_loadu_ps(m, p));
}
INLINE void store_some4(float *p, mask4 m, vec4 v) { _mm_mask_storeu_ps(p, m, _mm256_cvtpd_ps(v)); }

INLINE void columns_4(vec8 x[4], const float *p, int64_t ld)
{
    __m128 low[4], high[4];
    columns_of_floats(low, p, ld);
    columns_of_floats(high, p + 4 * ld, ld);
    for (int z = 0; z < 4; z++) x[z] = _mm512_cvtps_pd(_mm256_set_m128(high[z], low[z]));
}

INLINE void columns_all(vec8 x[8], const float *p, int64_t ld)
{
    columns_4(x, p, ld);
    columns_4(x + 4, p + 4, ld);
}

#include "cpu/ffma_body.h"
