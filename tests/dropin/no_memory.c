/*
 * no_memory.c - to be preloaded: allocations of the library and the drop-in fail.
 *
 *   NO_MEMORY=N    the N-th, counted from 1
 *   NO_MEMORY=N-   the N-th and all that follow
 *   NO_MEMORY=all  every one after the program's start, and every one of other libraries, too
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

static int first, last; /* numbers of the allocations that fail; 0: none */
static int all;
static atomic_int number;
static __thread int asking; /* dladdr may allocate */

static void __attribute__((constructor)) start(void)
{
    const char *const text = getenv("NO_MEMORY");
    if (text == NULL) return;
    all = strcmp(text, "all") == 0;
    first = all ? 1 : atoi(text);
    last = all || text[strlen(text) - 1] == '-' ? 1 << 30 : first;
}

static int fails(const void *caller)
{
    Dl_info from, program;
    if (first == 0 || asking) return 0;
    asking = 1;
    const int known = dladdr(caller, &from) != 0;
    const int its_own = known && dladdr((const void *)getauxval(AT_PHDR), &program) != 0 &&
                        from.dli_fbase == program.dli_fbase;
    asking = 0;
    if (its_own || !(all || (known && strstr(from.dli_fname, "libduoblas") != NULL))) return 0;
    const int mine = atomic_fetch_add(&number, 1) + 1;
    if (mine < first || mine > last) return 0;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *before, size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(before, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_memalign(alignment, size);
}
