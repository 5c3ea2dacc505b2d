/*
 * freivalds.cu - the steps of Freivalds' check on the device (src/freivalds.h).
 *
 * Work      A matrix stored by columns of op(X): a lane has four neighbouring rows, a warp adds 32
 *           columns, a block's warps add theirs in shared memory. Stored by rows: a warp adds up to
 *           1024 elements of each of four rows. Their sums are added to the rows' by atomic
 *           additions in float64. These take longer than the loads if there are many.
 * Loads     Four neighbours in memory at once, if all columns begin on 16 bytes and the matrices
 *           are large; else one.
 * Order     Any: a check compares with a bound, its sums are no results.
 * Traffic   Every matrix is read once.
 */
#include "gpu/launch.cuh"

constexpr int kThreads = 256, kWarps = kThreads / 32;
constexpr int kColumns = 32;                  /* that a warp adds */
constexpr int kAlong = 1024, kRowsAtOnce = 4; /* of a warp: elements of a row, rows */
constexpr int kWide = 4;                      /* floats of a load */
constexpr int64_t kFewElements = 1 << 23;     /* with less, wide loads make too few blocks */
constexpr int kUnrolled = 8;

/* Blocks of a multiprocessor. With registers for one more, some would spill. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1200
template <bool kFirst>
constexpr int kColumnBlocks = 2;
constexpr int kRowBlocks = 2;
#else
template <bool kFirst>
constexpr int kColumnBlocks = kFirst ? 4 : 3;
constexpr int kRowBlocks = 0; /* as many as there are */
#endif

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

    /* Of other columns of the same row. */
    __device__ __forceinline__ void add(const row_sums &other)
    {
        sum += other.sum;
        magnitude += other.magnitude;
        if (!kFirst)
            largest += other.largest;
        else if (!(other.largest <= largest))
            largest = other.largest;
    }

    /* Those of the warp's lanes, for the first. */
    __device__ __forceinline__ void gather()
    {
#pragma unroll
        for (int distance = 16; distance > 0; distance /= 2) {
            row_sums other;
            other.sum = __shfl_down_sync(0xffffffffu, sum, distance);
            other.magnitude = __shfl_down_sync(0xffffffffu, magnitude, distance);
            other.largest = __shfl_down_sync(0xffffffffu, largest, distance);
            add(other);
        }
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

/* Neighbours in memory, of which `count` exist; the others become 0. Four begin on 16 bytes. */
template <int kCount>
struct neighbours {
    float x[kCount];

    __device__ __forceinline__ neighbours(const float *from, int64_t count)
    {
        if (kCount == 4 && count >= 4) {
            const float4 four = *reinterpret_cast<const float4 *>(from);
            x[0] = four.x, x[1 % kCount] = four.y, x[2 % kCount] = four.z, x[3 % kCount] = four.w;
        } else {
#pragma unroll
            for (int i = 0; i < kCount; i++) x[i] = i < count ? from[i] : 0.0f;
        }
    }
};

/* Blocks are row_blocks x splits x matrices; a block has 32 kRows rows. */
template <bool kFirst, int kRows>
static __global__ void __launch_bounds__(kThreads, kColumnBlocks<kFirst>)
    add_columns(duo_freivalds_product p, int64_t row_blocks, int64_t splits)
{
    constexpr int kBlockRows = 32 * kRows;
    __shared__ row_sums<kFirst> of_warp[kWarps][kBlockRows];
    const int64_t part = blockIdx.x / row_blocks, matrix = part / splits;
    const int64_t first = blockIdx.x % row_blocks * kBlockRows;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int64_t i = first + lane * kRows;
    const int64_t from = (part % splits * kWarps + warp) * kColumns;
    const int64_t to = from + kColumns < p.columns ? from + kColumns : p.columns;
    const vectors<kFirst> v(p, matrix);
    row_sums<kFirst> sums[kRows];
    const uint32_t signs = kFirst ? duo_freivalds_signs(p.seed, from / 32) : 0;
    static_assert(kColumns == 32, "one word of signs");
    if (i < p.rows) {
        const float *x = p.x + matrix * p.stride + i + from * p.ld;
#pragma unroll kUnrolled
        for (int64_t j = from; j < to; j++, x += p.ld) {
            const neighbours<kRows> here(x, p.rows - i);
            const double by = kFirst ? sign_of(signs, (int)(j - from)) : v.by[j];
            const double by_magnitude = kFirst ? 1.0 : v.by_magnitude[j];
            const double by_largest = kFirst ? 1.0 : v.by_largest[j];
#pragma unroll
            for (int r = 0; r < kRows; r++)
                sums[r].add(here.x[r], by, by_magnitude, by_largest, p.least);
        }
    }
#pragma unroll
    for (int r = 0; r < kRows; r++) of_warp[warp][lane * kRows + r] = sums[r];
    __syncthreads();
    const int row = threadIdx.x;
    if (row >= kBlockRows || first + row >= p.rows) return;
    row_sums<kFirst> all = of_warp[0][row];
#pragma unroll
    for (int w = 1; w < kWarps; w++) all.add(of_warp[w][row]);
    all.add_to(p, matrix * p.rows + first + row);
}

/* Warps are row_groups x splits x matrices. A lane has kCount neighbours of every 32 kCount. */
template <bool kFirst, int kCount>
static __global__ void __launch_bounds__(kThreads, kRowBlocks)
    add_rows(duo_freivalds_product p, int64_t row_groups, int64_t splits)
{
    const int lane = threadIdx.x % 32;
    const int64_t warp = blockIdx.x * (int64_t)kWarps + threadIdx.x / 32;
    const int64_t part = warp / row_groups, matrix = part / splits;
    if (matrix >= p.count) return;
    const int64_t first = warp % row_groups * kRowsAtOnce, from = part % splits * kAlong;
    const float *const x = p.x + matrix * p.stride + first * p.ld;
    const vectors<kFirst> v(p, matrix);
    row_sums<kFirst> sums[kRowsAtOnce];
    const uint32_t signs = kFirst ? duo_freivalds_signs(p.seed, from / 32 + lane) : 0;
#pragma unroll 2
    for (int step = 0; step < kAlong; step += 32 * kCount) {
        const int element = step + lane * kCount;
        const int64_t j = from + element, left = p.columns - j;
        const uint32_t of_word = kFirst ? __shfl_sync(0xffffffffu, signs, element / 32) : 0;
        if (left <= 0) continue;
        double by[kCount], by_magnitude[kCount], by_largest[kCount];
#pragma unroll
        for (int q = 0; q < kCount; q++) {
            const bool read = !kFirst && q < left;
            by[q] = kFirst ? sign_of(of_word, element % 32 + q) : read ? v.by[j + q] : 0.0;
            by_magnitude[q] = kFirst ? 1.0 : read ? v.by_magnitude[j + q] : 0.0;
            by_largest[q] = kFirst ? 1.0 : read ? v.by_largest[j + q] : 0.0;
        }
#pragma unroll
        for (int r = 0; r < kRowsAtOnce; r++) {
            if (first + r >= p.rows) break;
            const neighbours<kCount> here(x + r * p.ld + j, left);
#pragma unroll
            for (int q = 0; q < kCount; q++)
                if (q < left)
                    sums[r].add(here.x[q], by[q], by_magnitude[q], by_largest[q], p.least);
        }
    }
#pragma unroll
    for (int r = 0; r < kRowsAtOnce; r++) {
        sums[r].gather();
        if (lane == 0 && first + r < p.rows) sums[r].add_to(p, matrix * p.rows + first + r);
    }
}

static __global__ void __launch_bounds__(kThreads)
    compare(duo_freivalds_rows rows, uint32_t *wrong, uint32_t number)
{
    const int64_t i = blockIdx.x * (int64_t)kThreads + threadIdx.x;
    if (i < rows.rows && !duo_freivalds_right(&rows, i)) *(volatile uint32_t *)wrong = number;
}

static int64_t quotient(int64_t x, int64_t y) { return (x + y - 1) / y; }

/* Are loads of four elements possible, and worth it? */
static bool is_wide(const duo_freivalds_product &p)
{
    return (double)p.rows * (double)p.columns * (double)p.count >= (double)kFewElements &&
           reinterpret_cast<uintptr_t>(p.x) % 16 == 0 && p.ld % kWide == 0 &&
           (p.count == 1 || p.stride % kWide == 0);
}

template <bool kFirst, int kCount>
static cudaError_t multiply(const duo_freivalds_product &p, const duo_launch *how)
{
    if (p.trans) {
        const int64_t groups = quotient(p.rows, kRowsAtOnce), splits = quotient(p.columns, kAlong);
        const int64_t blocks = quotient(groups * splits * p.count, kWarps);
        if (blocks > INT_MAX) return cudaErrorInvalidValue;
        return queue_kernel(add_rows<kFirst, kCount>, (unsigned)blocks, kThreads, how, p, groups,
                            splits);
    }
    const int64_t row_blocks = quotient(p.rows, 32 * kCount);
    const int64_t splits = quotient(p.columns, kColumns * kWarps);
    if (row_blocks * splits * p.count > INT_MAX) return cudaErrorInvalidValue;
    return queue_kernel(add_columns<kFirst, kCount>, (unsigned)(row_blocks * splits * p.count),
                        kThreads, how, p, row_blocks, splits);
}

cudaError_t duo_freivalds_multiply(const duo_freivalds_product *product, const duo_launch *how)
{
    const duo_freivalds_product &p = *product;
    if (p.by == nullptr)
        return is_wide(p) ? multiply<true, kWide>(p, how) : multiply<true, 1>(p, how);
    return is_wide(p) ? multiply<false, kWide>(p, how) : multiply<false, 1>(p, how);
}

cudaError_t duo_freivalds_compare(const duo_freivalds_rows *rows, uint32_t *wrong, uint32_t number,
                                  const duo_launch *how)
{
    const int64_t blocks = quotient(rows->rows, kThreads);
    if (blocks > INT_MAX) return cudaErrorInvalidValue;
    return queue_kernel(compare, (unsigned)blocks, kThreads, how, *rows, wrong, number);
}

template <bool kFirst, int kCount>
static cudaError_t load()
{
    const cudaError_t error = load_kernel(add_columns<kFirst, kCount>);
    return error == cudaSuccess ? load_kernel(add_rows<kFirst, kCount>) : error;
}

cudaError_t duo_freivalds_load(void)
{
    cudaError_t error = load<true, 1>();
    if (error == cudaSuccess) error = load<true, kWide>();
    if (error == cudaSuccess) error = load<false, 1>();
    if (error == cudaSuccess) error = load<false, kWide>();
    return error == cudaSuccess ? load_kernel(compare) : error;
}
