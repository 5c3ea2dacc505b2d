/*
 * sgemm_panels.cuh - a product through planes, from call to panels: workspace, splitting, launches.
 *
 * Where the workspace holds the planes of both operands whole, there is one panel; else C is done
 * in panels of columns and rows, whose operands are split one after the other.
 */
#ifndef DUO_SGEMM_PANELS_CUH
#define DUO_SGEMM_PANELS_CUH

#include "kernels.h"
#include "launch.cuh"
#include "sgemm_tiles.cuh"

/* ---- Workspace: control, partial sums, words of A and B, planes of A and B ---- */

constexpr size_t kPlanesAlignment = 1024; /* of tensors, and of all that is in the workspace */
constexpr int kSlicedTile = 64 * 128;     /* elements of C in a tile whose k may be cut */

static size_t aligned_bytes(size_t bytes)
{
    return (bytes + kPlanesAlignment - 1) / kPlanesAlignment * kPlanesAlignment;
}
static size_t words_bytes(int64_t rows, int64_t k)
{
    return aligned_bytes((size_t)(tiles_of(rows) * tiles_of(k)) * sizeof(uint32_t));
}
static size_t planes_bytes(int64_t rows, int64_t k, int planes)
{
    return aligned_bytes((size_t)(tiles_of(rows) * tiles_of(k)) * kTile * kTile * (size_t)planes *
                         sizeof(__half));
}
/* Partial sums are left by one wave of blocks at most. */
static size_t partials_bytes(const duo_launch *how)
{
    return (size_t)how->multiprocessors * kSlicedTile * sizeof(float);
}
static size_t panel_bytes(int64_t m, int64_t n, int64_t k, int planes, const duo_launch *how)
{
    return kControlBytes + partials_bytes(how) + words_bytes(m, k) + words_bytes(n, k) +
           planes_bytes(m, k, planes) + planes_bytes(n, k, planes);
}

/* ---- Launches ---- */

template <class... Parameter>
static cudaError_t queue_dependent(void (*kernel)(Parameter...), unsigned blocks, unsigned threads,
                                   size_t shared_bytes, const duo_launch *how, Parameter... value)
{
    return (cudaError_t)queue_kernel_behind_with(kernel, blocks, threads, shared_bytes,
                                                 how->capability, how->stream, value...);
}

/* ---- Panels ---- */

constexpr int64_t kMostK = (int64_t)1 << 29; /* places in the planes are counted in int */

/* The largest panel of C whose operands fit: halves of the longer side, in whole tiles of C. */
static bool choose_panel(int64_t *m, int64_t *n, int64_t k, int planes, const duo_launch *how)
{
    constexpr int64_t kUnit = 256;
    while (panel_bytes(*m, *n, k, planes, how) > how->workspace_bytes) {
        int64_t *const longer = *m >= *n ? m : n;
        if (*longer <= kUnit) return false;
        *longer = (*longer / 2 + kUnit - 1) / kUnit * kUnit;
    }
    return true;
}

struct panel {
    split_problem split;
    tensor_problem multiply;
    uint32_t *pending; /* ways of blocks that are left to kernels behind */
    uint32_t *tickets; /* of tiles of C whose k is cut */
    float *partials;
};

/* Compiled once, in sgemm_gpu_fp16x3.cu. */
cudaError_t duo_queue_split_fp16x3(const panel &p, const duo_launch *how);

template <class Scheme>
static cudaError_t queue_split(const panel &p, const duo_launch *how)
{
    const split_problem &split = p.split;
    const bool few = split.tiles <= (unsigned)(how->multiprocessors * kFewResident);
    return queue_dependent(few ? sgemm_split<Scheme, kFewResident>
                               : sgemm_split<Scheme, Scheme::kSplitResident>,
                           split.tiles, kSplitThreads, 0, how, split);
}

/* `planes` of each operand; `multiply` queues the kernels of one panel. */
static cudaError_t queue_product(const duo_call *call, const duo_launch *how, int planes,
                                 cudaError_t (*multiply)(const panel &p, const duo_launch *how))
{
    const sgemm_problem whole = sgemm_problem_of(call);
    if (whole.k == 0 || whole.k > kMostK) return cudaErrorInvalidValue; /* not this row's */
    int64_t panel_m = whole.m, panel_n = whole.n;
    if (!choose_panel(&panel_m, &panel_n, whole.k, planes, how)) return cudaErrorMemoryAllocation;

    panel p = {};
    operand_planes &a = p.multiply.a, &b = p.multiply.b;
    a.ld = whole.lda;
    b.ld = whole.ldb;
    a.k = b.k = p.multiply.k = whole.k;
    a.along_k = call->transa;
    b.along_k = !call->transb;
    p.multiply.ldc = whole.ldc;
    p.multiply.alpha = whole.alpha;
    p.multiply.beta = whole.beta;
    char *place = how->workspace;
    p.pending = reinterpret_cast<uint32_t *>(place);
    p.tickets = p.pending + 1;
    place += kControlBytes;
    p.partials = reinterpret_cast<float *>(place);
    place += partials_bytes(how);
    a.words = reinterpret_cast<uint32_t *>(place);
    place += words_bytes(panel_m, whole.k);
    b.words = reinterpret_cast<uint32_t *>(place);
    place += words_bytes(panel_n, whole.k);
    a.planes = place;
    place += planes_bytes(panel_m, whole.k, planes);
    b.planes = place;

    cudaError_t error = cudaSuccess;
    for (int64_t j = 0; j < whole.n && error == cudaSuccess; j += panel_n)
        for (int64_t i = 0; i < whole.m && error == cudaSuccess; i += panel_m) {
            a.rows = p.multiply.m = min(panel_m, whole.m - i);
            b.rows = p.multiply.n = min(panel_n, whole.n - j);
            a.x = whole.a + (a.along_k ? i * a.ld : i);
            b.x = whole.b + (b.along_k ? j * b.ld : j);
            p.multiply.c = whole.c + i + j * whole.ldc;
            const int64_t tiles_a = tiles_of(a.rows) * tiles_of(a.k);
            const int64_t tiles = tiles_a + tiles_of(b.rows) * tiles_of(b.k);
            if (tiles > INT32_MAX) return cudaErrorInvalidValue;
            p.split = {{a, b}, (unsigned)tiles_a, (unsigned)tiles, p.pending};
            error = multiply(p, how);
            if (i > 0 || j > 0) error = (cudaError_t)after_c_changed(error);
        }
    return error;
}

#endif
