/*
 * split/wgmma/instructions.cuh - Hopper's asynchronous instructions: mbarriers, tensor copies
 * (TMA), matrix products of warpgroups. Only for compute capability 9.0 (sm_90a).
 *
 * A wgmma multiplies two matrices in shared memory, both with k contiguous, in rows of 64 or 128
 * bytes that the tensor copy has swizzled; the product of a warpgroup is 64 rows. Element (r, c) of
 * the product: thread 32 * (r / 16) + 4 * (r % 8) + c % 8 / 2, register 4 * (c / 8) + 2 * (r / 8 %
 * 2) + c % 2.
 */
#ifndef DUO_SPLIT_WGMMA_INSTRUCTIONS_CUH
#define DUO_SPLIT_WGMMA_INSTRUCTIONS_CUH

#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

#if defined(__CUDA_ARCH_FEAT_SM90_ALL) || !defined(__CUDA_ARCH__)
#define DUO_HAS_WGMMA 1
#else
#define DUO_HAS_WGMMA 0
#endif

/* ---- Shared memory and mbarriers, by 32-bit address ---- */

static __device__ __forceinline__ uint32_t shared_address(const void *p)
{
    uint32_t address; /* opaque, or the compiler computes it again at every use */
    asm volatile("mov.u32 %0, %1;" : "=r"(address) : "r"((uint32_t)__cvta_generic_to_shared(p)));
    return address;
}

static __device__ __forceinline__ void barrier_init(uint32_t barrier, uint32_t arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals)
                 : "memory");
}
static __device__ __forceinline__ void barrier_init_done()
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
static __device__ __forceinline__ void barrier_arrive(uint32_t barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
/* Arrives at the barrier at the same place in another block of the cluster. It does not publish
 * this thread's writes: that would take a fence. */
static __device__ __forceinline__ void barrier_arrive_in(uint32_t barrier, uint32_t block)
{
    asm volatile("{\n"
                 ".reg .b32 there;\n"
                 "mapa.shared::cluster.u32 there, %0, %1;\n"
                 "mbarrier.arrive.shared::cluster.b64 _, [there];\n"
                 "}\n" ::"r"(barrier),
                 "r"(block)
                 : "memory");
}
/* Waits for all threads of a cluster. */
static __device__ __forceinline__ void sync_cluster()
{
    asm volatile("barrier.cluster.arrive.release;\n"
                 "barrier.cluster.wait.acquire;" ::
                     : "memory");
}
static __device__ __forceinline__ void barrier_expect(uint32_t barrier, uint32_t bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
                 : "memory");
}
static __device__ __forceinline__ void barrier_wait(uint32_t barrier, uint32_t parity)
{
    uint32_t done;
    do {
        asm volatile("{\n"
                     ".reg .pred p;\n"
                     "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                     "selp.u32 %0, 1, 0, p;\n"
                     "}\n"
                     : "=r"(done)
                     : "r"(barrier), "r"(parity)
                     : "memory");
    } while (done == 0);
}

/* ---- Tensor copies: one box of a (k, row, plane) tensor; elements outside are read as zero
 * ---- */

/* Prefetches a map for the copies. */
static __device__ __forceinline__ void prefetch_map(const CUtensorMap *map)
{
    asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}
static __device__ __forceinline__ void copy_box(uint32_t to, const CUtensorMap *map,
                                                uint32_t barrier, int k, int row, int plane = 0)
{
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%3, %4, %5}], [%2];" ::"r"(to),
                 "l"(map), "r"(barrier), "r"(k), "r"(row), "r"(plane)
                 : "memory");
}

/* Copies to the same place in the shared memory of several blocks of the cluster: a bit in `blocks`
 * for each. Each block expects it at its own barrier. */
static __device__ __forceinline__ void
copy_box_to(uint16_t blocks, uint32_t to, const CUtensorMap *map, uint32_t barrier, int k, int row)
{
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                 ".multicast::cluster [%0], [%1, {%3, %4, %5}], [%2], %6;" ::"r"(to),
                 "l"(map), "r"(barrier), "r"(k), "r"(row), "r"(0), "h"(blocks)
                 : "memory");
}

/* ---- Matrix products ---- */

/* The upper half of an operand's descriptor: swizzle (1: rows of 128 bytes, 2: rows of 64), 8 rows
 * from one group to the next. */
