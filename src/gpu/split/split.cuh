/*
 * split/split.cuh - the pass that writes the planes and words of split/planes.cuh.
 *
 * Accepts   any extent, k, leading dimension, alignment and order of an operand
 * Threads   256 per block; a block splits a tile of 64 rows x 64 k
 * Traffic   4 bytes read and 2 per plane written for each element, and a word for each tile
 *
 * It is bound by memory where the operands are large, else by its instructions.
 */
#ifndef DUO_SPLIT_SPLIT_CUH
#define DUO_SPLIT_SPLIT_CUH

#include <type_traits>

#include "gpu/launch.cuh"
#include "gpu/split/planes.cuh"

/* Blocks per multiprocessor to make room for: 4 where all tiles run at once, else what was fastest on
 * an H200, by 5 to 20 %. */
constexpr int kSplitThreads = 256, kFewResident = 4;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
constexpr int kMostResident = 2; /* Turing has room for 4 with few registers, which spill */
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 900
constexpr int kMostResident = 8;
#else
constexpr int kMostResident = 4; /* with fewer registers the code of some spills */
#endif
constexpr int kRun = 8;                    /* elements that a thread splits at a time */
constexpr int kLanesPerRow = kTile / kRun; /* threads that share a row of a tile */
constexpr int kRowStep = kSplitThreads / kLanesPerRow, kRuns = kTile / kRowStep;
constexpr int kLoads = kTile * kTile / kSplitThreads / 4; /* float4 per thread */

struct split_problem {
    operand_planes operand[2];
    unsigned tiles_of_first, tiles;    /* of the first operand, of both */
    unsigned k_tiles, k_tiles_inverse; /* along k, and 2^32 over it, or a little less */
    uint32_t *control; /* kControlBytes, cleared here: what is pending, and the tickets of tiles; or
                          NULL */
};
static inline split_problem split_of(const operand_planes &first, const operand_planes &second,
                                     int64_t tiles_of_first, int64_t tiles, uint32_t *control)
{
    const unsigned k_tiles = (unsigned)tiles_of(first.k);
    return {{first, second}, (unsigned)tiles_of_first, (unsigned)tiles,
            k_tiles,         UINT32_MAX / k_tiles,     control};
}
constexpr size_t kControlBytes = 4096;
constexpr uint32_t kPendingBf16 = 1u << DUO_WAY_BF16X6, kPendingExact = 1u << DUO_WAY_EXACT;

static __device__ __forceinline__ uint4 pack(const uint32_t (&pair)[kRun / 2])
{
    return make_uint4(pair[0], pair[1], pair[2], pair[3]);
}
/* As one store; left to the compiler it can become several. */
static __device__ __forceinline__ void store_16_bytes(void *to, uint4 v)
{
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(v.x), "r"(v.y), "r"(v.z),
                 "r"(v.w)
                 : "memory");
}
/* -1 where |x| < limit, else 0. */
static __device__ __forceinline__ int minus_below(float x, float limit)
{
    int mask;
    asm("set.lt.s32.f32 %0, %1, %2;" : "=r"(mask) : "f"(fabsf(x)), "f"(limit));
    return mask;
}
template <class Pair>
static __device__ __forceinline__ uint32_t bits_of(Pair pair)
{
    return *reinterpret_cast<uint32_t *>(&pair);
}

/* Splits a run and stores it. Where Look: returns whether an element below 2^(kShift - kKept) lost more
 * than the 22 bits that others keep allow. */
