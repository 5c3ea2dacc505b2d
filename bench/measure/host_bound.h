/*
 * host_bound.h - no faster can C := A B be, from and to host memory, on a machine of these rates.
 *
 * It is what published times are judged by, so it shares nothing with the library's own plan.
 */
#ifndef DUO_HOST_BOUND_H
#define DUO_HOST_BOUND_H

#include "bench/measure/problem.h"

/* Bytes per second, of all devices in use together. */
typedef struct duo_host_rates {
    double up, down; /* pinned memory to the devices, and back; each by itself */
    double both;     /* the two at once, in all */
    double in, out;  /* memcpy by all threads from plain memory into pinned memory, and back */
} duo_host_rates;

typedef struct duo_host_bound {
    double arrival; /* what has arrived bounds what can be multiplied; the last tile comes home */
    double link;    /* A and B go up and C comes home, at the rate of both ways at once */
    double copies;  /* plain memory: the host copies all of A, B and C; pinned memory: 0 */
    double seconds; /* the largest of these */
} duo_host_bound;

/*
 * Of a product with beta = 0, every operand sent once and in the same kind of host memory:
 * pageable (plain), or pinned. resident_seconds: all its arithmetic, operands and C resident, on
 * all devices in use together. All 0 where a rate or resident_seconds is 0: not known.
 */
duo_host_bound duo_host_bound_of(const duo_problem *problem, double resident_seconds,
                                 const duo_host_rates *rates, bool pageable);

#endif
