/* pages.c - memory for large blocks (pages.h). */
#define _GNU_SOURCE
#include "host/pages.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

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
