/* openmp.c - OpenMP as the program has it (openmp.h). */
#define _GNU_SOURCE
#include "host/openmp.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

static const int64_t kLookAgainNs = 50000000; /* the program may load OpenMP later */

/* Weak: there may be none. A program without a dynamic linker has them only so. */
#define DECLARATION(result, name, parameters) extern __attribute__((weak)) result name parameters;
DUO_OPENMP_FUNCTIONS(DECLARATION)

static int64_t coarse_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* What the program is linked with, by name and place in duo_openmp. */
typedef void (*function)(void);
static const struct {
    const char *name;
    size_t place;
    function linked;
} functions[] = {
#define LINE(result, name, parameters) {#name, offsetof(duo_openmp, name), (function)name},
    DUO_OPENMP_FUNCTIONS(LINE)
#undef LINE
};

static bool find_all(duo_openmp *r)
{
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        const function linked = functions[i].linked;
        void *found;
        memcpy(&found, &linked, sizeof found);
        if (found == NULL) found = dlsym(RTLD_DEFAULT, functions[i].name);
        if (found == NULL) return false;
        memcpy((char *)r + functions[i].place, &found, sizeof found);
    }
    Dl_info info;
    void *code;
    memcpy(&code, &r->GOMP_parallel, sizeof code);
    /* Its functions stay in use, even if the program closes it. */
    if (dladdr(code, &info) != 0)
        (void)dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
    return true;
}

const duo_openmp *duo_openmp_get(void)
{
    enum { UNKNOWN, LOOKING, FOUND };
    static atomic_int state;
    static _Atomic int64_t look_ns;
    static duo_openmp found;
    int was = atomic_load_explicit(&state, memory_order_acquire);
    if (was == FOUND) return &found;
    const int64_t now = coarse_ns();
    if (now < atomic_load_explicit(&look_ns, memory_order_relaxed)) return NULL;
    if (was != UNKNOWN || !atomic_compare_exchange_strong(&state, &was, LOOKING)) return NULL;
    const bool finds = find_all(&found);
    atomic_store_explicit(&look_ns, now + kLookAgainNs, memory_order_relaxed);
    atomic_store_explicit(&state, finds ? FOUND : UNKNOWN, memory_order_release);
    return finds ? &found : NULL;
}

int duo_openmp_max_threads(void)
{
    const duo_openmp *const r = duo_openmp_get();
    return r != NULL ? r->omp_get_max_threads() : INT_MAX;
}

bool duo_openmp_in_parallel(void)
{
    const duo_openmp *const r = duo_openmp_get();
    if (r == NULL) return false;
    /* After omp_pause_resource LLVM's begins anew with this function, and crashes in the next. */
    (void)r->omp_get_max_threads();
    return r->omp_in_parallel();
}

int duo_openmp_processors(void)
{
    const duo_openmp *const r = duo_openmp_get();
    cpu_set_t own;
    if (r != NULL) return r->omp_get_num_procs();
    return sched_getaffinity(0, sizeof own, &own) == 0 ? CPU_COUNT(&own) : 1;
}

bool duo_openmp_binds(cpu_set_t *all)
{
    const duo_openmp *const r = duo_openmp_get();
    cpu_set_t own;
    if (r == NULL || sched_getaffinity(0, sizeof own, &own) != 0) return false;
    if (CPU_COUNT(&own) >= r->omp_get_num_procs()) return false;
    CPU_ZERO(all);
    for (int place = 0; place < r->omp_get_num_places(); place++) {
        int processor[CPU_SETSIZE];
        const int count = r->omp_get_place_num_procs(place);
        if (count < 0 || count > CPU_SETSIZE) return false;
        r->omp_get_place_proc_ids(place, processor);
        for (int i = 0; i < count; i++) CPU_SET(processor[i], all);
    }
    return CPU_COUNT(all) > 0;
}
