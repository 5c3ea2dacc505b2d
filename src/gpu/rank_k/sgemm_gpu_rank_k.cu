/*
 * sgemm_gpu_rank_k.cu - updates of small k: as fast as C can be written, or read and written.
 *
 * Accepts   k up to 64; any m, n, transposes, leading dimensions and alignment
 * Threads   256 per block; a block computes a tile of 128 rows and 64 columns, a warp 8 columns of
 *           it, a lane every 32nd row: so a warp reads and writes 128 neighbouring bytes of C, at
 *           any alignment
 * Order     product_order.h, but a vector product's segment is one chain, too: the bits of
 *           sgemm_gpu_tiled
 * Traffic   C once; k * (1/128 + 1/64) loads per element of C, from the L2 cache
 *
 * C takes most of the time, so nothing waits for it: its old elements are on their way to the L2
 * cache before A and B are read, and are then loaded many at a time. A slab of A and B is loaded at
 * once, and multiplied; the block waits meanwhile, while other blocks write.
 */
#include "gpu/kernels.h"
#include "gpu/launch.cuh"
#include "gpu/sgemm.cuh"
#include "gpu/slab.cuh"

constexpr int kThreads = 256, kWarps = kThreads / 32;
constexpr int kThreadM = 4, kThreadN = 8;
constexpr int kTileM = 32 * kThreadM, kTileN = kWarps * kThreadN;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 900
constexpr int kResident = 3; /* blocks per multiprocessor */
#else
constexpr int kResident = 2; /* three would spill */
#endif

/*
 * Loads steps of k from first_l on to slab[l * Pitch + i], for Edge rows i of op(A), or columns of
 * op(B); `left` of them are inside, the others become `fill`. x is the first row's element at
 * l = 0.
 */
template <int Edge, int Steps, int Pitch, bool AlongK>
static __device__ __forceinline__ void load_slab(float *slab, const float *x, int64_t ld, int left,
                                                 int first_l, int k, float fill)
{
    constexpr int kInner = AlongK ? Steps : Edge, kOuter = AlongK ? Edge : Steps;
    constexpr int kStep = kThreads / kInner;
    static_assert(kThreads % kInner == 0 && kOuter % kStep == 0, "threads load equally many");
    const int inner = threadIdx.x % kInner, outer = threadIdx.x / kInner;
    const int in = inner + (AlongK ? first_l : 0), in_end = AlongK ? k : left;
    const int out = outer + (AlongK ? 0 : first_l), out_end = AlongK ? left : k;
    const float *from = x + (in + out * ld);
#pragma unroll
    for (int o = 0; o < kOuter; o += kStep, from += kStep * ld) {
        slab[AlongK ? inner * Pitch + outer + o : (outer + o) * Pitch + inner] =
            in < in_end && out + o < out_end ? *from : fill;
    }
}

template <int Steps, bool TransA, bool TransB>
static __global__ void __launch_bounds__(kThreads, kResident) sgemm_rank_k(sgemm_problem p)
{
    constexpr int kRun = 8; /* steps; runs past the end are left out */
    constexpr int kPitchA = kTileM + 1, kPitchB = kPitch<kTileN>;
    __shared__ float a[Steps * kPitchA];
    __shared__ __align__(16) float b[Steps * kPitchB];
    const int64_t down = (p.m + kTileM - 1) / kTileM;
    const int64_t first_i = blockIdx.x % down * kTileM, first_j = blockIdx.x / down * kTileN;
    const int rows = (int)min(p.m - first_i, (int64_t)kTileM); /* inside */
    const int columns = (int)min(p.n - first_j, (int64_t)kTileN);
    const float *const of_op_a = p.a + (TransA ? first_i * p.lda : first_i);
    const float *const of_op_b = p.b + (TransB ? first_j : first_j * p.ldb);
    float *c = p.c + (first_i + first_j * p.ldc);
    const int k = (int)p.k;

    wait_for_kernels_ahead();
    if (p.beta != 0.0f)
        prefetch_tile<kTileM, kTileN, kThreads>(c, p.ldc, rows, columns, threadIdx.x);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float sum[kThreadN][kThreadM] = {};
#pragma unroll 1
    for (int l = 0; l < k; l += Steps) {
        if (l > 0) __syncthreads(); /* all threads are done with the slab before */
        load_slab<kTileM, Steps, kPitchA, TransA>(a, of_op_a, p.lda, rows, l, k, kFillA);
        load_slab<kTileN, Steps, kPitchB, !TransB>(b, of_op_b, p.ldb, columns, l, k, kFillB);
        __syncthreads();
#pragma unroll
        for (int s = 0; s < Steps; s++) {
            if (s > 0 && s % kRun == 0 && l + s >= k) break;
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
    const int rows_left = rows - lane, columns_left = columns - warp * kThreadN;
    c += lane + warp * kThreadN * p.ldc;
#pragma unroll
    for (int first = 0; first < kThreadN; first += kAtOnce) {
        float old[kAtOnce][kThreadM] = {};
        if (p.beta != 0.0f) {
#pragma unroll
            for (int j = 0; j < kAtOnce; j++)
#pragma unroll
                for (int i = 0; i < kThreadM; i++)
                    if (first + j < columns_left && 32 * i < rows_left)
                        old[j][i] = c[32 * i + (first + j) * p.ldc];
        }
#pragma unroll
        for (int j = 0; j < kAtOnce; j++)
#pragma unroll
            for (int i = 0; i < kThreadM; i++)
                if (first + j < columns_left && 32 * i < rows_left)
                    c[32 * i + (first + j) * p.ldc] =
                        blend(p.alpha, sum[first + j][i], p.beta, old[j][i]);
    }
}

template <int Steps>
static void (*const kernel[2][2])(sgemm_problem) = {
    {sgemm_rank_k<Steps, false, false>, sgemm_rank_k<Steps, false, true>},
    {sgemm_rank_k<Steps, true, false>, sgemm_rank_k<Steps, true, true>},
};

/* The kernels with the shortest slab that holds k, or with the longest. */
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
    cudaError_t error = load_layouts(kernel<4>);
    if (error == cudaSuccess) error = load_layouts(kernel<16>);
    return error == cudaSuccess ? load_layouts(kernel<32>) : error;
}

const duo_gpu_algorithm duo_sgemm_gpu_rank_k = {
    .launch = launch,
    .load = load,
    .workspace = nullptr,
    .packed_bytes = nullptr,
    .pack = nullptr,
};
