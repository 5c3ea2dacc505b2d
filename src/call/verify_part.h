/*
 * verify_part.h - a part of a checked call: products at equal distances, what a check adds up for
 * them, and how far their rows may be off.
 */
#ifndef DUO_VERIFY_PART_H
#define DUO_VERIFY_PART_H

#include "call/context.h"
#include "freivalds.h"

/* A product, or a batch of products at equal distances. C is an input of the check. */
typedef struct duo_verify_part {
    duo_call call;
    duo_batch batch;
    float *before; /* what C was before the call, without gaps; NULL: not kept */
    bool sums;     /* its sums are on the device instead, in resources.checks, from `at` on */
    size_t at;     /* bytes */
} duo_verify_part;

typedef struct duo_verify {
    uint64_t seed;  /* of the signs */
    int device;     /* that has the sums of what C was */
    bool own_bound; /* one of the library's own algorithms did all of it */
    int64_t parts;
    duo_verify_part *part, own; /* one part is `own` */
} duo_verify;

/* Sums of a part, one behind the other: each with its magnitudes, and the first two with their
 * largest ones. */
typedef struct duo_verify_sums {
    double *product, *between, *result, *old; /* A (B r), B r, C r, C' r */
} duo_verify_sums;

/* Finds the operands. */
duo_status duo_verify_locate(duo_resources *res, duo_verify_part *part);

static inline int64_t duo_verify_count(const duo_verify_part *part)
{
    return duo_call_count(&part->call);
}

/* How many doubles the first three take. */
int64_t duo_verify_doubles(const duo_verify_part *part);

/* Where these are in this memory. */
duo_verify_sums duo_verify_sums_at(const duo_verify_part *part, double *memory);

/* op(X) of operand i times vectors, whose sums `by` are; NULL: the signs. */
duo_freivalds_product duo_verify_product_of(const duo_verify *v, const duo_call *call, int i,
                                            const double *by, double *sum);

duo_freivalds_rows duo_verify_rows_of(const duo_verify_part *part, const duo_verify_sums *s,
                                      duo_math math, bool own);

#endif
