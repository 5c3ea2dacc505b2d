/*
 * install.h - the drop-in in a process that runs already, for packages of other languages: they
 * open libduoblas-blas.so, and call these functions. Any thread may.
 */
#ifndef DUO_BLAS_INSTALL_H
#define DUO_BLAS_INSTALL_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(default)

/* From now on the BLAS calls of all loaded objects that have a name of ours come here. count: calls
 * are counted, which takes half a microsecond each. Returns the number of objects that now lead
 * here; negative: there is not enough memory, and none leads here that did not before.
 *
 * It does not reach functions that are linked into their callers, that are found by dlsym, or whose
 * addresses the program has copied; nor objects that are loaded later, until the next call. */
int duo_blas_install(int count);

/* Undoes all that. Calls that are here go on. What was counted stays. */
void duo_blas_uninstall(void);

/* The path of object i that leads here, as the loader knows it; "" is the program, NULL: there are
 * not so many. It is valid until the next duo_blas_uninstall. */
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

/* Of operation i; 0: there are not so many. */
int duo_blas_counted(int i, duo_blas_calls *calls);

/* Writes what a summary would say, and a 0 behind it, as much as there is room. Returns its length
 * without the 0. */
size_t duo_blas_summary(char *to, size_t bytes);

#pragma GCC visibility pop

#endif
