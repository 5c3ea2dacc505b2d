/*
 * batched/plan.h - the kernels of batches; which of them a batch takes, and its microseconds. The
 * kernels plan by it, and call/route_batch.c predicts by it.
 *
 * Each kernel gets an estimate of its time on an H100: a fixed part, one that grows with k, and the
 * longer of its work on one multiprocessor and of its traffic, with a quarter of the other. Fitted
 * to 550 random batches of 1 to 600; on 300 others the choice takes 3 % longer than the best of
 * all.
 */
#ifndef DUO_BATCHED_PLAN_H
#define DUO_BATCHED_PLAN_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "batch.h"
#include "product_order.h"

typedef struct duo_batched_size {
    int64_t m, n, k, count;
    bool along_k_a, along_k_b; /* neighbours in memory are neighbours in k */
    bool wide_a, wide_b;       /* is it copied in fours along m, or n? */
    bool shifted_a, shifted_b; /* do columns not begin on 16 bytes? */
    bool boxes;                /* can tensor copies read both? */
    bool reads_c, vector;
    bool beside;        /* other groups fill what the tiles leave free */
    bool gaps_c, odd_c; /* C is not read, and sectors of memory are written in parts: those at the
                           gaps between columns; those that two columns share */
    double odd;       /* share of the operands whose columns do not begin with sectors of memory */
    double megabytes; /* of all operands, gaps between columns included */
    double megabytes_c; /* of C, without gaps */
} duo_batched_size;

/* Are there fours along m, or n, and do they begin on 16 bytes? */
static inline bool duo_batched_wide(const duo_call *call, const duo_batch *batch, int i)
{
    const duo_operand *const o = &call->operand[i];
    const uintptr_t column = (uintptr_t)o->rows * sizeof(float);
    return o->read && !duo_call_along_k(call, i) &&
           (duo_batch_bits(batch, call, i) | column) % 16 == 0;
}

static inline bool duo_batched_shifted(const duo_call *call, const duo_batch *batch, int i)
{
    return duo_batch_bits(batch, call, i) % 16 != 0;
}

/* Can tensor copies read it? All columns are on 16 bytes, and a stride apart. */
static inline bool duo_batched_boxes(const duo_call *call, const duo_batch *batch, int i)
{
    return !duo_batch_listed(batch, i) && batch->stride[i] >= 0 &&
           !duo_batched_shifted(call, batch, i);
}

enum { DUO_BATCHED_SECTOR = 8 }; /* floats */

static inline double duo_batched_odd(const duo_call *call, int i)
{
    return call->operand[i].ld % DUO_BATCHED_SECTOR != 0 ? 1.0 / DUO_OPERANDS : 0.0;
}

/* A short gap between columns is in the same sectors as their elements. */
static inline double duo_batched_megabytes(const duo_call *call, const duo_batch *batch, int i)
{
    const duo_operand *const o = &call->operand[i];
    const int64_t column = o->ld - o->rows < DUO_BATCHED_SECTOR ? o->ld : o->rows;
    return 4e-6 * (double)column * (double)o->columns * (double)batch->count;
}

static inline duo_batched_size duo_batched_size_of(const duo_call *call, const duo_batch *batch)
{
    const bool reads_c = call->beta != 0.0f;
    const duo_operand *const c = &call->operand[DUO_C];
    return (duo_batched_size){
        .m = call->m,
        .n = call->n,
        .k = call->alpha == 0.0f ? 0 : call->k,
        .count = batch->count,
        .along_k_a = duo_call_along_k(call, DUO_A),
        .along_k_b = duo_call_along_k(call, DUO_B),
        .wide_a = duo_batched_wide(call, batch, DUO_A),
        .wide_b = duo_batched_wide(call, batch, DUO_B),
        .shifted_a = duo_batched_shifted(call, batch, DUO_A),
        .shifted_b = duo_batched_shifted(call, batch, DUO_B),
        .boxes = duo_batched_boxes(call, batch, DUO_A) && duo_batched_boxes(call, batch, DUO_B),
        .reads_c = reads_c,
        .vector = duo_call_is_vector(call),
        .beside = false,
        .gaps_c = !reads_c && c->ld != c->rows,
        .odd_c = !reads_c && c->ld == c->rows && c->ld % DUO_BATCHED_SECTOR != 0,
        .odd = duo_batched_odd(call, DUO_A) + duo_batched_odd(call, DUO_B) +
               duo_batched_odd(call, DUO_C),
        .megabytes = duo_batched_megabytes(call, batch, DUO_A) +
                     duo_batched_megabytes(call, batch, DUO_B) +
                     duo_batched_megabytes(call, batch, DUO_C) * (reads_c ? 2.0 : 1.0),
        .megabytes_c = 4e-6 * (double)call->m * (double)call->n * (double)batch->count};
}

