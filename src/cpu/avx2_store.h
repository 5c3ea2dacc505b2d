/* avx2_store.h - stores of a few floats, for clones for AVX2 (ffma_body.h). */
#ifndef DUO_AVX2_STORE_H
#define DUO_AVX2_STORE_H

#include <immintrin.h>

/* The first floats of v: `lanes` has a bit for each. Masked stores take many cycles on AMD. */
static inline __attribute__((always_inline)) void store_lanes(float *p, int lanes, __m128 v)
{
    if (lanes == 15) {
        _mm_storeu_ps(p, v);
    } else if (lanes & 2) {
        _mm_storel_pi((__m64 *)p, v);
        if (lanes & 4) p[2] = v[2];
    } else if (lanes & 1) {
        p[0] = v[0];
    }
}

#endif
