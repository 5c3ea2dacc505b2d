/* ffma/multiply.cuh - slabs of A and B, from memory through the ring into a thread's sums. */
#ifndef DUO_FFMA_MULTIPLY_CUH
#define DUO_FFMA_MULTIPLY_CUH

#include "gpu/ffma/loader.cuh"
#include "gpu/sgemm.cuh"

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
