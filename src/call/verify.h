/*
 * verify.h - duo_set_verify: some calls' results are checked when they have run. A product by
 * Freivalds' check (src/freivalds.h), a reduction by computing it again.
 */
#ifndef DUO_VERIFY_H
#define DUO_VERIFY_H

#include "call/execution.h"

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

/* Draws whether this call, which was located, is checked, and prepares that. NULL: it is not, or
 * there is no memory. */
duo_verify *duo_verify_begin(duo_context *ctx, duo_call *call);

/* Checks the call's result, and frees v. A wrong one is computed again if its inputs are still
 * there. If not, or if it is wrong again: DUO_ERR_WRONG. NULL: returns status. */
duo_status duo_verify_end(duo_verify *v, duo_execution *e, duo_status status);

#endif