template <bool Look>
static __device__ __forceinline__ bool store_run(fp16x3, const operand_planes &o, int64_t row,
                                                 int64_t pitch, int64_t k, const float (&x)[kRun])
{
    constexpr float kKept = 0.25f;
    uint32_t hi[kRun / 2], lo[kRun / 2];
    bool lossy = false;
#pragma unroll
    for (int p = 0; p < kRun / 2; p++) {
        const float u = x[2 * p], v = x[2 * p + 1];
        const __half2 high = __floats2half2_rn(u, v);
        const float2 high_value = __half22float2(high);
        const float u_left = u - high_value.x, v_left = v - high_value.y;
        const __half2 low = __floats2half2_rn(u_left, v_left);
        if constexpr (Look) {
            const float2 low_value = __half22float2(low);
            lossy |= (fabsf(u) < kKept && low_value.x != u_left) ||
                     (fabsf(v) < kKept && low_value.y != v_left);
        }
        hi[p] = bits_of(high);
        lo[p] = bits_of(low);
    }
    constexpr int kGroup = 32;
    __half *const to =
        static_cast<__half *>(o.planes) + (row * pitch + k / kGroup * kGroup) * 2 + k % kGroup;
    store_16_bytes(to, pack(hi));
    store_16_bytes(to + kGroup, pack(lo));
    return lossy;
}

/* Of this, any element below is lossy, and of bf16x6 any could be in fp16x3, which is what its words are
 * about. */
template <bool Look>
static __device__ __forceinline__ bool store_run(fp16x1, const operand_planes &o, int64_t row,
                                                 int64_t pitch, int64_t k, const float (&x)[kRun])
{
    uint32_t pair[kRun / 2];
#pragma unroll
    for (int p = 0; p < kRun / 2; p++) pair[p] = bits_of(__floats2half2_rn(x[2 * p], x[2 * p + 1]));
    __half *const to = static_cast<__half *>(o.planes) + row * pitch + k;
    store_16_bytes(to, pack(pair));
    return Look;
}

/* A run as three bf16 per element: all 24 bits. */
static __device__ __forceinline__ void split_bf16(uint4 (&part)[bf16x6::kPlanes],
                                                  const float (&x)[kRun])
{
    float left[kRun];
#pragma unroll
    for (int i = 0; i < kRun; i++) left[i] = x[i];
#pragma unroll
    for (int plane = 0; plane < bf16x6::kPlanes; plane++) {
        uint32_t pair[kRun / 2];
#pragma unroll
        for (int p = 0; p < kRun / 2; p++) {
            const __nv_bfloat162 high = __floats2bfloat162_rn(left[2 * p], left[2 * p + 1]);
            const float2 value = __bfloat1622float2(high);
            left[2 * p] -= value.x;
            left[2 * p + 1] -= value.y;
            pair[p] = bits_of(high);
        }
        part[plane] = pack(pair);
    }
}

template <bool Look>
static __device__ __forceinline__ bool store_run(bf16x6, const operand_planes &o, int64_t row,
                                                 int64_t pitch, int64_t k, const float (&x)[kRun])
{
    __nv_bfloat16 *to = static_cast<__nv_bfloat16 *>(o.planes) + row * pitch + k;
    uint4 part[bf16x6::kPlanes];
    split_bf16(part, x);
#pragma unroll
    for (int plane = 0; plane < bf16x6::kPlanes; plane++, to += plane_elements(o))
        store_16_bytes(to, part[plane]);
    return Look;
}

/* 2^e as the bits of a magnitude, 0 below the least subnormal. */
static __device__ __forceinline__ uint32_t magnitude_bits(int e) /* e < 128 */
{
    return e >= -126 ? (uint32_t)(e + 127) << 23 : e >= -149 ? 1u << (e + 149) : 0;
}

/*
 * One tile; `words`: its word too. Loads go along what is contiguous; where that is not k, or where
 * rows are not aligned to 16 bytes, they pass through shared memory.
 */
