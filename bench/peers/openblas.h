/*
 * openblas.h - the CPU's peer: the inner BLAS of sgemm (usually OpenBLAS), called once for a
 * product, with its own threads; and any other library with CBLAS.
 */
#ifndef DUO_OPENBLAS_H
#define DUO_OPENBLAS_H

#include <stdbool.h>

#include "batch.h"
#include "bench/measure/blas_instance.h"
#include "bench/measure/implementation.h"

/* ---- openblas.c ---- */

/* The peer by duo_blas_instance_get, on `threads` threads. False: there is none, or it lacks the
 * operation. */
bool duo_peer_openblas(duo_implementation *peer, duo_operation operation, int threads,
                       const duo_stock *stock);

/* The peer by this instance, on the threads that it chooses. */
bool duo_peer_cblas(duo_implementation *peer, const duo_blas_instance *blas,
                    duo_operation operation, const duo_stock *stock);

/* A library's function, if its integers have 32 bits; NULL: there is none. */
void *duo_peer_cblas_function(const duo_blas_instance *blas, const char *name);

/* The instance's functions, called as an application does; NULL: not there. */
typedef float (*duo_cblas_sum)(int n, const float *x, int incx);
typedef float (*duo_cblas_dot)(int n, const float *x, int incx, const float *y, int incy);
typedef void (*duo_cblas_gemm)(int layout, int transa, int transb, int m, int n, int k, float alpha,
                               const float *a, int lda, const float *b, int ldb, float beta,
                               float *c, int ldc);
duo_cblas_sum duo_peer_cblas_sum(duo_operation operation);
duo_cblas_dot duo_peer_cblas_dot(void);
duo_cblas_gemm duo_peer_cblas_gemm(void);

/*
 * How long the instance's threads may spin after a call and take processors from the next
 * benchmark. OpenBLAS: our 16 ms (blas_instance.c); OpenMP: about the same; the threads of DuoBLAS:
 * 2 ms; MKL, with Intel's OpenMP: 200 ms.
 */
double duo_peer_settle_seconds(void);

/* ---- openblas_batched.c ---- */

/* Does a batch product by product. False: there is no peer. */
bool duo_peer_openblas_each(const duo_call *call, const duo_batch *batch, int threads);

/* Does a batch by one call: by strides, or by lists if it has them. False: the library has none. */
bool duo_peer_openblas_batch(const duo_call *call, const duo_batch *batch, int threads);

/* Has the library a batch function? One that crashes or is wrong does not count, which is said on
 * stderr. */
bool duo_peer_openblas_batches(const duo_batch *batch);

#endif