template <int RowBytes>
constexpr uint64_t kDescriptor = (uint64_t)(RowBytes == 128 ? 1 : 2) << 62 |
                                 (uint64_t)(8 * RowBytes / 16) << 32;

/* The lower half, for the rows from an address on; 1 more is 16 bytes further. */
static __device__ __forceinline__ uint32_t rows_at(uint32_t address)
{
    return address >> 4 | 1u << 16;
}

/* After this and a barrier, products and tensor copies of other threads come behind this thread's
 * writes to shared memory. */
static __device__ __forceinline__ void writes_before_products()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

static __device__ __forceinline__ void products_begin()
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
static __device__ __forceinline__ void products_commit()
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
/* Waits until all products are in their registers, except those of the last Pending commits. d is
 * not among these. */
template <int Pending, int Registers>
static __device__ __forceinline__ void products_wait(float (&d)[Registers])
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Pending) : "memory");
#pragma unroll
    for (int i = 0; i < Registers; i++) asm volatile("" : "+f"(d[i])::"memory");
}

#define DUO_D4(i)  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define DUO_D16(i) DUO_D4(i), DUO_D4(i + 4), DUO_D4(i + 8), DUO_D4(i + 12)

#define DUO_WGMMA_64(type)                                                                         \
    asm volatile("{\n"                                                                             \
                 ".reg .pred p;\n"                                                                 \
                 "setp.ne.b32 p, %34, 0;\n"                                                        \
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32." type "." type " "                   \
                 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "         \
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, "     \
                 "%31}, %32, %33, p, 1, 1, 0, 0;\n"                                                \
                 "}\n"                                                                             \
                 : DUO_D16(0), DUO_D16(16)                                                         \
                 : "l"(a), "l"(b), "r"(add))

#define DUO_WGMMA_128(type)                                                                        \
    asm volatile("{\n"                                                                             \
                 ".reg .pred p;\n"                                                                 \
                 "setp.ne.b32 p, %66, 0;\n"                                                        \
                 "wgmma.mma_async.sync.aligned.m64n128k16.f32." type "." type " "                  \
                 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "         \
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, "     \
                 "%31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, "     \
                 "%46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, "     \
                 "%61, %62, %63}, %64, %65, p, 1, 1, 0, 0;\n"                                      \
                 "}\n"                                                                             \
                 : DUO_D16(0), DUO_D16(16), DUO_D16(32), DUO_D16(48)                               \
                 : "l"(a), "l"(b), "r"(add))

/* d = a b' (add == 0) or d += a b', 16 steps of k, a with 64 rows, b with 64 or 128, by
 * descriptors. */
static __device__ __forceinline__ void product(float (&d)[32], uint64_t a, uint64_t b, int add,
                                               __half)
{
    DUO_WGMMA_64("f16");
}
static __device__ __forceinline__ void product(float (&d)[64], uint64_t a, uint64_t b, int add,
                                               __half)
{
    DUO_WGMMA_128("f16");
}
static __device__ __forceinline__ void product(float (&d)[32], uint64_t a, uint64_t b, int add,
                                               __nv_bfloat16)
{
    DUO_WGMMA_64("bf16");
}
static __device__ __forceinline__ void product(float (&d)[64], uint64_t a, uint64_t b, int add,
                                               __nv_bfloat16)
{
    DUO_WGMMA_128("bf16");
}

/* The same with TF32, the upper 19 bits of float32: 8 steps of k, a in registers. They must keep
 * their values until the product is done. b has 32, 64, 96 or 128 rows. */
#define DUO_PRODUCT_TF32(rows, d, a0, a1, a2, a3, b, add)                                          \
    "{\n"                                                                                          \
    ".reg .pred p;\n"                                                                              \
    "setp.ne.b32 p, " add ", 0;\n"                                                                 \
    "wgmma.mma_async.sync.aligned.m64n" rows "k8.f32.tf32.tf32 "                                   \
    "{" d "}, {" a0 ", " a1 ", " a2 ", " a3 "}, " b ", p, 1, 1;\n"                                 \
    "}\n"
#define DUO_TO_16 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define DUO_TO_32                                                                                  \
    DUO_TO_16 ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define DUO_TO_48                                                                                  \
    DUO_TO_32 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
#define DUO_TO_64                                                                                  \
    DUO_TO_48 ", %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define DUO_FACTORS                                                                                \
    "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])), "r"(__float_as_uint(a[2])),            \
        "r"(__float_as_uint(a[3])), "l"(b), "r"(add)

