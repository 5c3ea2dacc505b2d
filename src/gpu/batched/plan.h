/*
 * batched/plan.h - the kernels of batches; which of them a batch takes, and its microseconds. The
 * kernels plan by it, and call/route_batch.c predicts by it.
 *
 * Each kernel gets an estimate of its time on an H100 with the device's memory. It has a fixed
 * part, one that grows with k, and the longer of its work on one multiprocessor and of its traffic,
 * with a quarter of the other. Fitted to 550 random batches of 1 to 600, then to 600 others; the
 * choice takes 3 to 4 % longer than the best of all.
 */
#ifndef DUO_BATCHED_PLAN_H
#define DUO_BATCHED_PLAN_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "gpu/batched/plan_size.h"
#include "product_order.h"

typedef struct duo_batched_device {
    int multiprocessors;
    int capability;      /* 10 * major + minor */
    size_t shared_bytes; /* that a block may have */
    double memory_rate;  /* bytes a second, by its clock and width; 0: unknown, as an H100's */
} duo_batched_device;

typedef enum duo_batched_kernel {
    /* By fp32 FMA, in the documented order. */
    DUO_BATCHED_TILE_8,
    DUO_BATCHED_TILE_16,
    DUO_BATCHED_TILE_32,
    DUO_BATCHED_TILE_48,
    DUO_BATCHED_TILE_64,
    DUO_BATCHED_TILE_128,
    DUO_BATCHED_OUTER_8,  /* few k: a thread has 8 columns */
    DUO_BATCHED_OUTER_64, /* a warp has 64 x 64 elements */
    DUO_BATCHED_VECTOR_1, /* vector products: lanes for an element */
    DUO_BATCHED_VECTOR_8,
    /* On tensor cores. */
    DUO_BATCHED_WARPS_1, /* warps for a tile of 32 x 32 */
    DUO_BATCHED_WARPS_2,
    DUO_BATCHED_WARPS_4,
    DUO_BATCHED_WARPS_8,
    DUO_BATCHED_STRIPS_1, /* for a tile of 8 x 32, or 32 x 8 */
    DUO_BATCHED_STRIPS_2,
    DUO_BATCHED_STRIPS_4,
    DUO_BATCHED_STRIPS_8,
    DUO_BATCHED_WGMMA_32, /* tiles of 32 x 128, or 128 x 32 */
    DUO_BATCHED_WGMMA_64,
    DUO_BATCHED_WGMMA_96, /* of 96 x 128 */
    DUO_BATCHED_WGMMA_128,
    DUO_BATCHED_KERNELS,
    DUO_BATCHED_TENSOR = DUO_BATCHED_WARPS_1 /* the first of them */
} duo_batched_kernel;

enum {
    DUO_BATCHED_OUTER_STEPS = 16,       /* most k of its kernels */
    DUO_BATCHED_OUTER_COLUMNS = 8,      /* of a thread */
    DUO_BATCHED_OUTER_EDGE = 64,        /* of a warp */
    DUO_BATCHED_TILE_128_BYTES = 84480, /* of shared memory, for a block */
    DUO_BATCHED_STRIP = 8,              /* most m or n of strips */
    DUO_BATCHED_WARPS_8_BYTES = 144 << 10,
    DUO_BATCHED_STRIPS_8_BYTES = 144 << 10,
    /* Where the error bounds begin to hold (docs/reference/numerics.md). */
    DUO_BATCHED_WARPS_LEAST_K = 20, /* from Hopper on */
    DUO_BATCHED_TENSOR_LEAST_K = 32,
    DUO_BATCHED_WARPS_CAPABILITY = 80,
    DUO_BATCHED_WGMMA_CAPABILITY = 90
};

static inline double duo_batched_parts(int64_t size, int64_t part)
{
    return (double)((size + part - 1) / part);
}

/* Tiles of up to 64 rows: do fewer of 128 x down cover C than of down x 128? */
static inline bool duo_batched_turned(int64_t m, int64_t n, int down)
{
    return down <= 64 && duo_batched_parts(n, down) * duo_batched_parts(m, 128) <
                             duo_batched_parts(m, down) * duo_batched_parts(n, 128);
}

