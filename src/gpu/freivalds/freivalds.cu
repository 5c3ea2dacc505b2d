/*
 * freivalds.cu - the steps of Freivalds' check on the device (src/freivalds.h).
 *
 * Work      A matrix stored by columns of op(X): a thread adds up to 64 columns in one row. Stored
 *           by rows: a warp adds up to 1024 elements of a row. Each adds its part to the row's sum
 *           by an atomic addition in float64.
 * Order     Any: a check compares with a bound, its sums are no results.
 * Traffic   Every matrix is read once.
 */
#include "gpu/launch.cuh"

constexpr int kThreads = 256, kWarps = kThreads / 32;
constexpr int kColumns = 64;                     /* that a thread adds */
constexpr int kWords = 32, kAlong = 32 * kWords; /* elements of a row that a warp adds */
constexpr int kUnrolled = 8;

static __device__ __forceinline__ double sign_of(uint32_t signs, int bit)
{
    return signs >> bit & 1 ? 1.0 : -1.0;
}

/* A row's sums so far. kFirst: of the first factor, by signs and ones. */
template <bool kFirst>
struct row_sums {
    double sum = 0.0, magnitude = 0.0, largest = 0.0;

    __device__ __forceinline__ void add(float x, double by, double by_magnitude, double by_largest,
                                        double least)
    {
        const double here = x, size = fabs(here) + least;
        sum = fma(here, by, sum);
        magnitude = fma(size, by_magnitude, magnitude);
        if (!kFirst)
            largest = fma(size, by_largest, largest);
        else if (!(size <= largest)) /* keeps a NaN */
            largest = size;
    }

    __device__ __forceinline__ void add_to(const duo_freivalds_product &p, int64_t row) const
    {
        atomicAdd(&p.sum[row], sum);
        atomicAdd(&p.magnitude[row], magnitude);
        if (p.largest == nullptr) return;
        if (kFirst) /* the bits of numbers that are not negative are in the order of the numbers */
            atomicMax(reinterpret_cast<unsigned long long *>(&p.largest[row]),
                      (unsigned long long)__double_as_longlong(largest));
        else
            atomicAdd(&p.largest[row], largest);
    }
};

/* The vectors of a matrix. */
template <bool kFirst>
struct vectors {
    const double *by, *by_magnitude, *by_largest;

    __device__ __forceinline__ vectors(const duo_freivalds_product &p, int64_t matrix)
        : by(kFirst ? nullptr : p.by + matrix * p.columns),
          by_magnitude(kFirst ? nullptr : p.by_magnitude + matrix * p.columns),
          by_largest(kFirst ? nullptr : p.by_largest + matrix * p.columns)
    {
    }
};

/* Blocks are row_blocks x splits x matrices; a block has `rows` rows, a power of two. */
template <bool kFirst>
static __global__ void __launch_bounds__(kThreads)
    add_columns(duo_freivalds_product p, int rows, int64_t row_blocks, int64_t splits)
{
    const int64_t part = blockIdx.x / row_blocks, matrix = part / splits;
    const int groups = kThreads / rows;
    const int64_t i = blockIdx.x % row_blocks * rows + threadIdx.x % rows;
    const int64_t from = (part % splits * groups + threadIdx.x / rows) * kColumns;
    const int64_t to = from + kColumns < p.columns ? from + kColumns : p.columns;
    if (i >= p.rows || from >= to) return;
    const float *x = p.x + matrix * p.stride + i + from * p.ld;
    const vectors<kFirst> v(p, matrix);
    row_sums<kFirst> sums;
    uint32_t signs = 0;
#pragma unroll kUnrolled
    for (int64_t j = from; j < to; j++, x += p.ld) {
        if (kFirst && j % 32 == 0) signs = duo_freivalds_signs(p.seed, j / 32);
        sums.add(*x, kFirst ? sign_of(signs, (int)(j % 32)) : v.by[j],
                 kFirst ? 1.0 : v.by_magnitude[j], kFirst ? 1.0 : v.by_largest[j], p.least);
    }
    sums.add_to(p, matrix * p.rows + i);
}

