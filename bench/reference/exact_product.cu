/*
 * exact_product.cu - op(A) op(B) and |op(A)| |op(B)| in float64, for measuring errors.
 *
 * Accepts   any m, n, k, transposes and leading dimensions
 * Threads   256 per block; a block owns 32 rows of 32 columns. A thread owns 2 x 2 of these
 *           entries, as far apart as a row of threads, so that shared memory is read without
 *           conflicts
 * Order     one float64 chain over k; products of two floats are exact
 */
#include <cuda_runtime.h>

#include "bench/reference/exact_product.h"

namespace
{
constexpr int kEdge = 32, kDepth = 16, kThreads = 256, kHalf = kEdge / 2;
static_assert(kHalf * kHalf == kThreads, "a thread has 2 x 2 elements");
static_assert(kEdge * kDepth == 2 * kThreads, "a thread brings 2 elements of each operand");

struct exact_task {
    const float *a, *b;
    int64_t m, n, k, lda, ldb;
    int64_t columns; /* in the sample */
    bool transa, transb;
    double *product, *magnitude;
};

__device__ int64_t column_of(const exact_task &t, int64_t j) { return j * t.n / t.columns; }

__global__ void __launch_bounds__(kThreads) exact_product(exact_task t)
{
    __shared__ double a[kDepth][kEdge + 1], b[kDepth][kEdge + 1];
    const int64_t blocks_m = (t.m + kEdge - 1) / kEdge;
    const int64_t first_i = blockIdx.x % blocks_m * kEdge, first_j = blockIdx.x / blocks_m * kEdge;
    const int x = threadIdx.x % kHalf, y = threadIdx.x / kHalf;
    double sum[2][2] = {}, size[2][2] = {};
    for (int64_t first_l = 0; first_l < t.k; first_l += kDepth) {
        for (int e = threadIdx.x; e < kEdge * kDepth; e += kThreads) {
            /* Neighbouring threads read neighbouring elements. */
            const int ai = t.transa ? e / kDepth : e % kEdge,
                      al = t.transa ? e % kDepth : e / kEdge;
            const int bj = t.transb ? e % kEdge : e / kDepth,
                      bl = t.transb ? e / kEdge : e % kDepth;
            const int64_t i = first_i + ai, j = first_j + bj;
            double value = 0.0;
            if (i < t.m && first_l + al < t.k)
                value = t.transa ? t.a[first_l + al + i * t.lda] : t.a[i + (first_l + al) * t.lda];
            a[al][ai] = value;
            value = 0.0;
            if (j < t.columns && first_l + bl < t.k) {
                const int64_t column = column_of(t, j), l = first_l + bl;
                value = t.transb ? t.b[column + l * t.ldb] : t.b[l + column * t.ldb];
            }
            b[bl][bj] = value;
        }
        __syncthreads();
#pragma unroll
        for (int l = 0; l < kDepth; l++)
#pragma unroll
            for (int q = 0; q < 2; q++)
#pragma unroll
                for (int p = 0; p < 2; p++) {
                    const double term = a[l][x + p * kHalf] * b[l][y + q * kHalf];
                    sum[q][p] += term;
                    size[q][p] += fabs(term);
                }
        __syncthreads();
    }
    for (int q = 0; q < 2; q++)
        for (int p = 0; p < 2; p++) {
            const int64_t i = first_i + x + p * kHalf, j = first_j + y + q * kHalf;
            if (i >= t.m || j >= t.columns) continue;
            t.product[i + j * t.m] = sum[q][p];
            t.magnitude[i + j * t.m] = size[q][p];
        }
}
} // namespace

extern "C" bool duo_exact_product(const duo_call *call, int64_t columns, double *product,
                                  double *magnitude, void *stream)
{
    const duo_operand *const a = &call->operand[DUO_A], *const b = &call->operand[DUO_B];
    const size_t bytes = (size_t)(call->m * columns) * sizeof(double);
    double *room = nullptr;
    if (cudaMalloc(&room, 2 * bytes) != cudaSuccess) return false;
    exact_task task = {a->address,   b->address,   call->m, call->n,
                       call->k,      a->ld,        b->ld,   columns,
                       call->transa, call->transb, room,    room + call->m * columns};
    const int64_t blocks =
        (call->m + kEdge - 1) / kEdge * ((columns + kEdge - 1) / kEdge); /* < 2^31: m, n < 2^20 */
    void *values[] = {&task};
    const bool good = cudaLaunchKernel(reinterpret_cast<const void *>(exact_product),
                                       dim3((unsigned)blocks), dim3(kThreads), values, 0,
                                       static_cast<cudaStream_t>(stream)) == cudaSuccess &&
                      cudaMemcpyAsync(product, task.product, bytes, cudaMemcpyDefault,
                                      static_cast<cudaStream_t>(stream)) == cudaSuccess &&
                      cudaMemcpyAsync(magnitude, task.magnitude, bytes, cudaMemcpyDefault,
                                      static_cast<cudaStream_t>(stream)) == cudaSuccess &&
                      cudaStreamSynchronize(static_cast<cudaStream_t>(stream)) == cudaSuccess;
    return cudaFree(room) == cudaSuccess && good;
}