/*
 * How tiles of down x 128 cut a batch. Few tiles would leave multiprocessors idle, at once or in
 * the last round: then k is cut in parts, and a kernel behind adds their sums.
 */
typedef struct duo_batched_cut {
    bool turned;
    double tiles;         /* of C, of all products */
    int64_t parts, slabs; /* of k; slabs of 32 k of a part, the last one perhaps fewer */
} duo_batched_cut;

enum { DUO_BATCHED_ROUNDS = 4 }; /* most of the tiles of parts */

/* Parts that fill whole rounds, with the fewest slabs one after the other. */
static inline duo_batched_cut duo_batched_cut_of(int64_t m, int64_t n, int64_t k, int64_t count,
                                                 int down, const duo_batched_device *device)
{
    enum { LEAST = 4, TILE = 4 }; /* slabs of a part; of the time of a tile without any */
    const bool turned = duo_batched_turned(m, n, down);
    const double tiles = duo_batched_parts(turned ? n : m, down) *
                         duo_batched_parts(turned ? m : n, 128) * (double)count;
    const double round = device->multiprocessors;
    const int64_t all = (k + 31) / 32, most = all / LEAST;
    duo_batched_cut best = {turned, tiles, 1, all};
    double least = ceil(tiles / round) * (double)(all + TILE);
    for (int rounds = 1; rounds <= DUO_BATCHED_ROUNDS; rounds++) {
        const int64_t fill = (int64_t)(rounds * round / tiles), parts = fill < most ? fill : most;
        if (parts < 2) continue;
        const int64_t slabs = (all + parts - 1) / parts, whole = (all + slabs - 1) / slabs;
        const double all_rounds = ceil(tiles * (double)whole / round) * (double)(slabs + TILE);
        if (!(all_rounds < least)) continue;
        least = all_rounds;
        best.parts = whole;
        best.slabs = slabs;
    }
    return best;
}

/* The fixed part, the work of one multiprocessor and the traffic, together: microseconds. Traffic
 * is what it takes on an H100. */
static inline double duo_batched_sum(const duo_batched_device *device, double fixed, double work,
                                     double h100_traffic)
{
    const double h100_rate = 3.35e12;
    const double rate = device->memory_rate > 0.0 ? device->memory_rate : h100_rate;
    const double traffic = h100_traffic * h100_rate / rate;
    return fixed + fmax(work, traffic) + 0.25 * fmin(work, traffic);
}

/* Microseconds for sectors of C that are written in parts: for a column with a gap behind it, and
 * for a megabyte of C. */
static inline double duo_batched_parts_of_c(const duo_batched_size *s, double column, double gaps,
                                            double odd)
{
    if (s->gaps_c) return column * 1e-6 * (double)s->n * (double)s->count + gaps * s->megabytes_c;
    return s->odd_c ? odd * s->megabytes_c : 0.0;
}

/* Tiles of one edge, by FMA. Parts of a tile that are outside are left out. */
static inline double duo_batched_tile_cost(int tile, const duo_batched_size *s,
                                           const duo_batched_device *device)
{
    static const struct {
        int edge, rows, columns; /* of a warp's part */
        double first, step, tile, part_step, narrow, megabyte, odd, column, gaps, odd_c;
    } of[] = {{8, 8, 8, 1.85, 0.0454, 0.0135, 0.00138, 0.0, 0.326, 0.134, 8.25, 0.246, 0.131},
              {16, 16, 16, 2.14, 0.0255, 0.0581, 0.00219, 0.136, 0.308, 0.235, 4.7, 0.421, 0.216},
              {32, 32, 16, 2.23, 0.0287, 0.168, 0.00343, 0.136, 0.303, 0.449, 10.4, 0.323, 0.0722},
              {48, 16, 48, 1.88, 0.0567, 0.3, 0.0041, 0.186, 0.315, 0.601, 11.3, 0.442, 0.0155},
              {64, 32, 32, 2.24, 0.0404, 0.432, 0.00562, 0.183, 0.322, 0.478, 14.2, 0.323, 0.101},
              {128, 128, 128, 3.39, 0.063, 4.46, 0.069, 0.0505, 0.41, 0.69, 38.1, 0.0789, 0.0}};
    const double k = (double)s->k, share = (double)s->count / device->multiprocessors;
    const double tiles =
        duo_batched_parts(s->m, of[tile].edge) * duo_batched_parts(s->n, of[tile].edge);
    const double parts =
        duo_batched_parts(s->m, of[tile].rows) * duo_batched_parts(s->n, of[tile].columns);
    const double narrow = 1.0 + of[tile].narrow * (!s->wide_a + !s->wide_b);
    return duo_batched_sum(
        device, of[tile].first + of[tile].step * k,
        share * (tiles * of[tile].tile + parts * k * of[tile].part_step * narrow),
        of[tile].megabyte * s->megabytes * (1.0 + of[tile].odd * s->odd) +
            duo_batched_parts_of_c(s, of[tile].column, of[tile].gaps, of[tile].odd_c));
}

