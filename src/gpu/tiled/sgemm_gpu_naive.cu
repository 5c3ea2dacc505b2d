/*
 * sgemm_gpu_naive.cu - one thread per element of C: the other kernels are measured against it.
 *
 * Accepts   everything
 * Threads   32 x 8 per block: 32 neighbours in a column of C, 8 columns; blocks in one dimension,
 *           so that no limit on the second one matters
 * Order     product_order.h
 * Traffic   2 loads per FMA, as far as possible from the caches
 */
#include "gpu/kernels.h"
#include "gpu/launch.cuh"
#include "gpu/sgemm.cuh"

constexpr int kRows = 32, kColumns = 8;

/* The sum of `steps` steps, in Chains chains side by side. */
template <int Chains>
static __device__ __forceinline__ float sum_segment(const float *a, int64_t a_step, const float *b,
                                                    int64_t b_step, int steps)
{
    float s[Chains] = {};
    int l = 0;
    for (; l + Chains <= steps; l += Chains, a += Chains * a_step, b += Chains * b_step)
#pragma unroll
        for (int z = 0; z < Chains; z++) s[z] = fmaf(a[z * a_step], b[z * b_step], s[z]);
#pragma unroll
    for (int z = 0; z < Chains - 1; z++)
        if (l + z < steps) s[z] = fmaf(a[z * a_step], b[z * b_step], s[z]);
#pragma unroll
    for (int half = Chains / 2; half > 0; half /= 2)
#pragma unroll
        for (int z = 0; z < half; z++) s[z] += s[z + half];
    return s[0];
}

template <int Chains, bool TransA, bool TransB>
static __global__ void __launch_bounds__(kRows *kColumns) sgemm_naive(sgemm_problem p)
{
    const int64_t down = (p.m + kRows - 1) / kRows;
    const int64_t i = blockIdx.x % down * kRows + threadIdx.x % kRows;
    const int64_t j = blockIdx.x / down * kColumns + threadIdx.x / kRows;
    if (i >= p.m || j >= p.n) return;

    const float *a = p.a + (TransA ? i * p.lda : i), *b = p.b + (TransB ? j : j * p.ldb);
    const int64_t a_step = TransA ? 1 : p.lda, b_step = TransB ? p.ldb : 1;
    float sum = kNoSegment;
    int64_t l = 0;
    do { /* once also without any k */
        const int steps = (int)min(p.k - l, (int64_t)DUO_SEGMENT);
        sum += sum_segment<Chains>(a, a_step, b, b_step, steps);
        a += DUO_SEGMENT * a_step;
        b += DUO_SEGMENT * b_step;
        l += DUO_SEGMENT;
    } while (l < p.k);

    float *const c = p.c + (i + j * p.ldc);
    *c = blend(p.alpha, sum, p.beta, p.beta == 0.0f ? 0.0f : *c);
}

template <int Chains>
static void (*const kernel[2][2])(sgemm_problem) = {
    {sgemm_naive<Chains, false, false>, sgemm_naive<Chains, false, true>},
    {sgemm_naive<Chains, true, false>, sgemm_naive<Chains, true, true>},
};

static cudaError_t launch(const duo_call *call, const duo_launch *how)
{
    const sgemm_problem p = sgemm_problem_of(call);
    const int64_t blocks = ((p.m + kRows - 1) / kRows) * ((p.n + kColumns - 1) / kColumns);
    if (blocks > INT32_MAX) return cudaErrorInvalidValue;
    const auto &layouts = duo_call_is_vector(call) ? kernel<DUO_CHAINS> : kernel<1>;
    return queue_kernel(layouts[call->transa][call->transb], (unsigned)blocks, kRows * kColumns,
                        how, p);
}

static cudaError_t load()
{
    const cudaError_t error = load_layouts(kernel<1>);
    return error == cudaSuccess ? load_layouts(kernel<DUO_CHAINS>) : error;
}

const duo_gpu_algorithm duo_sgemm_gpu_naive = {
    .launch = launch,
    .load = load,
    .workspace = nullptr,
    .packed_bytes = nullptr,
    .pack = nullptr,
};
