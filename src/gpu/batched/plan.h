/*
 * batched/plan.h - the kernels of batches; which of them a batch takes, and its microseconds. The
 * kernels plan by it, and call/route_batch.c predicts by it.
 *
 * Each kernel gets an estimate of its time on an H100: a fixed part, one that grows with k, and the
 * longer of its work on one multiprocessor and of its traffic, with a quarter of the other. Fitted
 * to 500 random batches of 1 to 600; on 600 others the choice takes 4 % longer than the best of
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
    int width_a, width_b;      /* floats that a copy of an operand may take: 4, 2 or 1 */
    bool wide_a, wide_b;       /* is it copied in fours along m, or n? */
    bool reads_c, vector;
    double odd;       /* share of the operands whose columns do not begin with sectors of memory */
    double megabytes; /* of all operands, gaps between columns included */
} duo_batched_size;

/* Floats that a copy of the operand may take, so that columns are whole copies. */
static inline int duo_batched_width(const duo_call *call, const duo_batch *batch, int i)
{
    const uintptr_t column = (uintptr_t)call->operand[i].rows * sizeof(float);
    const uintptr_t bits = duo_batch_bits(batch, call, i) | column;
    return bits % 16 == 0 ? 4 : bits % 8 == 0 ? 2 : 1;
}

/* Are there fours along m, or n? */
static inline bool duo_batched_wide(const duo_call *call, const duo_batch *batch, int i)
{
    return call->operand[i].read && !duo_call_along_k(call, i) &&
           duo_batched_width(call, batch, i) == 4;
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
    return (duo_batched_size){.m = call->m,
                              .n = call->n,
                              .k = call->alpha == 0.0f ? 0 : call->k,
                              .count = batch->count,
                              .along_k_a = duo_call_along_k(call, DUO_A),
                              .along_k_b = duo_call_along_k(call, DUO_B),
                              .width_a = duo_batched_width(call, batch, DUO_A),
                              .width_b = duo_batched_width(call, batch, DUO_B),
                              .wide_a = duo_batched_wide(call, batch, DUO_A),
                              .wide_b = duo_batched_wide(call, batch, DUO_B),
                              .reads_c = reads_c,
                              .vector = duo_call_is_vector(call),
                              .odd = duo_batched_odd(call, DUO_A) + duo_batched_odd(call, DUO_B) +
                                     duo_batched_odd(call, DUO_C),
                              .megabytes = duo_batched_megabytes(call, batch, DUO_A) +
                                           duo_batched_megabytes(call, batch, DUO_B) +
                                           duo_batched_megabytes(call, batch, DUO_C) *
                                               (reads_c ? 2.0 : 1.0)};
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
    DUO_BATCHED_TILE_64,
    DUO_BATCHED_TILE_128,
    DUO_BATCHED_OUTER,    /* few k */
    DUO_BATCHED_VECTOR_1, /* vector products: lanes for an element */
    DUO_BATCHED_VECTOR_8,
    /* On tensor cores. */
    DUO_BATCHED_WARPS_1, /* warps for a tile of 32 x 32 */
    DUO_BATCHED_WARPS_2,
    DUO_BATCHED_WARPS_4,
    DUO_BATCHED_WARPS_8,
    DUO_BATCHED_WGMMA,
    DUO_BATCHED_KERNELS,
    DUO_BATCHED_TENSOR = DUO_BATCHED_WARPS_1 /* the first of them */
} duo_batched_kernel;

