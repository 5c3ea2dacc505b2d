/* verify_reduction.h - checks of reductions: each is computed again. */
#ifndef DUO_VERIFY_REDUCTION_H
#define DUO_VERIFY_REDUCTION_H

#include "call/execution.h"

/* May the result be an element of a vector? Then the call has changed that. */
bool duo_verify_overlaps(const duo_call *call);

/* Checks the result of a reduction that has run. A wrong one is put right. If it cannot be written:
 * DUO_ERR_WRONG. */
duo_status duo_verify_reduction(duo_execution *e);

#endif
