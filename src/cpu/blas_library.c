/* blas_library.c - finds and opens the inner BLAS (blas_library.h). */
#define _GNU_SOURCE
#include "cpu/blas_library.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "host/elf.h"
#include "host/environment.h"
#include "host/fork.h"
#include "host/lock.h"
#include "host/machine.h"
#include "host/stack.h"

static duo_blas_library in_use;
static char why[256];      /* why there is none */
static atomic_bool found;  /* is in_use an open library that was not given up? */
static atomic_bool looked; /* was a library looked for? */

/* ---- Facts of a library ---- */

bool duo_blas_function(void *library, const char *name, void *function)
{
    static const char *const forms[] = {"%s", "scipy_%s", "scipy_%s64_"};
    void *address = NULL;
    for (size_t i = 0; i < sizeof forms / sizeof forms[0] && address == NULL; i++) {
        char formed[64];
        snprintf(formed, sizeof formed, forms[i], name);
        address = dlsym(library, formed);
    }
    /* dlsym returns pointers to data, which by POSIX can hold pointers to functions. */
    memcpy(function, &address, sizeof address);
    return address != NULL;
}

static bool is_ourselves(const void *address)
{
    Dl_info theirs, ours;
    return dladdr(address, &theirs) != 0 && dladdr((const void *)&in_use, &ours) != 0 &&
           theirs.dli_fbase == ours.dli_fbase;
}

/* Is this the drop-in, under any name? It depends on this library, or on another copy of it. */
static bool is_drop_in(void *handle) { return dlsym(handle, "duo_version") != NULL; }

/* Sets the name, which tells libraries of different speed apart: an OpenBLAS by version and
 * kernels, any other by its file. */
static void name(duo_blas_library *l)
{
    static const char openblas[] = "OpenBLAS ";
    const size_t length = sizeof openblas - 1;
    const char *const slash = strrchr(l->path, '/'), *const version = l->config + length;
    if (l->config[0] == '\0')
        snprintf(l->name, sizeof l->name, "%.70s", slash != NULL ? slash + 1 : l->path);
    else if (strncmp(l->config, openblas, length) == 0)
        snprintf(l->name, sizeof l->name, "%s%.*s %.40s", openblas,
                 (int)(strcspn(version, " ") < 20 ? strcspn(version, " ") : 20), version, l->core);
    else
        snprintf(l->name, sizeof l->name, "%s%.40s", openblas, l->core);
}

/* Finds the functions that tell the number of threads. The OpenMP that an OpenBLAS calls is its own
 * dependencies' if it is bound deeply, else the program's. */
static void find_threads(duo_blas_library *l)
{
    enum { OPENMP = 2 }; /* a value of openblas_get_parallel */
    int (*parallel)(void);
    void *const scope = duo_blas_library_deep() != 0 ? l->handle : RTLD_DEFAULT;
    if (!duo_blas_function(l->handle, "openblas_get_num_threads", &l->get_threads))
        (void)duo_blas_function(l->handle, "MKL_Get_Max_Threads", &l->get_threads);
    if (duo_blas_function(l->handle, "openblas_get_parallel", &parallel) && parallel() == OPENMP &&
        !duo_blas_function(scope, "omp_get_max_threads", &l->openmp_threads))
        (void)duo_blas_function(l->handle, "omp_get_max_threads", &l->openmp_threads);
}

/* Asks an open library for its build, its kernels and its threads. */
static void describe(duo_blas_library *l)
{
    char *(*text)(void);
    if (duo_blas_function(l->handle, "openblas_get_config", &text))
        snprintf(l->config, sizeof l->config, "%.250s", text());
    if (duo_blas_function(l->handle, "openblas_get_corename", &text))
        snprintf(l->core, sizeof l->core, "%.60s", text());
    find_threads(l);
    name(l);
}

int duo_blas_library_threads(const duo_blas_library *l)
{
    const int own = l->get_threads != NULL ? l->get_threads() : 1;
    if (l->openmp_threads == NULL) return own;
    /* An OpenBLAS that finds another number of OpenMP takes it over, and frees buffers that other
     * calls may use. It does not if that number is 1. */
    const int openmp = l->openmp_threads();
    return openmp == 1 || openmp == own ? openmp : INT_MAX;
}

