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
constexpr size_t kBytesPerElement = 6;    /* of bf16x6, which fp16x3 falls back to */
constexpr int kSlicedTile = 64 * 128;     /* elements of C in a tile whose k may be cut */

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
    tensor_problem multiply;
    uint32_t *tickets; /* of tiles of C whose k is cut */
    float *partials;
};

/* Each of these is compiled once: the first in sgemm_gpu_fp16x3.cu, the others, which do what the guard
 * keeps from fp16x3 by fp32 and by bf16x6, in sgemm_gpu_bf16x6.cu. */
cudaError_t duo_queue_split_fp16x3(const panel &p, const duo_launch *how);
cudaError_t duo_queue_fallback(const panel &p, const duo_launch *how);
cudaError_t duo_queue_behind_fp16x3(const panel &p, const duo_launch *how);

template <class Scheme>
static cudaError_t queue_split(const panel &p, const duo_launch *how)
{
    const split_problem &split = p.fallback.split;
    const bool few = split.tiles <= (unsigned)(how->multiprocessors * kFewResident);
    return queue_dependent(few ? sgemm_split<Scheme, kFewResident>
                               : sgemm_split<Scheme, Scheme::kSplitResident>,
                           split.tiles, kSplitThreads, 0, how, split);
}

/* `multiply` queues the kernels of one panel. */
static cudaError_t queue_product(const duo_call *call, const duo_launch *how,
                                 cudaError_t (*multiply)(const panel &p, const duo_launch *how))
{
    const sgemm_problem whole = sgemm_problem_of(call);
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
    p.fallback.exact_ways = 1u << DUO_WAY_EXACT;
    p.multiply.ldc = whole.ldc;
    p.multiply.alpha = whole.alpha;
    p.multiply.beta = whole.beta;
    char *place = how->workspace;
    p.multiply.pending = reinterpret_cast<uint32_t *>(place);
    p.tickets = p.multiply.pending + 1;
    place += kControlBytes;
    p.partials = reinterpret_cast<float *>(place);
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

    cudaError_t error = cudaSuccess;
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
            error = multiply(p, how);
            if (i > 0 || j > 0) error = (cudaError_t)after_c_changed(error);
        }
    return error;
}

#endif
