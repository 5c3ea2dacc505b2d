/*
 * product_error.h - a product in float64, with all columns or a sample, and the errors of a float32
 * one against it.
 */
#ifndef DUO_PRODUCT_ERROR_H
#define DUO_PRODUCT_ERROR_H

#include "call.h"

/* op(A) op(B) and |op(A)| |op(B)|, columns one behind the other. A sample is evenly spread. */
typedef struct duo_product_exact {
    int64_t m, n, k, columns;
    double *product, *magnitude;
} duo_product_exact;

/*
 * Computes on the device if `device` and its stream are not NULL (exact_product.h), else on the
 * CPU. `host` has the same operands. False: out of memory, or the device failed.
 */
bool duo_product_exact_open(duo_product_exact *exact, const duo_call *host, const duo_call *device,
                            void *stream);
void duo_product_exact_close(duo_product_exact *exact);

/* Column j of the sample is this column of the product. */
static inline int64_t duo_product_column(int64_t j, int64_t columns, int64_t n)
{
    return j * n / columns;
}

typedef struct duo_product_errors {
    double frobenius; /* norm of the error / norm of the product */
    double largest;   /* |error| / |A||B|, in units of 2^-24 */
    double share;     /* |error| / ((k+3) 2^-24 |A||B| + (k+2) 2^-149), the bound and underflow */
    int64_t unequal;  /* entries that differ from the rounded product */
    int64_t wrong;    /* entries that are Inf or NaN but should not be, or the reverse */
} duo_product_errors;

/* The errors of C := op(A) op(B), in any memory. False: C could not be fetched. */
bool duo_product_error(duo_context *context, const duo_product_exact *exact, const duo_operand *c,
                       duo_product_errors *errors);

/* ---- product_sample.c ---- */

/*
 * A sample of a product in float64, by the CPU, and the errors of a float32 product against it. It
 * is for products in host memory that are too large to compute again. The sample has whole rows and
 * columns of C, drawn at random, and one random entry in each of 8 x 8 parts of C. So it finds a
 * tile that is missing or in another's place.
 */

enum { DUO_SAMPLE_LINES = 4, DUO_SAMPLE_PARTS = 8 };

/* An entry of the product and of |op(A)| |op(B)|. */
typedef struct duo_sample_value {
    double product, magnitude;
} duo_sample_value;

typedef struct duo_product_sample {
    duo_call call;
    int lines; /* number of rows, and of columns */
    int64_t row[DUO_SAMPLE_LINES], column[DUO_SAMPLE_LINES];
    duo_sample_value *in_row[DUO_SAMPLE_LINES], *in_column[DUO_SAMPLE_LINES];
    int64_t entry[DUO_SAMPLE_PARTS * DUO_SAMPLE_PARTS][2]; /* row, column */
    duo_sample_value at[DUO_SAMPLE_PARTS * DUO_SAMPLE_PARTS];
} duo_product_sample;

/* Draws and computes a sample of C := op(A) op(B), all in host memory; m, n > 0; 0 < lines <=
 * DUO_SAMPLE_LINES. All threads of OpenMP work, and read A and B once for each line. False: out of
 * memory. */
bool duo_product_sample_open(duo_product_sample *sample, const duo_call *call, int lines,
                             uint64_t seed);
void duo_product_sample_close(duo_product_sample *sample);

/* Makes the sample's entries of C NaN, so that unwritten entries are found. */
void duo_product_sample_spoil(const duo_product_sample *sample);

typedef struct duo_sample_error {
    double largest; /* |error| / |A||B|, in units of 2^-24; infinite: an entry is NaN or Inf */
    bool right;     /* all within (k+3) 2^-24 |A||B| + (k+2) 2^-149, the bound of float32 */
} duo_sample_error;

/* The errors of C's present entries. */
duo_sample_error duo_product_sample_error(const duo_product_sample *sample);

#endif
