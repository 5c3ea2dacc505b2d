/*
 * sgemm.cuh - what the sgemm kernels share: the problem, and how a result enters C.
 *
 * Column-major, sizes and distances in elements:
 *     op(A)(i,l) = a[i + l*lda], or a[l + i*lda] if transposed      0 <= i < m, 0 <= l < k
 *     op(B)(l,j) = b[l + j*ldb], or b[j + l*ldb] if transposed      0 <= j < n
 */
#ifndef DUO_SGEMM_CUH
#define DUO_SGEMM_CUH

#include "call.h"

struct sgemm_problem {
    const float *a, *b;
    float *c;
    int64_t m, n, k, lda, ldb, ldc;
    float alpha, beta;
};

/* With alpha == 0 the sum over k is empty: A and B are not read. */
static inline sgemm_problem sgemm_problem_of(const duo_call *call)
{
    sgemm_problem p;
    p.a = call->operand[DUO_A].address;
    p.b = call->operand[DUO_B].address;
    p.c = call->operand[DUO_C].address;
    p.m = call->m;
    p.n = call->n;
    p.k = call->alpha == 0.0f ? 0 : call->k;
    p.lda = call->operand[DUO_A].ld;
    p.ldb = call->operand[DUO_B].ld;
    p.ldc = call->operand[DUO_C].ld;
    p.alpha = p.k == 0 ? 0.0f : call->alpha; /* an infinite alpha must not meet an empty sum */
    p.beta = call->beta;
    return p;
}

/* The new element of C. `old` counts only where beta != 0; callers read it only then. */
static __device__ __forceinline__ float blend(float alpha, float sum, float beta, float old)
{
    if (beta == 0.0f) return alpha * sum;
    return alpha == 0.0f ? beta * old : fmaf(alpha, sum, beta * old);
}

#endif
