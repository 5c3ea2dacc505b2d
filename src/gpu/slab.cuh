/*
 * slab.cuh - slabs of A and B in shared memory, and how a thread reads them.
 *
 * A block multiplies a slab of op(A) with the same slab of op(B): their elements (i, l) and (j, l)
 * for a few l, all i and j of its tile of C. Both are kept as rows of one l.
 */
#ifndef DUO_SLAB_CUH
#define DUO_SLAB_CUH

constexpr int kGroup = 4; /* floats that are read from shared memory at once: 16 bytes */

/* Floats from one row of a slab to the next: each begins on 16 bytes, 4 banks further than the
 * last. */
template <int Edge>
constexpr int kPitch = Edge + kGroup;

/*
 * A thread's place in a warp of 8 x 4 threads. Each of the two coordinates leaves out a low bit of
 * the lane number: pairs of lanes then read the same 16 bytes, which shared memory can serve
 * together.
 */
static __device__ __forceinline__ int lane_of_8(int lane)
{
    return (lane & 1) | (lane >> 1 & 2) | (lane >> 2 & 4);
}
static __device__ __forceinline__ int lane_of_4(int lane)
{
    return (lane >> 1 & 1) | (lane >> 2 & 2);
}

/* A thread's elements of a row: groups of 4, `stride` apart. */
template <int Elements>
static __device__ __forceinline__ void read_fragment(float (&fragment)[Elements], const float *row,
                                                     int stride)
{
    static_assert(Elements % kGroup == 0, "fragments are float4");
#pragma unroll
    for (int g = 0; g < Elements / kGroup; g++) {
        const float4 v = *reinterpret_cast<const float4 *>(row + g * stride);
        fragment[4 * g] = v.x;
        fragment[4 * g + 1] = v.y;
        fragment[4 * g + 2] = v.z;
        fragment[4 * g + 3] = v.w;
    }
}

#endif
