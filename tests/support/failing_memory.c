/* failing_memory.c - see failing_memory.h. Its functions take the place of the C library's in the
 * whole process. */
#include "support/failing_memory.h"

#include <errno.h>
#include <stddef.h>

#include "support/sanitizers.h"

static __thread int left; /* allocations up to the first that fails; 0: none fails */
static __thread bool empty;

#if UNDER_SANITIZER || !defined(__GLIBC__)

bool fail_memory_at(int nth)
{
    (void)nth;
    (void)left;
    (void)empty;
    return false;
}

#else

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *memory, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);
void *malloc(size_t bytes);
void *calloc(size_t count, size_t bytes);
void *realloc(void *memory, size_t bytes);
void *aligned_alloc(size_t alignment, size_t bytes);

bool fail_memory_at(int nth)
{
    left = nth;
    empty = false;
    return true;
}

static bool fails(void)
{
    if (left > 0 && --left == 0) empty = true;
    if (empty) errno = ENOMEM;
    return empty;
}

void *malloc(size_t bytes) { return fails() ? NULL : __libc_malloc(bytes); }
void *calloc(size_t count, size_t bytes) { return fails() ? NULL : __libc_calloc(count, bytes); }
void *realloc(void *memory, size_t bytes) { return fails() ? NULL : __libc_realloc(memory, bytes); }
void *aligned_alloc(size_t alignment, size_t bytes)
{
    return fails() ? NULL : __libc_memalign(alignment, bytes);
}

#endif
