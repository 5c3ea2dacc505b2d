/* blas_library.c - finds and opens the inner BLAS (blas_library.h). */
#define _GNU_SOURCE
#include "cpu/blas_library.h"

#include <dlfcn.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/blas_kernels.h"
#include "cpu/blas_room.h"
#include "cpu/kernels.h"
#include "cpu/private_library.h"
#include "host/environment.h"
#include "host/lock.h"
#include "host/stack.h"

enum { HOW = RTLD_NOW | RTLD_LOCAL }; /* with duo_library_deep */

/* More than the 216 bytes that libgomp keeps for a thread that sets its number of threads. */
enum { OPENMP_KEEPS = 512 };

static duo_blas_library in_use;
static char why[256];      /* why there is none */
static atomic_bool found;  /* is in_use an open library that was not given up? */
static atomic_bool looked; /* was a library looked for? */

/* ---- Facts of a library ---- */

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

/* Asks an OpenBLAS for its build and its kernels. */
static void ask(duo_blas_library *l)
{
    char *(*text)(void);
    if (duo_blas_function(l->handle, "openblas_get_config", &text))
        snprintf(l->config, sizeof l->config, "%.250s", text());
    if (duo_blas_function(l->handle, "openblas_get_corename", &text))
        snprintf(l->core, sizeof l->core, "%.60s", text());
    l->any_tile = duo_kernels_suit_any_tile(l->core);
}

/* Finds the omp_ functions that the library itself calls: its own dependencies' if it is bound
 * deeply, else the program's. */
static bool find_openmp(duo_blas_library *l)
{
    void *const scope = duo_library_deep() != 0 ? l->handle : RTLD_DEFAULT;
    return (duo_blas_function(scope, "omp_get_max_threads", &l->get_threads) ||
            duo_blas_function(l->handle, "omp_get_max_threads", &l->get_threads)) &&
           (duo_blas_function(scope, "omp_set_num_threads", &l->set_threads) ||
            duo_blas_function(l->handle, "omp_set_num_threads", &l->set_threads));
}

/*
 * Holds an OpenBLAS to one thread, if this instance is only ours. In an instance shared with the
 * program, the number of threads belongs to the program: a build with OpenMP would free buffers of
 * the program's calls if our calls came with another number.
 */
static void hold_openblas(duo_blas_library *l, bool ours)
{
    enum { NONE, PTHREADS, OPENMP }; /* values of openblas_get_parallel */
    int (*parallel)(void);
    void (*set)(int);
    int (*end_threads)(void);
    const int kind =
        duo_blas_function(l->handle, "openblas_get_parallel", &parallel) ? parallel() : PTHREADS;
    l->threads = DUO_BLAS_ITS_OWN;
    if (kind == NONE) l->threads = DUO_BLAS_SERIAL;
    if (!ours || !duo_blas_function(l->handle, "openblas_set_num_threads", &set)) return;
    if (kind == OPENMP && find_openmp(l)) l->threads = DUO_BLAS_OPENMP;
    if (l->threads == DUO_BLAS_OPENMP) {
        /* If a call finds that OpenBLAS's number of threads differs from OpenMP's, it sets the
         * number, and frees buffers that other calls use. So the number is 1 before the first
         * call. */
        int before = 1;
        if (!duo_blas_enter(l, &before)) return;
        set(1);
        duo_blas_leave(l, before);
    }
    if (kind == PTHREADS) {
        set(1);
        if (duo_blas_function(l->handle, "blas_thread_shutdown_", &end_threads))
            (void)end_threads();
        l->threads = DUO_BLAS_SERIAL;
    }
}

/* Holds a library to one thread, if there is a way. */
static void hold(duo_blas_library *l, bool ours)
{
    if (l->config[0] != '\0')
        hold_openblas(l, ours);
    else if (duo_blas_function(l->handle, "MKL_Set_Num_Threads_Local", &l->swap_threads))
        l->threads = DUO_BLAS_MKL;
    else
        l->threads = DUO_BLAS_ITS_OWN;
}

/* ---- Opening ---- */

static void close_library(duo_blas_library *l)
{
    if (l->ours)
        duo_private_library_close(l->handle);
    else
        (void)dlclose(l->handle);
}

/* Fills in *l for an open library. False: it is not suitable; the handle is closed. */
static bool use(void *handle, const char *path, bool ours, int seats, duo_blas_library *l,
                char *problem, size_t size)
{
    *l = (duo_blas_library){.handle = handle, .ours = ours, .seats = DUO_BLAS_ANY};
    if (is_drop_in(handle) || !duo_blas_function(handle, "sgemm_", &l->sgemm)) {
        snprintf(problem, size, "%.200s has no sgemm_ of its own", path);
        close_library(l);
        return false;
    }
    if (seats != DUO_BLAS_ANY) {
        l->seats = duo_blas_room_take(handle, seats);
        if (l->seats == 0) {
            snprintf(problem, size, "%.200s got none of its buffers", path);
            close_library(l);
            return false;
        }
    }
    snprintf(l->path, sizeof l->path, "%.500s", path);
    ask(l);
    name(l);
    hold(l, ours);
    return true;
}