/* Warps are rows x splits x matrices. */
template <bool kFirst>
static __global__ void __launch_bounds__(kThreads) add_rows(duo_freivalds_product p, int64_t splits)
{
    const int lane = threadIdx.x % 32;
    const int64_t warp = blockIdx.x * (int64_t)kWarps + threadIdx.x / 32;
    const int64_t part = warp / p.rows, i = warp % p.rows, matrix = part / splits;
    if (matrix >= p.count) return;
    const int64_t from = part % splits * kAlong;
    const float *const x = p.x + matrix * p.stride + i * p.ld;
    const vectors<kFirst> v(p, matrix);
    row_sums<kFirst> sums;
    const uint32_t signs = kFirst ? duo_freivalds_signs(p.seed, from / 32 + lane) : 0;
#pragma unroll kUnrolled
    for (int word = 0; word < kWords; word++) {
        const int64_t j = from + word * 32 + lane;
        const uint32_t of_word = kFirst ? __shfl_sync(0xffffffffu, signs, word) : 0;
        if (j < p.columns)
            sums.add(x[j], kFirst ? sign_of(of_word, lane) : v.by[j],
                     kFirst ? 1.0 : v.by_magnitude[j], kFirst ? 1.0 : v.by_largest[j], p.least);
    }
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
        sums.sum += __shfl_down_sync(0xffffffffu, sums.sum, distance);
        sums.magnitude += __shfl_down_sync(0xffffffffu, sums.magnitude, distance);
        const double other = __shfl_down_sync(0xffffffffu, sums.largest, distance);
        if (!kFirst)
            sums.largest += other;
        else if (!(other <= sums.largest))
            sums.largest = other;
    }
    if (lane == 0) sums.add_to(p, matrix * p.rows + i);
}

static __global__ void __launch_bounds__(kThreads)
    compare(duo_freivalds_rows rows, uint32_t *wrong, uint32_t number)
{
    const int64_t i = blockIdx.x * (int64_t)kThreads + threadIdx.x;
    if (i < rows.rows && !duo_freivalds_right(&rows, i)) *(volatile uint32_t *)wrong = number;
}

static int64_t quotient(int64_t x, int64_t y) { return (x + y - 1) / y; }

cudaError_t duo_freivalds_multiply(const duo_freivalds_product *product, const duo_launch *how)
{
    const duo_freivalds_product p = *product;
    const bool signs = p.by == nullptr;
    if (p.trans) {
        const int64_t splits = quotient(p.columns, kAlong);
        const int64_t blocks = quotient(p.rows * splits * p.count, kWarps);
        if (blocks > INT_MAX) return cudaErrorInvalidValue;
        return queue_kernel(signs ? add_rows<true> : add_rows<false>, (unsigned)blocks, kThreads,
                            how, p, splits);
    }
    int rows = 32; /* of a block */
    while (rows < kThreads && rows < p.rows) rows *= 2;
    const int64_t row_blocks = quotient(p.rows, rows);
    const int64_t splits = quotient(p.columns, (int64_t)kColumns * (kThreads / rows));
    if (row_blocks * splits * p.count > INT_MAX) return cudaErrorInvalidValue;
    return queue_kernel(signs ? add_columns<true> : add_columns<false>,
                        (unsigned)(row_blocks * splits * p.count), kThreads, how, p, rows,
                        row_blocks, splits);
}

cudaError_t duo_freivalds_compare(const duo_freivalds_rows *rows, uint32_t *wrong, uint32_t number,
                                  const duo_launch *how)
{
    const int64_t blocks = quotient(rows->rows, kThreads);
    if (blocks > INT_MAX) return cudaErrorInvalidValue;
    return queue_kernel(compare, (unsigned)blocks, kThreads, how, *rows, wrong, number);
}

cudaError_t duo_freivalds_load(void)
{
    cudaError_t error = load_kernel(add_columns<true>);
    if (error == cudaSuccess) error = load_kernel(add_columns<false>);
    if (error == cudaSuccess) error = load_kernel(add_rows<true>);
    if (error == cudaSuccess) error = load_kernel(add_rows<false>);
    return error == cudaSuccess ? load_kernel(compare) : error;
}
