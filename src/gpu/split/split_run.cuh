/*
 * split/split_run.cuh - a run of 8 neighbours in k, split by each scheme and stored in its planes.
 */
#ifndef DUO_SPLIT_SPLIT_RUN_CUH
#define DUO_SPLIT_SPLIT_RUN_CUH

#include "gpu/split/planes.cuh"

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
 * whether the run has a lossy element (split/scheme.cuh). */
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

#endif
