/*
 * split/patches.cuh - a call as products of patches: workspace, splitting, launches.
 *
 * A patch is a part of C for which the planes of A and B fit into the workspace. If the planes of
 * the whole operands fit, there is one patch. Else C is computed patch by patch, and the rows of A
 * and columns of B of each are split just before it is multiplied.
 */
#ifndef DUO_SPLIT_PATCHES_CUH
#define DUO_SPLIT_PATCHES_CUH

#include "gpu/kernels.h"
#include "gpu/launch.cuh"
#include "gpu/split/split_pass.cuh"
#include "gpu/split/product.cuh"

/* ---- Workspace: control, partial sums, packed A and B ---- */

constexpr size_t kPlanesAlignment = 1024; /* of tensors; used for everything in the workspace */
constexpr int kSlicedTile = 64 * 128;     /* elements of C in a tile with k cut */

static size_t aligned_bytes(size_t bytes)
{
    return (bytes + kPlanesAlignment - 1) / kPlanesAlignment * kPlanesAlignment;
}
static size_t words_bytes(int64_t rows, int64_t k)
{
    return aligned_bytes((size_t)(tiles_of(rows) * tiles_of(k)) * sizeof(uint32_t));
}
/* A packed operand: the words of all rows, then their planes. */
static size_t packed_bytes(int64_t rows, int64_t k, int planes)
{
    return words_bytes(rows, k) + aligned_bytes((size_t)(tiles_of(rows) * tiles_of(k)) * kTile *
                                                kTile * (size_t)planes * sizeof(__half));
}
/* Gives an operand its place in packed memory that is laid out for all_rows rows; its own begin at
 * `first`. */
template <class Scheme>
static void put_packed(operand_planes *o, void *memory, int64_t all_rows, int64_t first)
{
    const int64_t k_tiles = tiles_of(o->k);
    const int64_t row_elements = k_tiles * kTile * (Scheme::kInterleaved ? Scheme::kPlanes : 1);
    o->words = static_cast<uint32_t *>(memory) + first / kTile * k_tiles;
    o->planes = static_cast<char *>(memory) + words_bytes(all_rows, o->k) +
                (size_t)(first * row_elements) * sizeof(typename Scheme::element);
    o->plane_rows = tiles_of(all_rows) * kTile;
}
/* At most one wave of blocks leaves partial sums. */
static size_t partials_bytes(const duo_launch *how)
{
    return (size_t)how->multiprocessors * kSlicedTile * sizeof(float);
}
/* For m rows of op(A) and n columns of op(B), unless duo_prepare has packed the operand
 * elsewhere. */
static size_t patch_bytes(const duo_call *call, int64_t m, int64_t n, int planes,
                          const duo_launch *how)
{
    return kControlBytes + partials_bytes(how) +
           (call->operand[DUO_A].packed != nullptr ? 0 : packed_bytes(m, call->k, planes)) +
           (call->operand[DUO_B].packed != nullptr ? 0 : packed_bytes(n, call->k, planes));
}

/* ---- Patches ---- */

constexpr int64_t kMostK = (int64_t)1 << 29; /* places in the planes are counted in int */

/* The largest patch of C with operands that fit: halves the longer side, in whole tiles of C, until
 * they do. An operand that is packed elsewhere is not cut. */
static bool choose_patch(const duo_call *call, int64_t *m, int64_t *n, int planes,
                         const duo_launch *how)
{
    constexpr int64_t kUnit = 256;
    const bool whole_m = call->operand[DUO_A].packed != nullptr;
    const bool whole_n = call->operand[DUO_B].packed != nullptr;
    while (patch_bytes(call, *m, *n, planes, how) > how->workspace_bytes) {
        int64_t *const longer = whole_n || (!whole_m && *m >= *n) ? m : n;
        if (*longer <= kUnit || (whole_m && whole_n)) return false;
        *longer = (*longer / 2 + kUnit - 1) / kUnit * kUnit;
    }
    return true;
}

struct patch {
    split_problem split;
    tensor_problem multiply;
    uint32_t *pending; /* ways of blocks left to kernels behind */
    uint32_t *tickets; /* of tiles of C with k cut */
    float *partials;
};

