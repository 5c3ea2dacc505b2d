/*
 * lanes_avx2.c - the reductions in AVX2: a vector is two registers.
 */
#include <immintrin.h>

#include "host/float_mode.h"

#define CLONE avx2
#define ISA   avx2

typedef float half_vector __attribute__((vector_size(32)));
typedef struct vector {
    half_vector low, high;
} vector;

#define KEEP(v) __asm__ volatile("" : "+x"((v).low), "+x"((v).high) : : "memory")

static inline vector load(const float *p)
{
    return (vector){(half_vector)_mm256_loadu_ps(p), (half_vector)_mm256_loadu_ps(p + 8)};
}

static inline half_vector load_half(const float *p, int count)
{
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const __m256i present = _mm256_cmpgt_epi32(_mm256_set1_epi32(count), lane);
    return (half_vector)_mm256_maskload_ps(p, present);
}

static inline vector load_some(const float *p, int count)
{
    if (count <= 8) return (vector){load_half(p, count), {0}};
    return (vector){(half_vector)_mm256_loadu_ps(p), load_half(p + 8, count - 8)};
}

enum { WIDE = 4 };
typedef double wide __attribute__((vector_size(32)));
typedef struct wide_lanes {
    wide part[4];
} wide_lanes;

static inline wide widen(const float *p) { return (wide)_mm256_cvtps_pd(_mm_loadu_ps(p)); }

static inline wide_lanes widen_all(vector v)
{
    const __m256 low = (__m256)v.low, high = (__m256)v.high;
    return (wide_lanes){{(wide)_mm256_cvtps_pd(_mm256_castps256_ps128(low)),
                         (wide)_mm256_cvtps_pd(_mm256_extractf128_ps(low, 1)),
                         (wide)_mm256_cvtps_pd(_mm256_castps256_ps128(high)),
                         (wide)_mm256_cvtps_pd(_mm256_extractf128_ps(high, 1))}};
}

static inline half_vector absolute_half(half_vector v)
{
    return (half_vector)_mm256_andnot_ps(_mm256_set1_ps(-0.0f), (__m256)v);
}

static inline vector absolute(vector v)
{
    return (vector){absolute_half(v.low), absolute_half(v.high)};
}

static inline double add_lanes(wide_lanes v)
{
    const __m256d d4 = (__m256d)((v.part[0] + v.part[2]) + (v.part[1] + v.part[3]));
    const __m128d d2 = _mm256_castpd256_pd128(d4) + _mm256_extractf128_pd(d4, 1);
    return _mm_cvtsd_f64(_mm_add_sd(d2, _mm_unpackhi_pd(d2, d2)));
}

static inline vector add(vector a, vector b) { return (vector){a.low + b.low, a.high + b.high}; }
static inline vector multiply(vector a, vector b)
{
    return (vector){a.low * b.low, a.high * b.high};
}
static inline wide add_wide(wide a, wide b) { return a + b; }
static inline double add_doubles(double a, double b) { return a + b; }
static inline float to_float(double sum) { return (float)sum; }

#define mode_read      float_mode_read
#define mode_is_usable float_mode_fits
#define flags_restore  float_flags_restore

#include "cpu/lanes_body.h"
