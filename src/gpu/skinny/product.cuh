/*
 * skinny/product.cuh - the kernels of sgemm_gpu_skinny: a tile of C over a range of k; C from the
 * sums over many ranges.
 */
#ifndef DUO_SKINNY_PRODUCT_CUH
#define DUO_SKINNY_PRODUCT_CUH

#include "gpu/kernels.h"
#include "gpu/launch.cuh"
#include "gpu/sgemm.cuh"
#include "gpu/skinny/column.cuh"
#include "gpu/skinny/plan.h"
#include "gpu/skinny/problem.cuh"

/* ---- Parts of a tile ---- */

/* An element of a tile. Neighbours in C have neighbouring numbers. */
struct skinny_element {
    int row, column;

    template <class Tile>
    static __device__ __forceinline__ skinny_element of(const skinny_problem &p, int e)
    {
        return p.row_step == 1 ? skinny_element{e % Tile::kRows, e / Tile::kRows}
                               : skinny_element{e / Tile::kColumns, e % Tile::kColumns};
    }
};

/* All threads of the team have written to its part of shared memory, and read from it. */
template <class Tile>
static __device__ __forceinline__ void wait_for_team(int team)
{
    if constexpr (Tile::kWarps == 1)
        __syncwarp();
    else
        asm volatile("bar.sync %0, %1;" ::"r"(team + 1), "n"(Tile::kThreads) : "memory");
}

/* ---- The kernel that multiplies ---- */

/* The elements of C of a thread. */
template <class Tile>
using skinny_sums = float[Tile::kThreadRows][Tile::kThreadColumns];