static bool open_shared(const char *name, duo_blas_library *l, char *problem, size_t size)
{
    void *const handle = dlopen(name, HOW | duo_library_deep());
    if (handle == NULL) {
        snprintf(problem, size, "%.250s", dlerror());
        return false;
    }
    void *sgemm = NULL;
    Dl_info info;
    if (duo_blas_function(handle, "sgemm_", &sgemm) && is_ourselves(sgemm)) {
        snprintf(problem, size, "%.200s leads back to DuoBLAS", name);
        (void)dlclose(handle);
        return false;
    }
    const bool known = sgemm != NULL && dladdr(sgemm, &info) != 0 && info.dli_fname != NULL;
    char path[512];
    snprintf(path, sizeof path, "%.500s", known ? info.dli_fname : name);
    return use(handle, path, false, DUO_BLAS_ANY, l, problem, size);
}

/*
 * Opens an OpenBLAS as an instance of our own; core as in duo_blas_library_open. It starts with one
 * thread: a build with threads of its own ends the process by a signal if it gets no thread. A
 * build with OpenMP takes a buffer for each processor, unless OMP_NUM_THREADS says less.
 */
static bool open_private(const char *path, const char *core, int seats, duo_blas_library *l,
                         char *problem, size_t size)
{
    char variable[64];
    snprintf(variable, sizeof variable, "OPENBLAS_CORETYPE=%.40s", core != NULL ? core : "");
    const char *variables[4] = {"OPENBLAS_NUM_THREADS=1"};
    int count = 1;
    if (seats != DUO_BLAS_ANY) variables[count++] = "OMP_NUM_THREADS=1";
    if (core != NULL) variables[count++] = variable;
    if (seats != DUO_BLAS_ANY) duo_blas_room_open();
    void *const handle =
        duo_private_library_open(path, HOW | duo_library_deep(), variables, problem, size);
    return handle != NULL && use(handle, path, true, seats, l, problem, size);
}

static bool is_openblas(const char *path)
{
    return duo_library_mentions(path, "openblas_get_config");
}

/* True also for a library that only depends on one. */
static bool may_be_openblas(const char *path) { return duo_library_mentions(path, "openblas"); }

static bool open_with_room(const char *name, const char *core, int seats, duo_blas_library *l,
                           char *problem, size_t size)
{
    char path[512];
    if (!duo_library_may_be(name)) {
        snprintf(problem, size, "%.200s is no file that could be a library", name);
        return false;
    }
    const bool file = duo_library_file(name, path, sizeof path);
    if (seats != 0 && file && is_openblas(path) &&
        open_private(path, core, seats, l, problem, size))
        return true;
    if (seats != DUO_BLAS_ANY && (!file || may_be_openblas(path))) {
        snprintf(problem, size, "the process may not have the memory that OpenBLAS would take");
        return false;
    }
    if (!open_shared(name, l, problem, size)) return false;
    /* libblas.so.3 may be a library that calls OpenBLAS. Also, the loader finds files that
     * duo_library_file does not. */
    duo_blas_library behind;
    void *config;
    Dl_info info;
    if (!duo_blas_function(l->handle, "openblas_get_config", &config) ||
        dladdr(config, &info) == 0 || info.dli_fname == NULL)
        return true;
    if (!open_private(info.dli_fname, core, seats, &behind, problem, size)) return true;
    close_library(l);
    *l = behind;
    return true;
}

bool duo_blas_library_open(const char *name, const char *core, duo_blas_library *l, char *problem,
                           size_t size)
{
    const bool good = open_with_room(name, core, duo_blas_room(), l, problem, size);
    duo_blas_room_end();
    return good;
}

/* ---- The right kernels ---- */

/* Are the library's kernels sound on this CPU? Checks a product of small integers, exact in
 * float32. */
