/*
 * split/split_pass.cuh - the kernel that writes the planes and words of both operands.
 *
 * Accepts   any extent, k, leading dimension, alignment and order of an operand
 * Threads   256 per block; a block splits a tile of 64 rows x 64 k
 * Traffic   4 bytes read and 2 per plane written for each element, and a word for each tile
 *
 * Large operands are bound by memory, small ones by instructions.
 */
#ifndef DUO_SPLIT_SPLIT_PASS_CUH
#define DUO_SPLIT_SPLIT_PASS_CUH

#include "gpu/launch.cuh"
#include "gpu/split/planes.cuh"

/* ---- A run of 8 neighbours in k, split by each scheme and stored in its planes ---- */

constexpr int kRun = 8; /* elements: 16 bytes of a plane */

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
template <class Pair>
static __device__ __forceinline__ uint32_t bits_of(Pair pair)
{
    return *reinterpret_cast<uint32_t *>(&pair);
}

/* Splits a run and stores it. Look: the tile has elements below 2^(kShift - kKept); then returns
 * whether the run has a lossy element (split/planes.cuh). */
template <bool Look>
static __device__ __forceinline__ bool store_run(fp16x3, const operand_planes &o, int64_t row,
                                                 int64_t pitch, int64_t k, const float (&x)[kRun])
{
    constexpr float kKept = 0.25f; /* from here on no element is lossy */
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
    constexpr int kGroup = 32; /* k of each plane in turn */
    __half *const to =
        static_cast<__half *>(o.planes) + (row * pitch + k / kGroup * kGroup) * 2 + k % kGroup;
    store_16_bytes(to, pack(hi));
    store_16_bytes(to + kGroup, pack(lo));
    return lossy;
}

/* Here all elements below 2^(kShift - kKept) are lossy. With bf16x6 all of them could be lossy in
 * fp16x3; its words tell that. */
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

/* ---- Loading a tile, 64 rows x 64 k, into the registers of a block ---- */

constexpr int kSplitThreads = 256, kSplitWarps = kSplitThreads / 32;
constexpr int kLanesPerRow = kTile / kRun; /* threads that share a row of a tile */
constexpr int kRowStep = kSplitThreads / kLanesPerRow, kRuns = kTile / kRowStep;

/* A tile's place in its operand, and a thread's part of the tile: 8 neighbours in k, from `run` on,
 * in rows row, row + kRowStep, ... */
struct tile_part {
    int64_t first_row, first_k;
    int rows, ks; /* inside the operand */
    int row, run;

    /* k_tiles_inverse: 2^32 / k_tiles, or a little less, for a division in two instructions. */
    __device__ __forceinline__ tile_part(const operand_planes &o, unsigned tile, unsigned k_tiles,
                                         unsigned k_tiles_inverse)
    {
        unsigned row_tile = __umulhi(tile, k_tiles_inverse); /* may be one too small */
        unsigned k_tile = tile - row_tile * k_tiles;
        if (k_tile >= k_tiles) {
            row_tile++;
            k_tile -= k_tiles;
        }
        first_row = (int64_t)row_tile * kTile;
        first_k = (int64_t)k_tile * kTile;
        rows = (int)min((int64_t)kTile, o.rows - first_row);
        ks = (int)min((int64_t)kTile, o.k - first_k);
        row = threadIdx.x / kLanesPerRow;
        run = threadIdx.x % kLanesPerRow * kRun;
    }
};

using tile_values = float[kRuns][kRun];

/* A whole tile along k, aligned to 16 bytes: every thread loads its own part. */
static __device__ __forceinline__ void load_along_k(tile_values &value, const float *x, int64_t ld,
                                                    const tile_part &part)
{
#pragma unroll
    for (int i = 0; i < kRuns; i++) {
        const float *const from = x + (int64_t)(part.row + i * kRowStep) * ld + part.run;
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const float4 v = __ldcs(reinterpret_cast<const float4 *>(from) + half);
            value[i][4 * half] = v.x;
            value[i][4 * half + 1] = v.y;
            value[i][4 * half + 2] = v.z;
            value[i][4 * half + 3] = v.w;
        }
    }
}

using turned_tile = float[kTile][kTile + 1]; /* [row][k]; 1 more spreads columns over the banks */

/* A whole tile along the rows, aligned to 16 bytes: four rows of one k at a time. */
static __device__ __forceinline__ void load_across(turned_tile &turned, const float *x, int64_t ld)
{
    constexpr int kLoads = kTile * kTile / kSplitThreads / 4;
    const int t = threadIdx.x;
    float4 v[kLoads];
#pragma unroll
    for (int i = 0; i < kLoads; i++)
        v[i] =
            __ldcs(reinterpret_cast<const float4 *>(x + (int64_t)(t / 16 + i * 16) * ld) + t % 16);
#pragma unroll
    for (int i = 0; i < kLoads; i++) {
        const int k = t / 16 + i * 16, r = t % 16 * 4;
        turned[r][k] = v[i].x;
        turned[r + 1][k] = v[i].y;
        turned[r + 2][k] = v[i].z;
        turned[r + 3][k] = v[i].w;
    }
}

