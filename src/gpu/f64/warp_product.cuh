/*
 * f64/warp_product.cuh - products of a warp in float64, by FP64 tensor cores or, on devices with
 * few FP64 units, by shuffles; and its operands, from slabs of float32.
 */
#ifndef DUO_F64_WARP_PRODUCT_CUH
#define DUO_F64_WARP_PRODUCT_CUH

#include "gpu/slab.cuh"

/* A warp's part of C, and that of a tensor operation, which takes 8 steps of k. */
constexpr int kWarpEdge = 32, kMmaM = 16, kMmaN = 8, kMmaK = 8;
constexpr int kAlongM = kWarpEdge / kMmaM, kAlongN = kWarpEdge / kMmaN; /* operations */
static_assert(kAlongM == 2 && kAlongN == 4, "a group is shared by 2 operations along m, 4 along n");

/*
 * sum += a b, by a warp, for 16 rows and 4 groups of 8 columns of C, and 8 steps of k. For each
 * group lane 4g + t holds
 *     a[0..3]    rows g and g + 8 at step t, then at step t + 4
 *     b[0..1]    column g at steps t and t + 4
 *     sum[0..3]  row g at columns 2t and 2t + 1, then row g + 8
 */
static __device__ __forceinline__ void multiply(double (&sum)[kAlongN][4], const double (&a)[4],
                                                const double (&b)[kAlongN][2])
{
#if __CUDA_ARCH__ == 900 || __CUDA_ARCH__ == 1000
#pragma unroll
    for (int c = 0; c < kAlongN; c++)
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 "
                     "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                     : "+d"(sum[c][0]), "+d"(sum[c][1]), "+d"(sum[c][2]), "+d"(sum[c][3])
                     : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[c][0]), "d"(b[c][1]));
#elif __CUDA_ARCH__ == 800
#pragma unroll
    for (int s = 0; s < 2; s++)
#pragma unroll
        for (int c = 0; c < kAlongN; c++)
#pragma unroll
            for (int h = 0; h < 2; h++)
                asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 "
                             "{%0, %1}, {%2}, {%3}, {%0, %1};"
                             : "+d"(sum[c][2 * h]), "+d"(sum[c][2 * h + 1])
                             : "d"(a[2 * s + h]), "d"(b[c][s]));
#else
    /* The lanes with this lane's rows and columns, at t = 0. */
    const int row = threadIdx.x & 28, column = threadIdx.x % 4 * 8;
#pragma unroll
    for (int s = 0; s < 2; s++)
#pragma unroll 1
        for (int t = 0; t < 4; t++) {
            const double upper = __shfl_sync(~0u, a[2 * s], row + t);
            const double lower = __shfl_sync(~0u, a[2 * s + 1], row + t);
#pragma unroll
            for (int c = 0; c < kAlongN; c++) {
                const double left = __shfl_sync(~0u, b[c][s], column + t);
                const double right = __shfl_sync(~0u, b[c][s], column + 4 + t);
                sum[c][0] = fma(upper, left, sum[c][0]);
                sum[c][1] = fma(upper, right, sum[c][1]);
                sum[c][2] = fma(lower, left, sum[c][2]);
                sum[c][3] = fma(lower, right, sum[c][3]);
            }
        }
#endif
}

/* ---- Fragments ---- */

/*
 * A lane's elements of 8 steps of one slab. Steps t and t + 4 of the tensor operation are steps 2t
 * and 2t + 1 here, and rows g and g + 8 of two operations are rows 4g to 4g + 3 of the warp;
 * likewise 4 columns. So a lane reads 4 floats at once, 8 lanes that read together reach all 32
 * banks, and a lane owns 4 neighbours in a column of C.
 */
struct fragment {
    float4 even, odd; /* steps 2t and 2t + 1 */

    __device__ __forceinline__ void read(const float *from, int pitch)
    {
        even = *reinterpret_cast<const float4 *>(from);
        odd = *reinterpret_cast<const float4 *>(from + pitch);
    }
};

/*
 * Volatile, as the tensor operations are: else the compiler would move conversions to the use of
 * their values, and there the tensor cores would wait for them.
 */
static __device__ __forceinline__ double widen(float x)
{
    double wide;
    asm volatile("cvt.f64.f32 %0, %1;" : "=d"(wide) : "f"(x));
    return wide;
}

/* The rows for one of the two tensor operations along m. */
static __device__ __forceinline__ void widen_rows(double (&a)[4], const fragment &f, int step)
{
    a[0] = widen(step == 0 ? f.even.x : f.even.z);
    a[1] = widen(step == 0 ? f.even.y : f.even.w);
    a[2] = widen(step == 0 ? f.odd.x : f.odd.z);
    a[3] = widen(step == 0 ? f.odd.y : f.odd.w);
}

/* The columns for all four along n. */
static __device__ __forceinline__ void widen_columns(double (&b)[kAlongN][2], const fragment &f)
{
    b[0][0] = widen(f.even.x), b[0][1] = widen(f.odd.x);
    b[1][0] = widen(f.even.y), b[1][1] = widen(f.odd.y);
    b[2][0] = widen(f.even.z), b[2][1] = widen(f.odd.z);
    b[3][0] = widen(f.even.w), b[3][1] = widen(f.odd.w);
}

#endif
