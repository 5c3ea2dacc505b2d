/*
 * lanes_avx512_body.h - the common part of the two clones in AVX-512: all but their arithmetic.
 *
 * Included by lanes_avx512.c and lanes_avx512_sae.c. Before that they define the arithmetic and
 * mode that lanes_body.h needs, and
 *   plus(a, b)     the sum of two vectors of 8 doubles
 *   to_float64(v)  8 floats converted to doubles
 *
 * Needs AVX512F, AVX512DQ, AVX512VL and BMI2. A vector is a register.
 */
#define ISA avx512

typedef __m512 vector;

#define KEEP(v) __asm__ volatile("" : "+v"(v) : : "memory")

static inline vector load(const float *p) { return _mm512_loadu_ps(p); }

static inline vector load_some(const float *p, int count)
{
    const __mmask16 present = (__mmask16)_bzhi_u32(0xFFFF, (unsigned)count);
    return _mm512_maskz_loadu_ps(present, p);
}

enum { WIDE = 8 };
typedef double wide __attribute__((vector_size(64)));

static inline wide widen(const float *p) { return (wide)_mm512_cvtps_pd(_mm256_loadu_ps(p)); }

static inline vector absolute(vector v) { return _mm512_abs_ps(v); }

typedef struct wide_lanes {
    wide part[2];
} wide_lanes;

static inline wide_lanes widen_all(vector v)
{
    return (wide_lanes){{(wide)to_float64(_mm512_castps512_ps256(v)),
                         (wide)to_float64(_mm512_extractf32x8_ps(v, 1))}};
}
static inline wide add_wide(wide a, wide b) { return (wide)plus((__m512d)a, (__m512d)b); }

static inline double add_lanes(wide_lanes v)
{
    __m512d d = plus((__m512d)v.part[0], (__m512d)v.part[1]);
    d = plus(d, _mm512_shuffle_f64x2(d, d, 0x4E)); /* the pair two away */
    d = plus(d, _mm512_shuffle_f64x2(d, d, 0xB1)); /* the next pair */
    return _mm512_cvtsd_f64(plus(d, _mm512_permute_pd(d, 0x55)));
}

#include "cpu/lanes_body.h"
