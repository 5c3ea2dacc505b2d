/*
 * sgemm_gpu_skinny.cu - products with few tiles of C: warps, and blocks, take segments of k.
 *
 * C or its transpose is X Y: Y is the thin operand; X is the other one, and is read along the
 * dimension in which it lies in memory. One code serves a small n and a small m.
 *
 * Accepts   any m, n, k, transposes, leading dimensions and alignment
 * Threads   up to 256 per block. A block owns a tile of C and a range of k. It has up to 8 teams of
 *           warps; each takes another segment, and slabs of its X and Y through a ring of its own
 *           in shared memory (cp.async; plain loads before compute capability 8.0). In a vector
 *           product 8 lanes have the chains of an element; with one column, lanes read X where it
 *           lies (skinny/column.cuh)
 * Order     product_order.h: a block adds its teams' sums in order; the sums of ranges are added in
 *           order by the last block of a tile, or by a second kernel. Unless DUO_MATH_IEEE asks for
 *           it, segments are as short as the plan likes: the same bits on every run with the same
 *           device, layout and workspace
 * Traffic   X once from memory, 16 bytes per copy if its alignment allows, else 4; Y once per tile
 *           of C, from L2; C once; with several ranges, a sum of each segment written and read once
 */
#include "gpu/kernels.h"
#include "gpu/launch.cuh"
#include "gpu/skinny/product.cuh"

/* The thin operand is Y. If C is thin both ways, X has more rows. */
static skinny_problem skinny_problem_of(const sgemm_problem &p, const duo_call *call,
                                        duo_skinny_size *size)
{
    skinny_problem q = {};
    const bool swapped = p.m < p.n;
    q.x = swapped ? p.b : p.a;
    q.y = swapped ? p.a : p.b;
    q.c = p.c;
    q.rows = swapped ? p.n : p.m;
    q.columns = swapped ? p.m : p.n;
    q.k = p.k;
    q.ldx = swapped ? p.ldb : p.lda;
    q.ldy = swapped ? p.lda : p.ldb;
    q.row_step = swapped ? p.ldc : 1;
    q.column_step = swapped ? 1 : p.ldc;
    q.alpha = p.alpha;
    q.beta = p.beta;

    bool along_k = swapped ? !call->transb : call->transa;
    const bool one_run = q.rows == 1 && (along_k || q.ldx == 1);
    along_k |= one_run;
    q.y_along_k = swapped ? call->transa : !call->transb;
    q.wide_x = reinterpret_cast<uintptr_t>(q.x) % (kGroup * sizeof(float)) == 0 &&
               (one_run || q.ldx % kGroup == 0);
    q.ordered = call->ordered;
    *size = {q.rows,    q.columns, q.k, along_k, q.y_along_k, q.wide_x, duo_call_is_vector(call),
             q.ordered, {false}};
    return q;
}

/* ---- Tiles ---- */

/* The plans know the kernels. */
template <class Tile>
static constexpr bool plan_knows(const duo_skinny_tile &line)
{
    return duo_skinny_rows(&line) == Tile::kRows && duo_skinny_columns(&line) == Tile::kColumns &&
           duo_skinny_team_bytes(&line, Tile::kAlongK) == sizeof(slabs<Tile>);
}

template <bool AlongK>
struct skinny_kernels {
#define KERNEL(...) sgemm_skinny<skinny_tile<AlongK, __VA_ARGS__>>,
    static constexpr void (*kernel[])(skinny_problem) = {DUO_SKINNY_TILE_LIST(KERNEL)};
#undef KERNEL
#define KNOWN(...) plan_knows<skinny_tile<AlongK, __VA_ARGS__>>(*line++) &&
    static constexpr bool known()
    {
        const duo_skinny_tile *line = duo_skinny_tiles;
        return DUO_SKINNY_TILE_LIST(KNOWN) true;
    }
#undef KNOWN
};
static_assert(skinny_kernels<false>::known() && skinny_kernels<true>::known(), "rows and bytes");

static void (*kernel_of(int tile, bool along_k))(skinny_problem)
{
    return along_k ? skinny_kernels<true>::kernel[tile] : skinny_kernels<false>::kernel[tile];
}

