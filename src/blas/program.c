/*
 * program.c - the sgemm that a caller would have called without the drop-in.
 *
 * A program with a BLAS of its own (PyTorch has MKL inside, wheels of NumPy have OpenBLAS) would
 * call its own. The loader knows it: the first sgemm in the scope of the calling shared object, or,
 * if that is ours, the next one. It is looked up once for each object. The objects are kept in a
 * list that only grows.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "blas/blas.h"

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
    Dl_info theirs, ours;
    return dladdr(address, &theirs) == 0 || dladdr((const void *)&objects, &ours) == 0 ||
           theirs.dli_fbase == ours.dli_fbase;
}

static plain_function find(void *scope, const char *name)
{
    plain_function function = NULL;
    void *address = dlsym(scope, name);
    if (address == NULL || is_ours(address)) address = dlsym(RTLD_NEXT, name);
    if (address != NULL && !is_ours(address)) memcpy(&function, &address, sizeof function);
    return function;
}

typedef struct search {
    uintptr_t address;
    object *found;
} search;

static int look_at(struct dl_phdr_info *info, size_t size, void *user)
{
    search *const s = user;
    uintptr_t low = UINTPTR_MAX, high = 0;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type != PT_LOAD) continue;
        const uintptr_t from = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        if (from < low) low = from;
        if (from + info->dlpi_phdr[i].p_memsz > high) high = from + info->dlpi_phdr[i].p_memsz;
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

void duo_blas_tell_program(const duo_blas_gemm *g)
{
    static __thread plain_function told;
    const object *const o = object_of((uintptr_t)g->caller);
    const plain_function sgemm = o != NULL ? o->sgemm[g->scipy][g->wide] : NULL;
    if (__builtin_expect(sgemm == told, 1)) return;
    if (duo_set_cpu_sgemm(NULL, sgemm) == DUO_OK) told = sgemm;
}
