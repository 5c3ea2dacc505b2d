/*
 * libblas64.c - hands calls on to a BLAS with 64-bit integers.
 *
 * libblas64.so.3 and some others have the names of libblas.so.3, but with 64-bit integers. If a
 * program has one of these libraries, a preloaded drop-in is called in its place, and hands every
 * call on to it. There are two exceptions: a BLAS with 32-bit integers is loaded as well (then it
 * is unknown which of the two a caller means), or the drop-in is libblas.so.3 itself.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "blas/blas.h"

#ifndef DUO_BLAS_OF_THE_SYSTEM /* is this libblas.so.3? */
#define DUO_BLAS_OF_THE_SYSTEM 0
#endif

static duo_libblas64 library;
static const duo_libblas64 *found;
static pthread_once_t once = PTHREAD_ONCE_INIT;

typedef struct loaded {
    const char *wide; /* path of a loaded BLAS with 64-bit integers, or NULL */
    bool narrow;      /* is one with 32-bit integers loaded? */
} loaded;

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* These libraries are known by the file's name, and by plain function names: in other libraries
 * with 64-bit integers (NumPy's), functions have 64 in their names. */
static bool is_wide(const char *path, const char *base)
{
    static const char *const names[] = {"libblas64.so",   "libopenblas64",      "libblis64",
                                        "libflexiblas64", "libmkl_intel_ilp64", "libmkl_gf_ilp64"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (!begins(base, names[i])) continue;
        void *const handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD | RTLD_LOCAL);
        const bool plain = handle != NULL && dlsym(handle, "sgemm_") != NULL;
        if (handle != NULL) (void)dlclose(handle);
        return plain;
    }
    return false;
}

static int look_at(struct dl_phdr_info *object, size_t size, void *user)
{
    (void)size;
    loaded *const l = user;
    const char *const slash = strrchr(object->dlpi_name, '/');
    const char *const base = slash != NULL ? slash + 1 : object->dlpi_name;
    if (is_wide(object->dlpi_name, base)) l->wide = object->dlpi_name;
    l->narrow |= begins(base, "libblas.so") || begins(base, "libcblas.so") ||
                 (begins(base, "libopenblas") && !begins(base, "libopenblas64"));
    return 0;
}

static void look(void)
{
    static const struct {
        const char *name;
        size_t place;
    } functions[] = {
        {"sgemm_", offsetof(duo_libblas64, sgemm)},
        {"sdot_", offsetof(duo_libblas64, sdot)},
        {"sasum_", offsetof(duo_libblas64, sasum)},
        {"ssum_", offsetof(duo_libblas64, ssum)},
        {"cblas_sgemm", offsetof(duo_libblas64, cblas_sgemm)},
        {"cblas_sgemm_batch", offsetof(duo_libblas64, cblas_sgemm_batch)},
        {"cblas_sgemm_batch_strided", offsetof(duo_libblas64, cblas_sgemm_batch_strided)},
        {"cblas_sdot", offsetof(duo_libblas64, cblas_sdot)},
        {"cblas_sasum", offsetof(duo_libblas64, cblas_sasum)},
        {"cblas_ssum", offsetof(duo_libblas64, cblas_ssum)},
    };
    loaded l = {0};
    if (DUO_BLAS_OF_THE_SYSTEM) return;
    (void)dl_iterate_phdr(look_at, &l);
    if (l.wide == NULL || l.narrow) return;
    void *const handle = dlopen(l.wide, RTLD_LAZY | RTLD_NOLOAD | RTLD_LOCAL);
    if (handle == NULL) return;
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        void *const address = dlsym(handle, functions[i].name);
        memcpy((char *)&library + functions[i].place, &address, sizeof address);
    }
    fprintf(stderr, "DuoBLAS: %s has 64-bit integers under the same names: it serves itself\n",
            l.wide);
    found = &library;
}

const duo_libblas64 *duo_blas_libblas64(void)
{
    pthread_once(&once, look);
    return found;
}

bool duo_blas_hands_on(void) { return found != NULL; }
