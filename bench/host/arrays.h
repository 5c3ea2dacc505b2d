/* arrays.h - A, B and C of large products in host memory, filled by all threads. */
#ifndef DUO_ARRAYS_H
#define DUO_ARRAYS_H

#include "bench/measure/stock.h"

typedef struct duo_arrays {
    duo_context *context; /* pins */
    duo_place place;      /* DUO_PLACE_PAGEABLE or DUO_PLACE_PINNED */
    float *operand[3];    /* DUO_A, DUO_B, DUO_C */
} duo_arrays;

/* Room for the operands of each of the problems; A and B random, uniform in (-1, 1). False, and
 * nothing is held: out of memory. */
bool duo_arrays_open(duo_arrays *arrays, duo_context *context, duo_place place,
                     const duo_problem *problem, int problems, uint64_t seed);
void duo_arrays_close(duo_arrays *arrays);

/* C := op(A) op(B) on the arrays, column-major, no gaps. */
duo_call duo_arrays_call(const duo_arrays *arrays, const duo_problem *problem);

#endif
