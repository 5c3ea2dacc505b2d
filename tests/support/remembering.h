/*
 * remembering.h - products with factors that come again: contexts that remember, arrays in memory
 * maps of their own, exact products, and where the factors were.
 */
#ifndef DUO_TESTS_REMEMBERING_H
#define DUO_TESTS_REMEMBERING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "duoblas.h"
#include "support/data.h"

enum { PAGE = 4096 };

/* Small whole numbers: every sum is exact, in any order. */
void remembering_fill(float *x, int64_t count, test_rng *rng);

/* A private anonymous memory map. */
float *remembering_map(size_t bytes);

/* A context that remembers. */
duo_context *remembering_by(duo_remember how);
duo_context *remembering(void); /* by bytes */

typedef struct product {
    bool transa, transb;
    int64_t m, n, k;
    const float *a;
    int64_t lda;
    const float *b;
    int64_t ldb;
} product;

/* C := op(A) op(B), and the number of wrong elements. */
int64_t remembering_multiply(duo_context *ctx, const product *p, float *c, int64_t ldc);

/* Where an operand of the last call was. */
duo_residence remembering_residence(duo_context *ctx, int operand);

/* A of M x K, and B and C that are large enough for every product with it. */
enum { M = 512, N = 8, K = 600 };

typedef struct arrays {
    float *a, *b, *c;
    size_t a_bytes;
    test_rng seed;
} arrays;

arrays remembering_arrays(void);
void remembering_free(const arrays *w); /* forgets all remembered arrays */

/* C := A B with N columns. */
product remembering_whole(const arrays *w);

/* A product with A, which has to be there; the bytes that were sent to the device (sim), or 0. */
uint64_t remembering_sent(duo_context *ctx, const arrays *w, duo_residence expected);

/* The most bytes that are sent beside A: B, the key. */
extern const uint64_t remembering_other;

#endif
