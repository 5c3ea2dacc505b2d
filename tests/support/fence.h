/*
 * fence.h - memory between two pages that cannot be touched: a read or write beyond either end ends
 * the process.
 */
#ifndef DUO_TESTS_FENCE_H
#define DUO_TESTS_FENCE_H

enum { FENCE_PAGE = 4096 }; /* bytes */

typedef struct fence {
    float *low, *high; /* the first float, and behind the last */
} fence;

/* Ends the program if there is no memory. */
fence fence_new(int pages);
void fence_free(fence *f);

#endif
