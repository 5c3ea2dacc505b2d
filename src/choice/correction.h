/* correction.h - the measured error of a cost at shapes of sgemm that are not cubes. */
#ifndef DUO_CORRECTION_H
#define DUO_CORRECTION_H

#include <stdbool.h>
#include <stdint.h>

enum { DUO_CORRECTION_SIZES = 7, DUO_CORRECTION_LAYOUTS = 4 };

/* Factors are from 1 / DUO_CORRECTION_MOST to DUO_CORRECTION_MOST: a model with a larger error says
 * nothing about this machine. */
#define DUO_CORRECTION_MOST 16.0

/* A multiple of this many floats is whole vectors on every x86-64. */
enum { DUO_WHOLE_VECTORS = 16 };

/* The sizes of m, n and k at which a correction is measured; those up to 1000 are no multiples of
 * 16. */
extern const int64_t duo_correction_sizes[DUO_CORRECTION_SIZES];

/*
 * A product's time, divided by the time from the curve and the cost model: at every combination of
 * sizes, in each layout (2 * transa + transb). A model knows how much a product computes, packs and
 * moves; it does not know for which shapes a BLAS has kernels of its own.
 */
typedef struct duo_correction {
    bool measured;
    float factor[DUO_CORRECTION_LAYOUTS][DUO_CORRECTION_SIZES][DUO_CORRECTION_SIZES]
                [DUO_CORRECTION_SIZES]; /* [layout][m][n][k] */
} duo_correction;

/*
 * The factor for a shape: between the sizes about linear in the logarithm of each, beyond the last
 * one constant. 1 if nothing was measured.
 */
double duo_correction_at(const duo_correction *correction, int layout, int64_t m, int64_t n,
                         int64_t k);

#endif
