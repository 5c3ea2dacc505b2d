/*
 * sgemm_tensor.cuh - a product through planes, from call to kernels: workspace, panels, tiles, launches.
 *
 * Where the workspace holds the planes of both operands whole, there is one panel; else C is done
 * in panels of columns and rows, whose operands are split one after the other.
 */
#ifndef DUO_SGEMM_TENSOR_CUH
#define DUO_SGEMM_TENSOR_CUH

#include <atomic>
#include <math.h>
#include <string.h>

#include "kernels.h"
#include "launch.cuh"
#include "sgemm_wgmma.cuh"

/* ---- Workspace: control, partial sums, words of A and B, planes of A and B ---- */

constexpr size_t kPlanesAlignment = 1024; /* of tensors, and of all that is in the workspace */
constexpr size_t kBytesPerElement = 6;    /* of bf16x6, which fp16x3 falls back to */
constexpr int kSlicedTile = 64 * kTileJ;  /* elements of C in a tile whose k may be cut */

static size_t aligned_bytes(size_t bytes)
{
    return (bytes + kPlanesAlignment - 1) / kPlanesAlignment * kPlanesAlignment;
}
static size_t words_bytes(int64_t rows, int64_t k)
{
    return aligned_bytes((size_t)(tiles_of(rows) * tiles_of(k)) * sizeof(uint32_t));
}
static size_t planes_bytes(int64_t rows, int64_t k)
{
    return aligned_bytes((size_t)(tiles_of(rows) * tiles_of(k)) * kTile * kTile * kBytesPerElement);
}
/* Partial sums are left by one wave of blocks at most. */
static size_t partials_bytes(const duo_launch *how)
{
    return (size_t)how->multiprocessors * kSlicedTile * sizeof(float);
}
static size_t panel_bytes(int64_t m, int64_t n, int64_t k, const duo_launch *how)
{
    return kControlBytes + partials_bytes(how) + words_bytes(m, k) + words_bytes(n, k) +
           planes_bytes(m, k) + planes_bytes(n, k);
}

/* ---- Tensor maps ---- */

static cudaError_t encode_function(decltype(&cuTensorMapEncodeTiled) *function)
{
    void *address = nullptr;
    cudaDriverEntryPointQueryResult result;
    const cudaError_t error = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &address,
                                                               12000, cudaEnableDefault, &result);
    if (error != cudaSuccess) return error;
    if (result != cudaDriverEntryPointSuccess) return cudaErrorNotSupported;
    memcpy(function, &address, sizeof address);
    return cudaSuccess;
}

