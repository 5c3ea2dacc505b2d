/*
 * fixed.h - calls that are decided once, and made many times while their operands stay where they
 * are: without looking for them, and without predictions.
 */
#ifndef DUO_FIXED_H
#define DUO_FIXED_H

#include "call/context.h"

typedef struct duo_fixed {
    const duo_algorithm *algorithm;
    duo_call call;  /* as the algorithm takes it */
    double seconds; /* that it is predicted to take */
} duo_fixed;

/*
 * Decides a call under the context's policy, with this math and at most so many CPU threads (0: the
 * context's); not for algorithms that have a bit in `declined`. All that the call touches has to be
 * on `side`: in host memory without a device copy, or in device memory on the context's device.
 * False: it is not, or no algorithm there takes the call.
 */
bool duo_fix(duo_context *ctx, const duo_call *described, duo_math math, int threads, duo_side side,
             uint32_t declined, duo_fixed *fixed);

#endif
