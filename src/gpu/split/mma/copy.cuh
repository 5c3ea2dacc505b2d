/* split/mma/copy.cuh - copies stages of A and B to shared memory, 32 k at a time. */
#ifndef DUO_SPLIT_MMA_COPY_CUH
#define DUO_SPLIT_MMA_COPY_CUH

#include "gpu/split/mma/instructions.cuh"
#include "gpu/split/product.cuh"

constexpr int kMmaThreads = 64, kMmaStages = 2;
constexpr int kPlaneBytes = kTile * kRowBytes;
constexpr int kChunks = kRowBytes / kChunkBytes;

template <class Scheme>
struct mma_stage {
    static constexpr int kOperandBytes = kPlaneBytes * Scheme::kPlanes;
    static constexpr int kBytes = 2 * kOperandBytes, kSharedBytes = kBytes * kMmaStages;
    /* Threads that copy neighbours in memory: all chunks of a row, of both planes if
     * interleaved. */
    static constexpr int kLanes = kChunks * (Scheme::kInterleaved ? Scheme::kPlanes : 1);
    static constexpr int kRowsAtOnce = kMmaThreads / kLanes;
    /* Distance in memory from 32 k to the next. */
    static constexpr int kStepBytes = kLanes * kChunkBytes;
    static constexpr int kCopies = kOperandBytes / kChunkBytes / kMmaThreads; /* for each operand */
    static_assert(kRowsAtOnce % 8 == 0, "chunks of all rows that a thread copies are turned alike");
    static_assert(kSharedBytes <= 48 * 1024, "every device has as much without being asked");
};

/* A thread's copies of 64 rows of an operand: the same chunk of every kRowsAtOnce-th row. */
template <class Scheme>
struct mma_copies {
    using stage = mma_stage<Scheme>;
    const char *from; /* of the next 32 k */
    int64_t row_bytes, plane_bytes;
    uint32_t to; /* from the start of the operand's part of a stage */

    __device__ __forceinline__ mma_copies(const operand_planes &o, int64_t k, int64_t tile)
    {
        const int lane = threadIdx.x % stage::kLanes, row = threadIdx.x / stage::kLanes;
        row_bytes = tiles_of(k) * (kTile / kStepK) * stage::kStepBytes;
        plane_bytes = o.plane_rows * row_bytes;
        from = static_cast<const char *>(o.planes) + (tile * kTile + row) * row_bytes +
               lane * kChunkBytes;
        to = place_of_chunk(row, lane % kChunks) + lane / kChunks * kPlaneBytes;
    }

    /* Calls f(number, place in shared memory, place in memory) for each. */
    template <class Function>
    __device__ __forceinline__ void each(uint32_t place, Function f) const
    {
        constexpr int kTimes = kTile / stage::kRowsAtOnce;
        static_assert(stage::kCopies % kTimes == 0, "planes apart are copied one after the other");
#pragma unroll
        for (int copy = 0; copy < stage::kCopies; copy++) {
            const int plane = copy / kTimes, row = copy % kTimes * stage::kRowsAtOnce;
            f(copy, place + to + plane * kPlaneBytes + row * kRowBytes,
              from + plane * plane_bytes + row * row_bytes);
        }
    }
};

/* The next 32 k of both operands. */
template <class Scheme>
static __device__ __forceinline__ void start_copies(mma_copies<Scheme> &j, mma_copies<Scheme> &i,
                                                    uint32_t place)
{
    using stage = mma_stage<Scheme>;
    const uint32_t place_i = place + stage::kOperandBytes;
#if DUO_HAS_AMPERE
    auto copy = [](int, uint32_t to, const char *from) { copy_async(to, from); };
    j.each(place, copy);
    i.each(place_i, copy);
    copies_commit();
#else
    uint4 v[2][stage::kCopies]; /* all are under way before the first is waited for */
    auto load = [](uint4 &x, const char *from) {
        x = __ldcg(reinterpret_cast<const uint4 *>(from));
    };
    j.each(place, [&](int copy, uint32_t, const char *from) { load(v[0][copy], from); });
    i.each(place_i, [&](int copy, uint32_t, const char *from) { load(v[1][copy], from); });
    j.each(place, [&](int copy, uint32_t to, const char *) { store_shared(to, v[0][copy]); });
    i.each(place_i, [&](int copy, uint32_t to, const char *) { store_shared(to, v[1][copy]); });
#endif
    j.from += stage::kStepBytes;
    i.from += stage::kStepBytes;
}

#endif
