/*
 * verify_arrays.h - memory for the operands of drawn calls: one array of random numbers for each
 * operand in each kind of memory, as large as the largest problem needs.
 */
#ifndef DUO_VERIFY_ARRAYS_H
#define DUO_VERIFY_ARRAYS_H

#include "bench/crossover/verify_draw.h"
#include "bench/measure/stock.h"

typedef struct duo_verify_arrays {
    duo_context *context;
    bool gpu; /* without one there is plain host memory alone */
    int64_t floats[DUO_OPERANDS];
    duo_stock stock[DUO_PLACES][DUO_OPERANDS];
} duo_verify_arrays;

/* floats[] of `arrays` says how many each operand has. False: there is not so much memory. */
bool duo_verify_arrays_open(duo_verify_arrays *arrays);
void duo_verify_arrays_close(duo_verify_arrays *arrays);

/*
 * Gives the call of a problem its addresses, and keeps what is to be kept: copies on the device are
 * current then. False: it is not possible. To be ended in both cases.
 */
bool duo_verify_place(duo_verify_arrays *arrays, const duo_drawn *drawn, duo_call *call);
void duo_verify_place_end(duo_verify_arrays *arrays, const duo_drawn *drawn, const duo_call *call);

/* Makes the copies on the device stale where the problem wants that: before each call. */
bool duo_verify_make_stale(duo_context *context, const duo_drawn *drawn, const duo_call *call);

#endif
