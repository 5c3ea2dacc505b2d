/*
 * sgemm.cuh - shared by the sgemm kernels: the problem, the walk of tiles, how a result enters C.
 *
 * Column-major, sizes and distances in elements:
 *     op(A)(i,l) = a[i + l*lda], or a[l + i*lda] if transposed      0 <= i < m, 0 <= l < k
 *     op(B)(l,j) = b[l + j*ldb], or b[j + l*ldb] if transposed      0 <= j < n
 */
#ifndef DUO_SGEMM_CUH
#define DUO_SGEMM_CUH

#include "call.h"
#include "product_order.h"

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

/* ---- The order of summation ---- */

/* The sum of no segment: the first one is added to it, and keeps the sign of a zero. */
constexpr float kNoSegment = -0.0f;

/* A step that is filled up multiplies these two: then no sum changes, not even the sign of a
 * zero. */
constexpr float kFillA = 0.0f, kFillB = -0.0f;

/* ---- How a result enters C ---- */

/* x; for a NaN the one that C has. */
static __device__ __forceinline__ float one_nan(float x)
{
    return isnan(x) ? __int_as_float(DUO_NAN) : x;
}

/* The new element of C, computed in Real. `old` counts only if beta != 0, so callers read C only
 * then. */
template <class Real>
static __device__ __forceinline__ float blend(Real alpha, Real sum, Real beta, Real old)
{
    if (beta == 0) return one_nan((float)(alpha * sum));
    return one_nan(alpha == 0 ? (float)(beta * old) : (float)fma(alpha, sum, beta * old));
}

/* Asks for the 32 bytes around an element to be brought into the L2 cache. */
static __device__ __forceinline__ void prefetch_to_l2(const float *x)
{
    asm volatile("prefetch.global.L2 [%0];" ::"l"(x));
}

/*
 * The same for Rows x Columns elements of C from c on, as far as they are inside. Kernels that
 * spend most time on C do this if beta != 0, before they begin to multiply: at the end C is read in
 * many small steps, and each would wait for the device's memory.
 */
template <int Rows, int Columns, int Threads>
static __device__ __forceinline__ void prefetch_tile(const float *c, int64_t ldc, int64_t rows_left,
                                                     int64_t columns_left, int thread)
{
    constexpr int kElements = 8, kSteps = (Rows + kElements - 1) / kElements; /* of a column */
#pragma unroll
    for (int s = 0; s < kSteps * Columns; s += Threads) {
        const int i = (s + thread) % kSteps * kElements, j = (s + thread) / kSteps;
        if (i < rows_left && j < columns_left && (kSteps * Columns % Threads == 0 || j < Columns))
            prefetch_to_l2(c + (i + j * ldc));
    }
}

/* Do all columns of C begin on 16 bytes? */
static __device__ __forceinline__ bool columns_aligned(const float *c, int64_t ldc)
{
    return reinterpret_cast<uintptr_t>(c) % 16 == 0 && ldc % 4 == 0;
}

/* ---- Four neighbours in a column of C ---- */

/* Reads them, or returns 0 if beta == 0. rows_left are inside; `aligned`: on 16 bytes. */
static __device__ __forceinline__ float4 read_four(const float *c, float beta, int64_t rows_left,
                                                   bool aligned)
{
    float4 old = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (beta == 0.0f) return old;
    if (aligned && rows_left >= 4) return *reinterpret_cast<const float4 *>(c);
    if (rows_left > 0) old.x = c[0];
    if (rows_left > 1) old.y = c[1];
    if (rows_left > 2) old.z = c[2];
    if (rows_left > 3) old.w = c[3];
    return old;
}

static __device__ __forceinline__ void write_four(float *c, float4 value, int64_t rows_left,
                                                  bool aligned)
{
    if (aligned && rows_left >= 4) {
        *reinterpret_cast<float4 *>(c) = value;
        return;
    }
    if (rows_left > 0) c[0] = value.x;
    if (rows_left > 1) c[1] = value.y;
    if (rows_left > 2) c[2] = value.z;
    if (rows_left > 3) c[3] = value.w;
}

/* Each becomes renew(sum, old); old is read only if beta != 0, else it is 0. */
template <class Sum, class Renew>
static __device__ __forceinline__ void update_four(float *c, const Sum (&sum)[4], float beta,
                                                   int64_t rows_left, bool aligned, Renew renew)
{
    const float4 old = read_four(c, beta, rows_left, aligned);
    write_four(c,
               make_float4(renew(sum[0], old.x), renew(sum[1], old.y), renew(sum[2], old.z),
                           renew(sum[3], old.w)),
               rows_left, aligned);
}

/* ---- The order in which blocks take the tiles of C ---- */

/*
 * Tiles that run at the same time should be near each other in C, so that the L2 cache serves most
 * of their loads: the walk takes groups of kTilesTogether rows of tiles, each group column by
 * column.
 */

constexpr int kTilesTogether = 16;

/*
 * Where tile t of the walk is in a C of rows x columns tiles, with groups of Together rows; rows
 * and columns may change places. Together * columns must fit into an int. Number: int or unsigned,
 * which divides faster.
 */
template <int Together, class Number>
static __device__ __forceinline__ void place_of_tile(int rows, int columns, Number t, int *row,
                                                     int *column)
{
    const int per_group = Together * columns; /* fewer in the last one */
    const int group = t / per_group, within = t % per_group;
    const int group_rows = min(Together, rows - group * Together);
    *row = group * Together + within % group_rows;
    *column = within / group_rows;
}

#endif
