/*
 * batched/wgmma_split.cuh - how op(A) is split in two for Hopper's warpgroup matrix products, by
 * one warpgroup of a block.
 *
 * Splits    op(A) = hi + lo, rows of 32 k in the 128-byte swizzle. The warps that multiply split
 *           op(B) in registers
 */
#ifndef DUO_BATCHED_WGMMA_SPLIT_CUH
#define DUO_BATCHED_WGMMA_SPLIT_CUH

#include <type_traits>

#include "gpu/batched/wgmma_slabs.cuh"

static __device__ __forceinline__ void store_four(uint32_t to, const float (&x)[4])
{
    asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(to), "f"(x[0]), "f"(x[1]),
                 "f"(x[2]), "f"(x[3])
                 : "memory");
}
/* A lane's elements of a square of a slab, copied as Way says: two fours of k. Along k they are of
 * two rows, 4 apart; else of one row.
 *
 * mixed: products take the k of a slab in another order. Place 8 x + 4 h + y has k = x + 4 h + 8 y,
 * so that the warps that multiply read k of one quarter at once (wgmma_tiles.cuh). */
template <class Slab, slab_way Way>
struct split_lane {
    static constexpr int kPitch = kRunBytes + 16; /* shifted chunks */
    uint32_t from[4], to; /* bytes from the square on; along k only the first */

    __device__ __forceinline__ void begin(const square_source &o, int pitch, bool mixed, int warp,
                                          int lane)
    {
        const bool shifted = Way != kByBoxes && o.shifted;
        if (o.along_k) {
            const int row = mixed ? warp + lane / 8 * 8 : 8 * warp + lane / 8, chunk = lane % 8;
            const int k = mixed ? chunk / 2 + chunk % 2 * 4 : chunk * 4;
            const uint32_t turn = turn_of<true>(true, row);
            to = row * kRunBytes + (chunk ^ turn) * 16;
            from[0] = !shifted ? row * kRunBytes + (k / 4 ^ turn) * 16 + k % 4 * 4
                               : (Way == kByQuarters ? Slab::run(true, pitch, row) : row * kPitch) +
                                     (k + shift_of(o.x + row * o.ld)) * 4;
        } else {
            to = lane * kRunBytes + (2 * warp ^ turn_of<true>(true, lane)) * 16;
#pragma unroll
            for (int q = 0; q < 4; q++) {
                const int k = mixed ? warp + 8 * q : 8 * warp + q;
                from[q] = !shifted
                              ? k * kRunBytes + (lane ^ turn_of<true>(false, k) * 4) * 4
                              : (Way == kByQuarters ? Slab::run(false, pitch, k) : k * kPitch) +
                                    (lane + shift_of(o.x + k * o.ld)) * 4;
            }
        }
    }
    template <bool AlongK, bool Shifted, bool Mixed>
    __device__ __forceinline__ void load(float (&x)[2][4], uint32_t square, int pitch) const
    {
        const uint32_t further = !Shifted           ? 4 * kRunBytes /* to runs 4 further on */
                                 : Way == kByChunks ? 4 * kPitch
                                 : AlongK           ? Slab::kShiftedRun
                                                    : pitch;
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const uint32_t turn = Shifted ? 0 : h * 64; /* of the swizzle */
            if constexpr (AlongK && !Shifted && !Mixed)
                asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                             : "=f"(x[h][0]), "=f"(x[h][1]), "=f"(x[h][2]), "=f"(x[h][3])
                             : "r"((square + from[0] ^ turn) + h * further)
                             : "memory");
            else
#pragma unroll
                for (int q = 0; q < 4; q++) {
                    const uint32_t at = square + from[AlongK ? 0 : q];
                    const uint32_t k = !AlongK ? 0 : Mixed ? q * 32 : q * 4; /* bytes */
                    x[h][q] =
                        load_shared(Shifted ? at + k + h * further : (at ^ turn ^ k) + h * further);
                }
        }
    }
    /* Not along k, in quarters: `left` k are inside. Those behind them may be of the next product.
     * They become zero. */
    template <int Squares>
    __device__ __forceinline__ void leave_inside(float (&x)[Squares][2][4], int left, bool mixed,
                                                 int warp) const
    {
        if (left >= kSquare) return;
#pragma unroll
        for (int h = 0; h < 2; h++)
#pragma unroll
            for (int q = 0; q < 4; q++)
                if ((mixed ? warp + 8 * q : 8 * warp + q) + 4 * h >= left)
#pragma unroll
                    for (int s = 0; s < Squares; s++) x[s][h][q] = 0.0f;
    }
    /* SmallInDoubt: a small element makes NaNs, as Inf does. */
    template <bool AlongK, bool SmallInDoubt>
    __device__ __forceinline__ void store(const float (&x)[2][4], uint32_t to_hi,
                                          uint32_t to_lo) const
    {
#pragma unroll
        for (int h = 0; h < 2; h++) {
            float hi[4], lo[4];
            const uint32_t turn = AlongK ? h * 64 : h * 16,
                           further = AlongK ? h * 4 * kRunBytes : 0;
#pragma unroll
            for (int q = 0; q < 4; q++) split_tf32(x[h][q], hi[q], lo[q]);
            if constexpr (SmallInDoubt) {
                least_element least;
                least.look(x[h]);
#pragma unroll
                for (int q = 0; q < 4; q++)
                    if (least.is_small()) lo[q] = __int_as_float(DUO_NAN);
            }
            store_four((to_hi + to ^ turn) + further, hi);
            store_four((to_lo + to ^ turn) + further, lo);
        }
    }
};

