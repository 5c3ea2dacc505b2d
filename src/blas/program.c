/*
 * program.c - other BLAS libraries in the program: the sgemm that a caller would have called
 * without the drop-in, and a BLAS with 64-bit integers, which serves itself.
 *
 * A program with a BLAS of its own (PyTorch has MKL inside, wheels of NumPy have OpenBLAS) would
 * call its own. The loader knows it: the first sgemm in the scope of the calling shared object, or,
 * if that is ours, the next one. It is looked up once for each object. The objects are kept in a
 * list that only grows.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blas/blas.h"
#include "blas/loaded.h"

enum { NEIGHBOURS = 1 << 16 }; /* bytes that count as one object, for code in no object */

typedef void (*plain_function)(void);

/* A shared object or the program: its addresses, and the sgemm that it would have called. */
typedef struct object {
    struct object *next;
    uintptr_t low, high;
    char path[512];             /* "": the program */
    plain_function sgemm[2][2]; /* by `scipy` and `wide`, as called; NULL: ours, or none */
} object;

static const char *const sgemm_names[2][2] = {{"sgemm_", "sgemm_64_"},
                                              {"scipy_sgemm_", "scipy_sgemm_64_"}};
static _Atomic(object *) objects;

static bool is_ours(void *address)
{
    Dl_info theirs;
    return dladdr(address, &theirs) == 0 || theirs.dli_fbase == duo_blas_where();
}

static plain_function find(void *scope, const char *name)
{
    plain_function function = NULL;
    void *address = dlsym(scope, name);
    if (address == NULL || is_ours(address)) address = dlsym(RTLD_NEXT, name);
    memcpy(&function, &address, sizeof function); /* the next one is never ours */
    return function;
}

typedef struct search {
    uintptr_t address;
    object *found;
} search;

static int look_at(struct dl_phdr_info *info, size_t size, void *user)
{
    search *const s = user;
    uintptr_t low = UINTPTR_MAX, high = 0; /* parts are in the order of their addresses */
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type != PT_LOAD) continue;
        const uintptr_t from = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        if (from < low) low = from;
        high = from + info->dlpi_phdr[i].p_memsz;
    }
    if (s->address < low || s->address >= high) return 0;
    const size_t length = strlen(info->dlpi_name);
    if (length >= sizeof s->found->path) return 1;
    s->found->low = low;
    s->found->high = high;
    memcpy(s->found->path, info->dlpi_name, length + 1);
    return 1;
}

/* Two threads may add the same object at once: the one added last is found. */
static const object *add(uintptr_t caller)
{
    object *const o = calloc(1, sizeof *o);
    if (o == NULL) return NULL;
    /* Nothing is known about code in no object (made at run time). Its neighbourhood counts as one
     * object. */
    o->low = caller / NEIGHBOURS * NEIGHBOURS;
    o->high = o->low + NEIGHBOURS;
    const bool known = dl_iterate_phdr(look_at, &(search){caller, o}) != 0;
    const char *const path = o->path[0] != '\0' ? o->path : NULL;
    void *const scope = known ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    if (scope != NULL) {
        for (int scipy = 0; scipy < 2; scipy++)
            for (int wide = 0; wide < 2; wide++)
                o->sgemm[scipy][wide] = find(scope, sgemm_names[scipy][wide]);
        (void)dlclose(scope);
    }
    o->next = atomic_load_explicit(&objects, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&objects, &o->next, o, memory_order_release,
                                                  memory_order_relaxed))
        continue;
    return o;
}

static const object *object_of(uintptr_t caller)
{
    const object *o = atomic_load_explicit(&objects, memory_order_acquire);
    while (o != NULL && (caller < o->low || caller >= o->high)) o = o->next;
    return o != NULL ? o : add(caller);
}

static bool is_set(const char *variable)
{
    const char *const value = secure_getenv(variable);
    return value != NULL && *value != '\0';
}

/* An unmodified program cannot name the matrices that it uses again: they are remembered. It cannot
 * say when there is time to open the GPU: that happens in the background. The environment may say
 * otherwise. */
void duo_blas_set_defaults(void)
{
    static __thread bool set;
    if (__builtin_expect(set, 1)) return;
    set = true;
    if (!is_set("DUOBLAS_REMEMBER")) (void)duo_set_remember(NULL, DUO_REMEMBER_BYTES);
    if (!is_set("DUOBLAS_OPEN")) (void)duo_set_open(NULL, DUO_OPEN_BACKGROUND);
}

void duo_blas_tell_program(const duo_blas_gemm *g)
{
    static __thread plain_function told;
    const object *const o = object_of((uintptr_t)g->caller);
    const plain_function sgemm = o != NULL ? o->sgemm[g->scipy][g->wide] : NULL;
    if (__builtin_expect(sgemm == told, 1)) return;
    if (duo_set_cpu_sgemm(NULL, sgemm) == DUO_OK) told = sgemm;
}

/* ---- A BLAS with 64-bit integers under plain names ---- */

/*
 * libblas64.so.3 and some others have the names of libblas.so.3, but with 64-bit integers. In a
 * program with such a library, a preloaded drop-in is called in its place, and hands every call on
 * to it. It does not do so in two cases: if a BLAS with 32-bit integers is loaded as well (then it
 * is unknown which of the two a caller means), and if the drop-in is libblas.so.3 itself.
 */
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

/* Known by the file's name, and by plain function names: in other libraries with 64-bit integers
 * (NumPy's), functions have 64 in their names. */
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

static int look_for_wide(struct dl_phdr_info *info, size_t size, void *user)
{
    (void)size;
    loaded *const l = user;
    const char *const slash = strrchr(info->dlpi_name, '/');
    const char *const base = slash != NULL ? slash + 1 : info->dlpi_name;
    if (is_wide(info->dlpi_name, base)) l->wide = info->dlpi_name;
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
    (void)dl_iterate_phdr(look_for_wide, &l);
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
