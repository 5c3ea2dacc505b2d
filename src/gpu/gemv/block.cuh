/* gemv/block.cuh - the problem, and the parts of a block and its warps. */
#ifndef DUO_GEMV_BLOCK_CUH
#define DUO_GEMV_BLOCK_CUH

#include <stdint.h>

constexpr int kThreads = 256, kWarps = kThreads / 32;
constexpr int kMostColumns = 8;
constexpr int kGroup = 4;    /* elements of X in a 16-byte load */
constexpr int kGroups = 8;   /* loads that a thread has under way at once */
constexpr int kChunk = 1024; /* steps of k for which a block keeps Y in shared memory */

/* Blocks per multiprocessor that the registers must allow. */
constexpr int blocks_for(int columns) { return columns == 1 ? 3 : 2; }

struct gemv_problem {
    const float *x, *y;
    float *c;
    int64_t rows, k, ldx, ldy;
    int64_t row_step, column_step; /* of C */
    int columns;
    bool y_along_k;  /* neighbours in memory are neighbours in k */
    bool aligned;    /* columns of X in memory begin on 16 bytes, as the first one does */
    int warps_m_log; /* warps of a block along rows; the others share k */
    int tiles;       /* of C */
    int ranges;
    int64_t range; /* of k, per block */
    float *slots;  /* with several ranges: add_ranges.cuh */
    unsigned *tickets;
    float alpha, beta;
};

/* The place of a block and its warp. */
struct gemv_place {
    int tile, range, warp_m, warp_k;
    int64_t first, steps; /* of k: the block's first step, and how many it has */

    /* Computed again after the last batch, since registers are scarce before. The number is
     * volatile: else the compiler would keep the values. */
    __device__ __forceinline__ explicit gemv_place(const gemv_problem &p)
    {
        int number;
        asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(number));
        const int warp = threadIdx.x / 32;
        tile = number % p.tiles;
        range = number / p.tiles;
        warp_m = warp & ((1 << p.warps_m_log) - 1);
        warp_k = warp >> p.warps_m_log;
        first = range * p.range;
        steps = p.k - first < p.range ? p.k - first : p.range;
    }
};

/*
 * The rows of a warp begin at a multiple of Rows, its turn. The last warp's begin earlier, so that
 * all are inside C. Another warp also has the rows before the turn, and stores them.
 */
template <int Rows>
static __device__ __forceinline__ int64_t turn_of(const gemv_problem &p, int tile, int warp_m)
{
    return (((int64_t)tile << p.warps_m_log) + warp_m) * Rows;
}
template <int Rows>
static __device__ __forceinline__ int64_t first_row_of(const gemv_problem &p, int64_t turn)
{
    return turn < p.rows - Rows ? turn : p.rows - Rows;
}

/* The address is a multiple of Count floats, or of 4. */
template <int Count>
static __device__ __forceinline__ void read_neighbours(float (&v)[Count], const float *from)
{
    if constexpr (Count % 4 == 0) {
#pragma unroll
        for (int i = 0; i < Count; i += 4) {
            const float4 w = *reinterpret_cast<const float4 *>(from + i);
            v[i] = w.x, v[i + 1] = w.y, v[i + 2] = w.z, v[i + 3] = w.w;
        }
    } else if constexpr (Count == 2) {
        const float2 w = *reinterpret_cast<const float2 *>(from);
        v[0] = w.x, v[1] = w.y;
    } else {
        static_assert(Count == 1, "a power of two");
        v[0] = *from;
    }
}

#endif
