/*
 * freivalds.h - Freivalds' check of a product, for the CPU and the GPU: numerics.md has the
 * bound.
 *
 * r is a random vector of signs. If C is right, C r is near alpha A (B r) + beta C' r, where C' is
 * what C was before. So C is checked by products of a matrix and a vector, in float64; they take
 * the time of reading each matrix once. The same products of magnitudes, and of the largest
 * magnitude in each row of B, tell how far a row of C may be off.
 */
#ifndef DUO_FREIVALDS_H
#define DUO_FREIVALDS_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* For functions that both sides compile. */
#ifdef __CUDACC__
#define DUO_BOTH_SIDES static __host__ __device__ __forceinline__
#else
#define DUO_BOTH_SIDES static inline
#endif

/* op(X) times vectors, of `count` matrices. */
typedef struct duo_freivalds_product {
    const float *x;
    int64_t ld, stride; /* floats between columns, and between matrices */
    bool trans;         /* X is stored transposed */
    int64_t rows, columns, count;
    /* Vectors of `columns` values for each matrix. by NULL: the first factor, by signs and ones,
     * the same for all matrices. */
    const double *by, *by_magnitude, *by_largest;
    uint64_t seed; /* of the signs */
    double least;  /* is added to each magnitude */
    /* [out] `rows` values for each matrix: of X by, of |X| by_magnitude, and of |X| by_largest, or
     * for the first factor the largest magnitude of the row. largest may be NULL. On the device all
     * are zeroed before. */
    double *sum, *magnitude, *largest;
} duo_freivalds_product;

/* How far a row of C may be off: parts of magnitudes. */
typedef struct duo_freivalds_bound {
    double alpha, beta;
    double per_product, per_old, per_result; /* parts of |A| (|B| 1), |C'| 1 and |C| 1 */
    double sums;                             /* of all of these: the check's own errors */
    double least;                            /* what underflow may lose */
} duo_freivalds_bound;

/* The rows of all products, one behind the other: sums and their magnitudes. */
typedef struct duo_freivalds_rows {
    int64_t rows;
    const double *product, *product_magnitude, *product_largest; /* NULL: C is only scaled */
    const double *old, *old_magnitude;                           /* C' r; NULL: beta is 0 */
    const double *result, *result_magnitude;                     /* C r */
    duo_freivalds_bound bound;
} duo_freivalds_rows;

/* The errors of a row have random signs in C r. With a probability of 1 - 2 exp(-81/2) their sum is
 * less than this number times the root of the sum of their squares (Hoeffding). */
#define DUO_FREIVALDS_DEVIATIONS 9.0

/* 32 signs, one for each bit: of elements 32 word to 32 word + 31. */
DUO_BOTH_SIDES uint32_t duo_freivalds_signs(uint64_t seed, int64_t word)
{
    uint64_t z = seed + 0x9E3779B97F4A7C15u * ((uint64_t)word + 1);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return (uint32_t)(z >> 32);
}

DUO_BOTH_SIDES double duo_freivalds_sign(uint64_t seed, int64_t element)
{
    return duo_freivalds_signs(seed, element / 32) >> (element % 32) & 1 ? 1.0 : -1.0;
}

/*
 * Is row i within its bound? A row with an Inf or a NaN in its operands is not judged, nor is one
 * that is not finite and may have overflowed: its magnitudes reach the range of float32.
 */
DUO_BOTH_SIDES bool duo_freivalds_right(const duo_freivalds_rows *r, int64_t i)
{
    const duo_freivalds_bound *const b = &r->bound;
    double is = 0.0;                       /* what the row should be */
    double of_product = 0.0, of_old = 0.0; /* magnitudes */
    double most = 0.0, errors = 0.0;
    if (r->product != 0) {
        is = b->alpha * r->product[i];
        of_product = fabs(b->alpha) * r->product_magnitude[i];
        most = r->product_magnitude[i];
        /* The sum of squares is at most the sum times its largest term. */
        errors = fabs(b->alpha) * DUO_FREIVALDS_DEVIATIONS * sqrt(most * r->product_largest[i]);
        errors = b->per_product * (errors < of_product ? errors : of_product);
    }
    if (r->old != 0) {
        is += b->beta * r->old[i];
        of_old = fabs(b->beta) * r->old_magnitude[i];
    }
    most += of_product + of_old;
    const double result = r->result_magnitude[i];
    const double bound = errors + b->per_old * of_old + b->per_result * result +
                         b->sums * (of_product + of_old + result) + b->least;
    if (!isfinite(most)) return true;
    if (!isfinite(result)) return most >= 0x1p127;
    return fabs(is - r->result[i]) <= bound;
}

#ifdef __cplusplus
}
#endif

#endif