typedef struct duo_batched_device {
    int multiprocessors;
    int capability;      /* 10 * major + minor */
    size_t shared_bytes; /* that a block may have */
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
    /* Where the error bounds begin to hold (docs/numerics.md). */
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
 * How tiles of down x 128 cut a batch. Few tiles would leave multiprocessors idle: then k is cut in
 * parts, and a kernel behind adds their sums.
 */
typedef struct duo_batched_cut {
    bool turned;
    double tiles;         /* of C, of all products */
    int64_t parts, slabs; /* of k; slabs of 32 k of a part, the last one perhaps fewer */
} duo_batched_cut;

static inline duo_batched_cut duo_batched_cut_of(int64_t m, int64_t n, int64_t k, int64_t count,
                                                 int down, const duo_batched_device *device)
{
    enum { LEAST = 4 }; /* slabs of a part */
    const bool turned = duo_batched_turned(m, n, down);
    const double tiles = duo_batched_parts(turned ? n : m, down) *
                         duo_batched_parts(turned ? m : n, 128) * (double)count;
    const int64_t all = (k + 31) / 32;
    int64_t parts = all / LEAST;
    if (parts * tiles > device->multiprocessors) parts = (int64_t)(device->multiprocessors / tiles);
    if (parts < 2) return (duo_batched_cut){turned, tiles, 1, all};
    const int64_t slabs = (all + parts - 1) / parts;
    return (duo_batched_cut){turned, tiles, (all + slabs - 1) / slabs, slabs};
}

/* The fixed part, the work of one multiprocessor and the traffic, together. */
static inline double duo_batched_sum(double fixed, double work, double traffic)
{
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
    } of[] = {{8, 8, 8, 1.55, 0.0461, 0.0156, 0.00134, 0.0, 0.326, 0.15, 10.5, 0.236, 0.149},
              {16, 16, 16, 1.75, 0.0275, 0.0632, 0.0025, 0.128, 0.269, 0.677, 5.35, 0.4, 0.242},
              {32, 32, 16, 1.73, 0.0316, 0.183, 0.00329, 0.116, 0.274, 0.602, 18.7, 0.38, 0.168},
              {48, 16, 48, 1.44, 0.0491, 0.273, 0.0054, 0.176, 0.364, 0.435, 16.3, 0.467, 0.0198},
              {64, 32, 32, 2.41, 0.041, 0.463, 0.00538, 0.227, 0.241, 0.828, 20.7, 0.424, 0.181},
              {128, 128, 128, 3.97, 0.0639, 4.4, 0.068, 0.0521, 0.368, 0.918, 34.7, 0.0733, 0.0}};
    const double k = (double)s->k, share = (double)s->count / device->multiprocessors;
    const double tiles =
        duo_batched_parts(s->m, of[tile].edge) * duo_batched_parts(s->n, of[tile].edge);
    const double parts =
        duo_batched_parts(s->m, of[tile].rows) * duo_batched_parts(s->n, of[tile].columns);
    const double narrow = 1.0 + of[tile].narrow * (!s->wide_a + !s->wide_b);
    return duo_batched_sum(
        of[tile].first + of[tile].step * k,
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
        return duo_batched_sum(1.12 + 0.148 * steps,
                               threads * (0.00656 + 0.115 * steps) +
                                   elements * (0.0366 + 0.0505 * (double)s->k) * (1.0 + 2.56 / row),
                               0.345 * s->megabytes +
                                   duo_batched_parts_of_c(s, 39.5, 0.104, 0.132));
    }
    const double down = duo_batched_parts(s->m, DUO_BATCHED_OUTER_EDGE) * share;
    return duo_batched_sum(
        1.42 + 0.146 * steps,
        down * duo_batched_parts(s->n, DUO_BATCHED_OUTER_EDGE) * (0.0193 + 0.00481 * steps) +
            down * (double)s->n * (0.00394 + 0.000305 * steps) * (s->reads_c ? 1.58 : 1.0),
        0.37 * s->megabytes + duo_batched_parts_of_c(s, 20.0, 0.194, 0.0));
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
        return duo_batched_sum(0.515 + 0.381 * groups,
                               elements * 1.22 * groups * (apart ? 1.49 : 1.0),
                               0.332 * s->megabytes);
    return duo_batched_sum(0.65, elements * 8.0 * (0.822 + 0.0978 * groups), 0.35 * s->megabytes);
}

