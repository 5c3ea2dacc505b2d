/* other_malloc.c - a preloaded malloc other than the C library's, as jemalloc is. It gives each
 * piece out once; the C library's free would end the process on such a piece. */
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { HEAD = 64, ALL = 256 << 20 };

static _Alignas(HEAD) char all[ALL];
static atomic_size_t used;
static __thread int starves;

/* From now on the calling thread gets nothing, or something again. */
void other_malloc_starve(int nothing);
void other_malloc_starve(int nothing) { starves = nothing; }

void *memalign(size_t alignment, size_t bytes);
void *memalign(size_t alignment, size_t bytes)
{
    const size_t room = HEAD + alignment + bytes;
    const size_t from = atomic_fetch_add(&used, (room + HEAD - 1) / HEAD * HEAD);
    if (bytes > ALL || from + room > ALL || starves) {
        errno = ENOMEM;
        return NULL;
    }
    char *at = all + from + HEAD;
    while ((uintptr_t)at % (alignment > 0 ? alignment : 1) != 0) at++;
    memcpy(at - sizeof bytes, &bytes, sizeof bytes);
    return at;
}

void *malloc(size_t bytes) { return memalign(HEAD, bytes); }
void *aligned_alloc(size_t alignment, size_t bytes) { return memalign(alignment, bytes); }
void *calloc(size_t count, size_t bytes) { return memalign(HEAD, count * bytes); } /* never used */
void free(void *at) { (void)at; }

int posix_memalign(void **to, size_t alignment, size_t bytes)
{
    *to = memalign(alignment, bytes);
    return *to != NULL ? 0 : ENOMEM;
}

void *realloc(void *at, size_t bytes)
{
    size_t before = 0;
    if (at != NULL) memcpy(&before, (char *)at - sizeof before, sizeof before);
    void *const to = memalign(HEAD, bytes);
    if (at != NULL && to != NULL) memcpy(to, at, before < bytes ? before : bytes);
    return to;
}
