/*
 * blas_library.h - the CPU BLAS that serves sgemm, opened at run time.
 *
 * Any BLAS with a Fortran sgemm_ will do. Looked for once, in this order: DUOBLAS_CPU_BLAS,
 * OpenBLAS's OpenMP build (its number of threads follows OpenMP's per-thread setting), any
 * libopenblas.so.0, libblas.so.3. A library that is this one, or that leads back to it, is refused.
 */
#ifndef DUO_BLAS_LIBRARY_H
#define DUO_BLAS_LIBRARY_H

#include <limits.h>
#include <stdbool.h>

/*
 * Sizes can be split, but leading dimensions go to an LP64 library as they are. Its kernels gather
 * from up to 16 columns with 32-bit indices: with AVX-512, OpenBLAS 0.3.21 crashes beyond this.
 */
enum { DUO_BLAS_LARGEST_LD = INT_MAX / 16 };

/* Fortran's sgemm and dgemm: every argument by address, lengths of the two strings last. */
typedef void (*duo_fortran_sgemm)(const char *transa, const char *transb, const int *m,
                                  const int *n, const int *k, const float *alpha, const float *a,
                                  const int *lda, const float *b, const int *ldb, const float *beta,
                                  float *c, const int *ldc, long transa_length, long transb_length);

typedef void (*duo_fortran_dgemm)(const char *transa, const char *transb, const int *m,
                                  const int *n, const int *k, const double *alpha, const double *a,
                                  const int *lda, const double *b, const int *ldb,
                                  const double *beta, double *c, const int *ldc, long transa_length,
                                  long transb_length);

typedef struct duo_blas_library {
    duo_fortran_sgemm sgemm;
    duo_fortran_dgemm dgemm; /* NULL: it has none of its own */
    char path[512];
    char config[256];    /* what it says of itself; "" if it says nothing */
    char core[64];       /* OpenBLAS's kernel name; "" elsewhere */
    bool follows_openmp; /* threads follow omp_set_num_threads of the calling thread */
    void (*set_threads)(
        int threads); /* OpenBLAS with threads of its own: process-wide; else NULL */
    void *handle;
} duo_blas_library;

/* The library, or NULL where none is found. */
const duo_blas_library *duo_blas_library_get(void);
const char *duo_blas_library_why(void); /* why none, or "" */
/* No more of the library, and why: in a child process whose parent's other threads were inside it;
 * where it leads back to us. */
void duo_blas_library_abandon(const char *reason);

#endif
