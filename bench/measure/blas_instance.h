/*
 * blas_instance.h - a BLAS of the CPU as a program uses it: opened by name, with threads of its
 * own. The program sets their number.
 *
 * The tool is the program, so it sets the number for each call, also of sgemm_cpu_openblas, which
 * calls the same instance of the inner BLAS (cpu/blas_library.h).
 */
#ifndef DUO_BLAS_INSTANCE_H
#define DUO_BLAS_INSTANCE_H

#include <stdbool.h>

typedef struct duo_blas_instance {
    void *handle;
    const char *brand;                /* "OpenBLAS", "MKL", "BLIS", or "BLAS" if not known */
    bool wide;                        /* its integers have 64 bits */
    int threads;                      /* its setting; 0: not set yet */
    int usual;                        /* the inner BLAS's number of threads before that */
    char config[256];                 /* its own description; "" if it has none */
    char core[64];                    /* OpenBLAS's kernel name; others: "" */
    void (*set_threads)(int threads); /* NULL: the library has none */
    int (*openmp_threads)(void);      /* of its OpenMP; NULL: it uses none */
    void (*set_openmp_threads)(int threads);
} duo_blas_instance;

/* The inner BLAS, opened by the first call. NULL: there is none. */
duo_blas_instance *duo_blas_instance_get(void);

/* Opens a library as a program would. False: it failed; *why is dlerror's text. */
bool duo_blas_instance_open(duo_blas_instance *blas, const char *path, const char **why);

/*
 * To be called around each call. _begin sets the number of threads. OpenMP's setting belongs to the
 * calling thread, and our library may see it: so _end sets it to `before`, the result of _begin.
 */
int duo_blas_instance_begin(duo_blas_instance *blas, int threads);
void duo_blas_instance_end(const duo_blas_instance *blas, int before);

/* Sets the inner BLAS's number of threads back, if _begin has changed it: predictions look at it.
 */
void duo_blas_instance_restore(void);

/* To be called before the first library is opened: idle threads of an OpenBLAS spin for 2^28 clock
 * cycles, 0.13 s at 2.1 GHz, and would take processors from the next benchmark. So they sleep after
 * 2^25, 16 ms, unless the user has set it. */
void duo_blas_instance_prepare(void);

#endif
