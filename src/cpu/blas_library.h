/*
 * blas_library.h - the CPU BLAS that serves sgemm, opened at run time, on one thread.
 *
 * Any BLAS with a Fortran sgemm_ will do, of 32-bit or 64-bit integers. Looked for once, in this
 * order: DUOBLAS_CPU_BLAS, OpenBLAS's OpenMP build, any libopenblas.so.0, libblas.so.3. A library
 * that is this one, or that leads back to it, is refused. None is opened in a program that is
 * linked statically: it would bring a second C library.
 *
 * Threads are the team's business (team.h): the library multiplies on the thread that calls it. An
 * OpenBLAS is an instance of our own (private_library.h), so that neither the program's calls of
 * the same library nor ours ever see a number of threads that the other has set. It is held to one
 * thread
 *   - with threads of its own (pthreads): by ending them at the start;
 *   - with OpenMP: by the calling thread's own setting, in the runtime that the library is bound
 *     to, around each call;
 * and MKL by its setting for the calling thread. What else there may be computes as it likes, on a
 * call of ours as a whole.
 */
#ifndef DUO_BLAS_LIBRARY_H
#define DUO_BLAS_LIBRARY_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "call.h"
#include "cpu/blas_kernels.h"

/*
 * Sizes can be split, but leading dimensions go to the library as they are. Its kernels gather from
 * up to 16 columns with 32-bit indices: with AVX-512, OpenBLAS 0.3.21 crashes beyond this.
 */
enum { DUO_BLAS_LARGEST_LD = INT_MAX / 16 };

/* Fortran's dgemm, as duo_fortran_sgemm. */
typedef void (*duo_fortran_dgemm)(const char *transa, const char *transb, const int64_t *m,
                                  const int64_t *n, const int64_t *k, const double *alpha,
                                  const double *a, const int64_t *lda, const double *b,
                                  const int64_t *ldb, const double *beta, double *c,
                                  const int64_t *ldc, long transa_length, long transb_length);

/* What holds it to the calling thread. */
typedef enum duo_blas_threads {
    DUO_BLAS_SERIAL, /* it has no threads, or they were ended */
    DUO_BLAS_OPENMP, /* OpenMP's setting of the calling thread */
    DUO_BLAS_MKL,    /* MKL's setting of the calling thread */
    DUO_BLAS_ITS_OWN /* nothing: the whole product is to be one call */
} duo_blas_threads;

typedef struct duo_blas_library {
    duo_fortran_sgemm sgemm;
    duo_fortran_dgemm dgemm; /* NULL: it has none of its own */
    duo_blas_threads threads;
    int (*get_threads)(void); /* OPENMP */
    void (*set_threads)(int); /* OPENMP */
    int (*swap_threads)(int); /* MKL: sets, and returns what was set */
    bool any_tile;            /* its kernels suit any tile (blas_kernels.h) */
    char path[512];
    char config[256]; /* what it says of itself; "" if it says nothing */
    char core[64];    /* OpenBLAS's kernel name; "" elsewhere */
    char name[80];    /* "OpenBLAS 0.3.21 SkylakeX": with its version and kernels, for profiles */
    char note[256];   /* what a user should know of the choice, or "" */
    void *handle;
} duo_blas_library;

/* The library, or NULL where none is found. */
const duo_blas_library *duo_blas_library_get(void);
const char *duo_blas_library_why(void);  /* why none, or "" */
const char *duo_blas_library_name(void); /* its name, or "none" */
/* What makes sgemm slower than it could be, for people; NULL: nothing is known. */
const char *duo_blas_library_warning(void);
/* No more of the library, and why: in a child process whose parent's other threads were inside it;
 * where it leads back to us. */
void duo_blas_library_abandon(const char *reason);

/* Between the two, what the calling thread calls of the library runs on this thread. */
static inline int duo_blas_enter(const duo_blas_library *library)
{
    if (library->threads == DUO_BLAS_MKL) return library->swap_threads(1);
    if (library->threads != DUO_BLAS_OPENMP) return 0;
    const int before = library->get_threads();
    if (before != 1) library->set_threads(1);
    return before;
}

static inline void duo_blas_leave(const duo_blas_library *library, int before)
{
    if (library->threads == DUO_BLAS_MKL) (void)library->swap_threads(before);
    if (library->threads == DUO_BLAS_OPENMP && before != 1) library->set_threads(before);
}

/* Is this sgemm, of a library that the program has, expected to be faster than the one in use?
 * MKL's is, with the threads that the program gave it; any is where there is none, or one with
 * narrow kernels. */
bool duo_blas_library_yields_to(duo_fortran_sgemm other);

/* For blas_library.c and its tests: opens a library by name, with these kernels of OpenBLAS or with
 * its own choice (NULL). False, and why, if it will not do. */
bool duo_blas_library_open(const char *name, const char *core, duo_blas_library *library, char *why,
                           size_t why_size);
/* An OpenBLAS that took kernels for narrower vectors than this CPU has is opened again with better
 * ones, unless the user has chosen; `note` says so. */
void duo_blas_library_widen(duo_blas_library *library);

#endif