/* A team's sums over a segment, by slabs; they go to its part of shared memory. */
template <class Tile>
static __device__ __forceinline__ void
sum_by_slabs(const skinny_problem &p, const skinny_block &block, const skinny_place<Tile> &me,
             slabs<Tile> &ring, int64_t segment)
{
    skinny_sums<Tile> sum = {};
    constexpr bool kAlongK = Tile::kAlongK;
    constexpr int kSlab = Tile::kSlab, kSlabs = Tile::kSlabs;
    constexpr int kThreadColumns = Tile::kThreadColumns;
    constexpr int kAtOnce = kAlongK && Tile::kChains == 1 ? kGroup : 1; /* steps */
    constexpr int kPitchE = kAlongK ? kPitchX<Tile> : 1;
    constexpr int kPitchL = kAlongK ? 1 : kPitchX<Tile>;
    using wide_x = skinny_loader<Tile::kRows, kSlab, Tile::kThreads, kPitchE, kPitchL, kAlongK, 4>;
    using narrow_x =
        skinny_loader<Tile::kRows, kSlab, Tile::kThreads, kPitchE, kPitchL, kAlongK, 1>;
    using y_along_k =
        skinny_loader<Tile::kColumnsCopied, kSlab, Tile::kThreads, 1, kPitchY<Tile>, true, 1>;
    using y_along_columns =
        skinny_loader<Tile::kColumnsCopied, kSlab, Tile::kThreads, 1, kPitchY<Tile>, false, 1>;

    const int64_t first = segment * p.segment;
    int to_load = p.steps_from(first);
    int to_multiply = to_load;
    const bool whole_groups =
        block.rows_left >= Tile::kRows ? Tile::kRows % kGroup == 0 : block.rows_left % kGroup == 0;
    const bool wide = p.wide_x && (kAlongK || whole_groups);
    const float *const x_first =
        p.x + (kAlongK ? block.first_row * p.ldx + first : block.first_row + first * p.ldx);
    skinny_parts of_x = wide ? wide_x::begin(x_first, p.ldx, block.rows_left, me.thread)
                             : narrow_x::begin(x_first, p.ldx, block.rows_left, me.thread);
    const float *const y_first = p.y + (p.y_along_k ? block.first_column * p.ldy + first
                                                    : block.first_column + first * p.ldy);
    const int64_t columns_left = min(block.columns_left, (int64_t)Tile::kColumns);
    skinny_parts of_y = p.y_along_k
                            ? y_along_k::begin(y_first, p.ldy, columns_left, me.thread)
                            : y_along_columns::begin(y_first, p.ldy, columns_left, me.thread);
    const auto shared_x = (shared_address)__cvta_generic_to_shared(ring.x[0]);
    auto load_next = [&](int slot) {
        if (to_load > 0) {
            const shared_address x = shared_x + slot * (int)sizeof ring.x[0];
            const shared_address y = shared_x + (int)sizeof ring.x + slot * (int)sizeof ring.y[0];
            if (wide)
                wide_x::load(of_x, p.ldx, x, to_load, kFillA);
            else
                narrow_x::load(of_x, p.ldx, x, to_load, kFillA);
            if (p.y_along_k)
                y_along_k::load(of_y, p.ldy, y, to_load, kFillB);
            else
                y_along_columns::load(of_y, p.ldy, y, to_load, kFillB);
            to_load -= kSlab;
        }
        __pipeline_commit(); /* also an empty one: a wait counts commits */
    };

#pragma unroll 1
    for (int slot = 0; slot < kSlabs - 1; slot++) load_next(slot);
    int slot = 0, freed = kSlabs - 1; /* the slot being multiplied; the one before it */
#pragma unroll 1
    for (; to_multiply > 0; to_multiply -= kSlab) {
        __pipeline_wait_prior(kSlabs - 2);
        wait_for_team<Tile>(me.team);
        load_next(freed);

        const float *const y_row = &ring.y[slot][me.lane_n * kThreadColumns];
        constexpr int kSteps = kSlab / Tile::kChains; /* of the thread's chain */
        constexpr int kUnroll = kAtOnce > 1 ? 4 : Tile::kSums <= 4 ? 16 : Tile::kSums <= 16 ? 8 : 4;
#pragma unroll(kUnroll)
        for (int step = 0; step < kSteps; step += kAtOnce) {
            const int l = step * Tile::kChains + me.chain;
            float xs[kAtOnce][Tile::kThreadRows];
            read_x<Tile, kAtOnce>(xs, ring.x[slot], me.warp, me.lane_m, l);
#pragma unroll
            for (int q = 0; q < kAtOnce; q++) {
                float ys[kThreadColumns];
                read_y<kThreadColumns>(ys, y_row + (l + q) * kPitchY<Tile>);
#pragma unroll
                for (int r = 0; r < Tile::kThreadRows; r++)
#pragma unroll
                    for (int j = 0; j < kThreadColumns; j++)
                        sum[r][j] = fmaf(xs[q][r], ys[j], sum[r][j]);
            }
        }
        freed = slot;
        slot = slot + 1 == kSlabs ? 0 : slot + 1;
    }
    __pipeline_wait_prior(0);
    wait_for_team<Tile>(me.team); /* from here on the ring's memory may hold sums */

#pragma unroll
    for (int distance = Tile::kChains / 2; distance > 0; distance /= 2)
#pragma unroll
        for (int r = 0; r < Tile::kThreadRows; r++)
#pragma unroll
            for (int j = 0; j < kThreadColumns; j++)
                sum[r][j] += __shfl_xor_sync(0xffffffffu, sum[r][j], distance);
    if (me.chain == 0)
#pragma unroll
        for (int r = 0; r < Tile::kThreadRows; r++)
#pragma unroll
            for (int j = 0; j < Tile::kThreadColumns; j++)
                ring.sums[me.lane_n * Tile::kThreadColumns + j]
                         [row_of<Tile>(me.warp, me.lane_m, r)] = sum[r][j];
}

/* The same by whatever way the tile has. */
template <class Tile>
static __device__ __forceinline__ void
sum_segment(const skinny_problem &p, const skinny_block &block, const skinny_place<Tile> &me,
            slabs<Tile> &memory, int64_t segment)
{
    if constexpr (!Tile::kDirect)
        sum_by_slabs<Tile>(p, block, me, memory, segment);
    else if constexpr (Tile::kAlongK)
        sum_column<Tile, column_along_k<Tile>>(p, block, me, memory.sums[0], segment);
    else
        sum_column<Tile, column_along_rows<Tile>>(p, block, me, memory.sums[0], segment);
}

