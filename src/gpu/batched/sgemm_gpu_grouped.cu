/*
 * sgemm_gpu_grouped.cu - groups of products, each of one shape, side by side.
 *
 * Accepts   what the kernels of batches accept (sgemm_gpu_batched_ffma.cu and _mma.cu)
 * Launches  one for all groups that go by fp32 FMA, one for all that go on tensor cores, and one
 *           for each group of vector products that go by FMA (batched/plan_groups.h)
 * Table     a launch's groups, and where each one's tiles end, in the workspace: a warp looks its
 *           tile's group up (batched/tile_batches.cuh). Long k stands in front: their tiles begin
 *           first
 */
#include <stdlib.h>
#include <string.h>

#include "gpu/batched/plan_groups.h"
#include "gpu/batched/small_tiles.cuh"
#include "gpu/batched/warp_tiles.cuh"
#include "gpu/batched/wgmma_tiles.cuh"
#include "gpu/kernels.h"
#include "gpu/launch.cuh"

/* ---- The kernels ---- */

/* The kernels of batches. Some have more registers here, because groups differ. */
using group_tile_16 = batch_tile<16, 2, 32, 7>;
using group_tile_32 = batch_tile<32, 4, 32, 9>;
using group_tile_64 = batch_tile<64, 8, 32, 4>;
using group_warps_4 = warps<square_tile, 4, 1, 2>;

/* source: the groups of a way. is_short: no k is longer than a segment. */
template <class Tile>
static cudaError_t queue_small(const batch_groups &source, bool is_short, const duo_launch *how)
{
    static_assert(Tile::kThreads % 32 == 0, "a warp has one tile");
    auto *const kernel = is_short ? sgemm_small_tiles<Tile, true, batch_groups>
                                  : sgemm_small_tiles<Tile, false, batch_groups>;
    return queue_kernel_behind(kernel, (unsigned)((source.all - 1) / Tile::kTiles + 1),
                               Tile::kBlock, 0, how, source);
}

template <class Warps>
static cudaError_t queue_warps(const batch_groups &source, bool, const duo_launch *how)
{
    return Warps::queue(source, source.all, how);
}

/* 128 rows would not leave it enough registers. */
static constexpr int kGroupRows = 96;
using wgmma_of_groups = wgmma_kernel<kGroupRows, kByChunks, batch_groups>;

static cudaError_t queue_wgmma_96(const batch_groups &source, bool, const duo_launch *how)
{
    return wgmma_of_groups::queue(source, source.all, tensor_maps(), how);
}

struct kernel_of_groups {
    int down, across; /* of its tiles */
    cudaError_t (*queue)(const batch_groups &source, bool is_short, const duo_launch *how);
};

static kernel_of_groups kernel_of(duo_batched_kernel kernel)
{
    switch (kernel) {
    case DUO_BATCHED_TILE_16:
        return {group_tile_16::kEdge, group_tile_16::kEdge, queue_small<group_tile_16>};
    case DUO_BATCHED_TILE_32:
        return {group_tile_32::kEdge, group_tile_32::kEdge, queue_small<group_tile_32>};
    case DUO_BATCHED_TILE_64:
        return {group_tile_64::kEdge, group_tile_64::kEdge, queue_small<group_tile_64>};
    case DUO_BATCHED_WARPS_1:
        return {kSquare, kSquare, queue_warps<warps_1>};
    case DUO_BATCHED_WARPS_4:
        return {kSquare, kSquare, queue_warps<group_warps_4>};
    case DUO_BATCHED_WGMMA_96:
        return {kGroupRows, kWgmmaEdge, queue_wgmma_96};
    default:
        return {0, 0, nullptr};
    }
}

static cudaError_t load()
{
    int capability = 0;
    cudaError_t error = current_capability(&capability);
    if (error == cudaSuccess) error = load_small<group_tile_16, batch_groups>();
    if (error == cudaSuccess) error = load_small<group_tile_32, batch_groups>();
    if (error == cudaSuccess) error = load_small<group_tile_64, batch_groups>();
    if (error != cudaSuccess || capability < DUO_BATCHED_WARPS_CAPABILITY) return error;
    error = look_for_tiles(warps_1::kernel<batch_groups>, wgmma_of_groups::kernel);
    if (error == cudaSuccess) error = warps_1::load<batch_groups>();
    if (error == cudaSuccess) error = group_warps_4::load<batch_groups>();
    if (error == cudaSuccess && capability == DUO_BATCHED_WGMMA_CAPABILITY)
        error = wgmma_of_groups::load();
    return error;
}

/* ---- What is sent to the workspace ---- */

/* A group: its way, and where its lists are among all that is sent. */
struct group_place {
    duo_batched_way way;
    int64_t k, number;
    size_t lists;
};

/* Bytes of these parts, in this order: the groups, the ends of their tiles, their lists. The places
 * are not sent. */
struct parts {
    size_t groups, ends, lists, places;
    parts(const duo_group *group, int64_t count)
    {
        groups = (size_t)count * sizeof(tile_batch);
        ends = ((size_t)count * sizeof(int) + 7) / 8 * 8;
        lists = 0;
        for (int64_t g = 0; g < count; g++) lists += duo_batch_list_bytes(&group[g].batch);
        places = (size_t)count * sizeof(group_place);
    }
    size_t sent() const { return groups + ends + lists; }
};
static_assert(sizeof(tile_batch) % 8 == 0, "lists are on 8 bytes");

