/*
 * bits.h - a hash of the bits of many products and sums, drawn by a seed: two machines, or two
 * sides of one, compare it.
 *
 * Data are made by integer arithmetic alone, so a seed gives the same everywhere.
 */
#ifndef DUO_BITS_H
#define DUO_BITS_H

#include <stdbool.h>
#include <stdint.h>

#include "call.h"

/* ---- Calls: draw.c ---- */

typedef enum duo_bits_group {
    DUO_BITS_PRODUCTS, /* in DUO_MATH_IEEE, up to DUO_BITS_HOSTILE: of usual sizes, */
    DUO_BITS_LONG,     /* with many steps of k, */
    DUO_BITS_SHORT,    /* with few, */
    DUO_BITS_VECTORS,  /* of a matrix and a vector, */
    DUO_BITS_THIN,     /* with few rows or columns, */
    DUO_BITS_FEW,      /* with few elements, */
    DUO_BITS_BATCHES,  /* in batches, */
    DUO_BITS_HOSTILE,  /* all of these with Infs, NaNs and numbers near them */
    DUO_BITS_SUMS,     /* reductions */
    DUO_BITS_SUMS_FLOAT64,
    DUO_BITS_PROMISED,
    DUO_BITS_FLOAT64 = DUO_BITS_PROMISED, /* products: each side has an order of its own */
    DUO_BITS_GROUPS
} duo_bits_group;

typedef struct duo_bits_random {
    uint64_t state;
} duo_bits_random;

/* An operand: floats of memory in one product, and from it to the next one of a batch. */
typedef struct duo_bits_operand {
    int64_t floats, ld, stride;
} duo_bits_operand;

typedef struct duo_bits_call {
    duo_operation operation;
    duo_math math;
    duo_layout layout;
    duo_transpose transa, transb;
    int64_t m, n, k; /* reductions: n */
    float alpha, beta;
    duo_bits_operand operand[DUO_OPERANDS]; /* A, B, C; reductions: x, y. ld: the increment */
    int64_t count;                          /* products; 0: no batch */
    bool lists;                             /* a batch by lists, not by strides */
    bool hostile;
} duo_bits_call;

enum { DUO_BITS_FLOATS = 1 << 22 }; /* no operand of a call has more, with its whole batch */

const char *duo_bits_name(duo_bits_group group);
int duo_bits_calls(duo_bits_group group);

duo_bits_call duo_bits_draw(duo_bits_random *random, duo_bits_group group);
/* Floats of the operand in all products. */
int64_t duo_bits_floats(const duo_bits_call *call, int operand);
void duo_bits_fill(duo_bits_random *random, bool hostile, float *x, int64_t count);

/* ---- Hashes: run.c ---- */

typedef struct duo_bits {
    uint64_t group[DUO_BITS_GROUPS], all; /* all: without DUO_BITS_FLOAT64 */
    int on_gpu;                           /* calls that ran there */
} duo_bits;

/* What a seed of 1 gives in all of DuoBLAS 1.x; float64: products in float64 on the CPU. */
extern const uint64_t duo_bits_expected, duo_bits_expected_float64;

/* Runs all calls in the context, on arrays in host memory or on the device. */
duo_status duo_bits_run(duo_context *ctx, uint64_t seed, bool on_device, duo_bits *bits);

#endif