/* Any tile, one element at a time; elements outside the operand are zero. */
static __device__ __forceinline__ void load_any(turned_tile &turned, const float *x, int64_t ld,
                                                bool along_k, int across, int down)
{
    constexpr int kSteps = kTile * kTile / kSplitThreads, kStep = kSplitThreads / kTile;
    const int t = threadIdx.x;
#pragma unroll
    for (int i = 0; i < kSteps; i++) {
        const int a = t % kTile, d = t / kTile + i * kStep;
        const float v = a < across && d < down ? __ldcs(x + (int64_t)d * ld + a) : 0.0f;
        turned[along_k ? d : a][along_k ? a : d] = v;
    }
}

/* Loads neighbours in memory. If they do not lie along k, or are not aligned to 16 bytes, the tile
 * passes through shared memory. */
static __device__ __forceinline__ void load_tile(tile_values &value, const operand_planes &o,
                                                 const tile_part &part)
{
    __shared__ turned_tile turned;
    const float *const x = o.x + (o.along_k ? part.first_row * o.ld + part.first_k
                                            : part.first_row + part.first_k * o.ld);
    const bool aligned = reinterpret_cast<uintptr_t>(x) % 16 == 0 && o.ld % 4 == 0;
    if (o.along_k && aligned && part.rows == kTile && part.ks == kTile) {
        load_along_k(value, x, o.ld, part);
        return;
    }
    const int across = o.along_k ? part.ks : part.rows, down = o.along_k ? part.rows : part.ks;
    if (aligned && across == kTile && down == kTile)
        load_across(turned, x, o.ld);
    else
        load_any(turned, x, o.ld, o.along_k, across, down);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kRuns; i++)
#pragma unroll
        for (int j = 0; j < kRun; j++) value[i][j] = turned[part.row + i * kRowStep][part.run + j];
}

/* ---- Measuring ---- */

/* 2^e as the bits of a magnitude, 0 below the least subnormal. */
static __device__ __forceinline__ uint32_t magnitude_bits(int e) /* e < 128 */
{
    return e >= -126 ? (uint32_t)(e + 127) << 23 : e >= -149 ? 1u << (e + 149) : 0;
}

/* -1 if |x| < limit, else 0. */
static __device__ __forceinline__ int minus_below(float x, float limit)
{
    int mask;
    asm("set.lt.s32.f32 %0, %1, %2;" : "=r"(mask) : "f"(fabsf(x)), "f"(limit));
    return mask;
}

/* Facts of a tile that the warps of the block tell each other. */
struct tile_facts {
    uint32_t warp_largest[kSplitWarps], warp_least[kSplitWarps];
    uint32_t smalls, flags; /* of the tile's word */
};

/*
 * The largest magnitude of a tile, and the least nonzero one minus 1. Both are the bits of a float:
 * these have the same order as the values. NaN is larger than all others. 0 minus 1 is the largest
 * of all, so zeros do not count for the least.
 */
struct tile_range {
    uint32_t largest = 0, least = ~0u;

    __device__ __forceinline__ tile_range(const tile_values &value, tile_facts &facts)
    {
        const int t = threadIdx.x;
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
            facts.warp_largest[t / 32] = largest;
            facts.warp_least[t / 32] = least;
        }
        if (t == 0) facts.smalls = facts.flags = 0;
        __syncthreads();
#pragma unroll
        for (int w = 0; w < kSplitWarps; w++) {
            largest = max(largest, facts.warp_largest[w]);
            least = min(least, facts.warp_least[w]);
        }
    }
    __device__ __forceinline__ bool finite() const { return largest < 0x7f800000u; }
    /* The exponent of the tile: floor(log2) of the largest, rounded up in steps of
     * kExponentGrain. */
    __device__ __forceinline__ int exponent() const
    {
        return ((finite() ? exponent_of(largest) : 127) + kExponentBias | kExponentGrain - 1) -
               kExponentBias;
    }
    /* Is a nonzero element less than 2^-below of 2^exponent? */
    __device__ __forceinline__ bool any(int below) const
    {
        return least < max(magnitude_bits(exponent() - below), 1u) - 1;
    }
};

/* The rows of a tile in which this thread has a part: the most small elements of one, and whether
 * one is all zeros. */
struct row_facts {
    int most_small = 0;
    bool zero_row = false;

