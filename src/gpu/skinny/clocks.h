/*
 * skinny/clocks.h - the clocks of a multiprocessor that a tile of a skinny product takes. With them
 * the kernels choose a tile (skinny/plan.cuh), and choice/sgemm_gpu_thin_costs.c predicts their
 * cost. Estimates from runs on an H200, good enough to tell tiles apart.
 */
#ifndef DUO_SKINNY_CLOCKS_H
#define DUO_SKINNY_CLOCKS_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "gpu/whole.h"

typedef struct duo_skinny_size {
    int64_t rows, columns, k;
    bool x_along_k, y_along_k; /* neighbours in memory are neighbours in k */
} duo_skinny_size;

/* The tiles most often taken: rows, columns, k of a slab, blocks of a multiprocessor, slabs that
 * each has under way, sums of a thread. */
#define DUO_SKINNY_TILE_LIST(X)                                                                    \
    X(128, 1, 32, 4, 1, 4)                                                                         \
    X(8, 1, 256, 4, 1, 8)                                                                          \
    X(1, 1, 1024, 4, 1, 1)                                                                         \
    X(128, 8, 16, 3, 1, 16)                                                                        \
    X(64, 8, 64, 3, 1, 32)                                                                         \
    X(32, 8, 128, 3, 1, 32)                                                                        \
    X(16, 8, 64, 2, 1, 32)                                                                         \
    X(4, 8, 256, 3, 1, 32)                                                                         \
    X(128, 16, 32, 3, 1, 32)                                                                       \
    X(64, 16, 64, 3, 1, 32)                                                                        \
    X(32, 16, 64, 2, 1, 32)                                                                        \
    X(128, 24, 32, 2, 1, 48)                                                                       \
    X(64, 24, 64, 2, 1, 48)                                                                        \
    X(128, 32, 32, 2, 1, 64)                                                                       \
    X(32, 32, 64, 3, 1, 32)                                                                        \
    X(128, 48, 32, 1, 2, 96)                                                                       \
    X(64, 48, 64, 1, 2, 96)

static const double duo_skinny_fmas = 105.0; /* of 128: the rest is lost to reading shared memory */
static const double duo_skinny_read_bytes = 20.0; /* its share of the memory's bandwidth */
static const double duo_skinny_sector = 8.0;      /* floats that memory delivers together */
static const double duo_skinny_alone = 0.5;    /* part of its time that a block loses if it is alone
                                               with one slab under way */
static const double duo_skinny_block = 1500.0; /* to fill the ring */
static const double duo_skinny_sum = 25.0;     /* to add one sum over all threads of a block */
static const double duo_skinny_ranges = 4500.0;  /* to add ranges of k, and */
static const double duo_skinny_each_range = 8.0; /* for each */

/* Clocks for one step of k of a tile. Reading and multiplying overlap, but not fully. */
static inline double duo_skinny_step(int tile_rows, int tile_columns, int slab,
                                     const duo_skinny_size *size)
{
    const double rows = (double)(size->rows < tile_rows ? size->rows : tile_rows);
    const double columns = (double)(size->columns < tile_columns ? size->columns : tile_columns);
    /* A run of neighbours touches one sector more than it fills. */
    const double runs =
        (size->x_along_k ? rows / slab : 1.0) + (size->y_along_k ? columns / slab : 1.0);
    const double read = 4.0 * (rows + columns + duo_skinny_sector * runs) / duo_skinny_read_bytes;
    const double multiply = (double)(tile_rows * tile_columns) / duo_skinny_fmas;
    return sqrt(read * read + multiply * multiply);
}

/*
 * Clocks of `tiles`, each in `ranges` of k with `range` steps. A thread has `sums`; `resident`
 * blocks share a multiprocessor, each with `under_way` slabs under way.
 */
static inline double duo_skinny_clocks(double step, double tiles, double ranges, double range,
                                       int resident, int under_way, int sums,
                                       const duo_skinny_size *size, int multiprocessors)
{
    const double each = duo_whole(tiles * ranges / multiprocessors);
    const double together = (each < resident ? each : resident) * under_way;
    double add = 0.0;
    if (ranges > 1.0) {
        const double slots = (double)size->rows * (double)size->columns * ranges;
        add = duo_skinny_ranges + duo_skinny_each_range * ranges +
              2.0 * sizeof(float) * slots /
                  (duo_skinny_read_bytes * multiprocessors); /* written and read */
    }
    return each * range * step * (1.0 + duo_skinny_alone / together) +
           duo_whole(each / resident) * (duo_skinny_block + duo_skinny_sum * sums) + add;
}

#endif