static size_t bytes(const duo_group *group, int64_t groups)
{
    const parts part(group, groups);
    return part.sent() + part.places;
}

/* The ways in order; in each the longest k first. */
static int in_order(const void *x, const void *y)
{
    const group_place *const a = (const group_place *)x, *const b = (const group_place *)y;
    if (a->way != b->way) return a->way < b->way ? -1 : 1;
    if (a->k != b->k) return a->k > b->k ? -1 : 1;
    return a->number < b->number ? -1 : 1;
}

/* Copies the lists that are sent to `to`. */
static void copy_lists(const duo_batch *batch, char *to)
{
    const size_t bytes = (size_t)batch->count * sizeof(float *);
    for (int i = 0; i < DUO_OPERANDS; i++) {
        if (!duo_batch_sends_list(batch, i)) continue;
        memcpy(to, batch->pointer[i], bytes);
        to += bytes;
    }
}

/* ---- Launching ---- */

struct groups_launch {
    const duo_group *group;
    int64_t groups;
    const duo_launch *how;
    parts part;
    char *staging;
    group_place *place;
    duo_batched_sums sums;

    groups_launch(const duo_group *of, int64_t count, void *memory, const duo_launch *on)
        : group(of), groups(count), how(on), part(of, count), staging((char *)memory),
          place((group_place *)(staging + part.sent())), sums()
    {
    }
    void find_places(bool tensor)
    {
        const duo_batched_device device = device_of(how);
        size_t at = part.groups + part.ends;
        for (int64_t g = 0; g < groups; g++) {
            const duo_batch *const batch = &group[g].batch;
            const duo_batched_size size = duo_batched_size_of(&group[g].call, batch);
            place[g] = {duo_batched_way_of(&size, &device, tensor), size.k, g, at};
            duo_batched_add(&sums, &size, &device, tensor);
            copy_lists(batch, staging + at);
            at += duo_batch_list_bytes(batch);
        }
        qsort(place, (size_t)groups, sizeof *place, in_order);
    }
    /* Fills in the groups of a way, from place `first` on. False: there are too many tiles. */
    bool fill(duo_batched_way way, const kernel_of_groups &by, int64_t first, batch_groups *source,
              bool *is_short)
    {
        tile_batch *const to = (tile_batch *)staging + first;
        int *const end = (int *)(staging + part.groups) + first;
        int64_t tiles = 0;
        int count = 0;
        *is_short = true;
        for (int64_t g = first; g < groups && place[g].way == way; g++, count++) {
            const duo_group *const one = &group[place[g].number];
            const void *const lists = how->workspace + place[g].lists;
            const bool fits =
                way == DUO_BATCHED_BY_TENSOR
                    ? tensor_batch_of(&one->call, &one->batch, lists, by.down, by.across, false,
                                      &to[count])
                    : tile_batch_of(&one->call, &one->batch, lists, by.down, &to[count]);
            if (!fits || tiles + to[count].all > INT32_MAX) return false;
            tiles += to[count].all;
            end[count] = (int)tiles;
            *is_short = *is_short && place[g].k <= DUO_SEGMENT;
        }
        *source = {(const tile_batch *)how->workspace + first,
                   (const int *)(how->workspace + part.groups) + first, count, (int)tiles};
        return true;
    }
    /* Launches one group by itself. Its launch finds its lists at the start of the workspace. */
    cudaError_t queue_alone(const group_place &at) const
    {
        duo_launch alone = *how;
        alone.workspace = how->workspace + at.lists;
        const duo_group *const one = &group[at.number];
        return duo_sgemm_gpu_batched_ffma.launch(&one->call, &one->batch, &alone);
    }
    cudaError_t queue()
    {
        batch_groups source[DUO_BATCHED_WAYS] = {};
        kernel_of_groups kernel[DUO_BATCHED_WAYS] = {};
        bool is_short[DUO_BATCHED_WAYS] = {};
        int64_t first = 0;
        bool queued = false;
        for (int w = 0; w < DUO_BATCHED_WAYS; w++) {
            const duo_batched_way way = (duo_batched_way)w;
            double microseconds;
            if (!sums.any[w]) continue;
            kernel[w] = kernel_of(duo_batched_least_for(&sums, way, &microseconds));
            if (kernel[w].queue == nullptr ||
                !fill(way, kernel[w], first, &source[w], &is_short[w]))
                return cudaErrorInvalidValue;
            first += source[w].groups;
        }
        cudaError_t error = cudaMemcpyAsync(how->workspace, staging, part.sent(),
                                            cudaMemcpyHostToDevice, how->stream);
        for (int w = DUO_BATCHED_WAYS - 1; w >= 0 && error == cudaSuccess; w--) {
            if (source[w].groups == 0) continue;
            error = kernel[w].queue(source[w], is_short[w], how);
            if (queued) error = after_c_changed(error);
            queued = true;
        }
        for (; first < groups && error == cudaSuccess; first++) {
            error = queue_alone(place[first]);
            if (queued) error = after_c_changed(error);
            queued = true;
        }
        return error;
    }
};

static cudaError_t launch(const duo_group *group, int64_t groups, bool tensor, void *staging,
                          const duo_launch *how)
{
    groups_launch all(group, groups, staging, how);
    all.find_places(tensor);
    return all.queue();
}

const duo_gpu_groups duo_sgemm_gpu_grouped = {.bytes = bytes, .launch = launch, .load = load};