/* Tiles by warps on tensor cores: of 32 x 32, or of 8 x 32 and 32 x 8. */
static inline double duo_batched_warps_cost(int number, const duo_batched_size *s,
                                            const duo_batched_device *device)
{
    enum { SQUARES = 4 };
    static const struct {
        int warps;
        double first, step, tile, slab, megabyte, reads_c;
    } of[] = {{1, 3.28, 1.26, 0.257, 0.132, 0.271, 0.446},
              {2, 2.63, 1.35, 0.413, 0.132, 0.369, 0.367},
              {4, 2.07, 1.36, 0.67, 0.128, 0.397, 0.215},
              {8, 0.916, 1.84, 2.11, 0.146, 0.365, 0.128},
              {1, 1.58, 0.864, 0.154, 0.0628, 0.327, 0.234},
              {2, 1.8, 0.834, 0.265, 0.08, 0.315, 0.0976},
              {4, 2.17, 0.624, 0.561, 0.0624, 0.312, 0.0588},
              {8, 2.19, 0.473, 1.8, 0.0746, 0.265, 0.0926}};
    const bool strip = number >= SQUARES, turned = s->m > DUO_BATCHED_STRIP;
    /* The part of what is read that is shifted. */
    const double share = !strip ? 0.5 : turned ? 0.8 : 0.2;
    const double shifted = share * s->shifted_a + (1.0 - share) * s->shifted_b;
    const double tiles = (strip ? duo_batched_parts(turned ? s->m : s->n, 32)
                                : duo_batched_parts(s->m, 32) * duo_batched_parts(s->n, 32)) *
                         (double)s->count / device->multiprocessors;
    const double rounds = duo_batched_parts(s->k, (int64_t)32 * of[number].warps);
    return duo_batched_sum(
        of[number].first + of[number].step * rounds,
        tiles * (of[number].tile * (1.0 + (s->reads_c ? of[number].reads_c : 0.0)) +
                 of[number].slab * rounds * of[number].warps * (1.0 + 0.25 * shifted)),
        of[number].megabyte * s->megabytes * (1.0 + 0.1 * shifted));
}

static inline double duo_batched_wgmma_cost(int number, const duo_batched_size *s,
                                            const duo_batched_device *device)
{
    static const struct {
        int down;
        double first, step, tile, slab, megabyte, chunks, reads_c, chunks_megabyte,
            least; /* of a tile's work, however few columns it has */
    } of[] = {{32, 2.39, 0.0761, 1.17, 0.444, 0.212, 0.718, 0.53, 0.0, 0.55},
              {64, 2.26, 0.114, 1.57, 0.632, 0.225, 0.385, 0.954, 0.0, 0.49},
              {96, 2.88, 0.0896, 1.92, 0.771, 0.321, 0.18, 0.712, 0.503, 0.61},
              {128, 2.64, 0.0702, 2.69, 0.869, 0.306, 0.268, 0.665, 0.237, 0.63}};
    const double chunks = s->boxes && !s->beside ? 0.0 : 1.0;
    const int down = of[number].down;
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
    return duo_batched_sum(of[number].first + of[number].step * slabs + adding,
                           (s->beside ? share : ceil(share)) * work *
                               (of[number].tile * (1.0 + (s->reads_c ? of[number].reads_c : 0.0)) +
                                of[number].slab * slabs * (1.0 + of[number].chunks * chunks)),
                           of[number].megabyte * s->megabytes *
                               (1.0 + of[number].chunks_megabyte * chunks));
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
        return duo_batched_wgmma_cost((int)kernel - DUO_BATCHED_WGMMA_32, s, device);
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
