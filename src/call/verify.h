/*
 * verify.h - duo_set_verify: some calls' results are checked when they have run. A product by
 * Freivalds' check (src/freivalds.h), a reduction by computing it again.
 */
#ifndef DUO_VERIFY_H
#define DUO_VERIFY_H

#include "call/execution.h"
#include "call/verify_part.h"

/* Draws whether this call, which was located, is checked, and prepares that. NULL: it is not, or
 * there is no memory. */
duo_verify *duo_verify_begin(duo_context *ctx, duo_call *call);

/* Checks the call's result, and frees v. A wrong one is computed again if its inputs are still
 * there. If not, or if it is wrong again: DUO_ERR_WRONG. NULL: returns status. */
duo_status duo_verify_end(duo_verify *v, duo_execution *e, duo_status status);

#endif
