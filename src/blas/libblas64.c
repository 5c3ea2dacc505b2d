/*
 * libblas64.c - is this a program of libblas64.so.3, which has the names of libblas.so.3 with 64-bit
 * integers? Preloaded, we would be called in its place: all is handed on to it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "blas.h"

static duo_libblas64 library;
static const duo_libblas64 *found;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static int look_at(struct dl_phdr_info *object, size_t size, void *name)
{
    (void)size;
    const char *const slash = strrchr(object->dlpi_name, '/');
    const char *const base = slash != NULL ? slash + 1 : object->dlpi_name;
    if (strncmp(base, "libblas64.so", strlen("libblas64.so")) != 0) return 0;
    *(const char **)name = object->dlpi_name;
    return 1;
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
        {"cblas_sdot", offsetof(duo_libblas64, cblas_sdot)},
        {"cblas_sasum", offsetof(duo_libblas64, cblas_sasum)},
        {"cblas_ssum", offsetof(duo_libblas64, cblas_ssum)},
    };
    const char *name = NULL;
    if (dl_iterate_phdr(look_at, &name) == 0) return;
    void *const handle = dlopen(name, RTLD_LAZY | RTLD_NOLOAD | RTLD_LOCAL);
    if (handle == NULL) return;
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        void *const address = dlsym(handle, functions[i].name);
        memcpy((char *)&library + functions[i].place, &address, sizeof address);
    }
    fprintf(stderr, "DuoBLAS: %s has 64-bit integers under the same names: it serves itself\n",
            name);
    found = &library;
}

const duo_libblas64 *duo_blas_libblas64(void)
{
    pthread_once(&once, look);
    return found;
}
