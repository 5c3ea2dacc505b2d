/*
 * lanes_avx512.c - the reductions in AVX-512, for CPUs that read MXCSR fast.
 *
 * A sum that overflows on the way raises flags, which are restored. Unlike in lanes_avx512_sae.c,
 * additions and multiplications may take an operand from memory. On Intel's CPUs, where reading
 * MXCSR takes 2 cycles (Emerald Rapids), this is faster than that clone by up to a fifth.
 */
#include <immintrin.h>

#include "host/float_mode.h"

#define CLONE avx512

static inline __m512 add(__m512 a, __m512 b) { return _mm512_add_ps(a, b); }
static inline __m512 multiply(__m512 a, __m512 b) { return _mm512_mul_ps(a, b); }
static inline __m512d to_float64(__m256 v) { return _mm512_cvtps_pd(v); }
static inline __m512d plus(__m512d a, __m512d b) { return _mm512_add_pd(a, b); }
static inline double add_doubles(double a, double b) { return a + b; }
static inline float to_float(double sum) { return (float)sum; }

#define mode_read      float_mode_read
#define mode_is_usable float_mode_fits
#define flags_restore  float_flags_restore

#include "cpu/lanes_avx512_body.h"
