/*
 * batched/wgmma_slabs.cuh - how operands come to Hopper's warpgroup matrix products: shared memory
 * of a block, and the warpgroup that copies slabs of 32 k of both operands there.
 *
 * Copies    slabs run on from tile to tile of the block: by tensor copies if columns and products
 *           have strides that allow it, else by chunks of 16 bytes (batched/squares.cuh)
 */
#ifndef DUO_BATCHED_WGMMA_SLABS_CUH
#define DUO_BATCHED_WGMMA_SLABS_CUH

#include <stddef.h>

#include "gpu/batched/tensor_tiles.cuh"
#include "gpu/split/wgmma/instructions.cuh"

/* ---- Shared memory ---- */

constexpr int kWgmmaEdge = 128; /* of a tile along j */

/* Where tiles in doubt are computed, by one warpgroup: half of its part at a time. */
using doubtful_tile = batch_tile<64, 8, 16, 1>;
static_assert(doubtful_tile::kThreads == kWarpgroup, "a warpgroup computes it");

static __device__ __forceinline__ float load_shared(uint32_t from)
{
    float x;
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(x) : "r"(from) : "memory");
    return x;
}

/*
 * How a slab of Rows rows is copied.
 *
 * Chunks    of 16 bytes, by all threads; its squares may be shifted
 * Boxes     tensor copies if all columns begin on 16 bytes. They have the 128-byte swizzle
 * Quarters  tensor copies if an operand is shifted. They begin on 16 bytes, in columns that are a
 *           multiple of 16 bytes apart. Every fourth column is, for any leading dimension. So a
 *           shifted operand is copied in quarters, each with a map of its own: runs 0, 4, 8, ...,
 *           then 1, 5, 9, ... All runs of a quarter begin equally far off 16 bytes: they are copied
 *           from there on, four floats longer. A run has 32 k of a row, or all rows of a k
 */
enum slab_way { kByChunks, kByBoxes, kByQuarters };
constexpr int kQuarters = 4;

/* Threads of a warp that arrive when all have read a slab. One is enough. But the lanes' own copies
 * come next where they copy chunks, and racecheck follows only threads that arrive. */
template <slab_way Way>
constexpr int kReaders = Way == kByChunks ? 32 : 1;

template <slab_way Way>
static __device__ __forceinline__ void arrive_after_reads(uint32_t barrier)
{
    constexpr bool kOne = kReaders<Way> == 1;
    if (kOne) __syncwarp();
    if (!kOne || threadIdx.x % 32 == 0) barrier_arrive(barrier);
}

template <int Rows, slab_way Way>
struct slab_of {
    static constexpr int kSquares = Rows / kSquare, kShiftedRun = kRunBytes + 16;
    static constexpr int kBytes = Way == kByChunks  ? kSquares * kSquareRoom
                                  : Way == kByBoxes ? Rows * kRunBytes
                                                    : (Rows * kShiftedRun + 1023) / 1024 * 1024;

    /* Bytes from a square to the next. */
    static __device__ __forceinline__ constexpr int room(bool along_k, bool shifted)
    {
        if (Way == kByChunks) return kSquareRoom;
        return !shifted ? kSquareBytes : along_k ? kSquare / kQuarters * kShiftedRun : kRunBytes;
    }
    /* In quarters: bytes from a quarter to the next. pitch: from a run to the next, not along k. */
    static constexpr int kMostPitch = (Rows + 4) * (int)sizeof(float);
    static __host__ __device__ __forceinline__ constexpr int quarter(bool along_k, int pitch)
    {
        return along_k ? Rows / kQuarters * kShiftedRun : kSquare / kQuarters * pitch;
    }
    static_assert(Way != kByQuarters || (kQuarters * quarter(true, 0) <= kBytes &&
                                         kQuarters * quarter(false, kMostPitch) <= kBytes),
                  "they fit");
    /* Bytes to the place of a run, which begins up to three floats behind it. */
    static __device__ __forceinline__ uint32_t run(bool along_k, int pitch, int number)
    {
        return number % kQuarters * quarter(along_k, pitch) +
               number / kQuarters * (along_k ? kShiftedRun : pitch);
    }
};