/* The planes of an operand, in boxes of kStepK x rows. */
template <class Scheme>
static cudaError_t make_map(CUtensorMap *map, const operand_planes &o, int rows)
{
    decltype(&cuTensorMapEncodeTiled) encode;
    const cudaError_t error = encode_function(&encode);
    if (error != cudaSuccess) return error;
    const cuuint64_t all_rows = (cuuint64_t)(tiles_of(o.rows) * kTile);
    const cuuint64_t k = (cuuint64_t)(tiles_of(o.k) * kTile);
    const bool one = Scheme::kInterleaved;
    const cuuint64_t length = one ? k * Scheme::kPlanes : k;
    const cuuint64_t sizes[3] = {length, all_rows, one ? 1u : (cuuint64_t)Scheme::kPlanes};
    const cuuint64_t strides[2] = {length * 2, length * 2 * all_rows};
    const cuuint32_t box[3] = {one ? kStepK * Scheme::kPlanes : kStepK, (cuuint32_t)rows,
                               one ? 1u : (cuuint32_t)Scheme::kPlanes};
    const cuuint32_t steps[3] = {1, 1, 1};
    return (cudaError_t)encode(
        map, CU_TENSOR_MAP_DATA_TYPE_UINT16, 3, o.planes, sizes, strides, box, steps,
        CU_TENSOR_MAP_INTERLEAVE_NONE, one ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_64B,
        CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

/* ---- Launches ---- */

template <class... Parameter>
static cudaError_t queue_dependent(void (*kernel)(Parameter...), unsigned blocks, unsigned threads,
                                   size_t shared_bytes, void *stream, Parameter... value)
{
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(blocks);
    config.blockDim = dim3(threads);
    config.dynamicSmemBytes = shared_bytes;
    config.stream = static_cast<cudaStream_t>(stream);
    config.attrs = &attribute;
    config.numAttrs = 1;
    void *values[] = {&value...};
    return cudaLaunchKernelExC(&config, reinterpret_cast<const void *>(kernel), values);
}

template <class Scheme>
struct tiles_of_scheme;
template <>
struct tiles_of_scheme<fp16x3> {
    using large = wgmma_tile<fp16x3, 128, 2, 4>;
    using small = wgmma_tile<fp16x3, 64, 1, 8>;
};
template <>
struct tiles_of_scheme<bf16x6> {
    using large = wgmma_tile<bf16x6, 128, 2, 3>;
    using small = wgmma_tile<bf16x6, 64, 1, 6>;
};

template <class Tile>
static cudaError_t queue_wgmma(const operand_planes &a, const operand_planes &b, wgmma_problem p,
                               int slices, const duo_launch *how)
{
    p.tiles_i = (int)((p.m + Tile::kI - 1) / Tile::kI);
    p.tiles_j = (int)((p.n + kTileJ - 1) / kTileJ);
    p.slices = slices;
    CUtensorMap map_i, map_j;
    cudaError_t error = make_map<typename Tile::Scheme>(&map_i, a, Tile::kI);
    if (error == cudaSuccess) error = make_map<typename Tile::Scheme>(&map_j, b, kTileJ);
    if (error != cudaSuccess) return error;
    const int64_t blocks = (int64_t)p.tiles_i * p.tiles_j * slices;
    return queue_dependent(
        sgemm_wgmma<Tile>,
        (unsigned)(blocks < how->multiprocessors ? blocks : how->multiprocessors), kWgmmaThreads,
        Tile::kSharedBytes, how->stream, map_i, map_j, p);
}

/*
 * Clocks of a tile of C, measured on an H200 under its power limit: the large tile is bound by the
 * tensor cores, the small one by shared memory; each has a start and an end that nothing overlaps.
 * Slices end by writing their sums, and the last of them by reading all.
 */
struct tile_clocks {
    double per_product; /* of the planes, for 32 k */
    double ends, sharing, per_slice;
    int most_slices;
};
static const tile_clocks kLargeClocks = {760.0, 6000.0, 0.0, 0.0, 1};
static const tile_clocks kSmallClocks = {260.0, 5000.0, 2500.0, 600.0, 16};

struct tile_choice {
    bool large;
    int slices;
};

static void consider(tile_choice *best, double *least, bool large, int64_t tiles, double steps,
                     int products, const duo_launch *how)
{
    const tile_clocks &clocks = large ? kLargeClocks : kSmallClocks;
    for (int slices = 1; slices <= clocks.most_slices; slices++) {
        if (slices > 1 && tiles * slices > how->multiprocessors) break;
        const double waves = ceil((double)(tiles * slices) / how->multiprocessors);
        const double sharing = slices > 1 ? clocks.sharing + clocks.per_slice * slices : 0.0;
        const double time =
            waves * (ceil(steps / slices) * products * clocks.per_product + clocks.ends) + sharing;
        if (time >= *least) continue;
        *least = time;
        *best = {large, slices};
    }
}

template <class Scheme>
static tile_choice choose_tile(const wgmma_problem &p, const duo_launch *how)
{
    using large = typename tiles_of_scheme<Scheme>::large;
    using small = typename tiles_of_scheme<Scheme>::small;
    const double steps = (double)((p.k + kStepK - 1) / kStepK);
    const int64_t columns = (p.n + kTileJ - 1) / kTileJ;
    tile_choice best = {true, 1};
    double least = INFINITY;
    consider(&best, &least, true, (p.m + large::kI - 1) / large::kI * columns, steps,
             Scheme::kProducts, how);
    consider(&best, &least, false, (p.m + small::kI - 1) / small::kI * columns, steps,
             Scheme::kProducts, how);
    return best;
}

/* ---- Loading ---- */

/* Attributes of kernels are set once per device. */
struct loaded_devices {
    std::atomic<uint64_t> mask{0};
    cudaError_t once(cudaError_t (*load)())
    {
        int device = 0;
        cudaError_t error = cudaGetDevice(&device);
        const uint64_t bit = (uint64_t)1 << device % 64;
        if (error != cudaSuccess || (mask.load(std::memory_order_acquire) & bit) != 0) return error;
        error = load();
        if (error == cudaSuccess) mask.fetch_or(bit, std::memory_order_release);
        return error;
    }
};

template <class Tile>
static cudaError_t load_wgmma()
{
    return cudaFuncSetAttribute(sgemm_wgmma<Tile>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                Tile::kSharedBytes);
}

/* Brings a scheme's kernels onto the current device and lets them have their shared memory. */
template <class Scheme>
static cudaError_t load_scheme()
{
    cudaError_t error = (cudaError_t)load_kernel(sgemm_split<Scheme, kFewResident>);
    if (error == cudaSuccess)
        error = (cudaError_t)load_kernel(sgemm_split<Scheme, Scheme::kSplitResident>);
    if (error == cudaSuccess) error = load_wgmma<typename tiles_of_scheme<Scheme>::large>();
    if (error == cudaSuccess) error = load_wgmma<typename tiles_of_scheme<Scheme>::small>();
    return error;
}

template <class Scheme>
static cudaError_t queue_tiles(const operand_planes &a, const operand_planes &b,
                               const wgmma_problem &p, const duo_launch *how)
{
    const tile_choice choice = choose_tile<Scheme>(p, how);
    return choice.large
               ? queue_wgmma<typename tiles_of_scheme<Scheme>::large>(a, b, p, choice.slices, how)
               : queue_wgmma<typename tiles_of_scheme<Scheme>::small>(a, b, p, choice.slices, how);
}

/* ---- Panels ---- */

constexpr int64_t kMostK = (int64_t)1 << 29; /* places in the planes are counted in int */

/* The largest panel of C whose operands fit: halves of the longer side, in whole tiles of C. */
static bool choose_panel(int64_t *m, int64_t *n, int64_t k, const duo_launch *how)
{
    constexpr int64_t kUnit = 256;
    while (panel_bytes(*m, *n, k, how) > how->workspace_bytes) {
        int64_t *const longer = *m >= *n ? m : n;
        if (*longer <= kUnit) return false;
        *longer = (*longer / 2 + kUnit - 1) / kUnit * kUnit;
    }
    return true;
}

/* A panel: the products to multiply, as both kernels see them. */
struct panel {
    operand_planes a, b;
    fallback_problem fallback;
    wgmma_problem multiply;
};

/* What the guard keeps from fp16x3: by fp32 and by bf16x6, in sgemm_gpu_bf16x6.cu. */
cudaError_t duo_queue_behind_fp16x3(const panel &p, const duo_launch *how);
cudaError_t duo_load_behind_fp16x3();

/* The kernels of one panel: Scheme where the guard allows, and what stands behind it. */
template <class Scheme>
static cudaError_t queue_panel(panel &p, const duo_launch *how)
{
    const split_problem &split = p.fallback.split;
    const bool few = split.tiles <= (unsigned)(how->multiprocessors * kFewResident);
    cudaError_t error = queue_dependent(few ? sgemm_split<Scheme, kFewResident>
                                            : sgemm_split<Scheme, Scheme::kSplitResident>,
                                        split.tiles, kSplitThreads, 0, how->stream, split);
    p.multiply.ways = Scheme::kWays;
    if (error == cudaSuccess) error = queue_tiles<Scheme>(p.a, p.b, p.multiply, how);
    return error;
}

/* `behind` queues what the guard keeps from Scheme; `load` brings all the kernels to the device. */
template <class Scheme>
static cudaError_t queue_product(const duo_call *call, const duo_launch *how,
                                 cudaError_t (*behind)(const panel &p, const duo_launch *how),
                                 cudaError_t (*load)())
{
    const sgemm_problem whole = sgemm_problem_of(call);
    if (how->capability != 90) return cudaErrorNotSupported;
    if (whole.k == 0 || whole.k > kMostK) return cudaErrorInvalidValue; /* not this row's */
    int64_t panel_m = whole.m, panel_n = whole.n;
    if (!choose_panel(&panel_m, &panel_n, whole.k, how)) return cudaErrorMemoryAllocation;

    panel p = {};
    p.a.ld = whole.lda;
    p.b.ld = whole.ldb;
    p.a.k = p.b.k = p.multiply.k = whole.k;
    p.a.along_k = p.fallback.transa = call->transa;
    p.fallback.transb = call->transb;
    p.b.along_k = !call->transb;
    p.multiply.ldc = whole.ldc;
    p.multiply.alpha = whole.alpha;
    p.multiply.beta = whole.beta;
    char *place = how->workspace;
    p.multiply.pending = reinterpret_cast<uint32_t *>(place);
    p.multiply.tickets = p.multiply.pending + 1;
    place += kControlBytes;
    p.multiply.partials = reinterpret_cast<float *>(place);
    place += partials_bytes(how);
    p.a.words = reinterpret_cast<uint32_t *>(place);
    place += words_bytes(panel_m, whole.k);
    p.b.words = reinterpret_cast<uint32_t *>(place);
    place += words_bytes(panel_n, whole.k);
    p.a.planes = place;
    place += planes_bytes(panel_m, whole.k);
    p.b.planes = place;
    p.multiply.words_a = p.a.words;
    p.multiply.words_b = p.b.words;

    static loaded_devices loaded;
    cudaError_t error = loaded.once(load);
    for (int64_t j = 0; j < whole.n && error == cudaSuccess; j += panel_n)
        for (int64_t i = 0; i < whole.m && error == cudaSuccess; i += panel_m) {
            sgemm_problem s = whole;
            s.m = min(panel_m, whole.m - i);
            s.n = min(panel_n, whole.n - j);
            s.a += p.a.along_k ? i * s.lda : i;
            s.b += p.b.along_k ? j * s.ldb : j;
            s.c += i + j * s.ldc;
            p.a.x = s.a;
            p.b.x = s.b;
            p.a.rows = p.multiply.m = s.m;
            p.b.rows = p.multiply.n = s.n;
            p.multiply.c = s.c;
            const int64_t tiles_a = tiles_of(s.m) * tiles_of(s.k);
            const int64_t tiles = tiles_a + tiles_of(s.n) * tiles_of(s.k);
            if (tiles > INT32_MAX) return cudaErrorInvalidValue;
            p.fallback.product = s;
            p.fallback.split = {{p.a, p.b}, (unsigned)tiles_a, (unsigned)tiles, p.multiply.pending};
            error = queue_panel<Scheme>(p, how);
            if (error == cudaSuccess) error = behind(p, how);
        }
    return error;
}

#endif