/* Few k. */
static inline double duo_batched_outer_cost(int columns, const duo_batched_size *s,
                                            const duo_batched_device *device)
{
    int64_t whole = 1;
    while (whole < s->k) whole *= 2;
    const double steps = (double)whole, share = (double)s->count / device->multiprocessors;
    if (columns == DUO_BATCHED_OUTER_COLUMNS) {
        const double row = s->m < 32 ? (double)s->m : 32.0; /* neighbours that a warp stores */
        const double threads = (double)s->m * duo_batched_parts(s->n, columns) * share * 1e-3;
        const double elements = (double)s->m * (double)s->n * share * 1e-3;
        return duo_batched_sum(device, 1.31 + 0.131 * steps,
                               threads * (0.00646 + 0.152 * steps) +
                                   elements * (0.062 + 0.0368 * (double)s->k) * (1.0 + 4.73 / row),
                               0.333 * s->megabytes +
                                   duo_batched_parts_of_c(s, 24.6, 0.165, 0.0425));
    }
    const double down = duo_batched_parts(s->m, DUO_BATCHED_OUTER_EDGE) * share;
    return duo_batched_sum(
        device, 1.51 + 0.164 * steps,
        down * duo_batched_parts(s->n, DUO_BATCHED_OUTER_EDGE) * (0.0194 + 0.00463 * steps) +
            down * (double)s->n * (0.00337 + 0.000334 * steps) * (s->reads_c ? 1.73 : 1.0),
        0.346 * s->megabytes + duo_batched_parts_of_c(s, 19.6, 0.24, 0.0));
}

static inline double duo_batched_vector_cost(int lanes, const duo_batched_size *s,
                                             const duo_batched_device *device)
{
    enum { FEW = 16 }; /* k: a lane's reads along k are in one or two sectors */
    const double elements =
        (double)s->m * (double)s->n * (double)s->count / device->multiprocessors / 1000.0;
    const double groups = duo_batched_parts(s->k, DUO_CHAINS);
    const bool apart = (s->n <= s->m ? s->along_k_a : s->along_k_b) && s->k > FEW;
    if (lanes == 1)
        return duo_batched_sum(device, 0.344 + 0.195 * groups,
                               elements * 1.33 * groups * (apart ? 1.37 : 1.0),
                               0.317 * s->megabytes);
    return duo_batched_sum(device, 0.961, elements * 8.0 * (0.768 + 0.0464 * groups),
                           0.354 * s->megabytes);
}

