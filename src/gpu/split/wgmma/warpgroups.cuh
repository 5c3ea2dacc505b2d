/*
 * split/wgmma/warpgroups.cuh - the warpgroups of a block, one that copies and two that multiply,
 * and the barriers of these two.
 */
#ifndef DUO_SPLIT_WGMMA_WARPGROUPS_CUH
#define DUO_SPLIT_WGMMA_WARPGROUPS_CUH

#include "gpu/split/wgmma/instructions.cuh"

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
