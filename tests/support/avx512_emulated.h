/*
 * avx512_emulated.h - the operations of AVX-512 that the clones of sgemm_cpu_ffma and
 * sgemm_cpu_float64 use, in plain C: so their code is tested on processors without AVX-512.
 * Included before all else in src/cpu/ffma_avx512.c and src/cpu/float64_avx512.c.
 */
#include <immintrin.h>
#include <string.h>

#define EMULATED static inline __attribute__((always_inline, unused))

EMULATED __m512 emulated_setzero_ps(void)
{
    __m512 r;
    memset(&r, 0, 64);
    return r;
}
EMULATED __m512d emulated_setzero_pd(void)
{
    __m512d r;
    memset(&r, 0, 64);
    return r;
}
EMULATED __m512 emulated_loadu_ps(const void *p)
{
    __m512 r;
    memcpy(&r, p, 64);
    return r;
}
EMULATED __m512d emulated_loadu_pd(const void *p)
{
    __m512d r;
    memcpy(&r, p, 64);
    return r;
}
EMULATED void emulated_storeu_ps(void *p, __m512 v) { memcpy(p, &v, 64); }
EMULATED void emulated_storeu_pd(void *p, __m512d v) { memcpy(p, &v, 64); }
EMULATED __m512 emulated_set1_ps(float x)
{
    __m512 r;
    for (int i = 0; i < 16; i++) r[i] = x;
    return r;
}
EMULATED __m512d emulated_set1_pd(double x)
{
    __m512d r;
    for (int i = 0; i < 8; i++) r[i] = x;
    return r;
}
EMULATED __m512 emulated_add_ps(__m512 a, __m512 b)
{
    for (int i = 0; i < 16; i++) a[i] += b[i];
    return a;
}
EMULATED __m512d emulated_add_pd(__m512d a, __m512d b)
{
    for (int i = 0; i < 8; i++) a[i] += b[i];
    return a;
}
EMULATED __m512 emulated_mul_ps(__m512 a, __m512 b)
{
    for (int i = 0; i < 16; i++) a[i] *= b[i];
    return a;
}
EMULATED __m512d emulated_mul_pd(__m512d a, __m512d b)
{
    for (int i = 0; i < 8; i++) a[i] *= b[i];
    return a;
}
EMULATED __m512 emulated_fmadd_ps(__m512 a, __m512 b, __m512 c)
{
    for (int i = 0; i < 16; i++) a[i] = __builtin_fmaf(a[i], b[i], c[i]);
    return a;
}
EMULATED __m512d emulated_fmadd_pd(__m512d a, __m512d b, __m512d c)
{
    for (int i = 0; i < 8; i++) a[i] = __builtin_fma(a[i], b[i], c[i]);
    return a;
}
EMULATED __mmask16 emulated_ordered_ps(unsigned m, __m512 a, __m512 b)
{
    for (int i = 0; i < 16; i++) m &= ~((unsigned)(a[i] != a[i] || b[i] != b[i]) << i);
    return (__mmask16)m;
}
EMULATED __mmask8 emulated_ordered_pd(unsigned m, __m512d a, __m512d b)
{
    for (int i = 0; i < 8; i++) m &= ~((unsigned)(a[i] != a[i] || b[i] != b[i]) << i);
    return (__mmask8)m;
}
/* They load or store the floats that the mask names. */
#define EMULATED_MASKED(load, store, vector, count)                                                \
    EMULATED vector load(unsigned m, const float *p)                                               \
    {                                                                                              \
        vector r;                                                                                  \
        for (int i = 0; i < count; i++) r[i] = m >> i & 1 ? p[i] : 0.0f;                           \
        return r;                                                                                  \
    }                                                                                              \
    EMULATED void store(float *p, unsigned m, vector v)                                            \
    {                                                                                              \
        for (int i = 0; i < count; i++)                                                            \
            if (m >> i & 1) p[i] = v[i];                                                           \
    }
EMULATED_MASKED(emulated_maskz_loadu_ps, emulated_mask_storeu_ps, __m512, 16)
EMULATED_MASKED(emulated_256_maskz_loadu_ps, emulated_256_mask_storeu_ps, __m256, 8)
EMULATED_MASKED(emulated_128_maskz_loadu_ps, emulated_128_mask_storeu_ps, __m128, 4)

