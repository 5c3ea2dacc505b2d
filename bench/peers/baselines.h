/*
 * baselines.h - what rows are compared with, timed like them: OpenBLAS (the inner BLAS of sgemm, in
 * an instance of its own) and cuBLAS, opened at run time; OpenMP's simd loop and CUB; and a bare
 * read of the operands.
 */
#ifndef DUO_BASELINES_H
#define DUO_BASELINES_H

#include "bench/measure/implementation.h"
#include "bench/peers/peer_blas.h"

/* CBLAS of the inner library's second instance, with so many threads of its own (peer_blas.h).
 * False: there is none, or it lacks the operation. */
bool duo_baseline_openblas(duo_implementation *peer, duo_operation operation, int threads,
                           const duo_stock *stock);

/* CBLAS of this library, with the threads that it has by itself. */
bool duo_baseline_cblas(duo_implementation *peer, const duo_peer_blas *blas,
                        duo_operation operation, const duo_stock *stock);

/* The reductions' own functions, to be called as an application does; NULL: not there. */
typedef float (*duo_cblas_sum)(int n, const float *x, int incx);
typedef float (*duo_cblas_dot)(int n, const float *x, int incx, const float *y, int incy);
duo_cblas_sum duo_baseline_cblas_sum(duo_operation operation);
duo_cblas_dot duo_baseline_cblas_dot(void);
typedef void (*duo_cblas_gemm)(int layout, int transa, int transb, int m, int n, int k, float alpha,
                               const float *a, int lda, const float *b, int ldb, float beta,
                               float *c, int ldc);
duo_cblas_gemm duo_baseline_cblas_gemm(void);

/*
 * How long that instance's threads may spin on after a call, taking processors from whoever is timed
 * next: OpenBLAS's own 16 ms (peer_blas.c), OpenMP's about as long, the team's helpers 2 ms.
 */
double duo_baseline_settle_seconds(void);

/*
 * cuBLAS in the stream of our queue on device 0. NULL if it is there; otherwise why not. fp32
 * arithmetic alone (its default), or TF32; results left on the device.
 */
const char *duo_baseline_cublas_open(duo_queue *queue, bool tf32);
/* There is no sum in cuBLAS: for ssum its asum, which reads as much, stands in. */
bool duo_baseline_cublas(duo_implementation *peer, duo_operation operation, const duo_stock *stock,
                         bool wait_each);
/* The host waits for each call, and a reduction's result goes to plain host memory (cuBLAS's host
 * pointer mode, which waits by itself). */
bool duo_baseline_cublas_to_host(duo_implementation *peer, duo_operation operation,
                                 const duo_stock *stock);

/* ---- baselines_cpu.c: reductions by the best of the CPU's instruction sets ---- */

/* One variant of the loop, of the bare read; false: there are no more. */
bool duo_baseline_openmp_simd(duo_implementation *peer, int variant, int threads,
                              const duo_stock *stock);
bool duo_baseline_read_cpu(duo_implementation *peer, int variant, int threads,
                           const duo_stock *stock);

/* ---- baselines_gpu.c: reductions in our queue's stream, on device 0, of resident data ---- */

/* One variant of the bare read; false: there are no more. */
bool duo_baseline_read_gpu(duo_implementation *peer, int variant, duo_queue *queue,
                           const duo_stock *stock, bool wait_each);
/* `host`: NULL, or a pinned float: each result is copied there, and the host waits for it. */
bool duo_baseline_cub(duo_implementation *peer, duo_operation operation, duo_queue *queue,
                      const duo_stock *stock, float *host);

#endif