/* For tiles of Down x 128. */
template <int Down, slab_way Way>
struct wgmma_memory {
    static constexpr int kDownSquares = Down / kSquare;
    using slab_i = slab_of<Down, Way>;
    using slab_j = slab_of<kWgmmaEdge, Way>;
    static constexpr int kSplitBytes = kDownSquares * kSquareBytes;
    static constexpr int kSplitSlabs = 3;
    /* Copied slabs. op(A)'s are soon split, so few will do. op(B)'s wait until then: as many as
     * fit. A block may have 227 KiB; 1 KiB aligns it. */
    static constexpr int kLimit = 227 * 1024 - 1024, kBarriers = 512;
    static constexpr int kSlabsI = Down > 96 ? (Way == kByChunks ? 3 : 2) : 4;
    static constexpr int kFit =
        (kLimit - kBarriers - kMultipliers * 2 * doubtful_tile::kSlab * (int)sizeof(float) -
         kSplitSlabs * 2 * kSplitBytes - kSlabsI * slab_i::kBytes) /
        slab_j::kBytes;
    static constexpr int kSlabsJ = kFit < 8 ? kFit : 8;
    static_assert(kSlabsJ >= 2, "one is copied while another is read");

    alignas(1024) uint8_t hi[kSplitSlabs][kSplitBytes], lo[kSplitSlabs][kSplitBytes];
    uint8_t i[kSlabsI][slab_i::kBytes], j[kSlabsJ][slab_j::kBytes]; /* copied */
    /* Of each multiplying warpgroup: for tiles in doubt, or to exchange sums. */
    alignas(16) float doubtful[kMultipliers][2 * doubtful_tile::kSlab];
    /* A slab was copied; was read, so that its place is free. */
    uint64_t copied_i[kSlabsI], taken_i[kSlabsI], copied_j[kSlabsJ], taken_j[kSlabsJ];
    /* A slab was split; multiplied, so that its place is free. */
    uint64_t split[kSplitSlabs], multiplied[kSplitSlabs];

    /* The addresses of all that, by which the warpgroups use it. */
    struct addresses {
        uint32_t hi, lo, i, j, copied_i, taken_i, copied_j, taken_j, split, multiplied;
    };
    __device__ __forceinline__ addresses all() const
    {
#define DUO_AT(member) at + (uint32_t)offsetof(wgmma_memory, member)
        const uint32_t at = shared_address(this);
        return {DUO_AT(hi),       DUO_AT(lo),        DUO_AT(i),        DUO_AT(j),
                DUO_AT(copied_i), DUO_AT(taken_i),   DUO_AT(copied_j), DUO_AT(taken_j),
                DUO_AT(split),    DUO_AT(multiplied)};
#undef DUO_AT
    }
    /* What no copy reaches is zero. By all threads. */
    __device__ __forceinline__ void clear()
    {
        constexpr int kVectors = (sizeof i + sizeof j) / sizeof(float4);
        static_assert(offsetof(wgmma_memory, j) == offsetof(wgmma_memory, i) + sizeof i, "no gap");
        for (int x = (int)threadIdx.x; x < kVectors; x += (int)blockDim.x)
            reinterpret_cast<float4 *>(i)[x] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        writes_before_products();
    }
    /* By one thread. */
    __device__ __forceinline__ void begin()
    {
        for (int s = 0; s < kSlabsI; s++) {
            barrier_init(shared_address(&copied_i[s]), Way == kByChunks ? kWarpgroup : 1);
            barrier_init(shared_address(&taken_i[s]), kWarpgroup / 32 * kReaders<Way>);
        }
        for (int s = 0; s < kSlabsJ; s++) {
            barrier_init(shared_address(&copied_j[s]), Way == kByChunks ? kWarpgroup : 1);
            barrier_init(shared_address(&taken_j[s]), kMultiplyingThreads / 32 * kReaders<Way>);
        }
        for (int s = 0; s < kSplitSlabs; s++) {
            barrier_init(shared_address(&split[s]), kWarpgroup);
            barrier_init(shared_address(&multiplied[s]), kMultiplyingThreads / 32 * kReaders<Way>);
        }
        barrier_init_done();
    }
};
template <int Down, slab_way Way>
constexpr int kWgmmaBytes = sizeof(wgmma_memory<Down, Way>) + 1024; /* to be aligned */

/* A slab's place in a ring of Slabs, and the parity of its barriers. In the first round all places
 * are free: waits for the other parity return at once. */
template <int Slabs>
struct slab_place {
    int at = 0;
    uint32_t phase = 0;
    __device__ __forceinline__ void advance()
    {
        if (++at == Slabs) {
            at = 0;
            phase ^= 1;
        }
    }
};

/* ---- The copying warpgroup ---- */

/* An operand's maps for tensor copies. Shifted: one of each quarter of its columns, else only the
 * first. */
struct operand_maps {
    CUtensorMap of[kQuarters];
    bool shifted;
    int bytes;   /* of a slab's copies. They leave out rows that no tile has: to fill these up
                    takes longer */
    int pitch;   /* of a shifted operand: bytes from a quarter's run to the next */
    int columns; /* from a product to the next, if products of a shifted operand run on; 0: the
                    maps know products */
};
struct tensor_maps {
    operand_maps a, b;
};

