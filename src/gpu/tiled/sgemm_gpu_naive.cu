/*
 * sgemm_gpu_naive.cu - one thread per element of C: the other kernels are measured against it.
 *
 * Accepts   everything
 * Threads   32 x 8 per block: 32 neighbours in a column of C, 8 columns; blocks in one dimension,
 *           so that no limit on the second one matters
 * Order     one fp32 FMA chain over l = 0 .. k-1 per element
 * Traffic   2 loads per FMA, as far as possible from the caches
 */
#include "gpu/kernels.h"
#include "gpu/launch.cuh"
#include "gpu/sgemm.cuh"

constexpr int kRows = 32, kColumns = 8;

template <bool TransA, bool TransB>
static __global__ void __launch_bounds__(kRows *kColumns) sgemm_naive(sgemm_problem p)
{
    const int64_t down = (p.m + kRows - 1) / kRows;
    const int64_t i = blockIdx.x % down * kRows + threadIdx.x % kRows;
    const int64_t j = blockIdx.x / down * kColumns + threadIdx.x / kRows;
    if (i >= p.m || j >= p.n) return;

    const float *a = p.a + (TransA ? i * p.lda : i), *b = p.b + (TransB ? j : j * p.ldb);
    const int64_t a_step = TransA ? 1 : p.lda, b_step = TransB ? p.ldb : 1;
    float sum = 0.0f;
    for (int64_t l = 0; l < p.k; l++, a += a_step, b += b_step) sum = fmaf(*a, *b, sum);

    float *const c = p.c + (i + j * p.ldc);
    *c = blend(p.alpha, sum, p.beta, p.beta == 0.0f ? 0.0f : *c);
}

static void (*const kernel[2][2])(sgemm_problem) = {
    {sgemm_naive<false, false>, sgemm_naive<false, true>},
    {sgemm_naive<true, false>, sgemm_naive<true, true>},
};

static cudaError_t launch(const duo_call *call, const duo_launch *how)
{
    const sgemm_problem p = sgemm_problem_of(call);
    const int64_t blocks = ((p.m + kRows - 1) / kRows) * ((p.n + kColumns - 1) / kColumns);
    if (blocks > INT32_MAX) return cudaErrorInvalidValue;
    return queue_kernel(kernel[call->transa][call->transb], (unsigned)blocks, kRows * kColumns, how,
                        p);
}

static cudaError_t load() { return load_layouts(kernel); }

const duo_gpu_algorithm duo_sgemm_gpu_naive = {
    .launch = launch,
    .load = load,
    .workspace = nullptr,
    .packed_bytes = nullptr,
    .pack = nullptr,
};
