/*
 * sgemm_data.h - the kinds of matrices on which errors of products are measured and bounds are
 * tested.
 */
#ifndef DUO_SGEMM_DATA_H
#define DUO_SGEMM_DATA_H

#include <stdbool.h>
#include <stdint.h>

#include "call.h"

typedef struct duo_sgemm_data {
    const char *name;
    float (*draw)(uint64_t *random); /* an element, before it is scaled */
    int spread;  /* times 2^x, x uniform in (-spread/2, spread/2), each element its own */
    int grading; /* column l of op(A) times 2^g, row l of op(B) times 2^-g, |g| <= this */
    int apart;   /* row i of op(A), column j of op(B) times 2^g, |g| <= this, each its own */
    int scale_a, scale_b; /* all of op(A) times 2^this, all of op(B) times 2^that */
    int planted;          /* how many kinds of: */
    float plant[3];       /* take the places of a few elements of op(A) and op(B) */
    bool exact;           /* no sum rounds, whatever its order, up to k = DUO_SGEMM_LONGEST_EXACT */
} duo_sgemm_data;

enum { DUO_SGEMM_KINDS = 16, DUO_SGEMM_LONGEST_EXACT = 1 << 16 };
extern const duo_sgemm_data duo_sgemm_kinds[DUO_SGEMM_KINDS];

/* Are Inf and NaN in it? Then the entries of the product matter, not only its errors. */
bool duo_sgemm_data_finite(const duo_sgemm_data *data);

/* Fills operands A and B of the call, in host memory; gaps are left alone. */
void duo_sgemm_data_fill(const duo_sgemm_data *data, uint64_t seed, const duo_call *call);

#endif
