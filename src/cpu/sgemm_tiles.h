/*
 * sgemm_tiles.h - how a product is shared out: tiles of C, each multiplied on one thread.
 *
 * By the shape alone, whatever the number of threads: so a call has the same bits on any number of
 * them.
 */
#ifndef DUO_SGEMM_TILES_H
#define DUO_SGEMM_TILES_H

#include <stdint.h>

/* Tiles of sgemm_cpu_plain; the largest of sgemm_cpu_float64. */
enum { DUO_PLAIN_ROWS = 64, DUO_PLAIN_COLUMNS = 32, DUO_FLOAT64_EDGE = 256 };

/* C in across x down tiles of rows x columns, the last ones smaller; k in `parts` of `steps`. */
typedef struct duo_tiles {
    int64_t rows, columns, steps;
    int64_t down, across, parts;
} duo_tiles;

/* Products of less work than this, and sizes of at most 512, are one tile. */
enum { DUO_SGEMM_ONE_TILE = 2 << 16 };

duo_tiles duo_sgemm_tiles(int64_t m, int64_t n, int64_t k);
duo_tiles duo_sgemm_one_tile(int64_t m, int64_t n, int64_t k); /* all of it */

/*
 * The same, with neighbours put together for up to four threads, who need not so many: each tile
 * packs its own parts of A and B. For kernels that suit any tile (blas_kernels.h): the bits are the
 * same.
 */
duo_tiles duo_sgemm_larger_tiles(duo_tiles t, int64_t m, int64_t n, int64_t k, int threads);

#endif
