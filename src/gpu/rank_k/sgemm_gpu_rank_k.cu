/*
 * sgemm_gpu_rank_k.cu - updates of small k: as fast as C can be written, or read and written.
 *
 * Accepts   k up to 64; any m, n, transposes, leading dimensions and alignment
 * Threads   256 per block; a block computes a tile of 128 rows and 64 columns, a warp 8 columns of
 *           it, a lane every 32nd row: so a warp reads and writes 128 neighbouring bytes of C, at
 *           any alignment
 * Order     one fp32 FMA chain over l = 0 .. k-1 per element: the bits of sgemm_gpu_tiled
 * Traffic   C once; k * (1/128 + 1/64) loads per element of C, from the L2 cache
 *
 * C is what takes the time, so nothing waits for it: its old elements are on their way to the L2
 * cache before A and B are read, and are then loaded many at a time. A slab of A and B is loaded
 * at once, and multiplied; that one block waits meanwhile does no harm where others write.
 */
#include "gpu/kernels.h"
#include "gpu/launch.cuh"
#include "gpu/sgemm.cuh"
#include "gpu/slab.cuh"

constexpr int kThreads = 256, kWarps = kThreads / 32;
constexpr int kThreadM = 4, kThreadN = 8;
constexpr int kTileM = 32 * kThreadM, kTileN = kWarps * kThreadN;
constexpr int kResident = 2; /* blocks per multiprocessor: with three sm_100 and sm_120 spill */

/*
 * Steps of k of op(X) from first_l on, for Edge rows i of op(A), or columns of op(B): to
 * slab[l * Pitch + i]. What is outside is 0.
 */
template <int Edge, int Steps, int Pitch, bool AlongK>
static __device__ __forceinline__ void load_slab(float *slab, const float *x, int64_t ld,
                                                 int64_t first_i, int64_t extent, int64_t first_l,
                                                 int64_t k)
{
    constexpr int kInner = AlongK ? Steps : Edge, kOuter = AlongK ? Edge : Steps;
    constexpr int kStep = kThreads / kInner;
    const int inner = threadIdx.x % kInner, outer = threadIdx.x / kInner;
    const int64_t in = (AlongK ? first_l : first_i) + inner, in_end = AlongK ? k : extent;
    const int64_t out = (AlongK ? first_i : first_l) + outer, out_end = AlongK ? extent : k;
    const float *from = x + (in + out * ld);
#pragma unroll 8
    for (int o = 0; o < kOuter; o += kStep, from += kStep * ld) {
        const bool inside = in < in_end && out + o < out_end;
        const float value = inside ? *from : 0.0f;
        if (kOuter % kStep == 0 || outer + o < kOuter)
            slab[AlongK ? inner * Pitch + outer + o : (outer + o) * Pitch + inner] = value;
    }
}

template <int Steps, bool TransA, bool TransB>
static __global__ void __launch_bounds__(kThreads, kResident) sgemm_rank_k(sgemm_problem p)
{
    constexpr int kPitchA = kTileM + 1, kPitchB = kPitch<kTileN>;
    __shared__ float a[Steps * kPitchA];
    __shared__ __align__(16) float b[Steps * kPitchB];
    const int64_t down = (p.m + kTileM - 1) / kTileM;
    const int64_t first_i = blockIdx.x % down * kTileM, first_j = blockIdx.x / down * kTileN;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int rows = (int)min(p.m - first_i, (int64_t)kTileM) - lane;
    const int columns = (int)min(p.n - first_j, (int64_t)kTileN) - warp * kThreadN;
    float *const c = p.c + (first_i + lane + (first_j + warp * kThreadN) * p.ldc);

    wait_for_kernels_ahead();
    if (p.beta != 0.0f)
        prefetch_tile<kTileM, kTileN, kThreads>(p.c + (first_i + first_j * p.ldc), p.ldc,
                                                p.m - first_i, p.n - first_j, threadIdx.x);
    float sum[kThreadN][kThreadM] = {};
#pragma unroll 1
    for (int64_t l = 0; l < p.k; l += Steps) {
        if (l > 0) __syncthreads(); /* everyone is done with the slab before */
        load_slab<kTileM, Steps, kPitchA, TransA>(a, p.a, p.lda, first_i, p.m, l, p.k);
        load_slab<kTileN, Steps, kPitchB, !TransB>(b, p.b, p.ldb, first_j, p.n, l, p.k);
        __syncthreads();
#pragma unroll
        for (int s = 0; s < Steps; s++) {
            float of_a[kThreadM], of_b[kThreadN];
#pragma unroll
            for (int i = 0; i < kThreadM; i++) of_a[i] = a[s * kPitchA + 32 * i + lane];
            read_fragment(of_b, b + s * kPitchB + warp * kThreadN, kGroup);
#pragma unroll
            for (int j = 0; j < kThreadN; j++)
#pragma unroll
                for (int i = 0; i < kThreadM; i++) sum[j][i] = fmaf(of_a[i], of_b[j], sum[j][i]);
        }
    }
    let_next_kernel_start();

    constexpr int kAtOnce = 4; /* columns */
#pragma unroll
    for (int first = 0; first < kThreadN; first += kAtOnce) {
        float old[kAtOnce][kThreadM] = {};
        if (p.beta != 0.0f) {
#pragma unroll
            for (int j = 0; j < kAtOnce; j++)
#pragma unroll
                for (int i = 0; i < kThreadM; i++)
                    if (first + j < columns && 32 * i < rows)
                        old[j][i] = c[32 * i + (first + j) * p.ldc];
        }
#pragma unroll
        for (int j = 0; j < kAtOnce; j++)
#pragma unroll
            for (int i = 0; i < kThreadM; i++)
                if (first + j < columns && 32 * i < rows)
                    c[32 * i + (first + j) * p.ldc] =
                        blend(p.alpha, sum[first + j][i], p.beta, old[j][i]);
    }
}

template <int Steps>
static void (*const kernel[2][2])(sgemm_problem) = {
    {sgemm_rank_k<Steps, false, false>, sgemm_rank_k<Steps, false, true>},
    {sgemm_rank_k<Steps, true, false>, sgemm_rank_k<Steps, true, true>},
};

/* The kernels of the shortest slab that k fits into, or of the longest. */
static auto kernels_for(int64_t k)
{
    return k <= 4 ? kernel<4> : k <= 16 ? kernel<16> : kernel<32>;
}

static cudaError_t launch(const duo_call *call, const duo_launch *how)
{
    const sgemm_problem p = sgemm_problem_of(call);
    const int64_t blocks = ((p.m + kTileM - 1) / kTileM) * ((p.n + kTileN - 1) / kTileN);
    if (blocks > INT32_MAX) return cudaErrorInvalidValue;
    return queue_kernel_behind(kernels_for(p.k)[call->transa][call->transb], (unsigned)blocks,
                               kThreads, 0, how, p);
}

static cudaError_t load()
{
    cudaError_t error = cudaSuccess;
    for (const int64_t k : {4, 16, 32})
        for (int t = 0; t < 4 && error == cudaSuccess; t++)
            error = load_kernel(kernels_for(k)[t / 2][t % 2]);
    return error;
}

const duo_gpu_algorithm duo_sgemm_gpu_rank_k = {
    .launch = launch,
    .load = load,
    .workspace = nullptr,
    .packed_bytes = nullptr,
    .pack = nullptr,
};
