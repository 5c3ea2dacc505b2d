/*
 * verify_host.h - checks of products on the host. Matrices that are only on a device are brought
 * there. Wrong products are computed again there, too.
 */
#ifndef DUO_VERIFY_HOST_H
#define DUO_VERIFY_HOST_H

#include "call/verify_part.h"

/* Keeps what C is before the call. */
bool duo_verify_keep_before(duo_resources *res, duo_verify_part *part);

/* Checks a part. *wrong: its rows that are wrong. */
duo_status duo_verify_check(const duo_verify *v, duo_context *ctx, const duo_verify_part *part,
                            int64_t *wrong);

/* Computes a part's products anew. False: C is gone as it was before, or cannot be written. */
bool duo_verify_compute_again(duo_context *ctx, const duo_verify_part *part);

#endif
