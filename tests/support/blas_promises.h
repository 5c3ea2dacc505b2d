/*
 * blas_promises.h - a table of the promises of BLAS: each is tried through every name of BLAS and
 * on every path.
 */
#ifndef DUO_TESTS_BLAS_PROMISES_H
#define DUO_TESTS_BLAS_PROMISES_H

#include "duoblas.h"
#include "support/blas_abi.h"

typedef struct blas_promise {
    const char *name;
    void (*body)(blas_abi abi, const void *facts);
    const void *facts;
} blas_promise;

/* Keeps every promise of the table; no handler of errors may be called on the way. */
void run_promises(const char *kind, const blas_promise *promises, int count);

extern const char *promise_name; /* the present promise's, with its ABI and path */
extern duo_path path_now;

#endif
