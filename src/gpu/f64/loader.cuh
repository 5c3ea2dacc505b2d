/*
 * f64/loader.cuh - one operand's way into the ring of slabs in shared memory, 4 bytes at a time, so
 * that one code serves every alignment. It uses as few registers as it can.
 */
#ifndef DUO_F64_LOADER_CUH
#define DUO_F64_LOADER_CUH

#include <cuda_pipeline_primitives.h>
#include <stdint.h>

#include "gpu/f64/tile.cuh"

/*
 * Element (i, l) of an operand: i along the edge of the tile, l along k. AlongK: neighbours in
 * memory are neighbours in l; else in i. All threads of the block take part; each copies kCopies
 * elements of a slab, at equal distances in memory and in the slab.
 */
template <int Edge, bool AlongK>
struct f64_loader {
    static constexpr int kCopies = Edge * kSlab / kThreads;
    static constexpr int kStepI = AlongK ? kThreads / kSlab : 0;
    static constexpr int kStepL = AlongK ? 0 : kThreads / Edge;
    static_assert(AlongK ? kThreads % kSlab == 0 && Edge % (kThreads / kSlab) == 0
                         : kThreads % Edge == 0 && kSlab % (kThreads / Edge) == 0,
                  "the threads cover a slab in whole steps");

    const float *next; /* this thread's first element of the next slab */
    int64_t ld;
    int i_left; /* rows or columns of the tile from this thread's first element on; may be < 0 */
    int place;  /* that element's, in a slab */
    bool edge;  /* the tile runs over the end of the matrix */

    static __device__ int first_i() { return AlongK ? threadIdx.x / kSlab : threadIdx.x % Edge; }
    static __device__ int first_l() { return AlongK ? threadIdx.x % kSlab : threadIdx.x / Edge; }

    /* A tile begins at (i, l) of the matrix; the matrix ends before `extent`. */
    __device__ f64_loader(const float *matrix, int64_t matrix_ld, int64_t i, int64_t extent,
                          int64_t l)
        : ld(matrix_ld)
    {
        const int64_t from_i = i + first_i(), from_l = l + first_l();
        next = matrix + (AlongK ? from_l + from_i * ld : from_i + from_l * ld);
        edge = extent - i < Edge;
        i_left = (int)min(extent - i, (int64_t)Edge) - first_i();
        place = first_l() * kPitch<Edge> + first_i();
    }

    /* Starts the copy of the next slab; k ends after `left` steps from its first. */
    __device__ __forceinline__ void load(float (*slab)[kPitch<Edge>], int64_t left)
    {
        constexpr int kStepPlace = kStepL * kPitch<Edge> + kStepI;
        const int64_t step = (AlongK ? kStepI : kStepL) * ld;
        float *const to = &slab[0][0] + place;
        const float *from = next;
        if (left >= kSlab && !edge) {
#pragma unroll
            for (int copy = 0; copy < kCopies; copy++, from += step) {
                __pipeline_memcpy_async(to + copy * kStepPlace, from, sizeof(float));
                asm volatile("" : "+l"(from)); /* else all distances to `next` stay in registers */
            }
        } else {
            /* Elements outside are zero. Steps outside k are zero in both operands, so a sum gains
             * +0 * +0 there; sums that gain anything else are outside C. */
#pragma unroll 1 /* few blocks come here; unrolled, it takes more registers */
            for (int copy = 0; copy < kCopies; copy++, from += step) {
                if (copy * kStepI < i_left && copy * kStepL + first_l() < left)
                    __pipeline_memcpy_async(to + copy * kStepPlace, from, sizeof(float));
                else
                    to[copy * kStepPlace] = 0.0f;
                asm volatile("" : "+l"(from));
            }
        }
        next += AlongK ? kSlab : kSlab * ld;
    }
};

#endif