/*
 * Sizes have to fit into 32 bits. Leading dimensions have to be smaller: kernels gather from up to
 * 16 columns with 32-bit indices, and OpenBLAS 0.3.21 crashes with larger ones, in its AVX-512
 * kernels.
 */
bool duo_blas_library_takes(const duo_call *call)
{
    bool takes = call->m <= INT_MAX && call->n <= INT_MAX && call->k <= INT_MAX;
    for (int i = 0; i < DUO_OPERANDS; i++) takes = takes && call->operand[i].ld <= INT_MAX / 16;
    return takes;
}

/* ---- Opening ---- */

int duo_blas_library_deep(void)
{
    Dl_info memory, system;
    void *const allocate = dlsym(RTLD_DEFAULT, "malloc");
    void *const version = dlsym(RTLD_DEFAULT, "gnu_get_libc_version");
    const bool same = allocate != NULL && version != NULL && dladdr(allocate, &memory) != 0 &&
                      dladdr(version, &system) != 0 && memory.dli_fbase == system.dli_fbase;
    return same ? RTLD_DEEPBIND : 0;
}

/* The program itself is the first object. */
static int has_linker(struct dl_phdr_info *object, size_t size, void *is_dynamic)
{
    (void)size;
    *(bool *)is_dynamic = duo_elf_is_dynamic(object->dlpi_phdr, object->dlpi_phnum);
    return 1; /* look at no other object */
}

static bool program_is_static(void)
{
    bool is_dynamic = false;
    (void)dl_iterate_phdr(has_linker, &is_dynamic);
    return !is_dynamic;
}

/* Is there room for the library and for the buffers of its threads and the program's, and may there
 * be many threads? */
