/*
 * blas_abi.h - one operation, called by each of its names in BLAS.
 *
 * The drop-in's own sources are linked into the test program. Calls are made as badly as the ABI
 * allows: 32-bit integers by value have garbage in the upper half of their register, 32-bit
 * integers by address have garbage behind them.
 */
#ifndef DUO_TESTS_BLAS_ABI_H
#define DUO_TESTS_BLAS_ABI_H

#include <stdbool.h>
#include <stdint.h>

#include "call.h"
#include "duoblas.h"

typedef enum blas_abi {
    ABI_FORTRAN,   /* sgemm_ */
    ABI_CBLAS,     /* cblas_sgemm */
    ABI_FORTRAN64, /* sgemm_64_ */
    ABI_CBLAS64,   /* cblas_sgemm64_ */
    ABI_NATIVE,    /* duo_sgemm(NULL, ...) */
    ABIS
} blas_abi;

const char *blas_abi_name(blas_abi abi);
bool blas_abi_is_cblas(blas_abi abi);
bool blas_abi_is_wide(blas_abi abi); /* integers of 64 bits */

/* A distance between elements. Three times the distance needs more than 32 bits; if the ABI's
 * integers have 64 bits, the distance itself needs more. */
int64_t blas_wide_step(blas_abi abi);

/* Wrong values are handed on as they are; if a letter is not one of NnTtCc, C functions get its
 * number. */
typedef struct blas_product {
    int layout;
    char transa, transb;
    int64_t m, n, k;
    float alpha;
    const float *a;
    int64_t lda;
    const float *b;
    int64_t ldb;
    float beta;
    float *c;
    int64_t ldc;
} blas_product;

/* Fortran is column-major: it gets a row-major product as the transposed one. Returns the status of
 * ABI_NATIVE; DUO_OK from all others. */
duo_status blas_sgemm(blas_abi abi, const blas_product *p);

/* duo_transpose of a letter. */
int blas_transpose(char letter);
bool blas_is_transposed(char letter);

/* DUO_SASUM, DUO_SSUM or DUO_SDOT; y and incy are only for DUO_SDOT. */
float blas_reduce(blas_abi abi, duo_operation operation, int64_t n, const float *x, int64_t incx,
                  const float *y, int64_t incy);

#endif