EMULATED __m512d emulated_cvtps_pd(__m256 v)
{
    __m512d r;
    for (int i = 0; i < 8; i++) r[i] = v[i];
    return r;
}
EMULATED __m256 emulated_cvtpd_ps(__m512d v)
{
    __m256 r;
    for (int i = 0; i < 8; i++) r[i] = (float)v[i];
    return r;
}
EMULATED __m512 emulated_castps128_ps512(__m128 v)
{
    __m512 r;
    memset(&r, 0, 64);
    memcpy(&r, &v, 16);
    return r;
}
EMULATED __m512 emulated_insertf32x4(__m512 a, __m128 b, int q)
{
    memcpy((char *)&a + 16 * q, &b, 16);
    return a;
}
/* In each 128 bits the lower or the higher elements of both by turns. */
EMULATED __m512 emulated_unpack_ps(__m512 a, __m512 b, int high)
{
    __m512 r;
    for (int i = 0; i < 16; i++) r[i] = (i % 2 == 0 ? a : b)[i / 4 * 4 + 2 * high + i % 4 / 2];
    return r;
}
EMULATED __m512d emulated_unpack_pd(__m512d a, __m512d b, int high)
{
    __m512d r;
    for (int i = 0; i < 8; i++) r[i] = (i % 2 == 0 ? a : b)[i / 2 * 2 + high];
    return r;
}
EMULATED __m512 emulated_shuffle_f32x4(__m512 a, __m512 b, int c)
{
    __m512 r;
    for (int i = 0; i < 4; i++) {
        memcpy((char *)&r + 16 * i, (char *)(i < 2 ? &a : &b) + 16 * (c >> 2 * i & 3), 16);
    }
    return r;
}

#define _mm512_setzero_ps        emulated_setzero_ps
#define _mm512_setzero_pd        emulated_setzero_pd
#define _mm512_loadu_ps          emulated_loadu_ps
#define _mm512_loadu_pd          emulated_loadu_pd
#define _mm512_storeu_ps         emulated_storeu_ps
#define _mm512_storeu_pd         emulated_storeu_pd
#define _mm512_set1_ps           emulated_set1_ps
#define _mm512_set1_pd           emulated_set1_pd
#define _mm512_add_ps            emulated_add_ps
#define _mm512_add_pd            emulated_add_pd
#define _mm512_mul_ps            emulated_mul_ps
#define _mm512_mul_pd            emulated_mul_pd
#define _mm512_fmadd_ps          emulated_fmadd_ps
#define _mm512_fmadd_pd          emulated_fmadd_pd
#define _mm512_maskz_loadu_ps    emulated_maskz_loadu_ps
#define _mm512_mask_storeu_ps    emulated_mask_storeu_ps
#define _mm256_maskz_loadu_ps    emulated_256_maskz_loadu_ps
#define _mm256_mask_storeu_ps    emulated_256_mask_storeu_ps
#define _mm_maskz_loadu_ps       emulated_128_maskz_loadu_ps
#define _mm_mask_storeu_ps       emulated_128_mask_storeu_ps
#define _mm512_cvtps_pd          emulated_cvtps_pd
#define _mm512_cvtpd_ps          emulated_cvtpd_ps
#define _mm512_castps128_ps512   emulated_castps128_ps512
#define _mm512_insertf32x4       emulated_insertf32x4
#define _mm512_unpacklo_ps(a, b) emulated_unpack_ps(a, b, 0)
#define _mm512_unpackhi_ps(a, b) emulated_unpack_ps(a, b, 1)
#define _mm512_unpacklo_pd(a, b) emulated_unpack_pd(a, b, 0)
#define _mm512_unpackhi_pd(a, b) emulated_unpack_pd(a, b, 1)
#define _mm512_shuffle_f32x4     emulated_shuffle_f32x4
/* The only comparison. */
#define _mm512_mask_cmp_ps_mask(m, a, b, how) emulated_ordered_ps(m, a, b)
#define _mm512_mask_cmp_pd_mask(m, a, b, how) emulated_ordered_pd(m, a, b)