/* All slabs of the block's tiles. */
template <int Down, slab_way Way, class Source>
static __device__ __forceinline__ void split_tiles(const Source &source, const operand_maps &maps,
                                                   wgmma_memory<Down, Way> *memory)
{
    using Memory = wgmma_memory<Down, Way>;
    using Slab = typename Memory::slab_i;
    constexpr int kSquares = Slab::kSquares;
    const int lane = threadIdx.x % 32, warp = threadIdx.x % kWarpgroup / 32;
    const auto shared = memory->all();
    slab_place<Memory::kSlabsI> from;
    slab_place<Memory::kSplitSlabs> to;
#pragma unroll 1
    for (int t = (int)blockIdx.x; t < source.tiles(); t += (int)gridDim.x) {
        int number = t;
        const auto &batch = source.find(number);
        const int slabs = (int)((batch.p.k + kSquare - 1) / kSquare);
        const tensor_tile tile = tensor_tile::of<Down, kWgmmaEdge>(batch, number);
        split_lane<Slab, Way> of;
        const square_source operand = tile.a(batch);
        const bool shifted = Way != kByBoxes && operand.shifted;
        const bool mixed = Way == kByQuarters && !batch.along_k_b && tile.b(batch).shifted;
        of.begin(operand, maps.pitch, mixed, warp, lane);
        auto split_slab = [&](int slab, auto along_k, auto is_shifted, auto is_mixed) {
            constexpr bool kAlongK = decltype(along_k)::value;
            constexpr bool kShifted = decltype(is_shifted)::value;
            constexpr bool kMixed = decltype(is_mixed)::value;
            float x[kSquares][2][4];
            barrier_wait(shared.copied_i + 8 * from.at, from.phase);
            const uint32_t square = shared.i + from.at * sizeof memory->i[0];
#pragma unroll
            for (int s = 0; s < kSquares; s++) /* all are under way before one is waited for */
                of.template load<kAlongK, kShifted, kMixed>(
                    x[s], square + s * Slab::room(kAlongK, kShifted), maps.pitch);
            if constexpr (Way == kByQuarters && kShifted && !kAlongK)
                of.leave_inside(x, (int)batch.p.k - slab * kSquare, mixed, warp);
            barrier_wait(shared.multiplied + 8 * to.at, to.phase ^ 1);
            const uint32_t place = to.at * Memory::kSplitBytes;
#pragma unroll
            for (int s = 0; s < kSquares; s++)
                of.template store<kAlongK, Source::kSmallInDoubt>(
                    x[s], shared.hi + place + s * kSquareBytes,
                    shared.lo + place + s * kSquareBytes);
            writes_before_products();
            barrier_arrive(shared.split + 8 * to.at);
            arrive_after_reads<Way>(shared.taken_i + 8 * from.at); /* x was used, so it is loaded */
            from.advance();
            to.advance();
        };
        auto split_all = [&](auto along_k, auto is_shifted, auto is_mixed) {
#pragma unroll 1
            for (int slab = 0; slab < slabs; slab++)
                split_slab(slab, along_k, is_shifted, is_mixed);
        };
        const std::true_type yes;
        const std::false_type no;
        if (!batch.along_k_a)
            shifted ? split_all(no, yes, no) : split_all(no, no, no);
        else if (mixed) {
            const std::bool_constant<Way == kByQuarters> may;
            shifted ? split_all(yes, yes, may) : split_all(yes, no, may);
        } else
            shifted ? split_all(yes, yes, no) : split_all(yes, no, no);
    }
}

#endif
