#include <immintrin.h>
#include <stdbool.h>

#ifndef ISA
#define ISA avx512
#endif
enum { WIDTH = 16, PARTS = 1 };

typedef float vector __attribute__((vector_size(64)));

#define NEAREST (_MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)

static inline __attribute__((always_inline)) vector load(const float *p)
{
    return (vector)_mm512_loadu_ps(p);
}

/* A count above 16 loads all lanes. */
static inline __attribute__((always_inline)) vector load_some(const float *p, int count)
{
    return (vector)_mm512_maskz_loadu_ps((__mmask16)_bzhi_u32(0xFFFF, (unsigned)count), p);
}

static inline __attribute__((always_inline)) vector absolute(vector v)
{
    return (vector)_mm512_abs_ps((__m512)v);
}
#ifndef PLAIN
static inline __attribute__((always_inline)) vector add(vector a, vector b)
{
    return (vector)_mm512_add_round_ps((__m512)a, (__m512)b, NEAREST);
}
#ifdef NOFMA
#define add_m add
#else
static inline __attribute__((always_inline)) vector add_m(vector a, vector b)
{
    return (vector)_mm512_fmadd_round_ps((__m512)b, _mm512_set1_ps(1.0f), (__m512)a, NEAREST);
}
#endif
static inline __attribute__((always_inline)) vector multiply(vector a, vector b)
{
    return (vector)_mm512_mul_round_ps((__m512)a, (__m512)b, NEAREST);
}
#else
static inline __attribute__((always_inline)) vector add(vector a, vector b) { return a + b; }
static inline __attribute__((always_inline)) vector add_m(vector a, vector b)
{
    return (vector)_mm512_fmadd_ps((__m512)b, _mm512_set1_ps(1.0f), (__m512)a);
}
static inline __attribute__((always_inline)) vector multiply(vector a, vector b) { return a * b; }
#endif
static inline __attribute__((always_inline)) double add_double(double a, double b)
{
    return _mm_cvtsd_f64(_mm_add_round_sd(_mm_set_sd(a), _mm_set_sd(b), NEAREST));
}
static inline __attribute__((always_inline)) float round_double(double a)
{
    return _mm_cvtss_f32(_mm_cvt_roundsd_ss(_mm_setzero_ps(), _mm_set_sd(a), NEAREST));
}

#ifdef STM
#define mode_is_fit float_mode_is_default
#else
static inline __attribute__((always_inline)) bool mode_is_fit(void)
{
    const __m128 t = _mm_castsi128_ps(_mm_cvtsi32_si128(1));
    return _mm_cvtsi128_si32(_mm_castps_si128(_mm_add_round_ss(t, t, NEAREST))) != 0
#ifdef RND
    && _mm512_cmpneq_epi32_mask(_mm512_castps_si512(_mm512_roundscale_round_ps(_mm512_castsi512_ps(_mm512_set1_epi64(0x3e8000003f400000)),4,_MM_FROUND_NO_EXC)),_mm512_set1_epi64(0x3f800000))==0
#endif
;
}
#endif

#ifdef ER
#define ADDPD(a, b) _mm512_add_round_pd(a, b, NEAREST)
#else
#define ADDPD(a, b) _mm512_add_pd(a, b)
#endif
static inline __attribute__((always_inline)) double halve8(__m512d d)
{
#ifdef H1
    const __m256d d4 = _mm512_castpd512_pd256(d) + _mm512_extractf64x4_pd(d, 1);
    const __m128d d2 = _mm256_castpd256_pd128(d4) + _mm256_extractf128_pd(d4, 1);
    return _mm_cvtsd_f64(_mm_add_sd(d2, _mm_unpackhi_pd(d2, d2)));
#else
    d = ADDPD(d, _mm512_shuffle_f64x2(d, d, 0x4E));
    d = ADDPD(d, _mm512_shuffle_f64x2(d, d, 0xB1));
    d = ADDPD(d, _mm512_permute_pd(d, 0x55));
    return _mm512_cvtsd_f64(d);
#endif
}
#define HAVE8
static inline __attribute__((always_inline)) double tree8(__m512d s)
{
    s = ADDPD(s, _mm512_shuffle_f64x2(s, s, 0xB1));
    s = ADDPD(s, _mm512_shuffle_f64x2(s, s, 0x4E));
    s = ADDPD(s, _mm512_permute_pd(s, 0x55));
    return _mm512_cvtsd_f64(s);
}
static inline __attribute__((always_inline)) double add_lanes8(const float *lanes)
{
    __m512d w[8];
    for (int b = 0; b < 8; b++)
        w[b] = ADDPD(_mm512_cvtps_pd(_mm256_load_ps(lanes + 16 * b)),
                     _mm512_cvtps_pd(_mm256_load_ps(lanes + 16 * b + 8)));
    __m512d u[4];
    for (int b = 0; b < 4; b++)
        u[b] = ADDPD(_mm512_shuffle_f64x2(w[2 * b], w[2 * b + 1], 0x44),
                     _mm512_shuffle_f64x2(w[2 * b], w[2 * b + 1], 0xEE));
    __m512d t[2];
    for (int b = 0; b < 2; b++)
        t[b] = ADDPD(_mm512_shuffle_f64x2(u[2 * b], u[2 * b + 1], 0x88),
                     _mm512_shuffle_f64x2(u[2 * b], u[2 * b + 1], 0xDD));
    return tree8(ADDPD(_mm512_unpacklo_pd(t[0], t[1]), _mm512_unpackhi_pd(t[0], t[1])));
}
#ifdef NOHORIZ
static inline __attribute__((always_inline)) double add_lanes(const vector v[PARTS])
{
    return v[0][0];
}
#else
static inline __attribute__((always_inline)) double add_lanes(const vector v[PARTS])
{
    const __m512d low = _mm512_cvtps_pd(_mm512_castps512_ps256((__m512)v[0]));
    const __m512d high = _mm512_cvtps_pd(_mm512_extractf32x8_ps((__m512)v[0], 1));
    return halve8(_mm512_add_round_pd(low, high, NEAREST));
}

#endif
#include "lanes_body.h"