/* The block's part of C begins its way to the L2 cache. */
template <class Tile>
static __device__ __forceinline__ void prefetch_block(const skinny_problem &p,
                                                      const skinny_block &block, int thread)
{
    const float *const c =
        p.c + (block.first_row * p.row_step + block.first_column * p.column_step);
    if (p.row_step == 1)
        prefetch_tile<Tile::kRows, Tile::kColumns, Tile::kThreads>(
            c, p.column_step, block.rows_left, block.columns_left, thread);
    else
        prefetch_tile<Tile::kColumns, Tile::kRows, Tile::kThreads>(
            c, p.row_step, block.columns_left, block.rows_left, thread);
}

/* Stores an element of C, if it is inside. */
static __device__ __forceinline__ void store_element(const skinny_problem &p, int64_t row,
                                                     int64_t column, float sum)
{
    if (row >= p.rows || column >= p.columns) return;
    float *const c = p.c + (row * p.row_step + column * p.column_step);
    *c = blend(p.alpha, sum, p.beta, p.beta == 0.0f ? 0.0f : *c);
}

/*
 * Adds the slots of a tile, one after the other, and stores C. A part of all slots is brought into
 * shared memory by all threads at once: so the additions wait for no loads.
 */
template <class Tile>
static __device__ __forceinline__ void add_slots(const skinny_problem &p, const skinny_block &block,
                                                 const float *slot, float *stage, int room,
                                                 float (&total)[Tile::kColumns][Tile::kPitch])
{
    constexpr int kElements = Tile::kRows * Tile::kColumns, kAtOnce = 8, kSlotsAtOnce = 16;
    static_assert(kElements % kGroup == 0, "slots begin on 16 bytes");
    const int slots = p.slots_of_tile, most = room / kElements;
#pragma unroll 1
    for (int first = 0; first < slots; first += most) {
        const int now = min(slots - first, most), end = now * kElements / kGroup;
        const float4 *const from = reinterpret_cast<const float4 *>(slot + first * kElements);
#pragma unroll 1
        for (int i = threadIdx.x; i < end; i += kAtOnce * blockDim.x) {
            float4 v[kAtOnce];
#pragma unroll
            for (int q = 0; q < kAtOnce; q++)
                if (i + q * blockDim.x < end) v[q] = __ldcg(from + i + q * blockDim.x);
#pragma unroll
            for (int q = 0; q < kAtOnce; q++)
                if (i + q * blockDim.x < end)
                    reinterpret_cast<float4 *>(stage)[i + q * blockDim.x] = v[q];
        }
        __syncthreads();
#pragma unroll 1
        for (int e = threadIdx.x; e < kElements; e += blockDim.x) {
            const skinny_element at = skinny_element::of<Tile>(p, e);
            float sum = first == 0 ? kNoSegment : total[at.column][at.row];
#pragma unroll 1
            for (int s = 0; s < now; s += kSlotsAtOnce) {
                float v[kSlotsAtOnce];
#pragma unroll
                for (int q = 0; q < kSlotsAtOnce; q++)
                    v[q] = s + q < now ? stage[(s + q) * kElements + e] : kNoSegment;
#pragma unroll
                for (int q = 0; q < kSlotsAtOnce; q++) sum += v[q];
            }
            if (first + now < slots)
                total[at.column][at.row] = sum;
            else
                store_element(p, block.first_row + at.row, block.first_column + at.column, sum);
        }
        __syncthreads();
    }
}

