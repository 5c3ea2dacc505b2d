/* ffma/multiply.cuh - slabs of A and B, from memory through the ring into a thread's sums. */
#ifndef DUO_FFMA_MULTIPLY_CUH
#define DUO_FFMA_MULTIPLY_CUH

#include <cuda_pipeline_primitives.h>
#include <stdint.h>

#include "gpu/ffma/tile.cuh"
#include "gpu/sgemm.cuh"

/* ---- Loading ---- */

/*
 * The way of A and B into the ring of slabs in shared memory, in the widest copies that the operand
 * allows.
 */

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

/* ---- Multiplying ---- */

/* sum += a b', in zigzag (ffma/tile.cuh). */
template <int Abreast>
static __device__ __forceinline__ void multiply_step(float (&sum)[kThreadN][kThreadM],
                                                     const float (&a)[kThreadM],
                                                     const float (&b)[kThreadN])
{
    static_assert(kThreadN % (2 * Abreast) == 0, "columns turn back and forth");
#pragma unroll
    for (int first = 0; first < kThreadN; first += Abreast)
#pragma unroll
        for (int x = 0; x < kThreadM * Abreast; x++) {
            const int row = x / Abreast, side = x % Abreast;
            const int m = first / Abreast % 2 == 0 ? row : kThreadM - 1 - row;
            const int n = first + (row % 2 == 0 ? side : Abreast - 1 - side);
            sum[n][m] = fmaf(a[m], b[n], sum[n][m]);
        }
}

/* sum += slabs first to last - 1, of `slabs`, for the tile of C that begins at (first_i, first_j).
 * No thread still reads the ring. */
template <class Tile, copy_kind KindA, copy_kind KindB>
static __device__ __forceinline__ void
multiply_slabs(thread_sums &sum, const sgemm_problem &p, float *ring, const thread_place<Tile> &me,
               int64_t first_i, int64_t first_j, int first, int last, int slabs)
{
    constexpr int kSlabA = kSlab * kPitch<Tile::kM>;

    /* If k is no multiple of kSlab, the first slab is shorter, and filled up in front. */
    const int missing = (int)((int64_t)slabs * kSlab - p.k);
    const int64_t first_l = (int64_t)first * kSlab - missing;
    ffma_loader<Tile::kM, KindA> a_loader(p.a, p.lda, first_i, p.m, first_l);
    ffma_loader<Tile::kN, KindB> b_loader(p.b, p.ldb, first_j, p.n, first_l);

    float a[2][kThreadM], b[2][kThreadN];
    const int count = last - first;
    auto wait_for_next = [&] {
        __pipeline_wait_prior(kSlabs - 2);
        __syncthreads();
    };
    auto read_step = [&](int buffer, const float *slab, int l) {
        read_fragment(a[buffer], slab + me.read_a + l * kPitch<Tile::kM>, me.kStrideM);
        read_fragment(b[buffer], slab + me.read_b + l * kPitch<Tile::kN>, me.kStrideN);
    };

#pragma unroll
    for (int slot = 0; slot < kSlabs - 1; slot++) {
        float *const slab = ring + slot * Tile::kSlabFloats;
        if (slot == 0 && count > 0) {
            a_loader.template load<false>(slab, first == 0 ? missing : 0);
            b_loader.template load<false>(slab + kSlabA, first == 0 ? missing : 0);
        } else if (slot < count) {
            a_loader.template load<true>(slab, 0);
            b_loader.template load<true>(slab + kSlabA, 0);
        }
        __pipeline_commit();
    }
    wait_for_next();
    read_step(0, ring, 0);

    /* The slab being multiplied, and the slab before it, which is free. */
    float *slab = ring, *freed = ring + (kSlabs - 1) * Tile::kSlabFloats;
    for (int s = count; s > 0; s--) {
#pragma unroll
        for (int l = 0; l < Tile::kSteps; l++) {
            if (l == Tile::kSteps - 1) {
                /* After the last slab this reads a slot without meaning; the values are not
                 * used. */
                freed = slab;
                slab += Tile::kSlabFloats;
                if (slab == ring + kSlabs * Tile::kSlabFloats) slab = ring;
                wait_for_next();
            }
            read_step((l + 1) % 2, slab, (l + 1) % Tile::kSteps);
            if (l == 0) {
                /* All threads are past the barrier above, so done with the slab before. */
                if (s >= kSlabs) {
                    a_loader.template load<true>(freed, 0);
                    b_loader.template load<true>(freed + kSlabA, 0);
                }
                __pipeline_commit(); /* also an empty one: a wait counts commits */
            }
            multiply_step<Tile::kAbreast>(sum, a[l % 2], b[l % 2]);
        }
    }
}

#endif