    __device__ __forceinline__ row_facts(const tile_values &value, const tile_part &part,
                                         float small)
    {
#pragma unroll
        for (int i = 0; i < kRuns; i++) {
            int minus_smalls = 0;
            uint32_t bits = 0;
#pragma unroll
            for (int j = 0; j < kRun; j++) {
                minus_smalls += minus_below(value[i][j], small);
                bits |= __float_as_uint(value[i][j]);
            }
            /* Of the row: upper half: threads with a nonzero element; lower half: small
             * elements. */
            uint32_t counts = ((bits & 0x7fffffffu) != 0 ? 1u << 16 : 0) - minus_smalls;
#pragma unroll
            for (int lane = 1; lane < kLanesPerRow; lane *= 2)
                counts += __shfl_xor_sync(~0u, counts, lane);
            /* Elements beyond k are zeros, but do not count as small. Rows beyond the matrix are
             * all zeros, and do not count at all. */
            if (counts >> 16 != 0)
                most_small = max(most_small, (int)(counts & 0xffff) - (kTile - part.ks));
            else
                zero_row |= part.row + i * kRowStep < part.rows;
        }
    }
};

/* ---- Storing ---- */

static __device__ __forceinline__ void scale_tile(tile_values &value, const tile_scale &scale)
{
#pragma unroll
    for (int i = 0; i < kRuns; i++)
#pragma unroll
        for (int j = 0; j < kRun; j++) value[i][j] *= scale.first;
    if (scale.second != 1.0f)
#pragma unroll
        for (int i = 0; i < kRuns; i++)
#pragma unroll
            for (int j = 0; j < kRun; j++) value[i][j] *= scale.second;
}

/* Stores to the planes. Look: returns whether an element is lossy. */
template <class Scheme, bool Look>
static __device__ __forceinline__ bool store_tile(const tile_values &value, const operand_planes &o,
                                                  const tile_part &part, int64_t pitch)
{
    bool lossy = false;
#pragma unroll
    for (int i = 0; i < kRuns; i++)
        lossy |= store_run<Look>(Scheme(), o, part.first_row + part.row + i * kRowStep, pitch,
                                 part.first_k + part.run, value[i]);
    return lossy;
}

/* ---- The tile ---- */

/* words: write its word, too. */
template <class Scheme>
static __device__ __forceinline__ void split_tile(const operand_planes &o, unsigned tile,
                                                  unsigned k_tiles, unsigned k_tiles_inverse,
                                                  bool words)
{
    __shared__ tile_facts facts;
    const tile_part part(o, tile, k_tiles, k_tiles_inverse);
    tile_values value;
    load_tile(value, o, part);

    const tile_range range(value, facts);
    const int exponent = range.exponent();
    const bool look = range.any(Scheme::kKept);
    const float small = __uint_as_float(max(magnitude_bits(exponent - 7), 1u)); /* 0 is small */
    const row_facts rows(value, part, small);

    scale_tile(value, tile_scale::of(Scheme(), exponent));
    const int64_t pitch = (int64_t)k_tiles * kTile;
    const bool lossy = look ? store_tile<Scheme, true>(value, o, part, pitch)
                            : store_tile<Scheme, false>(value, o, part, pitch);

    const uint32_t warp_small = warp_max((uint32_t)rows.most_small);
    const uint32_t warp_flags = (__any_sync(~0u, lossy) ? kWordLossy : 0) |
                                (range.any(80) ? kWordFaint : 0) |
                                (__any_sync(~0u, rows.zero_row) ? kWordZeroRow : 0);
    if (threadIdx.x % 32 == 0) {
        atomicMax(&facts.smalls, warp_small);
        atomicOr(&facts.flags, warp_flags);
    }
    __syncthreads(); /* also: no thread still reads this tile in shared memory */
    if (threadIdx.x == 0 && words)
        o.words[tile] = (range.largest == 0 ? 0 : (uint32_t)(exponent + kExponentBias)) |
                        facts.smalls << kWordSmallShift | facts.flags |
                        (range.finite() ? 0 : kWordNonFinite);
}

/* ---- The kernel ---- */

/*
 * Blocks per multiprocessor that the registers must allow: kFewResident if all tiles run at once;
 * else the scheme's number, which was fastest on an H200 by 5 to 20 %.
 */
constexpr int kFewResident = 4;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
constexpr int kMostResident = 2; /* Turing would have room for 4 with few registers, which spill */
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 900
constexpr int kMostResident = 8;
#else
constexpr int kMostResident = 4; /* with fewer registers some code spills */
#endif

struct split_problem {
    operand_planes operand[2];
    unsigned tiles_of_first, tiles;    /* to be split, of the first operand and of both */
    unsigned k_tiles, k_tiles_inverse; /* tiles along k, and 2^32 / k_tiles or a little less */
    uint32_t *control;                 /* NULL, or kControlBytes to clear here (struct patch) */
};
static inline split_problem split_of(const operand_planes &first, const operand_planes &second,
                                     int64_t tiles_of_first, int64_t tiles, uint32_t *control)
{
    const unsigned k_tiles = (unsigned)tiles_of(first.k);
    return {{first, second}, (unsigned)tiles_of_first, (unsigned)tiles,
            k_tiles,         UINT32_MAX / k_tiles,     control};
}
constexpr size_t kControlBytes = 4096; /* the pending ways, then a ticket for each tile */

/* Splits a tile; tiles of both operands are counted together. The operand is not found by an index
 * into the problem: for that, an array of parameters would be copied to local memory. */
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
