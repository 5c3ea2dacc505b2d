/*
 * openblas.h - the CPU's peer: OpenBLAS, or whatever the inner BLAS of sgemm is, in an instance
 * with threads of its own; and any other library that has CBLAS.
 */
#ifndef DUO_OPENBLAS_H
#define DUO_OPENBLAS_H

#include "bench/measure/implementation.h"
#include "bench/peers/blas_instance.h"

/* The instance of duo_blas_instance_get, on so many threads. False: there is none, or it lacks the
 * operation. */
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

#endif
