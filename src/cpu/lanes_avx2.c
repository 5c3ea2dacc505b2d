/*
 * lanes_avx2.c - the reductions in AVX2: 16 lanes are two vectors.
 */
#include <immintrin.h>

#include "host/float_mode.h"

#define CLONE avx2
#define ISA   avx2
enum { WIDTH = 8, PARTS = 2 };

typedef float vector __attribute__((vector_size(32)));
#define VECTOR_REGISTER "x"

static inline vector load(const float *p) { return (vector)_mm256_loadu_ps(p); }

static inline vector load_some(const float *p, int count)
{
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const __m256i present = _mm256_cmpgt_epi32(_mm256_set1_epi32(count), lane);
    return (vector)_mm256_maskload_ps(p, present);
}

typedef double wide __attribute__((vector_size(32)));

static inline wide widen(const float *p) { return (wide)_mm256_cvtps_pd(_mm_loadu_ps(p)); }

static inline vector absolute(vector v)
{
    return (vector)_mm256_andnot_ps(_mm256_set1_ps(-0.0f), (__m256)v);
}

typedef struct wide_lanes {
    wide part[2 * PARTS];
} wide_lanes;

static inline wide widen_low(vector v)
{
    return (wide)_mm256_cvtps_pd(_mm256_castps256_ps128((__m256)v));
}
static inline wide widen_high(vector v)
{
    return (wide)_mm256_cvtps_pd(_mm256_extractf128_ps((__m256)v, 1));
}

static inline double add_lanes(wide_lanes v)
{
    const __m256d d4 = (__m256d)((v.part[0] + v.part[2]) + (v.part[1] + v.part[3]));
    const __m128d d2 = _mm256_castpd256_pd128(d4) + _mm256_extractf128_pd(d4, 1);
    return _mm_cvtsd_f64(_mm_add_sd(d2, _mm_unpackhi_pd(d2, d2)));
}

static inline vector add(vector a, vector b) { return a + b; }
static inline vector multiply(vector a, vector b) { return a * b; }
static inline wide add_wide(wide a, wide b) { return a + b; }
static inline double add_doubles(double a, double b) { return a + b; }
static inline float to_float(double sum) { return (float)sum; }

#define mode_read      float_mode_read
#define mode_is_usable float_mode_fits
#define flags_restore  float_flags_restore

#include "cpu/lanes_body.h"
