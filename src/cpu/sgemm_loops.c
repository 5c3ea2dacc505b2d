/*
 * sgemm_loops.c - a tiny product (kernels.h).
 *
 * A column of C is one vector. Each of its sums is a chain over k in binary32, from 0 on. If C has
 * fewer rows than the vector, the first row fills the rest: so only exceptions of C's own elements
 * are raised.
 */
#include "cpu/kernels.h"

enum { EDGE = DUO_SGEMM_LOOPS_EDGE };

typedef float rows __attribute__((vector_size(EDGE * sizeof(float))));

void duo_sgemm_loops(bool transa, bool transb, int64_t m, int64_t n, int64_t k, float alpha,
                     const float *a, int64_t lda, const float *b, int64_t ldb, float beta, float *c,
                     int64_t ldc)
{
    const int64_t a_row = transa ? lda : 1, a_column = transa ? 1 : lda;
    const int64_t b_row = transb ? ldb : 1, b_column = transb ? 1 : ldb;
    rows packed[EDGE];
    for (int64_t p = 0; p < k; p++)
        for (int64_t i = 0; i < EDGE; i++) packed[p][i] = a[(i < m ? i : 0) * a_row + p * a_column];
    for (int64_t j = 0; j < n; j++) {
        rows sum = {0.0f};
        for (int64_t p = 0; p < k; p++) sum += packed[p] * b[p * b_row + j * b_column];
        const rows part = sum * alpha;
        float *const to = c + j * ldc;
        for (int64_t i = 0; i < m; i++) to[i] = beta == 0.0f ? part[i] : part[i] + beta * to[i];
    }
}
