/*
 * tiled/loader.cuh - the tiles of C of sgemm_gpu_tiled; loads operands into the ring of slabs.
 *
 * f64/loader.cuh does the same with fewer registers. That code would make small products 4 to 16 %
 * slower here (H100).
 */
#ifndef DUO_TILED_LOADER_CUH
#define DUO_TILED_LOADER_CUH

#include <cuda_pipeline_primitives.h>
#include <stdint.h>

#include "gpu/slab.cuh"

constexpr int kSlab = 8;  /* steps of k per slab */
constexpr int kSlabs = 4; /* slabs in the ring */

/* Threads of a warp along the rows and columns of C. */
constexpr int kLanesM = 8, kLanesN = 4;
static_assert(kLanesM * kLanesN == 32, "a warp is 32 threads");

/* A tile: warps along m and n, and elements of C per thread along m and n. */
template <int WarpsM, int WarpsN, int PerThreadM, int PerThreadN>
struct tiled_tile {
    static constexpr int kThreads = 32 * WarpsM * WarpsN;
    static constexpr int kResident = 256 / kThreads; /* blocks per multiprocessor to make room for:
                                                        8 warps may have 255 registers each */
    static constexpr int kThreadM = PerThreadM, kThreadN = PerThreadN;
    static constexpr int kWarpM = kLanesM * PerThreadM, kWarpN = kLanesN * PerThreadN;
    static constexpr int kWarpsN = WarpsN;
    static constexpr int kM = WarpsM * kWarpM, kN = WarpsN * kWarpN;
    static_assert(PerThreadM % kGroup == 0 && PerThreadN % kGroup == 0, "fragments are float4");
};

using large_tile = tiled_tile<2, 2, 8, 16>; /* 128 x 128 */
using small_tile = tiled_tile<1, 4, 8, 4>;  /* 64 x 64 */

template <int Edge>
using slab_ring = float[kSlabs][kSlab][kPitch<Edge>];

/*
 * Element (i, l) of an operand: i along the edge of the tile, l along k. AlongK: neighbours in
 * memory are neighbours in l; else in i. All threads of the block take part; each copies kCopies
 * elements of a slab, at equal distances in memory and in the slab.
 */
template <int Edge, int Threads, bool AlongK>
struct tiled_loader {
    static constexpr int kCopies = Edge * kSlab / Threads;
    static constexpr int kStepI = AlongK ? Threads / kSlab : 0;
    static constexpr int kStepL = AlongK ? 0 : Threads / Edge;
    static_assert(AlongK ? Threads % (kSlab * 4) == 0 && Edge % (Threads / kSlab) == 0
                         : Threads % Edge == 0 && kSlab % (Threads / Edge) == 0,
                  "the threads cover a slab in whole steps");
    static_assert(!AlongK || (Edge % 32 == 0 && kSlab == 8),
                  "8 x 4 elements of a warp's copy fall into 32 banks");

    const float *next;      /* this thread's first element of the next slab */
    int64_t step, advance;  /* elements from copy to copy, from slab to slab */
    int64_t i_left, l_left; /* elements from this thread's first one to the end of the matrix */
    int place;              /* this thread's first element in a slab */
    bool edge;              /* the tile runs over the end of the matrix */

    __device__ tiled_loader(const float *matrix, int64_t ld, int64_t first, int64_t extent,
                            int64_t k)
    {
        const int t = threadIdx.x;
        const int i = AlongK ? t / kSlab : t % Edge, l = AlongK ? t % kSlab : t / Edge;
        next = matrix + (AlongK ? l + (first + i) * ld : first + i + l * ld);
        step = AlongK ? kStepI * ld : kStepL * ld;
        advance = AlongK ? kSlab : kSlab * ld;
        i_left = extent - first - i;
        l_left = k - l;
        place = l * kPitch<Edge> + i;
        edge = extent - first < Edge;
    }

    /* Starts the copy of the next slab. `whole`: all its l are inside the matrix. */
    __device__ __forceinline__ void load(float (*slab)[kPitch<Edge>], bool whole)
    {
        constexpr int kStepPlace = kStepL * kPitch<Edge> + kStepI;
        float *const to = &slab[0][0] + place;
        const float *from = next;
        if (whole && !edge) {
#pragma unroll
            for (int copy = 0; copy < kCopies; copy++, from += step)
                __pipeline_memcpy_async(to + copy * kStepPlace, from, sizeof(float));
        } else {
            /* Elements outside are zero. Steps outside k are zero in both operands, so a sum gains
             * +0 * +0 there; sums that gain anything else are outside C. */
#pragma unroll
            for (int copy = 0; copy < kCopies; copy++, from += step) {
                if (copy * kStepI < i_left && copy * kStepL < l_left)
                    __pipeline_memcpy_async(to + copy * kStepPlace, from, sizeof(float));
                else
                    to[copy * kStepPlace] = 0.0f;
            }
        }
        next += advance;
        l_left -= kSlab;
    }
};

#endif
