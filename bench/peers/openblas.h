/*
 * openblas.h - the CPU's peer: OpenBLAS, or whatever the inner BLAS of sgemm is, in an instance
 * with threads of its own; and any other library that has CBLAS.
 */
#ifndef DUO_OPENBLAS_H
#define DUO_OPENBLAS_H

#include <stdbool.h>

#include "batch.h"
#include "bench/measure/implementation.h"

/* ---- blas_instance.c ---- */

/*
 * The inner BLAS once more, as a program of its own has it: another instance of the same file, with
 * its own threads.
 *
 * The loader tells libraries apart by their files, so a copy of the file is an instance that shares
 * nothing with the one that serves sgemm: what is set in the one or computed by it, and the threads
 * of the one, do not touch the other. Its kernels are the same. Only MKL, which is many files, is
 * not copied.
 */

typedef struct duo_blas_instance {
    void *handle;
    const char *brand;                /* "OpenBLAS", "MKL", or "BLAS" where it is not known */
    bool wide;                        /* its integers have 64 bits */
    int threads;                      /* that it has been set to; 0: not yet */
    char config[256];                 /* what it says of itself; "" if it says nothing */
    char core[64];                    /* OpenBLAS's kernel name; "" elsewhere */
    void (*set_threads)(int threads); /* NULL: it has no such function */
    int (*openmp_threads)(void);      /* those of its own OpenMP; NULL: it uses none */
    void (*set_openmp_threads)(int threads);
} duo_blas_instance;

/* The instance, opened by the first call. NULL: there is no inner BLAS, or no second one of it. */
duo_blas_instance *duo_blas_instance_get(void);

/* A library as a program of its own would open it: no copy. False: it cannot be; *why is
 * dlerror's. */
bool duo_blas_instance_open(duo_blas_instance *blas, const char *path, const char **why);

/*
 * Around each call: `threads` threads for it. OpenMP's setting is the calling thread's own and may
 * be seen by ours, so it is put back: _end takes what _begin returned.
 */
int duo_blas_instance_begin(duo_blas_instance *blas, int threads);
void duo_blas_instance_end(const duo_blas_instance *blas, int before);

/* ---- openblas.c ---- */

/* The instance of duo_blas_instance_get, on `threads` threads. False: there is none, or it lacks
 * the operation. */
bool duo_peer_openblas(duo_implementation *peer, duo_operation operation, int threads,
                       const duo_stock *stock);

/* This instance, on the threads that it chooses. */
bool duo_peer_cblas(duo_implementation *peer, const duo_blas_instance *blas,
                    duo_operation operation, const duo_stock *stock);

/* A library's function, if it takes integers of 32 bits; NULL: there is none. */
void *duo_peer_cblas_function(const duo_blas_instance *blas, const char *name);

/* The functions of the instance, to be called as an application does; NULL: not there. */
typedef float (*duo_cblas_sum)(int n, const float *x, int incx);
typedef float (*duo_cblas_dot)(int n, const float *x, int incx, const float *y, int incy);
typedef void (*duo_cblas_gemm)(int layout, int transa, int transb, int m, int n, int k, float alpha,
                               const float *a, int lda, const float *b, int ldb, float beta,
                               float *c, int ldc);
duo_cblas_sum duo_peer_cblas_sum(duo_operation operation);
duo_cblas_dot duo_peer_cblas_dot(void);
duo_cblas_gemm duo_peer_cblas_gemm(void);

/*
 * How long the instance's threads may spin on after a call, taking processors from what is timed
 * next: OpenBLAS's own 16 ms (blas_instance.c), OpenMP's about as long, those of DuoBLAS's team 2
 * ms; MKL's, which are Intel's OpenMP's, 200 ms.
 */
double duo_peer_settle_seconds(void);

/* ---- openblas_batched.c ---- */

/* Product by product. False: there is no peer. */
bool duo_peer_openblas_each(const duo_call *call, const duo_batch *batch, int threads);

/* All by one call: strides, or lists where the batch has them. False: it has no such function. */
bool duo_peer_openblas_batch(const duo_call *call, const duo_batch *batch, int threads);

/* Is there such a function? One that crashes, or is wrong, is none, which is said on stderr. */
bool duo_peer_openblas_batches(const duo_batch *batch);

#endif
