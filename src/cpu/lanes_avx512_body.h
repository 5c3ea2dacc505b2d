/*
 * lanes_avx512_body.h - the common part of the two clones in AVX-512: all but their arithmetic.
 *
 * Included by lanes_avx512.c and lanes_avx512_sae.c. Before that they define the arithmetic and
 * mode that lanes_body.h needs, and
 *   plus(a, b)     the sum of two vectors of 8 doubles
 *   to_float64(v)  8 floats converted to doubles
 *
 * Needs AVX512F, AVX512DQ, AVX512VL and BMI2. The 16 lanes are one vector. The lanes of up to four
 * blocks are added together: adding them block by block makes a sum in L1 take 8 % longer (Zen 4).
 */
#define ISA avx512
enum { WIDTH = 16, PARTS = 1 };

typedef __m512 vector;
typedef struct lanes {
    vector part[PARTS];
} lanes;

static inline vector load(const float *p) { return _mm512_loadu_ps(p); }

static inline vector load_some(const float *p, int count)
{
    const __mmask16 present = (__mmask16)_bzhi_u32(0xFFFF, (unsigned)count);
    return _mm512_maskz_loadu_ps(present, p);
}

typedef double wide __attribute__((vector_size(64)));

static inline wide widen(const float *p) { return (wide)_mm512_cvtps_pd(_mm256_loadu_ps(p)); }

static inline vector absolute(vector v) { return _mm512_abs_ps(v); }

/* Lanes 0..7 plus lanes 8..15 of one block, in float64. */
static inline __m512d halve_16(lanes v)
{
    const __m512d low = to_float64(_mm512_castps512_ps256(v.part[0]));
    const __m512d high = to_float64(_mm512_extractf32x8_ps(v.part[0], 1));
    return plus(low, high);
}

/* Add to each pair of elements the next pair; the pair two away; to each element its neighbour. */
static inline __m512d add_pair(__m512d d) { return plus(d, _mm512_shuffle_f64x2(d, d, 0xB1)); }
static inline __m512d add_far_pair(__m512d d) { return plus(d, _mm512_shuffle_f64x2(d, d, 0x4E)); }
static inline __m512d add_neighbour(__m512d d) { return plus(d, _mm512_permute_pd(d, 0x55)); }

static inline double add_lanes(lanes v)
{
    return _mm512_cvtsd_f64(add_neighbour(add_pair(add_far_pair(halve_16(v)))));
}

/* Adds the 8 lanes of a block by halves, for blocks a and b: four sums of a, then four of b. */
static inline __m512d halve_8(__m512d a, __m512d b)
{
    return plus(_mm512_shuffle_f64x2(a, b, 0x44), _mm512_shuffle_f64x2(a, b, 0xEE));
}

static inline double add_lanes_2(lanes a, lanes b)
{
    const __m512d d4 = halve_8(halve_16(a), halve_16(b)); /* a a b b */
    const __m512d d1 = add_neighbour(add_pair(d4));
    return _mm512_cvtsd_f64(add_far_pair(d1));
}

static inline double add_lanes_4(lanes a, lanes b, lanes c, lanes d)
{
    const __m512d ab = halve_8(halve_16(a), halve_16(b)); /* a a b b */
    const __m512d cd = halve_8(halve_16(c), halve_16(d)); /* c c d d */
    const __m512d d2 = plus(_mm512_shuffle_f64x2(ab, cd, 0x88), _mm512_shuffle_f64x2(ab, cd, 0xDD));
    const __m512d d1 = add_neighbour(d2); /* a b c d */
    return _mm512_cvtsd_f64(add_far_pair(add_pair(d1)));
}

#include "cpu/lanes_body.h"