static __device__ __forceinline__ void product_tf32(float (&d)[16], const float (&a)[4], uint64_t b,
                                                    int add)
{
    asm volatile(DUO_PRODUCT_TF32("32", DUO_TO_16, "%16", "%17", "%18", "%19", "%20", "%21")
                 : DUO_D16(0)
                 : DUO_FACTORS);
}
static __device__ __forceinline__ void product_tf32(float (&d)[32], const float (&a)[4], uint64_t b,
                                                    int add)
{
    asm volatile(DUO_PRODUCT_TF32("64", DUO_TO_32, "%32", "%33", "%34", "%35", "%36", "%37")
                 : DUO_D16(0), DUO_D16(16)
                 : DUO_FACTORS);
}
static __device__ __forceinline__ void product_tf32(float (&d)[48], const float (&a)[4], uint64_t b,
                                                    int add)
{
    asm volatile(DUO_PRODUCT_TF32("96", DUO_TO_48, "%48", "%49", "%50", "%51", "%52", "%53")
                 : DUO_D16(0), DUO_D16(16), DUO_D16(32)
                 : DUO_FACTORS);
}
static __device__ __forceinline__ void product_tf32(float (&d)[64], const float (&a)[4], uint64_t b,
                                                    int add)
{
    asm volatile(DUO_PRODUCT_TF32("128", DUO_TO_64, "%64", "%65", "%66", "%67", "%68", "%69")
                 : DUO_D16(0), DUO_D16(16), DUO_D16(32), DUO_D16(48)
                 : DUO_FACTORS);
}

#undef DUO_FACTORS
#undef DUO_TO_64
#undef DUO_TO_48
#undef DUO_TO_32
#undef DUO_TO_16
#undef DUO_PRODUCT_TF32
#undef DUO_WGMMA_128
#undef DUO_WGMMA_64
#undef DUO_D16
#undef DUO_D4

/* ---- The warpgroups of a block ---- */

/*
 * The warpgroups of a block, one that copies and two that multiply, and the barriers of these two.
 */

constexpr int kWarpgroup = 128;           /* threads */
constexpr int kMultipliers = 2;           /* warpgroups */
constexpr int kTileJ = 64 * kMultipliers; /* columns of C in a tile of it */
constexpr int kMultiplyingThreads = kWarpgroup * kMultipliers;
constexpr int kWgmmaThreads = kWarpgroup + kMultiplyingThreads;

/* Waits for all threads of one multiplying warpgroup, 0 or 1. */
static __device__ __forceinline__ void sync_warpgroup(int multiplier)
{
    if (multiplier == 0)
        asm volatile("bar.sync 1, %0;" ::"n"(kWarpgroup) : "memory");
    else
        asm volatile("bar.sync 2, %0;" ::"n"(kWarpgroup) : "memory");
}

/* Waits for both. */
static __device__ __forceinline__ void sync_multipliers()
{
    asm volatile("bar.sync 3, %0;" ::"n"(kMultiplyingThreads) : "memory");
}
static __device__ __forceinline__ bool any_multiplier(bool mine)
{
    uint32_t any;
    asm volatile("{\n"
                 ".reg .pred p;\n"
                 "setp.ne.u32 p, %1, 0;\n"
                 "bar.red.or.pred p, 3, %2, p;\n"
                 "selp.u32 %0, 1, 0, p;\n"
                 "}\n"
                 : "=r"(any)
                 : "r"((uint32_t)mine), "n"(kMultiplyingThreads)
                 : "memory");
    return any != 0;
}

static __device__ __forceinline__ uint32_t clock_now()
{
    uint32_t now;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(now)::"memory");
    return now;
}

/*
 * Lets the second multiplying warpgroup begin a tile some clocks after the first, more than adding
 * a chain takes. Then each adds while the other's products go on, and they keep the distance. If
 * they began at the same time, both would add at the same time, and the tensor cores would pause
 * meanwhile: one clock of seven with fp16x3 (H200; 300 clocks were too few, 500 did as well).
 */
constexpr uint32_t kApart = 384; /* clocks */
static __device__ __forceinline__ void keep_apart(int multiplier, uint32_t first_stage_full,
                                                  uint32_t phase)
{
    if (multiplier == 0) return;
    barrier_wait(first_stage_full, phase);
    const uint32_t start = clock_now();
    while (clock_now() - start < kApart) continue;
}

#endif