template <slab_way Way>
constexpr int kBoxWarps = Way == kByQuarters ? kQuarters : 1; /* copy: the first lane of each */

/* The warpgroup's tensor copies of slabs of Rows rows: a warp's first lane copies every fourth run
 * if the operand is shifted; else the first warp's copies all. */
template <int Rows, slab_way Way>
struct box_copies {
    using Slab = slab_of<Rows, Way>;
    int x, column; /* of the next box; of all columns, if products run on */

    __device__ __forceinline__ void begin(const operand_maps &maps, const square_source &o,
                                          int first_row, int first_k, int product)
    {
        x = o.along_k ? first_k : first_row;
        column = o.along_k ? first_row : first_k;
        if (Way == kByQuarters && maps.shifted)
            column += maps.columns * product + (int)threadIdx.x / 32;
    }
    /* The next slab. Its barrier waits for the first warp, and for the bytes of all. */
    __device__ __forceinline__ void copy(const operand_maps &maps, bool along_k, int product,
                                         uint32_t to, uint32_t barrier)
    {
        const bool shifted = Way == kByQuarters && maps.shifted;
        const int warp = __shfl_sync(1, (int)threadIdx.x / 32, 0);
        if (warp == 0) barrier_expect(barrier, maps.bytes);
        if (shifted) {
            copy_box(to + warp * Slab::quarter(along_k, maps.pitch), &maps.of[column % kQuarters],
                     barrier, x, column / kQuarters, maps.columns > 0 ? 0 : product);
        } else if (warp == 0) {
            if (along_k)
                copy_box(to, &maps.of[0], barrier, x, column, product);
            else
#pragma unroll
                for (int s = 0; s < Slab::kSquares; s++)
                    copy_box(to + s * kSquareBytes, &maps.of[0], barrier, x + s * kSquare, column,
                             product);
        }
        (along_k ? x : column) += kSquare;
    }
};

/* Copies all slabs of the block's tiles, by the first lane of each of kBoxWarps warps. */
template <int Down, slab_way Way, class Source>
static __device__ __forceinline__ void copy_boxes(const Source &source, const tensor_maps &maps,
                                                  wgmma_memory<Down, Way> *memory)
{
    using Memory = wgmma_memory<Down, Way>;
    const auto shared = memory->all();
    slab_place<Memory::kSlabsI> place_i;
    slab_place<Memory::kSlabsJ> place_j;
#pragma unroll 1
    for (int t = (int)blockIdx.x; t < source.tiles(); t += (int)gridDim.x) {
        int number = t;
        const auto &batch = source.find(number);
        const int slabs = (int)((batch.p.k + kSquare - 1) / kSquare);
        const int product = number / batch.of_product;
        /* One product's operand may be all products'. */
        auto of_operand = [&](int i) { return batch.places.step[i] == 0 ? 0 : product; };
        box_copies<Down, Way> a;
        box_copies<kWgmmaEdge, Way> b;
        {
            const tensor_tile tile = tensor_tile::of<Down, kWgmmaEdge>(batch, number);
            const int first_k = (int)source.first_k(t);
            a.begin(maps.a, tile.a(batch), tile.i, first_k, product);
            b.begin(maps.b, tile.b(batch), tile.j, first_k, product);
        }
#pragma unroll 1
        for (int slab = 0; slab < slabs; slab++) {
            barrier_wait(shared.taken_i + 8 * place_i.at, place_i.phase ^ 1);
            a.copy(maps.a, batch.along_k_a, of_operand(DUO_A),
                   shared.i + place_i.at * sizeof memory->i[0], shared.copied_i + 8 * place_i.at);
            barrier_wait(shared.taken_j + 8 * place_j.at, place_j.phase ^ 1);
            b.copy(maps.b, batch.along_k_b, of_operand(DUO_B),
                   shared.j + place_j.at * sizeof memory->j[0], shared.copied_j + 8 * place_j.at);
            place_i.advance();
            place_j.advance();
        }
    }
}

/* A thread's place among those that copy a slab: a warp copies eight runs of each square, and their
 * last chunks. */
struct slab_lane {
    static constexpr int kRuns = kSquare / 4; /* of a warp */
    int run, chunk;            /* its first chunk; there is another four runs further */
    int last_run, last_square; /* its last chunk, if runs are shifted */

    __device__ __forceinline__ slab_lane()
    {
        int thread = threadIdx.x % kWarpgroup;
        asm volatile("" : "+r"(thread)); /* what depends on it is not kept: registers are few */
        const int lane = thread % 32, first = thread / 32 * kRuns;
        run = first + lane / 8;
        chunk = lane % 8;
        last_run = first + lane % kRuns;
        last_square = lane / kRuns;
    }
};