static duo_skinny_device device_of(const duo_launch *how)
{
    return {how->multiprocessors, (int)shared_memory(how->capability)};
}

/* ---- Running ---- */

/* Bytes for the slots: plans with more are not made. */
static size_t workspace(const duo_call *call, const duo_launch *)
{
    return call->k > 0 ? DUO_SKINNY_WORKSPACE : 0;
}

static cudaError_t queue_plan(skinny_problem &q, const duo_skinny_plan &plan, bool along_k,
                              const duo_launch *how)
{
    const duo_skinny_tile &tile = duo_skinny_tiles[plan.tile];
    const int64_t tiles = plan.row_tiles * plan.column_tiles;
    if (tiles * plan.ranges > INT32_MAX) return cudaErrorInvalidValue;
    q.row_tiles = (int)plan.row_tiles;
    q.column_tiles = (int)plan.column_tiles;
    q.ranges = (int)plan.ranges;
    q.segment = (int)plan.segment;
    q.segments = plan.segments;
    q.range = plan.range;
    q.slots_of_tile = (int)plan.slots;
    q.slots = reinterpret_cast<float *>(how->workspace);
    /* A second kernel adds many slots sooner, but its launch takes the host 2 us and more. */
    const int64_t of_tile = plan.slots * duo_skinny_rows(&tile) * duo_skinny_columns(&tile);
    const bool one_kernel =
        plan.ranges == 1 || (tiles <= DUO_COUNTERS && of_tile <= duo_skinny_most_added);
    q.tickets = one_kernel ? how->counters : nullptr;
    const cudaError_t error =
        queue_kernel_behind(kernel_of(plan.tile, along_k), (unsigned)(tiles * plan.ranges),
                            (unsigned)(32 * tile.warps * plan.teams),
                            (size_t)duo_skinny_shared_bytes(&tile, plan.teams, along_k), how, q);
    if (error != cudaSuccess || one_kernel) return error;
    const skinny_tile_size tile_size = {duo_skinny_rows(&tile), duo_skinny_columns(&tile)};
    const int64_t blocks =
        duo_skinny_parts(tiles * tile_size.rows * tile_size.columns, kSumThreads);
    return queue_kernel_behind(sum_slots, (unsigned)blocks, kSumThreads, 0, how, q, tile_size);
}

static cudaError_t launch(const duo_call *call, const duo_launch *how)
{
    const sgemm_problem p = sgemm_problem_of(call);
    duo_skinny_size size;
    skinny_problem q = skinny_problem_of(p, call, &size);
    const struct {
        duo_skinny_size size;
        duo_skinny_device device;
        int64_t room;
    } key = {size, device_of(how), (int64_t)(how->workspace_bytes / sizeof(float))};
    const auto plan = remembered_plan<duo_skinny_plan>(
        key, [&] { return duo_skinny_plan_of(&key.size, &key.device, key.room); });
    return queue_plan(q, plan, size.x_along_k, how);
}

/* A tile that does not fit is not used, and not loaded. */
static cudaError_t load()
{
    int capability = 0;
    cudaError_t error = current_capability(&capability);
    if (error == cudaSuccess) error = load_kernel(sum_slots);
    const duo_skinny_device device = {1, (int)shared_memory(capability)};
    for (int i = 0; i < DUO_SKINNY_TILES; i++)
        for (int along_k = 0; along_k < 2 && error == cudaSuccess; along_k++) {
            const duo_skinny_tile &tile = duo_skinny_tiles[i];
            int teams = DUO_SKINNY_WARPS / tile.warps;
            while (teams > 0 && duo_skinny_resident(&tile, teams, along_k, &device) == 0) teams--;
            if (teams > 0)
                error = load_kernel_with(kernel_of(i, along_k),
                                         (size_t)duo_skinny_shared_bytes(&tile, teams, along_k));
        }
    return error;
}

const duo_gpu_algorithm duo_sgemm_gpu_skinny = {
    .launch = launch,
    .load = load,
    .workspace = workspace,
    .packed_bytes = nullptr,
    .pack = nullptr,
};