/* Tiles by warps on tensor cores: of 32 x 32, or of 8 x 32 and 32 x 8. */
static inline double duo_batched_warps_cost(int number, const duo_batched_size *s,
                                            const duo_batched_device *device)
{
    enum { SQUARES = 4 };
    static const struct {
        int warps;
        double first, step, tile, slab, megabyte, reads_c;
    } of[] = {{1, 3.76, 1.03, 0.29, 0.135, 0.282, 0.337},
              {2, 3.55, 1.05, 0.489, 0.136, 0.276, 0.278},
              {4, 2.8, 1.17, 0.732, 0.129, 0.308, 0.17},
              {8, 2.74, 1.34, 2.07, 0.145, 0.28, 0.116},
              {1, 2.41, 0.553, 0.186, 0.0741, 0.324, 0.268},
              {2, 1.72, 0.761, 0.335, 0.0743, 0.312, 0.113},
              {4, 2.2, 0.731, 0.626, 0.0714, 0.308, 0.0641},
              {8, 2.34, 0.747, 2.07, 0.0718, 0.442, 0.0923}};
    const bool strip = number >= SQUARES, turned = s->m > DUO_BATCHED_STRIP;
    /* The part of what is read that is shifted. */
    const double share = !strip ? 0.5 : turned ? 0.8 : 0.2;
    const double shifted = share * s->shifted_a + (1.0 - share) * s->shifted_b;
    const double tiles = (strip ? duo_batched_parts(turned ? s->m : s->n, 32)
                                : duo_batched_parts(s->m, 32) * duo_batched_parts(s->n, 32)) *
                         (double)s->count / device->multiprocessors;
    const double rounds = duo_batched_parts(s->k, (int64_t)32 * of[number].warps);
    return duo_batched_sum(
        device, of[number].first + of[number].step * rounds,
        tiles * (of[number].tile * (1.0 + (s->reads_c ? of[number].reads_c : 0.0)) +
                 of[number].slab * rounds * of[number].warps * (1.0 + 0.25 * shifted)),
        of[number].megabyte * s->megabytes * (1.0 + 0.1 * shifted));
}

/* Rows of a tile by wgmma. */
static inline int duo_batched_wgmma_rows(duo_batched_kernel kernel)
{
    return ((int)kernel - DUO_BATCHED_WGMMA_32 + 1) * 32;
}

static inline double duo_batched_wgmma_cost(duo_batched_kernel kernel, const duo_batched_size *s,
                                            const duo_batched_device *device)
{
    static const struct {
        double first, step, tile, slab, megabyte, chunks, reads_c, chunks_megabyte,
            least;       /* of a tile's work, however few columns it has */
        double quarters; /* of a slab's work besides, if an operand is shifted */
    } of[] = {{2.3, 0.0761, 1.34, 0.438, 0.217, 0.859, 0.398, 0.0, 0.556, 0.2},
              {2.03, 0.153, 1.72, 0.521, 0.268, 0.7, 0.56, 0.0, 0.586, 0.14},
              {2.28, 0.13, 2.27, 0.728, 0.286, 0.396, 0.602, 0.239, 0.575, 0.1},
              {2.03, 0.164, 2.94, 0.872, 0.296, 0.395, 0.603, 0.177, 0.573, 0.1}};
    const double chunks = s->boxes && !s->beside ? 0.0 : 1.0;
    const double quarters = chunks == 0.0 && (s->shifted_a || s->shifted_b) ? 1.0 : 0.0;
    const int down = duo_batched_wgmma_rows(kernel), number = (int)kernel - DUO_BATCHED_WGMMA_32;
    const duo_batched_cut cut = duo_batched_cut_of(s->m, s->n, s->k, s->count, down, device);
    const int64_t parts = s->beside ? 1 : cut.parts;
    const int64_t across = cut.turned ? s->m : s->n, last = across % 128;
    const double slabs = s->beside ? duo_batched_parts(s->k, 32) : (double)cut.slabs;
    const double tiles = duo_batched_parts(across, 128);
    const double share = cut.tiles * (double)parts / device->multiprocessors;
    const double adding = parts > 1 ? 2.5 + 0.6 * (double)parts * s->megabytes_c : 0.0;
    const double work = /* of a tile, on average */
        ((double)(across / 128) +
         (last > 0 ? of[number].least + (1.0 - of[number].least) / 4.0 * duo_batched_parts(last, 32)
                   : 0.0)) /
        tiles;
    return duo_batched_sum(
        device, of[number].first + of[number].step * slabs + adding,
        (s->beside ? share : ceil(share)) * work *
            (of[number].tile * (1.0 + (s->reads_c ? of[number].reads_c : 0.0)) +
             of[number].slab * slabs *
                 (1.0 + of[number].chunks * chunks + of[number].quarters * quarters)),
        of[number].megabyte * s->megabytes * (1.0 + of[number].chunks_megabyte * chunks));
}