enum {
    DUO_BATCHED_OUTER_STEPS = 16,       /* most k of its kernels */
    DUO_BATCHED_OUTER_COLUMNS = 8,      /* of a thread */
    DUO_BATCHED_TILE_128_BYTES = 84480, /* of shared memory, for a block */
    DUO_BATCHED_WARPS_8_BYTES = 128 << 10,
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

/* The fixed part, the work of one multiprocessor and the traffic, together. */
static inline double duo_batched_sum(double fixed, double work, double traffic)
{
    return fixed + fmax(work, traffic) + 0.25 * fmin(work, traffic);
}

/* Tiles of one edge, by FMA. Parts of a tile that are outside are left out. */
static inline double duo_batched_tile_cost(int tile, const duo_batched_size *s,
                                           const duo_batched_device *device)
{
    static const struct {
        int edge, rows, columns; /* of a warp's part */
        double first, step, tile, part_step, narrow, megabyte, odd;
    } of[] = {{8, 8, 8, 1.59, 0.0477, 0.0172, 0.00137, 0.0, 0.371, 0.0},
              {16, 16, 16, 1.84, 0.0265, 0.0691, 0.00299, 0.065, 0.236, 0.862},
              {32, 32, 16, 1.78, 0.0306, 0.199, 0.00337, 0.097, 0.275, 0.659},
              {64, 32, 32, 2.50, 0.0406, 0.488, 0.00616, 0.128, 0.182, 1.64},
              {128, 128, 128, 4.08, 0.0553, 4.36, 0.0714, 0.0447, 0.283, 1.38}};
    const double k = (double)s->k, share = (double)s->count / device->multiprocessors;
    const double tiles =
        duo_batched_parts(s->m, of[tile].edge) * duo_batched_parts(s->n, of[tile].edge);
    const double parts =
        duo_batched_parts(s->m, of[tile].rows) * duo_batched_parts(s->n, of[tile].columns);
    const double narrow = 1.0 + of[tile].narrow * (!s->wide_a + !s->wide_b);
    return duo_batched_sum(of[tile].first + of[tile].step * k,
                           share *
                               (tiles * of[tile].tile + parts * k * of[tile].part_step * narrow),
                           of[tile].megabyte * s->megabytes * (1.0 + of[tile].odd * s->odd));
}

static inline double duo_batched_outer_cost(const duo_batched_size *s,
                                            const duo_batched_device *device)
{
    int64_t steps = 1;
    while (steps < s->k) steps *= 2;
    const double threads = (double)s->m * duo_batched_parts(s->n, DUO_BATCHED_OUTER_COLUMNS) *
                           (double)s->count / device->multiprocessors / 1000.0;
    const double column = s->m < 32 ? (double)s->m : 32.0; /* neighbours that a warp stores */
    return duo_batched_sum(
        1.36 + 0.15 * (double)steps,
        threads * (0.054 + 0.446 * (double)steps + 1.34 / column * (s->reads_c ? 2.0 : 1.0)),
        0.377 * s->megabytes);
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
        return duo_batched_sum(0.26 + 0.424 * groups,
                               elements * 1.24 * groups * (apart ? 1.48 : 1.0),
                               0.336 * s->megabytes);
    return duo_batched_sum(0.74, elements * 8.0 * (0.833 + 0.0972 * groups), 0.355 * s->megabytes);
}

/* How much shorter than 16 bytes the copies are: 0 to 0.75. */
static inline double duo_batched_narrow(const duo_batched_size *s)
{
    return 0.5 / s->width_a + 0.5 / s->width_b - 0.25;
}

static inline double duo_batched_warps_cost(int number, const duo_batched_size *s,
                                            const duo_batched_device *device)
{
    static const struct {
        int warps;
        double first, step, tile, slab, megabyte, narrow, reads_c, narrow_megabyte;
    } of[] = {{1, 2.98, 1.14, 0.260, 0.132, 0.286, 0.829, 1.19, 0.695},
              {2, 2.69, 1.25, 0.402, 0.135, 0.324, 0.719, 0.827, 0.519},
              {4, 2.42, 1.22, 0.686, 0.131, 0.301, 0.666, 0.520, 0.884},
              {8, 2.03, 1.14, 1.95, 0.157, 0.230, 0.662, 0.302, 3.31}};
    const double narrow = duo_batched_narrow(s);
    const double tiles = duo_batched_parts(s->m, 32) * duo_batched_parts(s->n, 32) *
                         (double)s->count / device->multiprocessors;
    const double rounds = duo_batched_parts(s->k, (int64_t)32 * of[number].warps);
    return duo_batched_sum(
        of[number].first + of[number].step * rounds,
        tiles * (of[number].tile * (1.0 + (s->reads_c ? of[number].reads_c : 0.0)) +
                 of[number].slab * rounds * of[number].warps * (1.0 + of[number].narrow * narrow)),
        of[number].megabyte * s->megabytes * (1.0 + of[number].narrow_megabyte * narrow));
}

static inline double duo_batched_wgmma_cost(const duo_batched_size *s,
                                            const duo_batched_device *device)
{
    const double narrow = duo_batched_narrow(s), slabs = duo_batched_parts(s->k, 32);
    const double tiles =
        duo_batched_parts(s->m, 128) * duo_batched_parts(s->n, 128) * (double)s->count;
    return duo_batched_sum(4.76 + 0.0614 * slabs,
                           ceil(tiles / device->multiprocessors) *
                               (1.48 + 1.29 * slabs * (1.0 + 0.280 * narrow)),
                           0.304 * s->megabytes * (1.0 + 2.36 * narrow));
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
    case DUO_BATCHED_TILE_64:
    case DUO_BATCHED_TILE_128:
        if (s->vector ||
            (kernel == DUO_BATCHED_TILE_128 && device->shared_bytes < DUO_BATCHED_TILE_128_BYTES))
            return never;
        return duo_batched_tile_cost((int)kernel - DUO_BATCHED_TILE_8, s, device);
    case DUO_BATCHED_OUTER:
        if (s->vector || s->k > DUO_BATCHED_OUTER_STEPS) return never;
        return duo_batched_outer_cost(s, device);
    case DUO_BATCHED_VECTOR_1:
        return s->vector ? duo_batched_vector_cost(1, s, device) : never;
    case DUO_BATCHED_VECTOR_8:
        return s->vector ? duo_batched_vector_cost(DUO_CHAINS, s, device) : never;
    case DUO_BATCHED_WARPS_1:
    case DUO_BATCHED_WARPS_2:
    case DUO_BATCHED_WARPS_4:
    case DUO_BATCHED_WARPS_8:
        if (device->capability < DUO_BATCHED_WARPS_CAPABILITY ||
            s->k < (device->capability < DUO_BATCHED_WGMMA_CAPABILITY ? DUO_BATCHED_TENSOR_LEAST_K
                                                                      : DUO_BATCHED_WARPS_LEAST_K))
            return never;
        if (kernel == DUO_BATCHED_WARPS_8 && device->shared_bytes < DUO_BATCHED_WARPS_8_BYTES)
            return never;
        return duo_batched_warps_cost((int)kernel - DUO_BATCHED_WARPS_1, s, device);
    case DUO_BATCHED_WGMMA:
        if (s->k < DUO_BATCHED_TENSOR_LEAST_K || device->capability != DUO_BATCHED_WGMMA_CAPABILITY)
            return never;
        return duo_batched_wgmma_cost(s, device);
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

#endif
