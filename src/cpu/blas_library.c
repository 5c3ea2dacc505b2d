/* blas_library.c - finds and opens the CPU BLAS. */
#define _GNU_SOURCE
#include "blas_library.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "../environment.h"
#include "../lock.h"

/* The sanitizers cannot live with RTLD_DEEPBIND; everybody else is safer with it. */
#ifdef DUO_NO_DEEPBIND
enum { HOW = RTLD_NOW | RTLD_LOCAL };
#else
enum { HOW = RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND };
#endif

static duo_blas_library library;
static char why[256];
static atomic_bool found;
static atomic_bool looked;

/* dlsym gives data pointers; POSIX promises that they hold functions. */
static void *symbol(void *handle, const char *name) { return dlsym(handle, name); }

static bool is_ourselves(const void *address)
{
    Dl_info theirs, ours;
    return dladdr(address, &theirs) != 0 && dladdr((const void *)&library, &ours) != 0 &&
           theirs.dli_fbase == ours.dli_fbase;
}

/* The drop-in, by whatever name: it stands on this library, or on another copy of it. */
static bool is_drop_in(void *handle) { return symbol(handle, "duo_version") != NULL; }

static bool try_open(const char *name)
{
    void *const handle = dlopen(name, HOW);
    if (handle == NULL) {
        snprintf(why, sizeof why, "%.250s", dlerror());
        return false;
    }
    void *const sgemm = symbol(handle, "sgemm_");
    if (sgemm == NULL || is_ourselves(sgemm) || is_drop_in(handle)) {
        snprintf(why, sizeof why, "%.200s has no sgemm_ of its own", name);
        dlclose(handle);
        return false;
    }
    library.handle = handle;
    memcpy(&library.sgemm, &sgemm, sizeof sgemm);
    void *dgemm = symbol(handle, "dgemm_");
    if (dgemm != NULL && is_ourselves(dgemm)) dgemm = NULL;
    memcpy(&library.dgemm, &dgemm, sizeof dgemm);
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
    found = true;
    return true;
}

static void try_all(void)
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

static void look(void)
{
    if (atomic_load_explicit(&looked, memory_order_acquire)) return;
    duo_lock(DUO_LOCK_BLAS);
    if (!atomic_load_explicit(&looked, memory_order_relaxed)) try_all();
    atomic_store_explicit(&looked, true, memory_order_release);
    duo_unlock(DUO_LOCK_BLAS);
}

const duo_blas_library *duo_blas_library_get(void)
{
    look();
    return found ? &library : NULL;
}

const char *duo_blas_library_why(void)
{
    look();
    return why;
}

void duo_blas_library_abandon(const char *reason)
{
    if (atomic_exchange(&found, false)) snprintf(why, sizeof why, "%s", reason);
}