/* Infinite: the kernel does not take the batch. */
static inline double duo_batched_cost(duo_batched_kernel kernel, const duo_batched_size *s,
                                      const duo_batched_device *device)
{
    const double never = (double)INFINITY;
    switch (kernel) {
    case DUO_BATCHED_TILE_8:
    case DUO_BATCHED_TILE_16:
    case DUO_BATCHED_TILE_32:
    case DUO_BATCHED_TILE_48:
    case DUO_BATCHED_TILE_64:
    case DUO_BATCHED_TILE_128:
        if (s->vector ||
            (kernel == DUO_BATCHED_TILE_128 && device->shared_bytes < DUO_BATCHED_TILE_128_BYTES))
            return never;
        return duo_batched_tile_cost((int)kernel - DUO_BATCHED_TILE_8, s, device);
    case DUO_BATCHED_OUTER_8:
        if (s->vector || s->k > DUO_BATCHED_OUTER_STEPS) return never;
        return duo_batched_outer_cost(DUO_BATCHED_OUTER_COLUMNS, s, device);
    case DUO_BATCHED_OUTER_64:
        if (s->vector || s->k == 0 || s->k > DUO_BATCHED_OUTER_STEPS) return never;
        return duo_batched_outer_cost(DUO_BATCHED_OUTER_EDGE, s, device);
    case DUO_BATCHED_VECTOR_1:
        return s->vector ? duo_batched_vector_cost(1, s, device) : never;
    case DUO_BATCHED_VECTOR_8:
        return s->vector ? duo_batched_vector_cost(DUO_CHAINS, s, device) : never;
    case DUO_BATCHED_WARPS_1:
    case DUO_BATCHED_WARPS_2:
    case DUO_BATCHED_WARPS_4:
    case DUO_BATCHED_WARPS_8:
    case DUO_BATCHED_STRIPS_1:
    case DUO_BATCHED_STRIPS_2:
    case DUO_BATCHED_STRIPS_4:
    case DUO_BATCHED_STRIPS_8:
        if (device->capability < DUO_BATCHED_WARPS_CAPABILITY ||
            s->k < (device->capability < DUO_BATCHED_WGMMA_CAPABILITY ? DUO_BATCHED_TENSOR_LEAST_K
                                                                      : DUO_BATCHED_WARPS_LEAST_K))
            return never;
        if (kernel >= DUO_BATCHED_STRIPS_1 && s->m > DUO_BATCHED_STRIP && s->n > DUO_BATCHED_STRIP)
            return never;
        if ((kernel == DUO_BATCHED_WARPS_8 && device->shared_bytes < DUO_BATCHED_WARPS_8_BYTES) ||
            (kernel == DUO_BATCHED_STRIPS_8 && device->shared_bytes < DUO_BATCHED_STRIPS_8_BYTES))
            return never;
        return duo_batched_warps_cost((int)kernel - DUO_BATCHED_WARPS_1, s, device);
    case DUO_BATCHED_WGMMA_32:
    case DUO_BATCHED_WGMMA_64:
    case DUO_BATCHED_WGMMA_96:
    case DUO_BATCHED_WGMMA_128:
        if (s->k < DUO_BATCHED_TENSOR_LEAST_K || device->capability != DUO_BATCHED_WGMMA_CAPABILITY)
            return never;
        return duo_batched_wgmma_cost(kernel, s, device);
    default:
        return never;
    }
}

/* The kernel from first to end - 1 that takes least, and its microseconds; infinite: none takes the
 * batch. */
static inline duo_batched_kernel duo_batched_least(const duo_batched_size *size,
                                                   const duo_batched_device *device,
                                                   duo_batched_kernel first, duo_batched_kernel end,
                                                   double *microseconds)
{
    duo_batched_kernel best = first;
    *microseconds = (double)INFINITY;
    for (int i = first; i < (int)end; i++) {
        const double cost = duo_batched_cost((duo_batched_kernel)i, size, device);
        if (!(cost < *microseconds)) continue;
        *microseconds = cost;
        best = (duo_batched_kernel)i;
    }
    return best;
}

/* Microseconds of a product alone, on tensor cores. */
static inline double duo_batched_alone(const duo_call *call, const duo_batched_device *device)
{
    const duo_batch one = duo_batch_of_one();
    const duo_batched_size size = duo_batched_size_of(call, &one);
    double microseconds;
    (void)duo_batched_least(&size, device, DUO_BATCHED_TENSOR, DUO_BATCHED_KERNELS, &microseconds);
    return microseconds;
}

#endif
