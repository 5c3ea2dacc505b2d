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
static __device__ __forceinline__ float load_shared(uint32_t from)
{
    float x;
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(x) : "r"(from) : "memory");
    return x;
}

/* A lane's elements of a square: two fours of neighbours in k. If these are neighbours in memory,
 * they are of two rows, 4 apart; else of one row. */
struct split_lane {
    static constexpr int kPitch = kRunBytes + 16; /* shifted */
    uint32_t from[4], to; /* bytes from the square on; along k only the first */

    __device__ __forceinline__ void begin(const square_source &o, int warp, int lane)
    {
        const bool shifted = o.shifted;
        if (o.along_k) {
            const int row = 8 * warp + lane / 8, chunk = lane % 8;
            to = row * kRunBytes + (chunk ^ turn_of<true>(true, row)) * 16;
            from[0] = shifted ? row * kPitch + chunk * 16 + shift_of(o.x + row * o.ld) * 4 : to;
        } else {
            to = lane * kRunBytes + (2 * warp ^ turn_of<true>(true, lane)) * 16;
#pragma unroll
            for (int q = 0; q < 4; q++) {
                const int k = 8 * warp + q;
                from[q] = shifted ? k * kPitch + lane * 4 + shift_of(o.x + k * o.ld) * 4
                                  : k * kRunBytes + (lane ^ turn_of<true>(false, k) * 4) * 4;
            }
        }
    }
    template <bool AlongK, bool Shifted>
    __device__ __forceinline__ void load(float (&x)[2][4], uint32_t square) const
    {
#pragma unroll
        for (int h = 0; h < 2; h++) {
            /* Runs 4 further on: the swizzle turns them by 4, too. */
            const uint32_t turn = Shifted ? 0 : h * 64,
                           further = h * 4 * (Shifted ? kPitch : kRunBytes);
            if constexpr (!Shifted && AlongK)
                asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                             : "=f"(x[h][0]), "=f"(x[h][1]), "=f"(x[h][2]), "=f"(x[h][3])
                             : "r"((square + from[0] ^ turn) + further)
                             : "memory");
            else
#pragma unroll
                for (int q = 0; q < 4; q++)
                    x[h][q] = load_shared(AlongK ? square + from[0] + further + q * 4
                                                 : (square + from[q] ^ turn) + further);
        }
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
template <int Down, bool Boxes, class Source>
static __device__ __forceinline__ void split_tiles(const Source &source,
                                                   wgmma_memory<Down, Boxes> *memory)
{
    using Memory = wgmma_memory<Down, Boxes>;
    constexpr int kSquares = Memory::kDownSquares;
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
        split_lane of;
        square_source operand = tile.a(batch);
        if (Boxes) operand.shifted = false;
        const bool shifted = operand.shifted;
        of.begin(operand, warp, lane);
        auto split_slab = [&](auto along_k, auto is_shifted) {
            constexpr bool kAlongK = decltype(along_k)::value;
            constexpr bool kShifted = decltype(is_shifted)::value;
            float x[kSquares][2][4];
            barrier_wait(shared.copied_i + 8 * from.at, from.phase);
            const uint32_t square = shared.i + from.at * sizeof memory->i[0];
#pragma unroll
            for (int s = 0; s < kSquares; s++) /* all are under way before one is waited for */
                of.load<kAlongK, kShifted>(x[s], square + s * Memory::kRoom);
            barrier_wait(shared.multiplied + 8 * to.at, to.phase ^ 1);
            const uint32_t place = to.at * Memory::kSplitBytes;
#pragma unroll
            for (int s = 0; s < kSquares; s++)
                of.store<kAlongK, Source::kSmallInDoubt>(x[s], shared.hi + place + s * kSquareBytes,
                                                         shared.lo + place + s * kSquareBytes);
            writes_before_products();
            barrier_arrive(shared.split + 8 * to.at);
            barrier_arrive(shared.taken_i + 8 * from.at); /* x was used, so it is loaded */
            from.advance();
            to.advance();
        };
        auto split_all = [&](auto along_k, auto is_shifted) {
#pragma unroll 1
            for (int slab = 0; slab < slabs; slab++) split_slab(along_k, is_shifted);
        };
        const std::true_type yes;
        const std::false_type no;
        if (batch.along_k_a)
            shifted ? split_all(yes, yes) : split_all(yes, no);
        else
            shifted ? split_all(no, yes) : split_all(no, no);
    }
}

#endif
