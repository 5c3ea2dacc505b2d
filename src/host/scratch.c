/*
 * scratch.c - memory between calls (scratch.h).
 *
 * A place holds one block that nobody uses. To take it, a thread exchanges it for NULL, so no lock
 * is needed, and a thread that is stopped or forked keeps nobody waiting. A thread begins to look
 * at a place of its own, where it mostly finds the block that it gave back last: its own caches and
 * its own NUMA node have that.
 */
#include "host/scratch.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include "host/pages.h"

enum { PLACES = 64, HEAD = 64, MOST_KEPT = 64 << 20 /* bytes of a block */ };

/* At the beginning of a block; what the caller gets begins HEAD bytes later. */
typedef struct block {
    size_t bytes;
} block;

static struct {
    _Alignas(128) _Atomic(block *) block;
} place[PLACES];

static atomic_uint threads;

static unsigned own_place(void)
{
    static _Thread_local unsigned number; /* from 1 on */
    if (number == 0) number = 1 + atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed);
    return number % PLACES;
}

void *duo_scratch_take(size_t bytes)
{
    const unsigned own = own_place();
    for (unsigned i = 0; i < PLACES; i++) {
        _Atomic(block *) *const at = &place[(own + i) % PLACES].block;
        if (atomic_load_explicit(at, memory_order_relaxed) == NULL) continue;
        block *const b = atomic_exchange_explicit(at, NULL, memory_order_acquire);
        if (b == NULL) continue;
        if (b->bytes >= bytes) return (char *)b + HEAD;
        free(b); /* blocks grow to what is needed */
        break;
    }
    if (bytes > SIZE_MAX / 2) return NULL;
    size_t all;
    block *const b = duo_pages_allocate(bytes + HEAD, &all);
    if (b == NULL) return NULL;
    b->bytes = all - HEAD;
    return (char *)b + HEAD;
}

void duo_scratch_give(void *memory)
{
    if (memory == NULL) return;
    block *const b = (block *)((char *)memory - HEAD);
    const unsigned own = own_place();
    for (unsigned i = 0; i < PLACES && b->bytes <= MOST_KEPT; i++) {
        block *none = NULL;
        if (atomic_compare_exchange_strong_explicit(&place[(own + i) % PLACES].block, &none, b,
                                                    memory_order_release, memory_order_relaxed))
            return;
    }
    free(b);
}

void duo_scratch_trim(void)
{
    for (unsigned i = 0; i < PLACES; i++)
        free(atomic_exchange_explicit(&place[i].block, NULL, memory_order_acquire));
}
