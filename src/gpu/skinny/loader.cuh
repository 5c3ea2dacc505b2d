/* skinny/loader.cuh - loads an operand into shared memory, along either dimension. */
#ifndef DUO_SKINNY_LOADER_CUH
#define DUO_SKINNY_LOADER_CUH

#include <cuda_pipeline_primitives.h>
#include <stdint.h>

#include "gpu/skinny/tile.cuh"

/*
 * Element (e, l), e along the edge of the tile, l along k. All threads of the block take part; each
 * copies parts of Width neighbours in memory, at equal distances in memory and in the slab.
 * Elements outside along k become zero, in both operands at the same l. Elements outside along the
 * edge stay undefined: they enter only sums outside C.
 */
template <int Edge, int Slab>
struct skinny_loader {
    static_assert(Edge <= kThreads && (Slab <= kThreads || Edge == 1), "parts at equal distances");

    const float *next;     /* this thread's first part of the next slab */
    int64_t step, advance; /* elements from part to part, from slab to slab */
    int place, step_place; /* in the slab */
    int parts;             /* this thread's, those inside along the edge */
    bool along_k;

    /* Where a thread's parts are. Computed again when needed: registers are scarce. */
    struct walk {
        int e, l, step_e, step_l;
    };
    __device__ __forceinline__ walk walk_of(int width) const
    {
        const int run = (along_k ? Slab : Edge) / width; /* parts; a power of two */
        const int inner = threadIdx.x % run * width, outer = threadIdx.x / run;
        /* If a run of neighbours has more parts than the block has threads, it is the only run. */
        const int step_inner = run > kThreads ? kThreads * width : 0;
        const int step_outer = run > kThreads ? 0 : kThreads / run;
        return along_k ? walk{outer, inner, step_outer, step_inner}
                       : walk{inner, outer, step_inner, step_outer};
    }

    /* pitch_e, pitch_l: floats of the slab from one e, one l to the next. */
    __device__ skinny_loader(const float *matrix, int64_t ld, bool neighbours_in_k, int width,
                             int64_t first_e, int64_t extent, int64_t first_l, int pitch_e,
                             int pitch_l)
    {
        along_k = neighbours_in_k;
        const walk w = walk_of(width);
        const int64_t ld_e = along_k ? ld : 1, ld_l = along_k ? 1 : ld;
        next = matrix + ((first_e + w.e) * ld_e + (first_l + w.l) * ld_l);
        step = w.step_e * ld_e + w.step_l * ld_l;
        advance = Slab * ld_l;
        place = w.e * pitch_e + w.l * pitch_l;
        step_place = w.step_e * pitch_e + w.step_l * pitch_l;
        const int left = extent - first_e < Edge ? (int)(extent - first_e) : Edge;
        parts = 0;
        for (int part = threadIdx.x; part < Edge * Slab / width && w.e + parts * w.step_e < left;
             part += kThreads)
            parts++;
    }

    /* Starts the copy of the next slab; l_left of its steps are inside the matrix. */
    template <int Width>
    __device__ __forceinline__ void load(float *slab, int64_t l_left)
    {
        constexpr int kParts = (Edge * Slab / Width + kThreads - 1) / kThreads;
        const float *from = next;
        float *to = slab + place;
        if (l_left >= Slab) {
#pragma unroll
            for (int part = 0; part < kParts; part++, from += step, to += step_place)
                if (part < parts) __pipeline_memcpy_async(to, from, Width * sizeof(float));
        } else {
            const walk w = walk_of(Width);
#pragma unroll 1
            for (int part = 0; part < parts; part++, from += step, to += step_place)
                load_end<Width>(to, from, l_left - (w.l + part * w.step_l));
        }
        next += advance;
    }

    /* A part of the last slab; l_left: steps from its first element to the end of the matrix. */
    template <int Width>
    __device__ __forceinline__ void load_end(float *to, const float *from, int64_t l_left)
    {
        if (l_left >= (along_k ? Width : 1)) {
            __pipeline_memcpy_async(to, from, Width * sizeof(float));
            return;
        }
#pragma unroll 1
        for (int i = 0; i < Width; i++) {
            if (i < l_left)
                __pipeline_memcpy_async(to + i, from + i, sizeof(float));
            else
                to[i] = 0.0f;
        }
    }
};

#endif
