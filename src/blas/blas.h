/*
 * blas.h - the drop-in, between the BLAS names and the public API.
 *
 * blas_lp64.c and blas_ilp64.c export the names, from one body, with integers of 32 and of 64 bits,
 * blas_scipy_lp64.c and blas_scipy_ilp64.c the same with scipy_ before them.
 * BLAS returns no status: a wrong argument goes to xerbla, and any other failure (there should be
 * none) to one line on stderr. At return results are in host memory, also in kept arrays, because
 * the program's other BLAS calls read them there.
 */
#ifndef DUO_BLAS_H
#define DUO_BLAS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "duoblas.h"

/* ---- Operations ---- */

/* All arguments of sgemm, for each of its names. */
typedef struct duo_blas_gemm {
    int layout, transa, transb; /* values of duo_layout and duo_transpose, or anything else */
    int64_t m, n, k;
    float alpha, beta;
    const float *a, *b;
    int64_t lda, ldb, ldc;
    float *c;
    bool wide;          /* does the called name have 64-bit integers? */
    bool scipy;         /* ... does it begin with scipy_? */
    const void *caller; /* an address in the caller's code */
} duo_blas_gemm;

/* The duo_transpose of a Fortran letter, upper or lower case; 0: another letter. */
int duo_blas_transpose(char letter);

/* The first wrong argument by its number in Fortran's sgemm (transa is 1, ldc is 13); 0: none is
 * wrong; DUO_BLAS_LAYOUT: the layout, which Fortran's sgemm does not have. */
enum { DUO_BLAS_LAYOUT = -1 };
int duo_blas_wrong_argument(const duo_blas_gemm *g);

/* Multiplies. The arguments have been checked. */
void duo_blas_sgemm(const duo_blas_gemm *g);

/* The same for a batch of `count` products, with strides between their A, B and C. No product if
 * count <= 0. */
void duo_blas_sgemm_strided(const duo_blas_gemm *g, const int64_t stride[3], int64_t count);

/* The same for groups, of one layout: group i has size[i] >= 0 products, and their operands are in
 * lists that all groups share. */
enum { DUO_BLAS_GROUPS = 64 }; /* at most */
void duo_blas_sgemm_groups(const duo_blas_gemm g[], const int64_t size[], int groups,
                           const float *const a[], const float *const b[], float *const c[]);
/* In place of a group that is left out: without any product, but for its place in the lists. */
duo_blas_gemm duo_blas_no_product(const duo_blas_gemm *g);

typedef enum duo_blas_reduction { DUO_BLAS_SASUM, DUO_BLAS_SSUM, DUO_BLAS_SDOT } duo_blas_reduction;
float duo_blas_reduce(duo_blas_reduction operation, int64_t n, const float *x, int64_t incx,
                      const float *y, int64_t incy);

/* ---- The program's own BLAS: program.c ---- */

/* Sets what the drop-in does by default, once for each thread. */
void duo_blas_set_defaults(void);

/* Tells duo_sgemm which sgemm this caller would have called without the drop-in. */
void duo_blas_tell_program(const duo_blas_gemm *g);

/* ---- A wrong argument: xerbla.c ---- */

/*
 * Calls the program's own xerbla_ or cblas_xerbla (with `wide`: xerbla_64_, cblas_xerbla64_), if it
 * has one, with the number of the argument as that handler counts; otherwise prints one line.
 * Handlers of BLAS and LAPACK libraries are not called: some end the program. argument: as returned
 * by duo_blas_wrong_argument.
 */
void duo_blas_report(bool cblas, bool wide, int argument);

/* ---- Programs of another BLAS with 64-bit integers: program.c ---- */

/* Functions of a BLAS with 64-bit integers under plain names: a preloaded drop-in hands its calls
 * on to them. Functions that the library does not have are NULL. */
typedef struct duo_libblas64 {
    void (*sgemm)(const char *, const char *, const void *, const void *, const void *,
                  const void *, const void *, const void *, const void *, const void *,
                  const void *, void *, const void *, size_t, size_t);
    float (*sdot)(const void *, const void *, const void *, const void *, const void *);
    float (*sasum)(const void *, const void *, const void *);
    float (*ssum)(const void *, const void *, const void *);
    void (*cblas_sgemm)(int, int, int, int64_t, int64_t, int64_t, float, const float *, int64_t,
                        const float *, int64_t, float, float *, int64_t);
    void (*cblas_sgemm_batch)(int, const int *, const int *, const void *, const void *,
                              const void *, const float *, const float *const *, const void *,
                              const float *const *, const void *, const float *, float *const *,
                              const void *, int64_t, const void *);
    void (*cblas_sgemm_batch_strided)(int, int, int, int64_t, int64_t, int64_t, float,
                                      const float *, int64_t, int64_t, const float *, int64_t,
                                      int64_t, float, float *, int64_t, int64_t, int64_t);
    float (*cblas_sdot)(int64_t, const float *, int64_t, const float *, int64_t);
    float (*cblas_sasum)(int64_t, const float *, int64_t);
    float (*cblas_ssum)(int64_t, const float *, int64_t);
} duo_libblas64;

/* Such a BLAS; NULL, as nearly always: the plain names take 32-bit integers in this process. */
const duo_libblas64 *duo_blas_libblas64(void);

/* Were calls handed on? */
bool duo_blas_hands_on(void);

/* ---- Summary: summary.c ---- */

/* Are calls counted? DUOBLAS_SUMMARY asks for it, or whoever installed the drop-in. */
bool duo_blas_summary_wanted(void);

/* Off: calls are counted only if DUOBLAS_SUMMARY asks for it. */
void duo_blas_summary_count(bool on);

/* Seconds on a monotonic clock. */
double duo_blas_clock(void);

/* Counts the calling thread's last call, which began at `started`. bytes: its operands'. at: their
 * addresses, of a product; NULL: it is none, or a batch. */
void duo_blas_summary_add(double started, const double bytes[3], const float *const at[3]);

/* ---- A process that runs already: install.c ---- */

/* Has duo_blas_install been called? Then the loader does not lead calls here. */
bool duo_blas_comes_at_run_time(void);

/* ---- Why nothing was called, or hardly anything: unreached.c ---- */

/* Writes a line for each reason. some: a few calls came. forks: the number of child processes, with
 * unknown calls. True: this process has an sgemm with calls that cannot come here. */
bool duo_blas_tell_unreached(FILE *to, bool some, int forks);
void duo_blas_tell_forks(FILE *to, int forks);

#endif
