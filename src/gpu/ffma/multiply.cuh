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
 * only sums outside C.
 */
template <int Edge, int Threads, copy_kind Kind>
struct ffma_loader {
    static constexpr bool kWide = Kind == kVectors, kTurned = Kind == kAlongK;
    /* Threads along i; distances between a thread's copies along i and along l, in elements; and
     * how many copies along each. */
    static constexpr int kAcross = kWide ? Edge / kGroup : kTurned ? Threads / 8 : 32;
    static constexpr int kStepI = kWide ? Edge : kAcross, kStepL = Threads / kAcross;
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

    /* Starts the copy of the next slab; if it is not whole, its steps from `steps` on become
     * `fill`. Neighbours in memory are copied one after the other. */
    template <bool Whole>
    __device__ __forceinline__ void load(float *slab, int steps, float fill)
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
                if (copy_i >= copies_i) continue;
                if (Whole || l + copy_l * kStepL < steps) {
                    __pipeline_memcpy_async(to, row + c * (kTurned ? kStepL : kStepI),
                                            (kWide ? kGroup : 1) * sizeof(float));
                } else {
#pragma unroll
                    for (int e = 0; e < (kWide ? kGroup : 1); e++) to[e] = fill;
                }
            }
        }
        next += kTurned ? kSlab : kSlab * ld;
    }
};

/* ---- Multiplying ---- */

/* sum += a b', in zigzag (ffma/tile.cuh). */
template <int ThreadM, int ThreadN>
static __device__ __forceinline__ void
multiply_step(float (&sum)[ThreadN][ThreadM], const float (&a)[ThreadM], const float (&b)[ThreadN])
{
#pragma unroll
    for (int n = 0; n < ThreadN; n++)
#pragma unroll
        for (int x = 0; x < ThreadM; x++) {
            const int m = n % 2 == 0 ? x : ThreadM - 1 - x;
            sum[n][m] = fmaf(a[m], b[n], sum[n][m]);
        }
}

/*
 * Multiplies segments first to last - 1 for the tile of C that begins at (first_i, first_j). Each
 * segment's sums go to end_segment(sums, segment). No thread still reads the ring. If k ends inside
 * a slab, this slab is copied first, to a place of its own behind the ring: so the loop only copies
 * whole ones.
 */
template <class Tile, copy_kind KindA, copy_kind KindB, class EndSegment>
static __device__ __forceinline__ void
multiply_segments(const sgemm_problem &p, float *ring, const thread_place<Tile> &me,
                  int64_t first_i, int64_t first_j, int first, int last, EndSegment end_segment)
{
    constexpr int kSlabA = kSlab * kPitch<Tile::kM>;
    using loader_a = ffma_loader<Tile::kM, Tile::kThreads, KindA>;
    using loader_b = ffma_loader<Tile::kN, Tile::kThreads, KindB>;
    const int64_t first_l = (int64_t)first * DUO_SEGMENT;
    const int64_t steps = min(p.k, (int64_t)last * DUO_SEGMENT) - first_l;
    const int whole = (int)(steps / kSlab), rest = (int)(steps % kSlab);
    float *const end = ring + Tile::kRingFloats; /* also the last slab, if k ends inside it */
    if (rest > 0) {
        const int64_t rest_l = first_l + (int64_t)whole * kSlab;
        loader_a(p.a, p.lda, first_i, p.m, rest_l).template load<false>(end, rest, kFillA);
        loader_b(p.b, p.ldb, first_j, p.n, rest_l).template load<false>(end + kSlabA, rest, kFillB);
    }
    loader_a a_loader(p.a, p.lda, first_i, p.m, first_l);
    loader_b b_loader(p.b, p.ldb, first_j, p.n, first_l);

    constexpr int kAhead = Tile::kAhead, kBuffers = 2 * kAhead; /* a power of two */
    float a[kBuffers][Tile::kThreadM], b[kBuffers][Tile::kThreadN];
    auto wait_for_next = [&] {
        __pipeline_wait_prior(kSlabs - 2);
        __syncthreads();
    };
    auto read_step = [&](int buffer, const float *slab, int l) {
        read_fragment(a[buffer], slab + me.i + l * kPitch<Tile::kM>, me.kStrideM);
        read_fragment(b[buffer], slab + kSlabA + me.j + l * kPitch<Tile::kN>, me.kStrideN);
    };
    auto load_next = [&](float *slab) {
        a_loader.template load<true>(slab, kSlab, kFillA);
        b_loader.template load<true>(slab + kSlabA, kSlab, kFillB);
    };
#pragma unroll
    for (int slot = 0; slot < kSlabs - 1; slot++) {
        if (slot < whole) load_next(ring + slot * Tile::kSlabFloats);
        __pipeline_commit();
    }
    wait_for_next();

    /* The slab being multiplied, and the slab before it, which is free. */
    float *slab = whole > 0 ? ring : end, *freed = end - Tile::kSlabFloats;
#pragma unroll
    for (int l = 0; l < kAhead; l++) read_step(l, slab, l);
    int left = whole; /* whole slabs that are not multiplied yet */
    for (int segment = first; segment < last; segment++) {
        thread_sums<Tile> sum = {};
        int in_segment = segment + 1 < last ? kSegment : left + (rest > 0);
        for (; in_segment > 0; in_segment--) {
#pragma unroll
            for (int l = 0; l < kSlab; l++) {
                if (l == kSlab - kAhead) {
                    /* After the last slab this reads a slot without meaning; the values are not
                     * used. */
                    freed = slab;
                    slab += Tile::kSlabFloats;
                    if (slab == end) slab = ring;
                    if (--left <= 0) slab = end;
                    wait_for_next();
                }
                read_step((l + kAhead) % kBuffers, slab, (l + kAhead) % kSlab);
                if (l == 0) {
                    /* All threads are past the barrier above, so done with the slab before. */
                    if (left >= kSlabs) load_next(freed);
                    __pipeline_commit(); /* also an empty one: a wait counts commits */
                }
                multiply_step(sum, a[l % kBuffers], b[l % kBuffers]);
            }
        }
        end_segment(sum, segment);
    }
}

/* total += sum */
template <class Tile>
static __device__ __forceinline__ void add_segment(thread_sums<Tile> &total,
                                                   const thread_sums<Tile> &sum)
{
#pragma unroll
    for (int n = 0; n < Tile::kThreadN; n++)
#pragma unroll
        for (int m = 0; m < Tile::kThreadM; m++) total[n][m] += sum[n][m];
}

/* Totals before the first segment; without any k they are the sums. */
template <class Tile>
static __device__ __forceinline__ void begin_totals(thread_sums<Tile> &total, int64_t k)
{
#pragma unroll
    for (int n = 0; n < Tile::kThreadN; n++)
#pragma unroll
        for (int m = 0; m < Tile::kThreadM; m++) total[n][m] = k > 0 ? kNoSegment : 0.0f;
}

#endif