/* A thread's copies of slabs of Squares squares, shifted or as tensor copies leave them. */
template <int Squares>
struct slab_copies {
    static constexpr int kPitch = kRunBytes + 16; /* shifted */
    static_assert(Squares <= 4, "a lane copies one last chunk");
    const float *from, *last; /* the thread's first chunk of the next slab; its last chunk */
    int64_t ld;
    int rows, k;           /* inside, from the next slab on */
    int shift, last_shift; /* floats from 16 bytes to the runs of these chunks */
    bool along_k, shifted;

    /* From first_row on. */
    __device__ __forceinline__ void begin(const square_source &o, int first_row)
    {
        const slab_lane me;
        const float *const x = o.x + first_row * (o.along_k ? o.ld : 1);
        ld = o.ld;
        along_k = o.along_k;
        shifted = o.shifted;
        rows = o.rows - first_row;
        k = o.k;
        shift = shift_of(x + me.run * ld);
        last_shift = shift_of(x + me.last_run * ld);
        from = x + me.run * ld + me.chunk * 4 - shift;
        last = x + me.last_run * ld + me.last_square * kSquare * (along_k ? ld : 1) + kSquare -
               last_shift;
    }
    /* The next slab. */
    __device__ __forceinline__ void copy(uint32_t slab)
    {
        const slab_lane me;
        const int64_t next = along_k ? kSquare * ld : kSquare;
        const bool whole = rows >= kSquare * Squares && k >= kSquare;
#pragma unroll
        for (int c = 0; c < 2; c++) {
            const int run = me.run + c * 4;
            const uint32_t to =
                slab + (shifted ? run * kPitch + me.chunk * 16
                                : run * kRunBytes + (me.chunk ^ turn_of<true>(along_k, run)) * 16);
#pragma unroll
            for (int s = 0; s < Squares; s++) {
                const int left = rows - s * kSquare, place = me.chunk * 4 - shift;
                const float *const x = from + s * next + c * 4 * ld;
                if (left <= 0) break;
                if (whole)
                    copy_async(to + s * kSquareRoom, x);
                else
                    copy_async_part(to + s * kSquareRoom, x,
                                    run < (along_k ? left : k) ? (along_k ? k : left) - place : 0);
            }
        }
        if (shifted && me.last_square < Squares) {
            const int row = me.last_square * kSquare + (along_k ? me.last_run : 0);
            const bool inside = along_k ? row < rows : me.last_run < k;
            copy_async_part(
                slab + me.last_square * kSquareRoom + me.last_run * kPitch + kRunBytes, last,
                inside ? min(along_k ? k : rows - row, kSquare) - (kSquare - last_shift) : 0);
        }
        const int64_t step = along_k ? kSquare : kSquare * ld;
        from += step;
        last += step;
        k -= kSquare;
    }
};

/* Copies all slabs of the block's tiles by chunks, by all threads of the warpgroup. */
template <int Down, class Source>
static __device__ __forceinline__ void copy_chunks(const Source &source,
                                                   wgmma_memory<Down, kByChunks> *memory)
{
    using Memory = wgmma_memory<Down, kByChunks>;
    const auto shared = memory->all();
    slab_place<Memory::kSlabsI> place_i;
    slab_place<Memory::kSlabsJ> place_j;
#pragma unroll 1
    for (int t = (int)blockIdx.x; t < source.tiles(); t += (int)gridDim.x) {
        int number = t;
        const auto &batch = source.find(number);
        const int slabs = (int)((batch.p.k + kSquare - 1) / kSquare);
        slab_copies<Memory::slab_i::kSquares> a;
        slab_copies<Memory::slab_j::kSquares> b;
        const tensor_tile tile = tensor_tile::of<Down, kWgmmaEdge>(batch, number);
        a.begin(tile.a(batch), tile.i);
        b.begin(tile.b(batch), tile.j);
#pragma unroll 1
        for (int slab = 0; slab < slabs; slab++) {
            barrier_wait(shared.taken_i + 8 * place_i.at, place_i.phase ^ 1);
            a.copy(shared.i + place_i.at * sizeof memory->i[0]);
            barrier_arrive_after_copies(shared.copied_i + 8 * place_i.at);
            barrier_wait(shared.taken_j + 8 * place_j.at, place_j.phase ^ 1);
            b.copy(shared.j + place_j.at * sizeof memory->j[0]);
            barrier_arrive_after_copies(shared.copied_j + 8 * place_j.at);
            place_i.advance();
            place_j.advance();
        }
    }
}

#endif
