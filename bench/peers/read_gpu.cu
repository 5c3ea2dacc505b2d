/*
 * read_gpu.cu - a bare read of a reduction's operands: the most that the device can give.
 *
 * Every word is loaded once, in one launch, and XORed into a register. A store that depends on all
 * words, but never happens, keeps the compiler from dropping the loads. The fastest of a few
 * variants counts: an algorithm near it can hardly be improved.
 *
 * Threads   256 per thread block; a thread loads kLoads words of each vector, 256 words apart, at
 *           once. Either one thread block for each tile of 256 * kLoads words, or one wave of
 *           thread blocks that go from tile to tile.
 */
#include <cuda_runtime.h>

#include "bench/peers/gpu_kernels.h"

namespace
{
constexpr int kThreads = 256;

/* XORs in four registers: they all equal the key with a chance of 2^-128 a thread. */
constexpr unsigned kKey = 0x9e3779b9u;

/* A vector as whole words, and the floats before and behind that fill no word. */
template <class Word>
struct split {
    const float *edge[2];
    int edge_floats[2];
    const Word *word;
    int64_t words;

    split(const float *x, int64_t n)
    {
        const int64_t past = (int64_t)((uintptr_t)x % sizeof(Word) / sizeof(float));
        const int64_t per_word = sizeof(Word) / sizeof(float);
        int64_t head = past == 0 ? 0 : per_word - past;
        if (head > n) head = n;
        words = (n - head) / per_word;
        word = reinterpret_cast<const Word *>(x + head);
        edge[0] = x;
        edge_floats[0] = (int)head;
        edge[1] = x + head + words * per_word;
        edge_floats[1] = (int)((n - head) % per_word);
    }
};

__device__ __forceinline__ void mix(unsigned (&sum)[4], int, uint4 v)
{
    sum[0] ^= v.x;
    sum[1] ^= v.y;
    sum[2] ^= v.z;
    sum[3] ^= v.w;
}

__device__ __forceinline__ void mix(unsigned (&sum)[4], int i, unsigned v) { sum[i % 4] ^= v; }

__device__ __forceinline__ uint4 nothing(const uint4 *) { return make_uint4(0, 0, 0, 0); }
__device__ __forceinline__ unsigned nothing(const unsigned *) { return 0; }

template <class Word>
__device__ __forceinline__ void mix_edges(unsigned (&sum)[4], const split<Word> &in)
{
    for (int e = 0; e < 2; e++)
        if ((int)threadIdx.x < in.edge_floats[e])
            mix(sum, e, __float_as_uint(in.edge[e][threadIdx.x]));
}

/* Loads a word, which is read only once: past the caches, or (kCached) as usual. */
template <bool kCached, class Word>
__device__ __forceinline__ Word load(const Word *from)
{
    return kCached ? __ldg(from) : __ldcs(from);
}

template <class Word, int kLoads, int kVectors, bool kCached>
__global__ void __launch_bounds__(kThreads)
    read_words(const __grid_constant__ split<Word> x, const __grid_constant__ split<Word> y,
               unsigned *never)
{
    constexpr int kTile = kThreads * kLoads;
    const int64_t shorter = kVectors == 2 && y.words < x.words ? y.words : x.words;
    const int64_t longer = kVectors == 2 && y.words > x.words ? y.words : x.words;
    const int64_t step = (int64_t)gridDim.x * kTile;
    unsigned sum[4] = {0, 0, 0, 0};
    for (int64_t tile = (int64_t)blockIdx.x * kTile; tile < longer; tile += step) {
        const int64_t first = tile + threadIdx.x;
        Word a[kLoads], b[kLoads];
        if (tile + kTile <= shorter) {
#pragma unroll
            for (int i = 0; i < kLoads; i++) {
                a[i] = load<kCached>(x.word + first + i * kThreads);
                if (kVectors == 2) b[i] = load<kCached>(y.word + first + i * kThreads);
            }
        } else {
#pragma unroll
            for (int i = 0; i < kLoads; i++) {
                const int64_t at = first + i * kThreads;
                a[i] = at < x.words ? load<kCached>(x.word + at) : nothing(x.word);
                if (kVectors == 2)
                    b[i] = at < y.words ? load<kCached>(y.word + at) : nothing(y.word);
            }
        }
#pragma unroll
        for (int i = 0; i < kLoads; i++) {
            mix(sum, i, a[i]);
            if (kVectors == 2) mix(sum, i, b[i]);
        }
    }
    if (blockIdx.x == 0) {
        mix_edges(sum, x);
        if (kVectors == 2) mix_edges(sum, y);
    }
    if (sum[0] == kKey && sum[1] == kKey && sum[2] == kKey && sum[3] == kKey) *never = kKey;
}

/* ---- The ways of reading ---- */

template <class Word, int kLoads, int kVectors, bool kCached = false>
bool launch(const float *x, const float *y, int64_t n, bool one_wave, cudaStream_t stream,
            unsigned *never)
{
    static int wave; /* thread blocks that the device holds at once */
    void (*const kernel)(split<Word>, split<Word>, unsigned *) =
        read_words<Word, kLoads, kVectors, kCached>;
    if (wave == 0) {
        int device = 0, multiprocessors = 0, resident = 0;
        if (cudaGetDevice(&device) != cudaSuccess ||
            cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device) !=
                cudaSuccess ||
            cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, kThreads, 0) !=
                cudaSuccess)
            return false;
        wave = multiprocessors * resident;
    }
    split<Word> in_x(x, n), in_y(kVectors == 2 ? y : x, n);
    const int64_t words = in_x.words > in_y.words ? in_x.words : in_y.words;
    int64_t grid = (words + kThreads * kLoads - 1) / (kThreads * kLoads);
    if (grid < 1) grid = 1;
    if (one_wave && grid > wave) grid = wave;
    if (grid > INT32_MAX) return false;
    void *values[] = {&in_x, &in_y, &never};
    return cudaLaunchKernel(reinterpret_cast<const void *>(kernel), dim3((unsigned)grid),
                            dim3(kThreads), values, 0, stream) == cudaSuccess;
}

