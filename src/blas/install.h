/*
 * install.h - the drop-in in a process that runs already, for packages of other languages: they
 * open libduoblas-blas.so, and call these functions. Any thread may.
 */
#ifndef DUO_BLAS_INSTALL_H
#define DUO_BLAS_INSTALL_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(default)

/* Leads the BLAS calls of all loaded objects here. Calls by names that we lack stay where they are.
 * count: calls are counted. That takes half a microsecond each. Returns the number of objects that
 * now lead here. Negative: there is not enough memory, and nothing has changed.
 *
 * Three kinds of calls are not reached: of functions that are linked into their callers, of
 * functions that are found by dlsym, and by addresses that the program has copied. Objects that are
 * loaded later need another call. */
int duo_blas_install(int count);

/* Undoes all that. Calls that are here go on. What was counted stays. */
void duo_blas_uninstall(void);

/* The path of object i of those that lead here, as the loader knows it. "": the program; NULL: i is
 * their number or more. It is valid until the next duo_blas_uninstall. */
const char *duo_blas_served(int i);

/* The calls of an operation so far. */
typedef struct duo_blas_calls {
    const char *operation;  /* "sgemm", ... */
    int64_t on_cpu, on_gpu; /* calls */
    int64_t nothing;        /* ... that had nothing to do */
    int64_t small;          /* ... that would not be faster on a GPU */
    double cpu_seconds, gpu_seconds;
    double moved_bytes; /* sent to a device and back */
} duo_blas_calls;

/* The calls of operation i. Returns 0 if there is no such operation. */
int duo_blas_counted(int i, duo_blas_calls *calls);

/* Writes what a summary would say, and a 0 behind it, as much as there is room. Returns its length
 * without the 0. */
size_t duo_blas_summary(char *to, size_t bytes);

#pragma GCC visibility pop

#endif