static bool multiplies(const duo_blas_library *l)
{
    enum { M = 37, N = 29, K = 61 };
    static float a[M * K], b[K * N], c[M * N];
    const int64_t m = M, n = N, k = K;
    const float one = 1.0f, zero = 0.0f;
    for (int i = 0; i < M * K; i++) a[i] = (float)(i * 7 % 19 - 9);
    for (int i = 0; i < K * N; i++) b[i] = (float)(i * 5 % 23 - 11);
    for (int i = 0; i < M * N; i++) c[i] = (float)NAN;
    int before = 1;
    if (!duo_blas_enter(l, &before)) return false;
    l->sgemm("N", "N", &m, &n, &k, &one, a, &m, b, &k, &zero, c, &m, 1, 1);
    duo_blas_leave(l, before);
    for (int j = 0; j < N; j++)
        for (int i = 0; i < M; i++) {
            float sum = 0.0f;
            for (int p = 0; p < K; p++) sum += a[i + p * M] * b[p + j * K];
            if (!(c[i + j * M] == sum)) return false;
        }
    return true;
}

void duo_blas_library_widen(duo_blas_library *l)
{
    const duo_width cpu = duo_width_of_cpu();
    const char *const better = duo_better_kernels(l->core, cpu);
    if (better == NULL) return;
    char problem[256];
    duo_blas_library wide;
    const char *const narrow = duo_width_name(duo_width_of_kernels(l->core));
    const bool chosen = secure_getenv("OPENBLAS_CORETYPE") != NULL;
    if (!chosen && l->seats == DUO_BLAS_ANY && /* else there is no room for two */
        open_private(l->path, better, l->seats, &wide, problem, sizeof problem)) {
        if (duo_width_of_kernels(wide.core) >= cpu && multiplies(&wide)) {
            char own[64];
            snprintf(own, sizeof own, "%s", l->core);
            close_library(l);
            *l = wide;
            snprintf(
                l->note, sizeof l->note,
                "it would have taken its %s kernels (%s) on this CPU, which has %s: it was told to "
                "take %s",
                narrow, own, duo_width_name(cpu), l->core);
            return;
        }
        close_library(&wide);
    }
    snprintf(l->note, sizeof l->note,
             "WARNING: these are %s kernels, and this CPU has %s: sgemm may run at a half to a "
             "seventh of "
             "its speed%s",
             narrow, duo_width_name(cpu), chosen ? " (OPENBLAS_CORETYPE is set)" : "");
}

/* ---- The one in use ---- */

static bool try_open(const char *name)
{
    if (!duo_blas_library_open(name, NULL, &in_use, why, sizeof why)) return false;
    duo_blas_library_widen(&in_use);
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
        "libscipy_openblas.so", /* PyPI's scipy-openblas32, beside the Python package */
        "libblas.so.3",
    };
    char refused[sizeof in_use.note] = "";
    if (duo_program_is_static()) {
        snprintf(why, sizeof why, "the program is linked statically: libraries crash in it");
        return;
    }
    const char *const asked = duo_environment_get()->cpu_blas;
    if (asked != NULL) {
        if (try_open(asked)) return;
        snprintf(refused, sizeof refused, "WARNING: DUOBLAS_CPU_BLAS is ignored: %.200s", why);
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (!try_open(names[i])) continue;
        if (refused[0] != '\0') memcpy(in_use.note, refused, sizeof refused);
        return;
    }
}

static void look_once(void *unused)
{
    (void)unused;
    duo_lock(DUO_LOCK_LOADER);
    if (!atomic_load_explicit(&looked, memory_order_relaxed)) try_all();
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

bool duo_blas_library_is(const char *measured)
{
    return !duo_blas_library_looked() || strcmp(measured, duo_blas_library_name()) == 0;
}

const char *duo_blas_library_warning(void)
{
    static const char mark[] = "WARNING";
    const duo_blas_library *const library = duo_blas_library_seen();
    const bool warns = library != NULL && strncmp(library->note, mark, sizeof mark - 1) == 0;
    return warns ? library->note : NULL;
}

bool duo_blas_one_thread(const duo_blas_library *library)
{
    static __thread bool set_before;
    if (!set_before) {
        void *volatile memory = malloc(OPENMP_KEEPS);
        free(memory);
        if (memory == NULL) return false;
        set_before = true;
    }
    library->set_threads(1);
    return true;
}

void duo_blas_library_abandon(const char *reason)
{
    if (atomic_exchange(&found, false)) snprintf(why, sizeof why, "%s", reason);
}

/* A handle of the library that contains an address; the caller closes it. NULL: not known. */
static void *library_of(const void *address)
{
    Dl_info info;
    if (dladdr(address, &info) == 0 || info.dli_fname == NULL) return NULL;
    return dlopen(info.dli_fname, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
}

bool duo_blas_library_yields_to(duo_fortran_sgemm other)
{
    void *address;
    memcpy(&address, &other, sizeof address);
    if (is_ourselves(address)) return false;
    void *const handle = library_of(address);
    if (handle == NULL) return false;
    const bool mkl = dlsym(handle, "MKL_Set_Num_Threads_Local") != NULL;
    (void)dlclose(handle);
    return mkl || duo_ffma_is_slow();
}