using launcher = bool (*)(const float *, const float *, int64_t, bool, cudaStream_t, unsigned *);

/* The launchers, for one vector and for two. */
const struct {
    const char *name;
    launcher by_vectors[2];
    bool one_wave;
} variants[] = {
    {"read 16x4B", {launch<unsigned, 16, 1>, launch<unsigned, 16, 2>}, false},
    {"read 2x16B", {launch<uint4, 2, 1>, launch<uint4, 2, 2>}, false},
    {"read 4x16B", {launch<uint4, 4, 1>, launch<uint4, 4, 2>}, false},
    {"read 4x16B cached", {launch<uint4, 4, 1, true>, launch<uint4, 4, 2, true>}, false},
    {"read 8x16B", {launch<uint4, 8, 1>, launch<uint4, 8, 2>}, false},
    {"read 4x16B wave", {launch<uint4, 4, 1>, launch<uint4, 4, 2>}, true},
    {"read 8x16B wave", {launch<uint4, 8, 1>, launch<uint4, 8, 2>}, true},
};
} // namespace

extern "C" int duo_read_gpu_variants(void) { return sizeof variants / sizeof variants[0]; }

extern "C" const char *duo_read_gpu_name(int variant) { return variants[variant].name; }

extern "C" bool duo_read_gpu(int variant, const duo_call *call, void *stream)
{
    static unsigned *never;
    if (never == nullptr && cudaMalloc(&never, sizeof *never) != cudaSuccess) return false;
    const bool two = call->operation == DUO_SDOT;
    const float *const x = call->operand[DUO_X].address;
    const float *const y = call->operand[two ? DUO_Y : DUO_X].address;
    return variants[variant].by_vectors[two](x, y, call->n, variants[variant].one_wave,
                                             (cudaStream_t)stream, never);
}
