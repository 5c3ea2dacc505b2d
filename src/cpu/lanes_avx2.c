#include <immintrin.h>

#define ISA avx2
enum { WIDTH = 8, PARTS = 2 };

typedef float vector __attribute__((vector_size(32)));

static inline vector load(const float *p) { return (vector)_mm256_loadu_ps(p); }

/* A count above 8 loads all lanes. */
static inline vector load_some(const float *p, int count)
{
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return (vector)_mm256_maskload_ps(p, _mm256_cmpgt_epi32(_mm256_set1_epi32(count), lane));
}

static inline vector absolute(vector v)
{
    return (vector)_mm256_andnot_ps(_mm256_set1_ps(-0.0f), (__m256)v);
}

static inline double halve4(__m256d a, __m256d b, __m256d c, __m256d d)
{
    const __m256d d4 = (a + c) + (b + d);
    const __m128d d2 = _mm256_castpd256_pd128(d4) + _mm256_extractf128_pd(d4, 1);
    return d2[0] + d2[1];
}

static inline double add_lanes(const vector v[PARTS])
{
    return halve4(_mm256_cvtps_pd(_mm256_castps256_ps128((__m256)v[0])),
                  _mm256_cvtps_pd(_mm256_extractf128_ps((__m256)v[0], 1)),
                  _mm256_cvtps_pd(_mm256_castps256_ps128((__m256)v[1])),
                  _mm256_cvtps_pd(_mm256_extractf128_ps((__m256)v[1], 1)));
}
static inline double add_lanes_mem(const float *p)
{
    return halve4(_mm256_cvtps_pd(_mm_load_ps(p)), _mm256_cvtps_pd(_mm_load_ps(p + 4)),
                  _mm256_cvtps_pd(_mm_load_ps(p + 8)), _mm256_cvtps_pd(_mm_load_ps(p + 12)));
}

#include "lanes_body.h"
