/*
 * lanes_avx512_sae.c - the reductions in AVX-512, with all exceptions suppressed.
 *
 * Instructions with embedded rounding round to nearest, raise no flag and never trap, in every
 * mode. So a sum that overflows on the way leaves no flag to restore, and MXCSR is not read (which
 * takes 21 cycles on Zen 4). The price: their operands are in registers, never in memory.
 */
#include <immintrin.h>
#include <stdbool.h>

#include "host/float_mode.h"

#define CLONE avx512_sae

enum { QUIET = _MM_FROUND_NO_EXC, NEAREST = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC };

static inline __m512 add(__m512 a, __m512 b) { return _mm512_add_round_ps(a, b, NEAREST); }
static inline __m512 multiply(__m512 a, __m512 b) { return _mm512_mul_round_ps(a, b, NEAREST); }
static inline __m512d to_float64(__m256 v) { return _mm512_cvt_roundps_pd(v, QUIET); }

static inline __m512d plus(__m512d a, __m512d b) { return _mm512_add_round_pd(a, b, NEAREST); }

static inline double add_doubles(double a, double b)
{
    return _mm_cvtsd_f64(_mm_add_round_sd(_mm_set_sd(a), _mm_set_sd(b), NEAREST));
}

static inline float to_float(double sum)
{
    return _mm_cvtss_f32(_mm_cvt_roundsd_ss(_mm_setzero_ps(), _mm_set_sd(sum), NEAREST));
}

/* This arithmetic raises no flags, so there is nothing to restore. */
static inline float_mode mode_read(void) { return 0; }
static inline void flags_restore(float_mode before) { (void)before; }

/*
 * Only the treatment of subnormals matters, and a sum shows it: twice the smallest subnormal is 0
 * only if subnormals are flushed as operands or as results.
 */
static inline bool mode_is_usable(float_mode unknown)
{
    (void)unknown;
    __m128 smallest = _mm_castsi128_ps(_mm_cvtsi32_si128(1));
    __asm__("" : "+x"(smallest)); /* doubled here, not by the compiler */
    const __m128 doubled = _mm_add_round_ss(smallest, smallest, NEAREST);
    return _mm_cvtsi128_si32(_mm_castps_si128(doubled)) != 0;
}

#include "cpu/lanes_avx512_body.h"