/* queue_split<fp16x3>, compiled once for two algorithms, in sgemm_gpu_fp16x3.cu. */
cudaError_t duo_queue_split_fp16x3(const patch &p, const duo_launch *how);

template <class Scheme>
static cudaError_t queue_split(const patch &p, const duo_launch *how)
{
    const split_problem &split = p.split;
    const bool few = split.tiles <= (unsigned)(how->multiprocessors * kFewResident);
    return queue_kernel_behind(few ? sgemm_split<Scheme, kFewResident>
                                   : sgemm_split<Scheme, Scheme::kSplitResident>,
                               max(1u, split.tiles), kSplitThreads, 0, how, split);
}

/* Operand A or B (i) of a product; planes and words have no place yet. */
static operand_planes operand_of(const duo_call *call, int i)
{
    const sgemm_problem whole = sgemm_problem_of(call);
    operand_planes o = {};
    o.x = i == DUO_A ? whole.a : whole.b;
    o.ld = i == DUO_A ? whole.lda : whole.ldb;
    o.rows = i == DUO_A ? whole.m : whole.n;
    o.k = whole.k;
    o.along_k = i == DUO_A ? call->transa : !call->transb;
    return o;
}

/* There is memory for the planes of Scheme; `multiply` queues the kernels of one patch. */
template <class Scheme>
static cudaError_t queue_product(const duo_call *call, const duo_launch *how,
                                 cudaError_t (*multiply)(const patch &p, const duo_launch *how))
{
    constexpr int kPlanes = Scheme::kPlanes;
    const sgemm_problem whole = sgemm_problem_of(call);
    if (whole.k == 0 || whole.k > kMostK) return cudaErrorInvalidValue; /* not accepted */
    int64_t patch_m = whole.m, patch_n = whole.n;
    if (!choose_patch(call, &patch_m, &patch_n, kPlanes, how)) return cudaErrorMemoryAllocation;

    patch p = {};
    operand_planes &a = p.multiply.a, &b = p.multiply.b;
    a = operand_of(call, DUO_A);
    b = operand_of(call, DUO_B);
    p.multiply.k = whole.k;
    p.multiply.ldc = whole.ldc;
    p.multiply.alpha = whole.alpha;
    p.multiply.beta = whole.beta;
    char *place = how->workspace;
    p.pending = reinterpret_cast<uint32_t *>(place);
    p.tickets = p.pending + 1;
    place += kControlBytes;
    p.partials = reinterpret_cast<float *>(place);
    place += partials_bytes(how);
    bool packed[2];
    for (int i = DUO_A; i <= DUO_B; i++) {
        const duo_operand &o = call->operand[i];
        operand_planes &planes = i == DUO_A ? a : b;
        const int64_t rows = i == DUO_A ? patch_m : patch_n;
        packed[i] = o.packed != nullptr;
        if (packed[i]) {
            put_packed<Scheme>(&planes, o.packed, duo_call_packed_rows(call, i), o.packed_first);
        } else {
            put_packed<Scheme>(&planes, place, rows, 0);
            place += packed_bytes(rows, whole.k, kPlanes);
        }
    }

    cudaError_t error = cudaSuccess;
    for (int64_t j = 0; j < whole.n && error == cudaSuccess; j += patch_n)
        for (int64_t i = 0; i < whole.m && error == cudaSuccess; i += patch_m) {
            a.rows = p.multiply.m = min(patch_m, whole.m - i);
            b.rows = p.multiply.n = min(patch_n, whole.n - j);
            a.x = whole.a + (a.along_k ? i * a.ld : i);
            b.x = whole.b + (b.along_k ? j * b.ld : j);
            p.multiply.c = whole.c + i + j * whole.ldc;
            const int64_t tiles_a = packed[DUO_A] ? 0 : tiles_of(a.rows) * tiles_of(a.k);
            const int64_t tiles = tiles_a + (packed[DUO_B] ? 0 : tiles_of(b.rows) * tiles_of(b.k));
            if (tiles > INT32_MAX) return cudaErrorInvalidValue;
            p.split = split_of(a, b, tiles_a, tiles, p.pending);
            error = multiply(p, how);
            if (i > 0 || j > 0) error = after_c_changed(error);
        }
    return error;
}

#endif
