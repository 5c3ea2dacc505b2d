/*
 * host_bound.h - the least time of C := A B, from and to host memory, on a machine with given
 * rates.
 *
 * Published times are judged by it, so it shares nothing with the library's own plan.
 */
#ifndef DUO_HOST_BOUND_H
#define DUO_HOST_BOUND_H

#include "bench/measure/problem.h"

/* Bytes per second, for all used devices together. */
typedef struct duo_host_rates {
    double up, down; /* from pinned memory to the devices, and back; one at a time */
    double both;     /* up and down at the same time: their sum */
    double in, out;  /* memcpy by all threads from plain to pinned memory, and back */
} duo_host_rates;

typedef struct duo_host_bound {
    double arrival; /* multiplying waits for arrivals; the last tile comes home */
    double link;    /* A and B go up and C comes home, at the rate of both ways at once */
    double copies;  /* plain memory: the host copies all of A, B and C; pinned memory: 0 */
    double seconds; /* the largest of these */
} duo_host_bound;

/*
 * The bound of a product with beta = 0. Every operand is sent once, from the same kind of host
 * memory: pageable (plain) or pinned. resident_seconds: all its arithmetic with resident operands
 * and C, on all used devices together. All 0 if a rate or resident_seconds is 0: not known.
 */
duo_host_bound duo_host_bound_of(const duo_problem *problem, double resident_seconds,
                                 const duo_host_rates *rates, bool pageable);

#endif
