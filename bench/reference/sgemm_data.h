/*
 * sgemm_data.h - kinds of matrices, for measuring errors of products and testing bounds.
 */
#ifndef DUO_SGEMM_DATA_H
#define DUO_SGEMM_DATA_H

#include <stdbool.h>
#include <stdint.h>

#include "call.h"

typedef struct duo_sgemm_data {
    const char *name;
    float (*draw)(uint64_t *random); /* an element before scaling */
    int spread;           /* each element times 2^x, x uniform in (-spread/2, spread/2) */
    int grading;          /* column l of op(A) times 2^g, row l of op(B) times 2^-g, |g| <= this */
    int apart;            /* each row of op(A), column of op(B) times its own 2^g, |g| <= this */
    int scale_a, scale_b; /* all of op(A), all of op(B) times 2^this */
    int planted;          /* the number of plant[] values */
    float plant[3];       /* replace a few elements of op(A) and op(B) */
    bool exact;           /* no sum rounds, in any order, up to k = DUO_SGEMM_LONGEST_EXACT */
} duo_sgemm_data;

enum { DUO_SGEMM_KINDS = 16, DUO_SGEMM_LONGEST_EXACT = 1 << 16 };
extern const duo_sgemm_data duo_sgemm_kinds[DUO_SGEMM_KINDS];

/* Is all data finite? If not, the entries of the product matter, not only its errors. */
bool duo_sgemm_data_finite(const duo_sgemm_data *data);

/* Fills operands A and B of the call, in host memory, but not their gaps. */
void duo_sgemm_data_fill(const duo_sgemm_data *data, uint64_t seed, const duo_call *call);

#endif
