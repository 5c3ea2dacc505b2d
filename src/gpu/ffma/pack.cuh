/*
 * ffma/pack.cuh - an operand rewritten as sgemm_gpu_ffma copies it fastest.
 *
 * Accepts   any extent, k, leading dimension and alignment
 * Threads   256 per block; a block packs 64 x 64 elements through shared memory
 * Traffic   8 bytes per element; warps read and write neighbours
 *
 * If neighbours in memory are neighbours in k, or columns do not begin on 16 bytes, every tile of C
 * would copy its elements one by one. If there are many tiles, this is done once instead, before
 * all of them.
 */
#ifndef DUO_FFMA_PACK_CUH
#define DUO_FFMA_PACK_CUH

#include "gpu/launch.cuh"
#include "gpu/ffma/tile.cuh"

constexpr int kPackEdge = 64;

/* Element (i, l), i < extent, l < k: from[l + i*ld] if along_k, else from[i + l*ld]. It goes to
 * to[i + l*to_ld]; to_ld is the extent in whole groups, filled up with zeros. */
struct packing {
    const float *from;
    float *to;
    int64_t ld, to_ld, extent, k;
    bool along_k;
};

static inline int64_t packed_ld(int64_t extent) { return (extent + kGroup - 1) / kGroup * kGroup; }

static inline int64_t pack_blocks(const packing &p)
{
    return ((p.extent + kPackEdge - 1) / kPackEdge) * ((p.k + kPackEdge - 1) / kPackEdge);
}

static __global__ void __launch_bounds__(kThreads) sgemm_ffma_pack(packing p)
{
    __shared__ float square[kPackEdge][kPackEdge + 1]; /* [l][i] */
    constexpr int kRows = kThreads / kPackEdge, kGroups = kPackEdge / kGroup;
    const int64_t along_k = (p.k + kPackEdge - 1) / kPackEdge;
    const int64_t first_i = blockIdx.x / along_k * kPackEdge;
    const int64_t first_l = blockIdx.x % along_k * kPackEdge;
    const int extent = (int)min((int64_t)kPackEdge, p.extent - first_i);
    const int k = (int)min((int64_t)kPackEdge, p.k - first_l);

    wait_for_kernels_ahead();
    const int column = threadIdx.x % kPackEdge, first_row = threadIdx.x / kPackEdge;
    const float *const from =
        p.from + (p.along_k ? first_l + first_i * p.ld : first_i + first_l * p.ld);
    const int columns = p.along_k ? k : extent, rows = p.along_k ? extent : k;
#pragma unroll
    for (int r = 0; r < kPackEdge; r += kRows) {
        const int row = first_row + r;
        const float x = row < rows && column < columns ? from[column + row * p.ld] : 0.0f;
        square[p.along_k ? column : row][p.along_k ? row : column] = x;
    }
    __syncthreads();
    let_next_kernel_start();
    const int i = threadIdx.x % kGroups * kGroup, first = threadIdx.x / kGroups;
    if (i >= extent) return;
#pragma unroll
    for (int s = 0; s < kPackEdge; s += kThreads / kGroups) {
        const int l = first + s;
        if (l < k)
            *reinterpret_cast<float4 *>(p.to + (first_i + i + (first_l + l) * p.to_ld)) =
                make_float4(square[l][i], square[l][i + 1], square[l][i + 2], square[l][i + 3]);
    }
}

#endif
