/*
 * product_sample.h - a sample of a product in float64, by the CPU, and how far a float32 one is
 * from it: for products in host memory that are too large to be computed again.
 *
 * The sample: whole rows and columns of C, drawn at random, and one random entry in each of 8 x 8
 * parts of C, so that a tile which is missing or stands in another's place is met.
 */
#ifndef DUO_PRODUCT_SAMPLE_H
#define DUO_PRODUCT_SAMPLE_H

#include "call.h"

enum { DUO_SAMPLE_LINES = 4, DUO_SAMPLE_PARTS = 8 };

/* An entry of the product, and of |op(A)| |op(B)|. */
typedef struct duo_sample_value {
    double product, magnitude;
} duo_sample_value;

typedef struct duo_product_sample {
    duo_call call;
    int lines; /* rows, and as many columns */
    int64_t row[DUO_SAMPLE_LINES], column[DUO_SAMPLE_LINES];
    duo_sample_value *in_row[DUO_SAMPLE_LINES], *in_column[DUO_SAMPLE_LINES];
    int64_t entry[DUO_SAMPLE_PARTS * DUO_SAMPLE_PARTS][2]; /* row, column */
    duo_sample_value at[DUO_SAMPLE_PARTS * DUO_SAMPLE_PARTS];
} duo_product_sample;

/* Of C := op(A) op(B), all in host memory, m, n > 0; 0 < lines <= DUO_SAMPLE_LINES. By all threads
 * of OpenMP; reads A and B once for each line. False: out of memory. */
bool duo_product_sample_open(duo_product_sample *sample, const duo_call *call, int lines,
                             uint64_t seed);
void duo_product_sample_close(duo_product_sample *sample);

/* Makes the sample's entries of C NaN, so that what is not written is seen. */
void duo_product_sample_spoil(const duo_product_sample *sample);

typedef struct duo_sample_error {
    double largest; /* |error| / |A||B|, in units of 2^-24; infinite: an entry is NaN or Inf */
    bool right;     /* all within (k+3) 2^-24 |A||B| + (k+2) 2^-149, the bound of float32 */
} duo_sample_error;

/* Of what C's entries are now. */
duo_sample_error duo_product_sample_error(const duo_product_sample *sample);

#endif
