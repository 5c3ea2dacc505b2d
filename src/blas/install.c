/*
 * install.c - the drop-in in a process that runs already: what loaded objects ask the loader for
 * leads here until it is undone.
 *
 * An object calls a function of another one through an address that the loader has put into it.
 * Here these addresses are changed, for the names that the drop-in has. What a library defines
 * itself it calls itself; the copies of a BLAS that the library has made are left alone, too.
 * Objects that were changed stay loaded until it is undone. Those that are loaded later need
 * another call.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "blas/blas.h"
#include "blas/install.h"
#include "blas/loaded.h"

/* Relocations that are a function's address and nothing else. */
static bool is_address(unsigned type)
{
#if defined(__x86_64__)
    return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT || type == R_X86_64_64;
#elif defined(__aarch64__)
    return type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT || type == R_AARCH64_ABS64;
#else
    (void)type;
    return false;
#endif
}

typedef struct change {
    void **place;
    void *before, *ours;
} change;

/* An object with addresses that lead here. */
typedef struct served {
    void *handle; /* keeps it loaded */
    char *path;   /* "": the program */
} served;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static change *changes;
static served *objects;
static int change_count, object_count;
static duo_blas_objects seen; /* that were looked at by the last call */
static atomic_bool called;    /* duo_blas_install, at any time */

/* ---- Memory that the loader has sealed ---- */

typedef struct memory {
    uintptr_t address, page;
    bool writable; /* data, not code */
    bool sealed;   /* made read-only after the loader's work */
} memory;

static int look_at(struct dl_phdr_info *info, size_t size, void *user)
{
    memory *const m = user;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *const part = &info->dlpi_phdr[i];
        const uintptr_t from = info->dlpi_addr + part->p_vaddr, to = from + part->p_memsz;
        const uintptr_t mask = ~(m->page - 1); /* the loader seals whole pages */
        if (part->p_type == PT_LOAD && (part->p_flags & PF_W) != 0)
            m->writable |= m->address >= from && m->address + sizeof(void *) <= to;
        if (part->p_type == PT_GNU_RELRO)
            m->sealed |= m->address >= (from & mask) && m->address < (to & mask);
    }
    return m->writable;
}

/* Other threads call through the place meanwhile. False: it is not to be written to. */
static bool put(void **place, void *address)
{
    memory m = {.address = (uintptr_t)place, .page = (uintptr_t)sysconf(_SC_PAGESIZE)};
    void *const page = (void *)(m.address & ~(m.page - 1));
    if (m.address % sizeof *place != 0) return false;
    (void)dl_iterate_phdr(look_at, &m);
    if (!m.writable) return false;
    if (m.sealed && mprotect(page, m.page, PROT_READ | PROT_WRITE) != 0) return false;
    __atomic_store_n(place, address, __ATOMIC_RELEASE);
    if (m.sealed) (void)mprotect(page, m.page, PROT_READ);
    return true;
}

/* ---- An object ---- */

typedef struct search {
    int leading; /* addresses in it that lead here */
    bool full;   /* there is no memory for more */
} search;

static bool is_known(void **place)
{
    for (int i = 0; i < change_count; i++)
        if (changes[i].place == place) return true;
    return false;
}

/* Notes the address that is to be put back. */
static bool note(void **place, void *before, void *ours)
{
    if (is_known(place)) return true;
    change *const more = realloc(changes, (size_t)(change_count + 1) * sizeof *more);
    if (more == NULL) return false;
    changes = more;
    changes[change_count++] = (change){place, before, ours};
    return true;
}

static void lead_here(void *user, const duo_blas_entry *entry)
{
    search *const s = user;
    if (entry->defined || !is_address(entry->type) || !duo_blas_is_operation(entry->name)) return;
    void *const ours = duo_blas_own(entry->name);
    if (ours == NULL) return;
    void *const before = __atomic_load_n(entry->place, __ATOMIC_ACQUIRE);
    if (before != ours && !note(entry->place, before, ours)) {
        s->full = true;
        return;
    }
    s->leading += before == ours || put(entry->place, ours);
}

/* Is there an object with this handle? */
static bool is_served(const void *handle)
{
    for (int i = 0; i < object_count; i++)
        if (objects[i].handle == handle) return true;
    return false;
}

/* False: there is no memory for it. */
static bool serve(const char *path)
{
    search s = {0};
    struct link_map *map;
    if (duo_blas_is_private(path)) return true;
    void *const handle = dlopen(*path != '\0' ? path : NULL, RTLD_LAZY | RTLD_NOLOAD);
    if (handle == NULL) return true; /* it is gone */
    served *const more = realloc(objects, (size_t)(object_count + 1) * sizeof *more);
    if (more != NULL) objects = more;
    char *const name = strdup(path);
    const bool known = is_served(handle);
    if (more != NULL && name != NULL && dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0)
        duo_blas_each_entry(map, lead_here, &s);
    if (s.leading > 0 && !known) {
        objects[object_count++] = (served){handle, name};
    } else {
        free(name);
        (void)dlclose(handle);
    }
    return more != NULL && name != NULL && !s.full;
}

/* ---- All of them ---- */

/* Leaves the first of the changes and of the objects. */
static void undo(int first_changes, int first_objects)
{
    while (change_count > first_changes) {
        const change *const c = &changes[--change_count];
        if (__atomic_load_n(c->place, __ATOMIC_ACQUIRE) == c->ours) (void)put(c->place, c->before);
    }
    while (object_count > first_objects) {
        const served *const o = &objects[--object_count];
        free(o->path);
        (void)dlclose(o->handle);
    }
}

/* Looking takes long if there are hundreds, and packages call for each that is loaded. While none
 * is unloaded, those that were seen are the first ones. */
static bool was_seen(const duo_blas_objects *now, int i)
{
    return now->unloaded == seen.unloaded && i < seen.count;
}

/* A fork waits until what is being changed is whole. */
static void before_fork(void) { pthread_mutex_lock(&lock); }
static void after_fork(void) { pthread_mutex_unlock(&lock); }
static void watch_forks(void) { (void)pthread_atfork(before_fork, after_fork, after_fork); }

int duo_blas_install(int count)
{
    static pthread_once_t watched = PTHREAD_ONCE_INIT;
    if (duo_blas_where() == NULL) return -1;
    atomic_store(&called, true);
    pthread_once(&watched, watch_forks);
    pthread_mutex_lock(&lock);
    duo_blas_objects now = duo_blas_loaded();
    const int changes_before = change_count, objects_before = object_count;
    bool good = !now.cut;
    for (int i = 0; i < now.count && good; i++)
        good = was_seen(&now, i) || serve(now.object[i].path);
    if (good)
        duo_blas_summary_count(count != 0);
    else
        undo(changes_before, objects_before);
    duo_blas_free_objects(good ? &seen : &now);
    if (good) seen = now;
    const int leading = good ? object_count : -1;
    pthread_mutex_unlock(&lock);
    return leading;
}

bool duo_blas_comes_at_run_time(void) { return atomic_load(&called); }

void duo_blas_uninstall(void)
{
    pthread_mutex_lock(&lock);
    undo(0, 0);
    duo_blas_free_objects(&seen);
    duo_blas_summary_count(false);
    pthread_mutex_unlock(&lock);
}

const char *duo_blas_served(int i)
{
    pthread_mutex_lock(&lock);
    const char *const path = i >= 0 && i < object_count ? objects[i].path : NULL;
    pthread_mutex_unlock(&lock);
    return path;
}
