/* pages.h - memory for large blocks that are read often; pages that are not there yet. */
#ifndef DUO_PAGES_H
#define DUO_PAGES_H

#include <stdbool.h>
#include <stddef.h>

/* At least `bytes`, aligned to 64 bytes, for free(). A large block has huge pages, if the system
 * gives any: then the processor finds its addresses faster. *all: its bytes. NULL: there is no
 * memory. */
void *duo_pages_allocate(size_t bytes, size_t *all);

/*
 * New memory has no pages: the system makes each at its first write, and that takes 20 times as
 * long as writing it.
 */

/* Are pages of this memory not there yet? Looks at a few. */
bool duo_pages_missing(const void *memory, size_t bytes);

/* Makes the pages of this memory that are not there yet. The memory keeps what it holds, even if
 * others write to it meanwhile. Threads that make pages in the same 2 MiB wait for each other. */
void duo_pages_make(void *memory, size_t bytes);

#endif
