/* failing.c - see failing.h */
#define _GNU_SOURCE
#include "failing.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

/* ---- Who calls ---- */

enum { MOST_OUTSIDERS = 8 };
static struct {
    uintptr_t low, high;
} outsider[MOST_OUTSIDERS]; /* the program, with Python's library, and the simulated device */
static int outsiders;
static __thread int depth; /* calls of these functions that are under way */

static int find_outsiders(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size, (void)unused;
    const int program = info->dlpi_name[0] == '\0';
    const char *const slash = strrchr(info->dlpi_name, '/');
    const char *const name = slash != NULL ? slash + 1 : info->dlpi_name;
    const int sim = strstr(name, "duoblas") != NULL && strstr(name, "-sim.so") != NULL;
    if (!program && !sim && strncmp(name, "libpython", 9) != 0) return 0;
    if (outsiders == MOST_OUTSIDERS) return 1;
    uintptr_t high = 0;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD)
            high = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
    outsider[outsiders].low = info->dlpi_addr;
    outsider[outsiders++].high = high;
    return 0;
}

static int counts(const void *caller)
{
    const uintptr_t at = (uintptr_t)caller;
    if (depth > 0) return 0;
    for (int i = 0; i < outsiders; i++)
        if (at >= outsider[i].low && at < outsider[i].high) return 0;
    return outsiders > 0;
}

/* ---- What fails ---- */

static atomic_int armed; /* 0: nothing fails; 1: the nth; 2: at random */
static failing_kind failing;
static int first, last, percent;
static atomic_uint draws;
static atomic_int count[FAILING_KINDS], failed;
static int watching; /* blocks and maps are noted */

static unsigned mixed(unsigned x)
{
    x = (x ^ x >> 16) * 0x7feb352du;
    x = (x ^ x >> 15) * 0x846ca68bu;
    return x ^ x >> 16;
}

/* Does this call of the kind fail? */
static int fails(failing_kind kind, const void *caller)
{
    const int how = atomic_load(&armed);
    if (how == 0 || !counts(caller)) return 0;
    const int number = atomic_fetch_add(&count[kind], 1) + 1;
    const int now = how == 1 ? kind == failing && number >= first && number <= last
                             : kind <= FAILING_MAP &&
                                   mixed(atomic_fetch_add(&draws, 1)) % 100 < (unsigned)percent;
    if (!now) return 0;
    static const int reasons[] = {EMFILE, EACCES, ENOENT};
    atomic_fetch_add(&failed, 1);
    errno = kind == FAILING_OPEN ? reasons[number % 3] : kind == FAILING_THREAD ? EAGAIN : ENOMEM;
    return 1;
}

static void arm(int how)
{
    for (int i = 0; i < FAILING_KINDS; i++) atomic_store(&count[i], 0);
    atomic_store(&failed, 0);
    outsiders = 0;
    (void)dl_iterate_phdr(find_outsiders, NULL);
    atomic_store(&armed, how);
}

void failing_arm(failing_kind kind, int nth, int later)
{
    failing = kind;
    first = nth > 0 ? nth : 1;
    last = nth <= 0 ? 0 : later ? 1 << 30 : nth;
    watching = 1;
    arm(1);
}

void failing_arm_at_random(int probability, unsigned seed)
{
    percent = probability;
    atomic_store(&draws, seed << 16);
    arm(2);
}

void failing_disarm(void) { atomic_store(&armed, 0); }
int failing_count(failing_kind kind) { return atomic_load(&count[kind]); }
int failing_failed(void) { return atomic_load(&failed); }

/* ---- What is alive: a hash table without locks, as a thread may be stopped for ever by a fork */

enum { PLACES = 1 << 16, GONE = 1 };
static atomic_uintptr_t place[PLACES];
static atomic_int alive;

static unsigned place_of(uintptr_t at) { return mixed((unsigned)(at >> 4)) % PLACES; }

static void *born(void *at, const void *caller)
{
    if (at == NULL || !watching || !counts(caller)) return at;
    for (unsigned i = place_of((uintptr_t)at);; i = (i + 1) % PLACES) {
        uintptr_t before = atomic_load(&place[i]);
        if (before <= GONE && atomic_compare_exchange_strong(&place[i], &before, (uintptr_t)at))
            break;
    }
    atomic_fetch_add(&alive, 1);
    return at;
}

/* Was it born here? */
static int dies(void *at)
{
    for (unsigned i = place_of((uintptr_t)at); at != NULL; i = (i + 1) % PLACES) {
        uintptr_t here = atomic_load(&place[i]);
        if (here == 0) return 0;
        if (here != (uintptr_t)at) continue;
        atomic_store(&place[i], GONE);
        atomic_fetch_sub(&alive, 1);
        return 1;
    }
    return 0;
}

