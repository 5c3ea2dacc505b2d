/* blas_instance.c - another instance of the inner BLAS (openblas.h) */
#define _GNU_SOURCE
#include "bench/peers/openblas.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/blas_kernels.h"
#include "cpu/blas_library.h"
#include "cpu/private_library.h"

enum { HOW = RTLD_NOW | RTLD_LOCAL }; /* with duo_library_deep */

/* answers of OpenBLAS's openblas_get_parallel */
enum { OWN_THREADS = 1, OPENMP_THREADS = 2 };

/* Finds the functions that set an OpenBLAS's number of threads. */
static void describe_threads(duo_blas_instance *blas)
{
    int (*parallel)(void);
    if (!duo_blas_function(blas->handle, "openblas_get_parallel", &parallel)) return;
    if (parallel() == OWN_THREADS)
        (void)duo_blas_function(blas->handle, "openblas_set_num_threads", &blas->set_threads);
    else if (parallel() == OPENMP_THREADS &&
             duo_blas_function(blas->handle, "omp_set_num_threads", &blas->set_openmp_threads))
        (void)duo_blas_function(blas->handle, "omp_get_max_threads", &blas->openmp_threads);
}

static void describe(duo_blas_instance *blas)
{
    char *(*text)(void);
    blas->brand = "BLAS";
    if (duo_blas_function(blas->handle, "openblas_get_config", &text)) {
        blas->brand = "OpenBLAS";
        snprintf(blas->config, sizeof blas->config, "%.250s", text());
        blas->wide = strstr(blas->config, "USE64BITINT") != NULL;
        describe_threads(blas);
    } else if (duo_blas_function(blas->handle, "MKL_Set_Num_Threads", &blas->set_threads)) {
        blas->brand = "MKL";
    }
    if (duo_blas_function(blas->handle, "openblas_get_corename", &text))
        snprintf(blas->core, sizeof blas->core, "%.60s", text());
}

bool duo_blas_instance_open(duo_blas_instance *blas, const char *path, const char **why)
{
    *blas = (duo_blas_instance){.handle = dlopen(path, HOW | duo_library_deep())};
    if (blas->handle == NULL) *why = dlerror();
    if (blas->handle != NULL) describe(blas);
    return blas->handle != NULL;
}

/*
 * Opens a copy of OpenBLAS. The copy chooses its kernels when it is opened: it is told to choose
 * the kernels of our instance. Its idle threads spin for 2^28 clock cycles, 0.13 s at 2.1 GHz, and
 * would take processors from the next benchmark. So they sleep after 2^25, 16 ms, unless the user
 * has set it.
 */
static bool open_copy(duo_blas_instance *blas, const duo_blas_library *inner)
{
    char variable[96], why[256];
    snprintf(variable, sizeof variable, "OPENBLAS_CORETYPE=%s", inner->core);
    const char *const timeout =
        secure_getenv("OPENBLAS_THREAD_TIMEOUT") == NULL ? "OPENBLAS_THREAD_TIMEOUT=25" : NULL;
    const char *variables[3] = {timeout}; /* the first NULL ends it */
    if (inner->core[0] != '\0') variables[timeout != NULL] = variable;
    blas->handle =
        duo_private_library_open(inner->path, HOW | duo_library_deep(), variables, why, sizeof why);
    if (blas->handle != NULL) describe(blas);
    return blas->handle != NULL;
}

/* Opens a second instance. MKL is not copied: its many files find each other by their folder. A
 * setting holds our calls of MKL to one thread, and precedes the settings made here. */
static bool open_second(duo_blas_instance *blas, const duo_blas_library *inner)
{
    const char *why;
    return inner->threads == DUO_BLAS_MKL ? duo_blas_instance_open(blas, inner->path, &why)
                                          : open_copy(blas, inner);
}

duo_blas_instance *duo_blas_instance_get(void)
{
    static duo_blas_instance blas;
    static bool looked, there;
    const duo_blas_library *const inner = looked ? NULL : duo_blas_library_get();
    if (inner != NULL) there = open_second(&blas, inner);
    looked = true;
    return there ? &blas : NULL;
}

int duo_blas_instance_begin(duo_blas_instance *blas, int threads)
{
    const int before = blas->openmp_threads != NULL ? blas->openmp_threads() : threads;
    if (before != threads) blas->set_openmp_threads(threads);
    if (blas->set_threads != NULL && blas->threads != threads) blas->set_threads(threads);
    blas->threads = threads;
    return before;
}

void duo_blas_instance_end(const duo_blas_instance *blas, int before)
{
    if (before != blas->threads) blas->set_openmp_threads(before);
}