template <class Scheme>
static __device__ __forceinline__ void split_tile(const operand_planes &o, unsigned block,
                                                  unsigned k_tiles, unsigned k_tiles_inverse,
                                                  bool words)
{
    __shared__ float turned[kTile][kTile + 1];
    __shared__ uint32_t warp_largest[kSplitThreads / 32], warp_least[kSplitThreads / 32];
    __shared__ uint32_t smalls_of_block, flags_of_block;

    unsigned row_tile = __umulhi(block, k_tiles_inverse); /* or one less than it should be */
    unsigned k_tile = block - row_tile * k_tiles;
    if (k_tile >= k_tiles) {
        row_tile++;
        k_tile -= k_tiles;
    }
    const int64_t first_row = (int64_t)row_tile * kTile, first_k = (int64_t)k_tile * kTile;
    const int rows = (int)min((int64_t)kTile, o.rows - first_row);
    const int ks = (int)min((int64_t)kTile, o.k - first_k);
    const int t = threadIdx.x;
    const float *const x =
        o.x + (o.along_k ? first_row * o.ld + first_k : first_row + first_k * o.ld);
    const bool aligned = reinterpret_cast<uintptr_t>(x) % 16 == 0 && o.ld % 4 == 0;

    /* My rows of the tile: row + i * kRowStep, and in them the run of k from here on. */
    const int row = t / kLanesPerRow, run = t % kLanesPerRow * kRun;
    float value[kRuns][kRun];
    if (o.along_k && aligned && rows == kTile && ks == kTile) {
#pragma unroll
        for (int i = 0; i < kRuns; i++) {
            const float *const from = x + (int64_t)(row + i * kRowStep) * o.ld + run;
#pragma unroll
            for (int half = 0; half < 2; half++) {
                const float4 v = __ldcs(reinterpret_cast<const float4 *>(from) + half);
                value[i][4 * half] = v.x;
                value[i][4 * half + 1] = v.y;
                value[i][4 * half + 2] = v.z;
                value[i][4 * half + 3] = v.w;
            }
        }
    } else {
        const int across = o.along_k ? ks : rows, down = o.along_k ? rows : ks;
        if (aligned && across == kTile && down == kTile) { /* four rows of one k each */
            float4 v[kLoads];
#pragma unroll
            for (int i = 0; i < kLoads; i++)
                v[i] =
                    __ldcs(reinterpret_cast<const float4 *>(x + (int64_t)(t / 16 + i * 16) * o.ld) +
                           t % 16);
#pragma unroll
            for (int i = 0; i < kLoads; i++) {
                const int k = t / 16 + i * 16, r = t % 16 * 4;
                turned[r][k] = v[i].x;
                turned[r + 1][k] = v[i].y;
                turned[r + 2][k] = v[i].z;
                turned[r + 3][k] = v[i].w;
            }
        } else {
            constexpr int kSteps = kTile * kTile / kSplitThreads, kStep = kSplitThreads / kTile;
#pragma unroll
            for (int i = 0; i < kSteps; i++) {
                const int a = t % kTile, d = t / kTile + i * kStep;
                const float v = a < across && d < down ? __ldcs(x + (int64_t)d * o.ld + a) : 0.0f;
                turned[o.along_k ? d : a][o.along_k ? a : d] = v;
            }
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < kRuns; i++)
#pragma unroll
            for (int j = 0; j < kRun; j++) value[i][j] = turned[row + i * kRowStep][run + j];
    }

    /* By their bits, the largest magnitude of the tile (NaN is the largest of all), and the least but 0,
     * less 1, which makes 0 the largest. */
    uint32_t largest = 0, least = ~0u;
#pragma unroll
    for (int i = 0; i < kRuns; i++)
#pragma unroll
        for (int j = 0; j < kRun; j++) {
            const uint32_t magnitude = __float_as_uint(value[i][j]) & 0x7fffffffu;
            largest = max(largest, magnitude);
            least = min(least, magnitude - 1);
        }
    largest = warp_max(largest);
    least = ~warp_max(~least);
    if (t % 32 == 0) {
        warp_largest[t / 32] = largest;
        warp_least[t / 32] = least;
    }
    if (t == 0) smalls_of_block = flags_of_block = 0;
    __syncthreads();
#pragma unroll
    for (int w = 0; w < kSplitThreads / 32; w++) {
        largest = max(largest, warp_largest[w]);
        least = min(least, warp_least[w]);
    }

    const bool finite = largest < 0x7f800000u;
    const int exponent =
        ((finite ? exponent_of(largest) : 127) + kExponentBias | kExponentGrain - 1) -
        kExponentBias;
    const tile_scale scale = tile_scale::of(Scheme(), exponent);
    /* Is an element but 0 less than 2^-below of the scale? */
    auto any = [&](int below) { return least < max(magnitude_bits(exponent - below), 1u) - 1; };
    const bool look = any(Scheme::kKept);
    const float small = __uint_as_float(max(magnitude_bits(exponent - 7), 1u)); /* 0 is small */

    bool zero_row = false;
    int most_small = 0;
#pragma unroll
    for (int i = 0; i < kRuns; i++) {
        int minus_smalls = 0;
        uint32_t bits = 0;
#pragma unroll
        for (int j = 0; j < kRun; j++) {
            minus_smalls += minus_below(value[i][j], small);
            bits |= __float_as_uint(value[i][j]);
        }
        uint32_t counts = ((bits & 0x7fffffffu) != 0 ? 1u << 16 : 0) - minus_smalls;
#pragma unroll
        for (int lane = 1; lane < kLanesPerRow; lane *= 2)
            counts += __shfl_xor_sync(~0u, counts, lane);
        /* Elements beyond k are zeros that do not count; rows beyond the matrix are all zeros. */
        if (counts >> 16 != 0)
            most_small = max(most_small, (int)(counts & 0xffff) - (kTile - ks));
        else
            zero_row |= row + i * kRowStep < rows;
    }
#pragma unroll
    for (int i = 0; i < kRuns; i++)
#pragma unroll
        for (int j = 0; j < kRun; j++) value[i][j] *= scale.first;
    if (scale.second != 1.0f)
#pragma unroll
        for (int i = 0; i < kRuns; i++)
#pragma unroll
            for (int j = 0; j < kRun; j++) value[i][j] *= scale.second;
    const int64_t pitch = (int64_t)k_tiles * kTile;
    auto store = [&](auto looks) {
        bool lossy = false;
#pragma unroll
        for (int i = 0; i < kRuns; i++)
            lossy |= store_run<looks.value>(Scheme(), o, first_row + row + i * kRowStep, pitch,
                                            first_k + run, value[i]);
        return lossy;
    };
    const bool lossy = look ? store(std::true_type()) : store(std::false_type());
    const uint32_t warp_small = warp_max((uint32_t)most_small);
    const uint32_t warp_flags = (__any_sync(~0u, lossy) ? kWordLossy : 0) |
                                (any(80) ? kWordFaint : 0) |
                                (__any_sync(~0u, zero_row) ? kWordZeroRow : 0);
    if (t % 32 == 0) {
        atomicMax(&smalls_of_block, warp_small);
        atomicOr(&flags_of_block, warp_flags);
    }
    __syncthreads(); /* also: nobody reads shared memory of this tile any more */
    if (t == 0 && words)
        o.words[block] = (largest == 0 ? 0 : (uint32_t)(exponent + kExponentBias)) |
                         smalls_of_block << kWordSmallShift | flags_of_block |
                         (finite ? 0 : kWordNonFinite);
}

/* Tile `tile` of both operands. Not by index into the problem: an array of parameters would be copied
 * to local memory for that. */
template <class Scheme>
static __device__ __forceinline__ void split_tile_of(const split_problem &p, unsigned tile,
                                                     bool words)
{
    const bool second = tile >= p.tiles_of_first;
    const operand_planes o = second ? p.operand[1] : p.operand[0];
    split_tile<Scheme>(o, second ? tile - p.tiles_of_first : tile, p.k_tiles, p.k_tiles_inverse,
                       words);
}

template <class Scheme, int Resident>
static __global__ void __launch_bounds__(kSplitThreads,
                                         Resident < kMostResident ? Resident : kMostResident)
    sgemm_split(split_problem p)
{
    let_next_kernel_start();
    wait_for_kernels_ahead();
    if (blockIdx.x == 0 && p.control != nullptr)
        for (unsigned x = threadIdx.x; x < kControlBytes / sizeof(uint32_t); x += kSplitThreads)
            p.control[x] = 0;
    if (blockIdx.x < p.tiles) split_tile_of<Scheme>(p, blockIdx.x, true);
}

#endif
