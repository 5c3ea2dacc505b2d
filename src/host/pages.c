/* pages.c - memory for large blocks; pages that are not there yet (pages.h). */
#define _GNU_SOURCE
#include "host/pages.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ALIGNMENT = 64, HUGE_PAGE = 2 << 20 };

void *duo_pages_allocate(size_t bytes, size_t *all)
{
    if (bytes > SIZE_MAX / 2) return NULL;
    const size_t page = bytes >= HUGE_PAGE ? HUGE_PAGE : ALIGNMENT;
    *all = (bytes + page - 1) / page * page;
    void *const memory = aligned_alloc(page, *all);
    if (memory != NULL && page == HUGE_PAGE) (void)madvise(memory, *all, MADV_HUGEPAGE);
    return memory;
}

static size_t page_bytes(void) { return (size_t)sysconf(_SC_PAGESIZE); }

/* Are `pages` pages there, from this one on? False: the system does not tell. */
static bool ask(const char *first, size_t pages, unsigned char *there)
{
    return mincore((void *)(uintptr_t)first, pages * page_bytes(), there) == 0;
}

static const char *page_of(const void *memory)
{
    return (const char *)((uintptr_t)memory / page_bytes() * page_bytes());
}

bool duo_pages_missing(const void *memory, size_t bytes)
{
    enum { LOOKS = 4 }; /* each a system call of 0.6 us */
    unsigned char there;
    for (size_t i = 0; i < LOOKS && bytes > 0; i++) {
        const char *const at = (const char *)memory + (bytes - 1) / (LOOKS - 1) * i;
        if (ask(page_of(at), 1, &there) && (there & 1) == 0) return true;
    }
    return false;
}

/* Writes the byte's own value: 0, as new pages hold it, or nothing if it is another. Without a look
 * at it before, which would make a page for reading first. */
static void write_same(unsigned char *byte)
{
    unsigned char value = 0;
    (void)__atomic_compare_exchange_n(byte, &value, 0, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

void duo_pages_make(void *memory, size_t bytes)
{
    enum { AT_ONCE = 64 };
    unsigned char there[AT_ONCE];
    char *const begin = memory, *const end = begin + bytes;
    const size_t page = page_bytes();
    const char *next = page_of(begin);
    while (next < end) {
        const size_t left = ((size_t)(end - next) + page - 1) / page;
        const size_t pages = left < AT_ONCE ? left : AT_ONCE;
        if (!ask(next, pages, there)) return;
        for (size_t i = 0; i < pages; i++, next += page)
            if ((there[i] & 1) == 0)
                write_same((unsigned char *)begin + (next > begin ? next - begin : 0));
    }
}
