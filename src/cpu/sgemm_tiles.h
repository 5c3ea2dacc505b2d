/*
 * sgemm_tiles.h - how a product is shared out: tiles of C, each multiplied on one thread.
 *
 * Only the shape decides, so that a call has the same bits on any number of threads.
 */
#ifndef DUO_SGEMM_TILES_H
#define DUO_SGEMM_TILES_H

#include <stdint.h>

/* C is cut into down x across tiles of rows x columns, k into `parts` of `steps`. The last of each
 * may be smaller. */
typedef struct duo_tiles {
    int64_t rows, columns, steps;
    int64_t down, across, parts;
} duo_tiles;

/*
 * Limits of the pieces. Measured with OpenBLAS 0.3.21 and 0.3.26 on 16 threads of a Xeon with
 * AVX-512: few and square tiles pack least, since every tile packs its own parts of A and B; but a
 * few more pieces than threads leave no thread waiting for the last. A piece pays from a
 * microsecond or two on. If k is small C takes longest, and its tiles lie beside each other.
 */
enum {
    DUO_SGEMM_PIECE_WORK = 1 << 16,               /* least multiplications of a piece */
    DUO_SGEMM_PIECES = 48,                        /* most, unless LARGEST_EDGE needs more */
    DUO_SGEMM_LARGEST_EDGE = 512,                 /* of a tile of C */
    DUO_SGEMM_SMALLEST_EDGE = 32,                 /* below, parts of k are better */
    DUO_SGEMM_ONE_TILE = 2 * DUO_SGEMM_PIECE_WORK /* less work in sizes up to 512: one tile */
};

/* Sizes are not 0. */
duo_tiles duo_sgemm_tiles(int64_t m, int64_t n, int64_t k);
duo_tiles duo_sgemm_one_tile(int64_t m, int64_t n, int64_t k); /* the whole product */

/*
 * Joins neighbouring tiles if there are at most four threads: fewer tiles are enough for them. Only
 * for kernels that give an element the same bits in any tile (blas_kernels.h).
 */
duo_tiles duo_sgemm_larger_tiles(duo_tiles t, int64_t m, int64_t n, int64_t k, int threads);

#endif
