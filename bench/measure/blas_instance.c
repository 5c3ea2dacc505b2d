/* blas_instance.c - see blas_instance.h */
#define _GNU_SOURCE
#include "bench/measure/blas_instance.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/blas_library.h"

enum { HOW = RTLD_NOW | RTLD_LOCAL }; /* with duo_blas_library_deep */

static duo_blas_instance shared; /* with sgemm_cpu_openblas */

/* BLIS's function takes an integer of 64 bits. */
static void (*set_threads_of_blis)(int64_t threads);
static void set_blis_threads(int threads) { set_threads_of_blis(threads); }

enum { OPENMP = 2 }; /* an answer of OpenBLAS's openblas_get_parallel */

/* Finds the functions that set an OpenBLAS's number of threads. */
static void describe_threads(duo_blas_instance *blas)
{
    int (*parallel)(void);
    (void)duo_blas_function(blas->handle, "openblas_set_num_threads", &blas->set_threads);
    if (duo_blas_function(blas->handle, "openblas_get_parallel", &parallel) &&
        parallel() == OPENMP &&
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
    } else if (duo_blas_function(blas->handle, "bli_thread_set_num_threads",
                                 &set_threads_of_blis)) {
        blas->brand = "BLIS";
        blas->set_threads = set_blis_threads;
    }
    if (duo_blas_function(blas->handle, "openblas_get_corename", &text))
        snprintf(blas->core, sizeof blas->core, "%.60s", text());
}

bool duo_blas_instance_open(duo_blas_instance *blas, const char *path, const char **why)
{
    *blas = (duo_blas_instance){.handle = dlopen(path, HOW | duo_blas_library_deep())};
    if (blas->handle == NULL) *why = dlerror();
    if (blas->handle != NULL) describe(blas);
    return blas->handle != NULL;
}

duo_blas_instance *duo_blas_instance_get(void)
{
    const duo_blas_library *const library = shared.handle == NULL ? duo_blas_library_get() : NULL;
    if (library != NULL) {
        shared.handle = library->handle;
        shared.usual = library->get_threads != NULL ? library->get_threads() : 1;
        describe(&shared);
    }
    return shared.handle != NULL ? &shared : NULL;
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

void duo_blas_instance_restore(void)
{
    if (shared.threads == 0 || shared.threads == shared.usual) return;
    duo_blas_instance_end(&shared, duo_blas_instance_begin(&shared, shared.usual));
}

void duo_blas_instance_prepare(void) { (void)setenv("OPENBLAS_THREAD_TIMEOUT", "25", 0); }
