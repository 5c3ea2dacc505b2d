/*
 * blas_library.h - the inner BLAS: a library that sgemm_cpu_openblas may call, opened at run time.
 *
 * Any BLAS with a Fortran sgemm_ will do, with integers of 32 or 64 bits; also OpenBLAS under the
 * names that PyPI's wheels give it (scipy_sgemm_, scipy_sgemm_64_). It is the one that
 * DUOBLAS_CPU_BLAS names, or else the first of libopenblas.so.0, libopenblasp.so.0,
 * libscipy_openblas.so (PyPI's scipy-openblas32) and libblas.so.3. It is looked for once.
 *
 * It is opened as the program would open it: if the program uses the same file, both use the same
 * instance. So none of its settings is ever changed. It is called once for a product, and computes
 * with the threads that it has. If these are more than the call may use, it is not called.
 *
 * Not opened:
 *   - this library itself, and any that leads back to it;
 *   - in a process that may have little address space or few threads. OpenBLAS takes 128 MiB for
 *     each thread, and tries for ever if it does not get them. Without a thread of its own it ends
 *     the process;
 *   - in a program that is linked statically: it would bring a second C library.
 */
#ifndef DUO_BLAS_LIBRARY_H
#define DUO_BLAS_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

#include "call.h"

typedef struct duo_blas_library {
    duo_fortran_sgemm sgemm;
    int (*get_threads)(void);    /* the number of its threads; NULL: it has only the caller */
    int (*openmp_threads)(void); /* OpenMP's number for the calling thread, which counts for an
                                    OpenBLAS with OpenMP; other libraries: NULL */
    char path[512];
    char config[256]; /* an OpenBLAS's description of itself; "" for any other */
    char core[64];    /* the name of an OpenBLAS's kernels; "" for any other */
    char name[80];    /* with version and kernels, for profiles: "OpenBLAS 0.3.21 SkylakeX" */
    void *handle;
} duo_blas_library;

/* The inner BLAS; opens it if it was not needed before. NULL: there is none. An OpenBLAS takes 36
 * MB of memory and 10 ms: to predict, ask one of the next four. */
const duo_blas_library *duo_blas_library_get(void);
bool duo_blas_library_looked(void);                  /* was it opened, or not found? */
bool duo_blas_library_asked(void);                   /* does DUOBLAS_CPU_BLAS name one? */
const duo_blas_library *duo_blas_library_seen(void); /* NULL: none, or not looked for yet */
/* As far as is known, is it the one with this name, which was measured? */
bool duo_blas_library_is(const char *measured);
const char *duo_blas_library_why(void);  /* why there is none, or "" */
const char *duo_blas_library_name(void); /* its name, or "none" */
/* Says that DUOBLAS_CPU_BLAS was in vain; NULL: it was not. */
const char *duo_blas_library_warning(void);
/* Gives the inner BLAS up for good, and says why: its sgemm_ leads back to this library, or this is
 * a child process. */
void duo_blas_library_abandon(const char *reason);

/* The library of the program that has this sgemm_. NULL: not known, or it is this library. */
const duo_blas_library *duo_blas_library_of(duo_fortran_sgemm sgemm);

/* The threads with which the library computes if the calling thread calls it now. INT_MAX: it must
 * not be called, because it would change its number of threads. */
int duo_blas_library_threads(const duo_blas_library *library);

/* Can it take the sizes and leading dimensions of this product? */
bool duo_blas_library_takes(const duo_call *call);

/*
 * Sets *function, a pointer to a function, to the library's `name`. PyPI's OpenBLAS calls it
 * scipy_NAME, or scipy_NAME64_ if its integers have 64 bits. False, and NULL: there is none.
 */
bool duo_blas_function(void *library, const char *name, void *function);

/*
 * RTLD_DEEPBIND: a library finds its own functions before the program's with the same names. 0 if
 * malloc is not the C library's: then a deeply bound library would free memory of another malloc;
 * and sanitizers, which bring a malloc, end the process if they see that flag.
 */
int duo_blas_library_deep(void);

#endif
