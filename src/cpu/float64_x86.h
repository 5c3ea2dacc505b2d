/* float64_x86.h - what the clones of sgemm_cpu_float64 for AVX2 and AVX-512 share (ffma_body.h). */
#ifndef DUO_FLOAT64_X86_H
#define DUO_FLOAT64_X86_H

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>

#define INLINE static inline __attribute__((always_inline))

typedef __m256d vec4;

INLINE vec4 zero4(void) { return _mm256_setzero_pd(); }
INLINE vec4 load4(const float *p) { return _mm256_cvtps_pd(_mm_loadu_ps(p)); }
INLINE void store4(float *p, vec4 v) { _mm_storeu_ps(p, _mm256_cvtpd_ps(v)); }
INLINE vec4 load_number4(const double *p) { return _mm256_loadu_pd(p); }
INLINE void store_number4(double *p, vec4 v) { _mm256_storeu_pd(p, v); }
INLINE vec4 splat4(double x) { return _mm256_set1_pd(x); }
INLINE vec4 fused4(vec4 x, vec4 y, vec4 z) { return _mm256_fmadd_pd(x, y, z); }
INLINE vec4 plus4(vec4 x, vec4 y) { return _mm256_add_pd(x, y); }
INLINE vec4 times4(vec4 x, vec4 y) { return _mm256_mul_pd(x, y); }
INLINE vec4 blend4(vec4 alpha, vec4 sum, vec4 c) { return plus4(times4(alpha, sum), c); }

typedef __m256d seen4;

INLINE seen4 unseen4(void) { return zero4(); }
INLINE seen4 look4(seen4 nans, vec4 x, vec4 y)
{
    return _mm256_or_pd(nans, _mm256_cmp_pd(x, y, _CMP_UNORD_Q));
}
INLINE bool has_nan4(seen4 nans) { return _mm256_movemask_pd(nans) != 0; }

INLINE double blend(double alpha, double sum, double c) { return alpha * sum + c; }

/* x[z] := the floats p[z], p[z + ld], p[z + 2 ld], p[z + 3 ld] */
INLINE void columns_of_floats(__m128 x[4], const float *p, int64_t ld)
{
    for (int i = 0; i < 4; i++) x[i] = _mm_loadu_ps(p + i * ld);
    _MM_TRANSPOSE4_PS(x[0], x[1], x[2], x[3]);
}

INLINE void transpose_4(double *to, int64_t step, const float *p, int64_t ld)
{
    __m128 x[4];
    columns_of_floats(x, p, ld);
    for (int z = 0; z < 4; z++) store_number4(to + z * step, _mm256_cvtps_pd(x[z]));
}

#endif
