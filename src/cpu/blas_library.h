/*
 * blas_library.h - the inner BLAS: the library that multiplies on the CPU, opened at run time.
 *
 * Any BLAS with a Fortran sgemm_ will do, with integers of 32 or 64 bits; also OpenBLAS under the
 * names that PyPI's wheels give it (scipy_sgemm_, scipy_sgemm_64_). It is looked for once, in this
 * order: DUOBLAS_CPU_BLAS, OpenBLAS's OpenMP build, any libopenblas.so.0, PyPI's scipy-openblas32
 * beside the Python package, libblas.so.3. This library itself, and any that leads back to it, is
 * refused. A statically linked program opens none: it would bring a second C library.
 *
 * The team (host/team.h) shares the work, so the inner BLAS is held to the thread that calls it. An
 * OpenBLAS is an instance of our own (private_library.h): the program's calls of the same library
 * never see our number of threads, and ours never see the program's. How a library is held to one
 * thread depends on its build:
 *   - an OpenBLAS with threads of its own (pthreads): these are ended at the start;
 *   - an OpenBLAS with OpenMP: by the calling thread's setting, around each call, in the OpenMP
 *     runtime of the library;
 *   - MKL: by MKL's setting for the calling thread, around each call.
 * Any other library is not held: it gets each product as one call, and uses as many threads as it
 * wants.
 */
#ifndef DUO_BLAS_LIBRARY_H
#define DUO_BLAS_LIBRARY_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "call.h"
#include "cpu/blas_room.h"

/*
 * The largest leading dimension that the library gets. Sizes can be split, leading dimensions
 * cannot. Kernels gather from up to 16 columns with 32-bit indices: OpenBLAS 0.3.21 crashes with
 * larger leading dimensions, in its AVX-512 kernels.
 */
enum { DUO_BLAS_LARGEST_LD = INT_MAX / 16 };

/* What holds the library to the calling thread. */
typedef enum duo_blas_threads {
    DUO_BLAS_SERIAL, /* it has no threads of its own, or they were ended */
    DUO_BLAS_OPENMP, /* OpenMP's setting for the calling thread */
    DUO_BLAS_MKL,    /* MKL's setting for the calling thread */
    DUO_BLAS_ITS_OWN /* nothing: a product has to be one call */
} duo_blas_threads;

typedef struct duo_blas_library {
    duo_fortran_sgemm sgemm;
    duo_blas_threads threads;
    int (*get_threads)(void); /* if threads is DUO_BLAS_OPENMP */
    void (*set_threads)(int); /* if threads is DUO_BLAS_OPENMP */
    int (*swap_threads)(int); /* if threads is DUO_BLAS_MKL: sets, and returns what was set */
    bool any_tile;            /* duo_kernels_suit_any_tile */
    bool ours;                /* an instance of our own */
    int seats;                /* threads that may be inside at once (blas_room.h) */
    char path[512];
    char config[256]; /* an OpenBLAS's description of itself; "" for any other */
    char core[64];    /* the name of an OpenBLAS's kernels; "" for any other */
    char name[80];    /* with version and kernels, for profiles: "OpenBLAS 0.3.21 SkylakeX" */
    char note[256];   /* what a user should know about the choice, or "" */
    void *handle;
} duo_blas_library;

/* The inner BLAS; opens it if it was not needed before. NULL: there is none. An OpenBLAS takes 36
 * MB of memory and 30 ms: to predict, ask one of the next three. */
const duo_blas_library *duo_blas_library_get(void);
bool duo_blas_library_looked(void);                  /* was it opened, or not found? */
bool duo_blas_library_asked(void);                   /* does DUOBLAS_CPU_BLAS name one? */
const duo_blas_library *duo_blas_library_seen(void); /* NULL: none, or not looked for yet */
/* As far as is known, is it the one with the name that was used in a measurement? */
bool duo_blas_library_is(const char *measured);
const char *duo_blas_library_why(void);  /* why there is none, or "" */
const char *duo_blas_library_name(void); /* its name, or "none" */
/* The reason why sgemm is slower than it could be; NULL: none known. */
const char *duo_blas_library_warning(void);
/* Gives the inner BLAS up for good, and says why: its sgemm_ leads back to this library, or this is
 * a child process and the parent had threads inside it. */
void duo_blas_library_abandon(const char *reason);

/* Sets OpenMP's number for the calling thread. False: there is too little memory, so libgomp was
 * not asked (without memory it would end the process). */
bool duo_blas_one_thread(const duo_blas_library *library);

static inline void duo_blas_leave(const duo_blas_library *library, int before)
{
    if (library->threads == DUO_BLAS_MKL) (void)library->swap_threads(before);
    if (library->threads == DUO_BLAS_OPENMP && before != 1) library->set_threads(before);
    if (library->seats != DUO_BLAS_ANY) duo_blas_room_leave();
}

/* Between enter and leave, calls of the library run only on the calling thread. False: there is too
 * little memory, so calls must not be made, and there is nothing to leave. */
static inline bool duo_blas_enter(const duo_blas_library *library, int *before)
{
    *before = 1;
    if (library->seats != DUO_BLAS_ANY) duo_blas_room_enter();
    if (library->threads == DUO_BLAS_MKL) *before = library->swap_threads(1);
    if (library->threads != DUO_BLAS_OPENMP) return true;
    const int threads = library->get_threads();
    if (threads == 1) return true;
    if (duo_blas_one_thread(library)) {
        *before = threads;
        return true;
    }
    duo_blas_leave(library, 1);
    return false;
}

/* Should `other`, the sgemm of the program's own BLAS, be called as sgemm_cpu_openblas? MKL's
 * should, with the program's threads. Any other should only if our own kernels are slow here. */
bool duo_blas_library_yields_to(duo_fortran_sgemm other);

/* For blas_library.c and its tests: opens a library by name. core: the kernels that an OpenBLAS is
 * to take; NULL: its own choice. False, and why: the library is not suitable. */
bool duo_blas_library_open(const char *name, const char *core, duo_blas_library *library, char *why,
                           size_t why_size);
/* Opens an OpenBLAS again with wider kernels, if its kernels are narrower than the CPU's vectors
 * and the user has not chosen them (OPENBLAS_CORETYPE). library->note then tells what was done. */
void duo_blas_library_widen(duo_blas_library *library);

#endif
