/*
 * ffma/loader.cuh - the way of A and B into the ring of slabs in shared memory, in the widest
 * copies that the operand allows.
 */
#ifndef DUO_FFMA_LOADER_CUH
#define DUO_FFMA_LOADER_CUH

#include <cuda_pipeline_primitives.h>
#include <stdint.h>

#include "gpu/ffma/tile.cuh"

/* How an operand is copied: 16 bytes along the edge of the tile, 4 bytes along it, or 4 bytes along
 * k if its neighbours in memory are neighbours in k. */
enum copy_kind { kVectors, kAlongEdge, kAlongK };

/*
 * One operand's way into shared memory: element (i, l), i along the edge of the tile, l along k.
 * All threads take part. Elements with an i outside the matrix may have any value, since they enter
 * only sums outside C. Elements with an l before the first one must be 0.
 */
template <int Edge, copy_kind Kind>
struct ffma_loader {
    static constexpr bool kWide = Kind == kVectors, kTurned = Kind == kAlongK;
    /* Threads along i; distances between a thread's copies along i and along l, in elements; and
     * how many copies along each. */
    static constexpr int kAcross = kWide ? Edge / kGroup : kTurned ? kThreads / 8 : 32;
    static constexpr int kStepI = kWide ? Edge : kAcross, kStepL = kThreads / kAcross;
    static constexpr int kCopiesI = Edge / kStepI, kCopiesL = kSlab / kStepL;
    static_assert(kCopiesI * kStepI == Edge && kCopiesL * kStepL == kSlab && kCopiesL > 0,
                  "the threads cover a slab in whole steps");
    static_assert(!kTurned || kStepL == 8, "8 x 4 elements of a warp fall into 32 banks");

    const float *next; /* this thread's first element of the next slab */
    int64_t ld;
    int copies_i; /* along i, inside the matrix */
    int place;    /* of this thread's first element, in a slab */
    int l;        /* of that element, from the slab's first */

    __device__ ffma_loader(const float *matrix, int64_t matrix_ld, int64_t first, int64_t extent,
                           int64_t first_l)
    {
        const int t = threadIdx.x;
        const int i = kTurned ? t / kStepL : t % kAcross * (kWide ? kGroup : 1);
        l = kTurned ? t % kStepL : t / kAcross;
        const int64_t left = extent - first - i;
        ld = matrix_ld;
        place = l * kPitch<Edge> + i;
        copies_i = left >= Edge ? kCopiesI : left <= 0 ? 0 : (int)(left + kStepI - 1) / kStepI;
        next = matrix + (kTurned ? first_l + l + (first + i) * ld : first + i + (first_l + l) * ld);
    }

    /* Starts the copy of the next slab, from its step `from_l` on; the steps before are zero.
     * Neighbours in memory are copied one after the other. */
    template <bool Whole>
    __device__ __forceinline__ void load(float *slab, int from_l)
    {
        constexpr int kRows = kTurned ? kCopiesI : kCopiesL;
        constexpr int kPerRow = kTurned ? kCopiesL : kCopiesI;
        const float *row = next;
#pragma unroll
        for (int r = 0; r < kRows; r++, row += (kTurned ? kStepI : kStepL) * ld) {
#pragma unroll
            for (int c = 0; c < kPerRow; c++) {
                const int copy_i = kTurned ? r : c, copy_l = kTurned ? c : r;
                float *const to = slab + place + copy_l * kStepL * kPitch<Edge> + copy_i * kStepI;
                if (!Whole && l + copy_l * kStepL < from_l) {
#pragma unroll
                    for (int e = 0; e < (kWide ? kGroup : 1); e++) to[e] = 0.0f;
                } else if (copy_i < copies_i) {
                    __pipeline_memcpy_async(to, row + c * (kTurned ? kStepL : kStepI),
                                            (kWide ? kGroup : 1) * sizeof(float));
                }
            }
        }
        next += kTurned ? kSlab : kSlab * ld;
    }
};

#endif