template <class Tile>
static __global__ void __launch_bounds__(32 * DUO_SKINNY_WARPS, Tile::kWarps8)
    sgemm_skinny(skinny_problem p)
{
    constexpr int kElements = Tile::kRows * Tile::kColumns;
    extern __shared__ __align__(16) char shared[];
    auto *const rings = reinterpret_cast<slabs<Tile> *>(shared);
    const int teams = blockDim.x / Tile::kThreads;
    auto &total = *reinterpret_cast<float(*)[Tile::kColumns][Tile::kPitch]>(rings + teams);
    const skinny_block block = skinny_block::of<Tile>(p);
    const skinny_place<Tile> me;
    if (p.beta != 0.0f && p.ranges == 1 && me.team == 0) prefetch_block<Tile>(p, block, me.thread);
    wait_for_kernels_ahead();

    const int64_t first = block.range * p.range, end = min(first + p.range, p.segments);
    float *const slots = p.slots + (int64_t)block.tile * p.slots_of_tile * kElements;
#pragma unroll 1
    for (int64_t turn = first;; turn += teams) { /* a team's segment of each turn */
        sum_segment<Tile>(p, block, me, rings[me.team], turn + me.team);
        const bool last = turn + teams >= end;
        if (last) let_next_kernel_start();
        __syncthreads();
        const int summed = last ? (int)(end - turn) : teams; /* 0 without any k */
#pragma unroll 1
        for (int e = threadIdx.x; e < kElements; e += blockDim.x) {
            const skinny_element at = skinny_element::of<Tile>(p, e);
            if (block.range > 0 && p.ordered) { /* a slot for each segment */
                float *const slot = slots + (1 + turn - p.range) * kElements + e;
                for (int team = 0; team < summed; team++)
                    __stcg(slot + team * kElements, rings[team].sums[at.column][at.row]);
                continue;
            }
            float t = rings[0].sums[at.column][at.row];
            if (turn > first) t = total[at.column][at.row] + t;
            for (int team = 1; team < summed; team++) t += rings[team].sums[at.column][at.row];
            if (!last)
                total[at.column][at.row] = t;
            else if (p.ranges > 1)
                __stcg(slots + block.range * kElements + e, t); /* 0 if ordered */
            else
                store_element(p, block.first_row + at.row, block.first_column + at.column, t);
        }
        if (last) break;
        __syncthreads(); /* from here on the rings hold slabs again */
    }
    if (p.ranges == 1 || p.tickets == nullptr) return;
    __syncthreads();
    const bool latest = threadIdx.x == 0 && is_last(p.tickets + block.tile, p.ranges);
    if (!__syncthreads_or(latest)) return;
    const int room = (int)(teams * sizeof rings[0] / sizeof(float));
    add_slots<Tile>(p, block, slots, reinterpret_cast<float *>(shared), room, total);
}

/* ---- The kernel that adds slots ---- */

/*
 * A second kernel: C from the slots of all tiles.
 *
 * Threads   256 per block, one for each element of a tile
 * Order     product_order.h
 */

constexpr int kSumThreads = 256;

struct skinny_tile_size {
    int rows, columns;
};

static __global__ void __launch_bounds__(kSumThreads)
    sum_slots(skinny_problem p, skinny_tile_size tile)
{
    constexpr int kAtOnce = 16;
    const int elements = tile.rows * tile.columns;
    const int64_t number = (int64_t)blockIdx.x * kSumThreads + threadIdx.x;
    const int64_t t = number / elements;
    const int e = (int)(number % elements);
    wait_for_kernels_ahead();
    let_next_kernel_start();
    if (t >= (int64_t)p.row_tiles * p.column_tiles) return;
    const int slots = p.slots_of_tile;
    const float *slot = p.slots + (t * slots * elements + e);
    float sum = kNoSegment;
#pragma unroll 1
    for (int s = 0; s < slots; s += kAtOnce, slot += kAtOnce * elements) {
        float v[kAtOnce];
#pragma unroll
        for (int q = 0; q < kAtOnce; q++)
            v[q] = s + q < slots ? __ldcg(slot + q * elements) : kNoSegment;
#pragma unroll
        for (int q = 0; q < kAtOnce; q++) sum += v[q];
    }
    const bool down = p.row_step == 1;
    store_element(p, t / p.column_tiles * tile.rows + (down ? e % tile.rows : e / tile.columns),
                  t % p.column_tiles * tile.columns + (down ? e / tile.rows : e % tile.columns),
                  sum);
}

#endif