static bool has_room(void)
{
    enum { THREADS = 64 }; /* of the program, and of other programs of the user */
    const size_t library = (size_t)80 << 20, buffer = (size_t)129 << 20;
    const size_t bytes = library + (size_t)(THREADS + duo_machine_threads()) * buffer;
    struct rlimit limit;
    void *const there = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (there == MAP_FAILED) return false;
    (void)munmap(there, bytes);
    return getrlimit(RLIMIT_NPROC, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
           limit.rlim_cur >= (rlim_t)(THREADS + duo_machine_threads());
}

/* Opening a FIFO takes for ever. */
static bool may_be_library(const char *name)
{
    struct stat status;
    return strchr(name, '/') == NULL || stat(name, &status) != 0 || S_ISREG(status.st_mode);
}

/* Opens the library by name. False, and why: it is not suitable. */
static bool open_library(const char *name, duo_blas_library *l)
{
    *l = (duo_blas_library){.sgemm = NULL};
    if (!may_be_library(name)) {
        snprintf(why, sizeof why, "%.200s is no file that could be a library", name);
        return false;
    }
    l->handle = dlopen(name, RTLD_NOW | RTLD_LOCAL | duo_blas_library_deep());
    if (l->handle == NULL) {
        snprintf(why, sizeof why, "%.250s", dlerror());
        return false;
    }
    Dl_info info;
    void *sgemm = NULL;
    if (is_drop_in(l->handle) || !duo_blas_function(l->handle, "sgemm_", &sgemm) ||
        is_ourselves(sgemm)) {
        snprintf(why, sizeof why, "%.200s has no sgemm_ of its own", name);
        (void)dlclose(l->handle);
        return false;
    }
    memcpy(&l->sgemm, &sgemm, sizeof sgemm);
    const bool known = dladdr(sgemm, &info) != 0 && info.dli_fname != NULL;
    snprintf(l->path, sizeof l->path, "%.500s", known ? info.dli_fname : name);
    describe(l);
    return true;
}

/* ---- The one in use ---- */

static void look_for_it(void)
{
    static const char *const names[] = {"libopenblas.so.0", "libopenblasp.so.0",
                                        "libscipy_openblas.so", "libblas.so.3"};
    const char *const asked = duo_environment_get()->cpu_blas;
    bool open = false;
    if (program_is_static())
        snprintf(why, sizeof why, "the program is linked statically: libraries crash in it");
    else if (!has_room())
        snprintf(why, sizeof why, "the process may not have the memory or threads of a BLAS");
    else if (asked != NULL)
        open = open_library(asked, &in_use);
    else
        for (size_t i = 0; i < sizeof names / sizeof names[0] && !open; i++)
            open = open_library(names[i], &in_use);
    if (open) why[0] = '\0';
    atomic_store_explicit(&found, open, memory_order_relaxed);
}

static void look_once(void *unused)
{
    (void)unused;
    (void)duo_machine_threads(); /* before the lock, because a fork waits for that */
    duo_lock(DUO_LOCK_LOADER);
    if (!atomic_load_explicit(&looked, memory_order_relaxed)) look_for_it();
    atomic_store_explicit(&looked, true, memory_order_release);
    duo_unlock(DUO_LOCK_LOADER);
}

bool duo_blas_library_asked(void) { return duo_environment_get()->cpu_blas != NULL; }

bool duo_blas_library_looked(void) { return atomic_load_explicit(&looked, memory_order_acquire); }

static void look(void)
{
    if (!duo_blas_library_looked()) duo_stack_run(look_once, NULL);
}

const duo_blas_library *duo_blas_library_seen(void)
{
    return duo_blas_library_looked() ? duo_blas_library_get() : NULL;
}

const duo_blas_library *duo_blas_library_get(void)
{
    look();
    return atomic_load_explicit(&found, memory_order_relaxed) ? &in_use : NULL;
}

const char *duo_blas_library_why(void)
{
    look();
    return why;
}

const char *duo_blas_library_name(void)
{
    const duo_blas_library *const library = duo_blas_library_get();
    return library != NULL ? library->name : "none";
}

/* Not strcmp: the ThreadSanitizer of a program sees its reads, but not our order of two threads. */
static bool same(const char *a, const char *b)
{
    while (*a != '\0' && *a == *b) a++, b++;
    return *a == *b;
}

bool duo_blas_library_is(const char *measured)
{
    if (same(measured, "none")) return false;
    return !duo_blas_library_looked() || same(measured, duo_blas_library_name());
}

const char *duo_blas_library_warning(void)
{
    static char warning[sizeof why + 64];
    if (!duo_blas_library_asked() || !duo_blas_library_looked() || duo_blas_library_get() != NULL)
        return NULL;
    snprintf(warning, sizeof warning, "WARNING: DUOBLAS_CPU_BLAS is ignored: %s", why);
    return warning;
}

void duo_blas_library_abandon(const char *reason)
{
    if (atomic_exchange(&found, false)) snprintf(why, sizeof why, "%s", reason);
}

/* Threads that are not in the child may have held locks of the library, or done part of its
 * work. */
static void in_child(void) { duo_blas_library_abandon("this is a child process"); }

static __attribute__((constructor)) void watch_forks(void)
{
    static duo_fork_handler handler = {.run = in_child};
    duo_fork_in_child(&handler);
}

/* ---- The program's ---- */

enum { MOST = 8 };
static duo_blas_library programs[MOST]; /* the first `known` do not change any more */
static atomic_int known;

static const duo_blas_library *known_with(duo_fortran_sgemm sgemm)
{
    const int count = atomic_load_explicit(&known, memory_order_acquire);
    for (int i = 0; i < count; i++)
        if (programs[i].sgemm == sgemm) return &programs[i];
    return NULL;
}

/* The library stays open, because it may be called. */
static void add_program(void *function)
{
    Dl_info info;
    void *address;
    duo_blas_library l = {.sgemm = *(duo_fortran_sgemm *)function};
    memcpy(&address, function, sizeof address);
    if (is_ourselves(address) || dladdr(address, &info) == 0 || info.dli_fname == NULL) return;
    l.handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
    if (l.handle == NULL) return;
    snprintf(l.path, sizeof l.path, "%.500s", info.dli_fname);
    describe(&l);
    duo_lock(DUO_LOCK_LOADER);
    const int count = atomic_load_explicit(&known, memory_order_relaxed);
    if (count < MOST && known_with(l.sgemm) == NULL) {
        programs[count] = l;
        atomic_store_explicit(&known, count + 1, memory_order_release);
    }
    duo_unlock(DUO_LOCK_LOADER);
}

const duo_blas_library *duo_blas_library_of(duo_fortran_sgemm sgemm)
{
    if (sgemm == NULL) return NULL;
    if (known_with(sgemm) == NULL) duo_stack_run(add_program, &sgemm);
    return known_with(sgemm);
}
