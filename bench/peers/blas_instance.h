/*
 * blas_instance.h - the inner BLAS once more, as a program of its own has it: another instance of
 * the same file, with its own threads.
 *
 * The loader tells libraries apart by their files, so a copy of the file is an instance that shares
 * nothing with the one that serves sgemm: what is set in the one or computed by it, and the threads
 * of the one, do not touch the other. Its kernels are the same. MKL alone, which is many files, is
 * not copied.
 */
#ifndef DUO_BLAS_INSTANCE_H
#define DUO_BLAS_INSTANCE_H

#include <stdbool.h>

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
 * Around each call: so many threads for it. OpenMP's setting is the calling thread's own and may be
 * seen by ours, so it is put back: _end takes what _begin returned.
 */
int duo_blas_instance_begin(duo_blas_instance *blas, int threads);
void duo_blas_instance_end(const duo_blas_instance *blas, int before);

#endif
