/*
 * odd_memory.c - memory that real callers rarely have; see odd_memory.h.
 */
#define _GNU_SOURCE
#include "support/odd_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

float *no_entry(void)
{
    static void *page;
    if (page == NULL) page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return page;
}

float *wide_memory(size_t bytes)
{
    void *const memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        perror("wide memory");
        exit(EXIT_FAILURE);
    }
    return memory;
}
