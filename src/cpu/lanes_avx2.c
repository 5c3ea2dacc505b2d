/*
 * lanes_avx2.c - the reductions in AVX2: 16 lanes are two vectors.
 */
#include <immintrin.h>

#include "host/float_mode.h"

#define CLONE avx2
#define ISA   avx2
enum { WIDTH = 8, PARTS = 2 };

typedef float vector __attribute__((vector_size(32)));
typedef struct lanes {
    vector part[PARTS];
} lanes;

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

static inline __m256d low_half(vector v)
{
    return _mm256_cvtps_pd(_mm256_castps256_ps128((__m256)v));
}

static inline __m256d high_half(vector v)
{
    return _mm256_cvtps_pd(_mm256_extractf128_ps((__m256)v, 1));
}

static inline double add_lanes(lanes v)
{
    const __m256d d4 =
        (low_half(v.part[0]) + low_half(v.part[1])) + (high_half(v.part[0]) + high_half(v.part[1]));
    const __m128d d2 = _mm256_castpd256_pd128(d4) + _mm256_extractf128_pd(d4, 1);
    return _mm_cvtsd_f64(_mm_add_sd(d2, _mm_unpackhi_pd(d2, d2)));
}

static inline double add_lanes_2(lanes a, lanes b) { return add_lanes(a) + add_lanes(b); }

static inline double add_lanes_4(lanes a, lanes b, lanes c, lanes d)
{
    return add_lanes_2(a, b) + add_lanes_2(c, d);
}

static inline vector add(vector a, vector b) { return a + b; }
static inline vector multiply(vector a, vector b) { return a * b; }
static inline double add_doubles(double a, double b) { return a + b; }
static inline float to_float(double sum) { return (float)sum; }

#define mode_read      float_mode_read
#define mode_is_usable float_mode_fits
#define flags_restore  float_flags_restore

#include "cpu/lanes_body.h"
