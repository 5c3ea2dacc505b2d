/*
 * ffma.h - products on the CPU in the documented order of summation: what the algorithms
 * (sgemm_cpu_ffma.c, sgemm_cpu_float64.c), their driver (ffma.c) and its clones share. A clone is
 * the code of ffma_body.h, compiled for one instruction set: twice, for sums in float32 and in
 * float64.
 *
 * Order    product_order.h: not the instruction set, the number of threads, the tile or the storage
 *          decides it.
 */
#ifndef DUO_FFMA_H
#define DUO_FFMA_H

#include <stdbool.h>
#include <stdint.h>

#include "call.h"
#include "product_order.h"

/* All of op(A) and of op(B), packed; NULL: not packed. For each segment of k in turn, tile by tile:
 * so one form of A serves every n, and one of B every m. */
typedef struct duo_packed_factors {
    const void *a, *b;
    int64_t rows, columns; /* of a step of k: op(A)'s, up to whole tiles, and op(B)'s */
} duo_packed_factors;

/* A column-major product in host memory, or a part of one. */
typedef struct duo_product {
    bool transa, transb;
    bool vector; /* of the whole product: a segment has DUO_CHAINS chains */
    int64_t m, n, k;
    float alpha, beta;
    const float *a, *b;
    float *c;
    int64_t lda, ldb, ldc;
    const duo_packed_factors *packed; /* of the whole product; NULL: nothing is packed */
    int64_t row, column, step;        /* where this part begins in the whole product */
} duo_product;

/* Rows [i, i + m) and columns [j, j + n) of C. */
static inline duo_product duo_product_tile(const duo_product *p, int64_t i, int64_t m, int64_t j,
                                           int64_t n)
{
    duo_product tile = *p;
    tile.m = m;
    tile.n = n;
    tile.a += p->transa ? i * p->lda : i;
    tile.b += p->transb ? j : j * p->ldb;
    tile.c += i + j * p->ldc;
    tile.row += i;
    tile.column += j;
    return tile;
}

/* Steps [first, first + k) of k, not scaled, into c. */
static inline duo_product duo_product_steps(const duo_product *p, int64_t first, int64_t k,
                                            float *c, int64_t ldc)
{
    duo_product steps = *p;
    steps.k = k;
    steps.a += p->transa ? first : first * p->lda;
    steps.b += p->transb ? first * p->ldb : first;
    steps.step += first;
    steps.alpha = 1.0f;
    steps.beta = 0.0f;
    steps.c = c;
    steps.ldc = ldc;
    return steps;
}

/* The functions of one instruction set, with sums in float32 or in float64: numbers. None needs
 * more than 24 KiB of stack. */
typedef struct duo_ffma {
    int64_t number_bytes;
    int64_t rows, columns; /* of the largest tile that is summed in registers */
    int64_t block_rows;    /* of A that are packed at once: they fit into the L2 cache */

    /* All of a product, on the calling thread. It takes memory to pack into from host/scratch.h,
     * or does without if there is none. */
    void (*multiply)(const duo_product *p);

    /* The same for products that differ from p only in where their operands are. */
    void (*multiply_each)(const duo_product *p, int64_t count, const float *const a[],
                          const float *const b[], float *const c[]);

    /* Does it pay to pack B? */
    bool (*packs_b)(const duo_product *p);

    /* A panel has all steps of columns of op(B). It is packed once, for all rows.
     * panel_numbers: its size. pack: columns [j, j + n) of the segment that begins at step `first`;
     * j is a multiple of panel_width. multiply_panel: all rows of p, which has the panel's columns.
     * It returns false if there is no memory; then nothing was written. */
    int64_t (*panel_numbers)(int64_t n, int64_t k);
    int64_t (*panel_width)(int64_t n); /* columns that are packed side by side */
    void (*pack)(const duo_product *p, int64_t first, int64_t j, int64_t n, void *panel);
    bool (*multiply_panel)(const duo_product *p, const void *panel);

    /* Packs rows [i, i + m) of op(A) for the segment that begins at step `first`, into all of op(A)
     * packed, with `rows` rows. i is a multiple of `rows` above. */
    void (*pack_rows)(const duo_product *p, int64_t first, int64_t i, int64_t m, int64_t rows,
                      void *packed);

    /* Ends columns [j, j + n) of C. The sums of p's segments are sums[segment][column][row]. */
    void (*finish)(const duo_product *p, const float *sums, int64_t segments, int64_t j, int64_t n);
} duo_ffma;

/* Each is in the file of its name, on CPUs of its architecture. */
extern const duo_ffma duo_ffma_avx512, duo_ffma_avx2, duo_ffma_portable;
extern const duo_ffma duo_float64_avx512, duo_float64_avx2, duo_float64_portable;

typedef struct duo_clone {
    const char *isa; /* "avx512", "avx2", "portable" */
    const duo_ffma *float32, *float64;
} duo_clone;

/* The clones that this CPU can run, by index from the best on; NULL after the last. */
const duo_clone *duo_ffma_clone(int index);

/* Sets the clone in use and returns it. NULL: the best one. */
const duo_clone *duo_ffma_set(const duo_clone *clone);

/* The clone in use. */
const duo_clone *duo_ffma_current(void);

/* The product of a call that reads A and B. *packed gets its packed operands; NULL: none. */
duo_product duo_product_of(const duo_ffma *clone, const duo_call *call, duo_packed_factors *packed);

/* Computes it on the call's threads. */
void duo_ffma_share(const duo_ffma *clone, const duo_call *call);

#endif
