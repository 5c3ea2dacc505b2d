/*
 * fence.c - memory between two pages that cannot be touched; see fence.h.
 */
#define _GNU_SOURCE
#include "support/fence.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

fence fence_new(int pages)
{
    const size_t bytes = (size_t)pages * FENCE_PAGE;
    char *const block =
        mmap(NULL, bytes + 2 * FENCE_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *const low = block + FENCE_PAGE;
    if (block == MAP_FAILED || mprotect(low, bytes, PROT_READ | PROT_WRITE) != 0) {
        perror("fence");
        exit(EXIT_FAILURE);
    }
    return (fence){(float *)(void *)low, (float *)(void *)(low + bytes)};
}

void fence_free(fence *f)
{
    munmap((char *)f->low - FENCE_PAGE,
           (size_t)((char *)f->high - (char *)f->low) + 2 * FENCE_PAGE);
}
