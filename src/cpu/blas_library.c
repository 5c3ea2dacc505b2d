/* blas_library.c - finds and opens the CPU BLAS. */
#define _GNU_SOURCE
#include "blas_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "../environment.h"

/* The sanitizers cannot live with RTLD_DEEPBIND; everybody else is safer with it. */
#ifdef DUO_NO_DEEPBIND
enum { HOW = RTLD_NOW | RTLD_LOCAL };
#else
enum { HOW = RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND };
#endif

static duo_blas_library library;
static char why[256];
static bool found;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* dlsym gives data pointers; POSIX promises that they hold functions. */
static void *symbol(void *handle, const char *name) { return dlsym(handle, name); }

static bool is_ourselves(const void *address)
{
    Dl_info theirs, ours;
    return dladdr(address, &theirs) != 0 && dladdr((const void *)&once, &ours) != 0 &&
           theirs.dli_fbase == ours.dli_fbase;
}

static bool try_open(const char *name)
{
    void *const handle = dlopen(name, HOW);
    if (handle == NULL) {
        snprintf(why, sizeof why, "%.250s", dlerror());
        return false;
    }
    void *const sgemm = symbol(handle, "sgemm_");
    if (sgemm == NULL || is_ourselves(sgemm)) {
        snprintf(why, sizeof why, "%.200s has no sgemm_ of its own", name);
        dlclose(handle);
        return false;
    }
    library.handle = handle;
    memcpy(&library.sgemm, &sgemm, sizeof sgemm);
    Dl_info info;
    const bool known = dladdr(sgemm, &info) != 0 && info.dli_fname != NULL;
    snprintf(library.path, sizeof library.path, "%.500s", known ? info.dli_fname : name);

    void *address;
    char *(*text)(void);
    int (*number)(void);
    if ((address = symbol(handle, "openblas_get_config")) != NULL) {
        memcpy(&text, &address, sizeof address);
        snprintf(library.config, sizeof library.config, "%.250s", text());
    }
    if ((address = symbol(handle, "openblas_get_corename")) != NULL) {
        memcpy(&text, &address, sizeof address);
        snprintf(library.core, sizeof library.core, "%.60s", text());
    }
    /* openblas_get_parallel: 0 one thread, 1 threads of its own, 2 OpenMP */
    if ((address = symbol(handle, "openblas_get_parallel")) != NULL) {
        memcpy(&number, &address, sizeof address);
        const int parallel = number();
        library.follows_openmp = parallel == 2;
        if (parallel == 1 && (address = symbol(handle, "openblas_set_num_threads")) != NULL)
            memcpy(&library.set_threads, &address, sizeof address);
    }
    why[0] = '\0';
    return found = true;
}

static void look(void)
{
    static const char *const names[] = {
        "/usr/lib/x86_64-linux-gnu/openblas-openmp/libopenblas.so.0",
        "/usr/lib/aarch64-linux-gnu/openblas-openmp/libopenblas.so.0",
        "libopenblas.so.0",
        "libopenblasp.so.0",
        "libblas.so.3",
    };
    const char *const asked = duo_environment_get()->cpu_blas;
    if (asked != NULL && try_open(asked)) return;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (try_open(names[i])) return;
}

const duo_blas_library *duo_blas_library_get(void)
{
    pthread_once(&once, look);
    return found ? &library : NULL;
}

const char *duo_blas_library_why(void)
{
    pthread_once(&once, look);
    return why;
}
