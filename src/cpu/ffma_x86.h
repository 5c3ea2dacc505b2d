/* ffma_x86.h - what the clones of sgemm_cpu_ffma for AVX2 and AVX-512 share (ffma_body.h). */
#ifndef DUO_FFMA_X86_H
#define DUO_FFMA_X86_H

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>

#define INLINE static inline __attribute__((always_inline))

typedef __m256 vec8;

INLINE vec8 zero8(void) { return _mm256_setzero_ps(); }
INLINE vec8 load8(const float *p) { return _mm256_loadu_ps(p); }
INLINE void store8(float *p, vec8 v) { _mm256_storeu_ps(p, v); }
INLINE vec8 splat8(float x) { return _mm256_set1_ps(x); }
INLINE vec8 fused8(vec8 x, vec8 y, vec8 z) { return _mm256_fmadd_ps(x, y, z); }
INLINE vec8 plus8(vec8 x, vec8 y) { return _mm256_add_ps(x, y); }
INLINE float add_chains8(vec8 s)
{
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(s), _mm256_extractf128_ps(s, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
#define add_chains8 add_chains8
INLINE vec8 times8(vec8 x, vec8 y) { return _mm256_mul_ps(x, y); }

typedef __m256 seen8;

INLINE seen8 unseen8(void) { return zero8(); }
INLINE seen8 look8(seen8 nans, vec8 x, vec8 y)
{
    return _mm256_or_ps(nans, _mm256_cmp_ps(x, y, _CMP_UNORD_Q));
}
INLINE bool has_nan8(seen8 nans) { return _mm256_movemask_ps(nans) != 0; }

/* 0 in the first `count` lanes, -0 in the others. */
INLINE vec8 minus_zeros(int64_t count)
{
    static const float zeros[16] = {0.0f,  0.0f,  0.0f,  0.0f,  0.0f,  0.0f,  0.0f,  0.0f,
                                    -0.0f, -0.0f, -0.0f, -0.0f, -0.0f, -0.0f, -0.0f, -0.0f};
    return load8(zeros + 8 - count);
}
#define load_number8  load8
#define store_number8 store8
#define blend8        fused8
INLINE float blend(float alpha, float sum, float c) { return __builtin_fmaf(alpha, sum, c); }

INLINE void transpose_4(float *to, int64_t step, const float *p, int64_t ld)
{
    __m128 a = _mm_loadu_ps(p), b = _mm_loadu_ps(p + ld);
    __m128 c = _mm_loadu_ps(p + 2 * ld), d = _mm_loadu_ps(p + 3 * ld);
    _MM_TRANSPOSE4_PS(a, b, c, d);
    _mm_storeu_ps(to, a);
    _mm_storeu_ps(to + step, b);
    _mm_storeu_ps(to + 2 * step, c);
    _mm_storeu_ps(to + 3 * step, d);
}

#endif
