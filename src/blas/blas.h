/*
 * blas.h - the drop-in: what stands between the BLAS names and the public API.
 *
 * blas_lp64.c and blas_ilp64.c export the names, from one body, with integers of 32 and of 64 bits.
 * The API answers with a status, BLAS cannot: what is the caller's mistake goes to xerbla, what is
 * not, and should not happen, to one line on stderr. Results are in host memory at return, also
 * those in kept arrays, because the program's other BLAS calls read them there.
 */
#ifndef DUO_BLAS_H
#define DUO_BLAS_H

#include <stdbool.h>
#include <stdint.h>

#include "duoblas.h"

/* ---- Operations ---- */

/* All arguments of sgemm, whichever backend they came through. */
typedef struct duo_blas_gemm {
    int layout, transa, transb; /* values of duo_layout and duo_transpose, or anything else */
    int64_t m, n, k;
    float alpha, beta;
    const float *a, *b;
    int64_t lda, ldb, ldc;
    float *c;
    bool wide;          /* through a name with 64-bit integers */
    const void *caller; /* an address in the code that called */
} duo_blas_gemm;

/* Of a Fortran letter, upper or lower case; 0: none of them. */
int duo_blas_transpose(char letter);

/* The first wrong argument as Fortran's sgemm counts them (transa 1 ... ldc 13); 0: none is.
 * DUO_BLAS_LAYOUT: the layout, which Fortran's has not. */
enum { DUO_BLAS_LAYOUT = -1 };
int duo_blas_wrong_argument(const duo_blas_gemm *g);

/* Arguments checked. */
void duo_blas_sgemm(const duo_blas_gemm *g);

typedef enum duo_blas_reduction { DUO_BLAS_SASUM, DUO_BLAS_SSUM, DUO_BLAS_SDOT } duo_blas_reduction;
float duo_blas_reduce(duo_blas_reduction operation, int64_t n, const float *x, int64_t incx,
                      const float *y, int64_t incy);

/* ---- Without us: program.c ---- */

/* Makes the sgemm that this caller would have called without the drop-in known to duo_sgemm. */
void duo_blas_tell_program(const duo_blas_gemm *g);

/* ---- A wrong argument: xerbla.c ---- */

/*
 * Calls the program's own xerbla_ or cblas_xerbla (with `wide`: xerbla_64_, cblas_xerbla64_), if it
 * has one, with the argument's number as that one counts; else prints one line. Those of BLAS and
 * LAPACK libraries are not called: some end the program. argument: as of duo_blas_wrong_argument.
 */
void duo_blas_report(bool cblas, bool wide, int argument);

/* ---- Programs of libblas64: libblas64.c ---- */

/* The same names with 64-bit integers, in a process that a preloaded drop-in cannot serve. What the
 * library does not have is NULL. */
typedef struct duo_libblas64 {
    void (*sgemm)(const char *, const char *, const void *, const void *, const void *,
                  const void *, const void *, const void *, const void *, const void *,
                  const void *, void *, const void *, size_t, size_t);
    float (*sdot)(const void *, const void *, const void *, const void *, const void *);
    float (*sasum)(const void *, const void *, const void *);
    float (*ssum)(const void *, const void *, const void *);
    void (*cblas_sgemm)(int, int, int, int64_t, int64_t, int64_t, float, const float *, int64_t,
                        const float *, int64_t, float, float *, int64_t);
    float (*cblas_sdot)(int64_t, const float *, int64_t, const float *, int64_t);
    float (*cblas_sasum)(int64_t, const float *, int64_t);
    float (*cblas_ssum)(int64_t, const float *, int64_t);
} duo_libblas64;

/* NULL, as nearly always: this process has 32-bit integers. */
const duo_libblas64 *duo_blas_libblas64(void);

/* ---- Summary at exit: summary.c ---- */

/* Asked for by DUOBLAS_SUMMARY? */
bool duo_blas_summary_wanted(void);
double duo_blas_clock(void);
/* The calling thread's last call, which began at `started`, and the bytes of its operands. */
void duo_blas_summary_add(double started, const double bytes[3]);

#endif