int failing_alive(void) { return atomic_load(&alive); }

/* ---- Memory ---- */

#define CALLER __builtin_return_address(0)

void *malloc(size_t bytes)
{
    return fails(FAILING_MEMORY, CALLER) ? NULL : born(__libc_malloc(bytes), CALLER);
}

void *calloc(size_t number, size_t bytes)
{
    return fails(FAILING_MEMORY, CALLER) ? NULL : born(__libc_calloc(number, bytes), CALLER);
}

void *realloc(void *before, size_t bytes)
{
    if (fails(FAILING_MEMORY, CALLER)) return NULL;
    const int known = dies(before);
    void *const after = __libc_realloc(before, bytes);
    if (after == NULL && bytes > 0 && known) (void)born(before, CALLER);
    return born(after, CALLER);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return fails(FAILING_MEMORY, CALLER) ? NULL : born(__libc_memalign(alignment, bytes), CALLER);
}

void *memalign(size_t alignment, size_t bytes);
void *memalign(size_t alignment, size_t bytes)
{
    return fails(FAILING_MEMORY, CALLER) ? NULL : born(__libc_memalign(alignment, bytes), CALLER);
}

int posix_memalign(void **to, size_t alignment, size_t bytes)
{
    if (fails(FAILING_MEMORY, CALLER)) return ENOMEM;
    void *const got = born(__libc_memalign(alignment, bytes), CALLER);
    if (got == NULL) return ENOMEM;
    *to = got;
    return 0;
}

void free(void *at)
{
    (void)dies(at);
    __libc_free(at);
}

/* ---- All others ---- */

static void *next(const char *name)
{
    depth++;
    void *const address = dlsym(RTLD_NEXT, name);
    depth--;
    return address;
}

/* real: the C library's function of that name. */
#define REAL(type, name, parameters)                                                               \
    static type(*real) parameters;                                                                 \
    if (real == NULL) {                                                                            \
        void *const address = next(#name);                                                         \
        memcpy(&real, &address, sizeof real);                                                      \
    }

void *mmap(void *at, size_t bytes, int protection, int flags, int file, off_t offset)
{
    REAL(void *, mmap, (void *, size_t, int, int, int, off_t))
    if (fails(FAILING_MAP, CALLER)) return MAP_FAILED;
    void *const got = real(at, bytes, protection, flags, file, offset);
    return got == MAP_FAILED || (flags & MAP_FIXED) != 0 ? got : born(got, CALLER);
}

int munmap(void *at, size_t bytes)
{
    REAL(int, munmap, (void *, size_t))
    (void)dies(at);
    return real(at, bytes);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *),
                   void *argument)
{
    REAL(int, pthread_create, (pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))
    if (fails(FAILING_THREAD, CALLER)) return EAGAIN;
    depth++;
    const int status = real(thread, attributes, body, argument);
    depth--;
    return status;
}

/* Returns what the C library's function returns, or `failure`. */
#define OPEN(type, name, parameters, arguments, failure)                                           \
    REAL(type, name, parameters)                                                                   \
    if (fails(FAILING_OPEN, CALLER)) return failure;                                               \
    depth++;                                                                                       \
    type const got = real arguments;                                                               \
    depth--;                                                                                       \
    return got

/* The argument behind the flags. It is read also where there is none, as the C library does. */
#define READ_MODE(mode)                                                                            \
    va_list list;                                                                                  \
    va_start(list, flags);                                                                         \
    const unsigned mode = va_arg(list, unsigned);                                                  \
    va_end(list)

#undef open
#undef openat
int open(const char *path, int flags, ...)
{
    READ_MODE(mode);
    OPEN(int, open, (const char *, int, ...), (path, flags, mode), -1);
}

int open64(const char *path, int flags, ...)
{
    READ_MODE(mode);
    OPEN(int, open64, (const char *, int, ...), (path, flags, mode), -1);
}

int openat(int folder, const char *path, int flags, ...)
{
    READ_MODE(mode);
    OPEN(int, openat, (int, const char *, int, ...), (folder, path, flags, mode), -1);
}

FILE *fopen(const char *path, const char *how)
{
    OPEN(FILE *, fopen, (const char *, const char *), (path, how), NULL);
}

FILE *fopen64(const char *path, const char *how)
{
    OPEN(FILE *, fopen64, (const char *, const char *), (path, how), NULL);
}

DIR *opendir(const char *path) { OPEN(DIR *, opendir, (const char *), (path), NULL); }

/* One that fails leaves a text for dlerror. */
void *dlopen(const char *path, int flags)
{
    REAL(void *, dlopen, (const char *, int))
    const int none = fails(FAILING_DLOPEN, CALLER);
    depth++;
    void *const got = real(none ? "/nonexistent/library" : path, flags);
    depth--;
    return got;
}
