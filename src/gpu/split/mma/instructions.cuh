/*
 * split/mma/instructions.cuh - instructions for the tensor cores of every architecture: copies to
 * shared memory, loads of matrices from there to registers, matrix products of one warp.
 *
 * A warp multiplies 16 rows by 8 columns, 16 k at a time; rows and columns lie in shared memory
 * with k contiguous. Element (r, c) of the product: lane 4 * (r % 8) + c / 2, register 2 * (r / 8)
 * + c % 2.
 */
#ifndef DUO_SPLIT_MMA_INSTRUCTIONS_CUH
#define DUO_SPLIT_MMA_INSTRUCTIONS_CUH

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

/* Are there asynchronous copies to shared memory, and bf16? */
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
#define DUO_HAS_AMPERE 1
#else
#define DUO_HAS_AMPERE 0
#endif

/* ---- Asynchronous copies, by 32-bit address of shared memory ---- */

/* 16 bytes, both sides aligned to that. Cached: they stay in the L1 cache for other warps that read
 * them soon. */
template <bool Cached = false>
static __device__ __forceinline__ void copy_async(uint32_t to, const void *from)
{
#if DUO_HAS_AMPERE
    if constexpr (Cached)
        asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
    else
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
#endif
}
/* The same. The first `floats` are read; the others become zero. */
template <bool Cached = false>
static __device__ __forceinline__ void copy_async_part(uint32_t to, const void *from, int floats)
{
#if DUO_HAS_AMPERE
    const int bytes = min(max(floats, 0), 4) * 4;
    if constexpr (Cached)
        asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from),
                     "r"(bytes)
                     : "memory");
    else
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from),
                     "r"(bytes)
                     : "memory");
#endif
}
static __device__ __forceinline__ void copies_commit()
{
#if DUO_HAS_AMPERE
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
/* Waits for this thread's copies. It does not wait for those of the last Pending commits. */
template <int Pending = 0>
static __device__ __forceinline__ void copies_wait()
{
#if DUO_HAS_AMPERE
    asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
#endif
}

/* The barrier counts this thread when its copies are there. */
static __device__ __forceinline__ void barrier_arrive_after_copies(uint32_t barrier)
{
#if DUO_HAS_AMPERE
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
#endif
}

/* ---- Matrices ---- */

/* Four of 8 rows x 16 bytes; lane l gives the address of row l % 8 of matrix l / 8. */
static __device__ __forceinline__ void load_matrices(uint32_t (&d)[4], uint32_t row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
                 : "r"(row)
                 : "memory");
}

/* ---- Products ---- */

/* d += a b', 16 k. a: rows 0-7 and 8-15 of k 0-7, then of k 8-15. b: k 0-7, k 8-15. */
#define DUO_D "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
#define DUO_MMA_16(type)                                                                           \
    asm("mma.sync.aligned.m16n8k16.row.col.f32." type "." type                                     \
        ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                     \
        : DUO_D                                                                                    \
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1))
#define DUO_MMA_8(a0, a1, b)                                                                       \
    asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, "      \
        "{%0, %1, %2, %3};"                                                                        \
        : DUO_D                                                                                    \
        : "r"(a0), "r"(a1), "r"(b))

static __device__ __forceinline__ void warp_product(float (&d)[4], const uint32_t (&a)[4],
                                                    uint32_t b0, uint32_t b1, __half)
{
#if DUO_HAS_AMPERE
    DUO_MMA_16("f16");
#else
    DUO_MMA_8(a[0], a[1], b0);
    DUO_MMA_8(a[2], a[3], b1);
#endif
}
static __device__ __forceinline__ void warp_product(float (&d)[4], const uint32_t (&a)[4],
                                                    uint32_t b0, uint32_t b1, __nv_bfloat16)
{
#if DUO_HAS_AMPERE
    DUO_MMA_16("bf16");
#endif
}

#undef DUO_MMA_8
#undef DUO_MMA_16
#undef DUO_D

#endif
