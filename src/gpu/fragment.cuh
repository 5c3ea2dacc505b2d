/* fragment.cuh - what a thread reads of a slab in shared memory, and its place in a warp of 8 x 4. */
#ifndef DUO_FRAGMENT_CUH
#define DUO_FRAGMENT_CUH

/*
 * A thread's place in its warp. Each of the two coordinates leaves out a low bit of the lane
 * number: pairs of lanes then read the same 16 bytes, which shared memory can serve together.
 */
static __device__ __forceinline__ int lane_of_8(int lane)
{
    return (lane & 1) | (lane >> 1 & 2) | (lane >> 2 & 4);
}
static __device__ __forceinline__ int lane_of_4(int lane)
{
    return (lane >> 1 & 1) | (lane >> 2 & 2);
}

/* Groups of 4 elements, `stride` apart, from one row of a slab. */
template <int Elements>
static __device__ __forceinline__ void read_fragment(float (&fragment)[Elements], const float *row,
                                                     int stride)
{
    static_assert(Elements % 4 == 0, "fragments are float4");
#pragma unroll
    for (int g = 0; g < Elements / 4; g++) {
        const float4 v = *reinterpret_cast<const float4 *>(row + g * stride);
        fragment[4 * g] = v.x;
        fragment[4 * g + 1] = v.y;
        fragment[4 * g + 2] = v.z;
        fragment[4 * g + 3] = v.w;
    }
}

#endif
