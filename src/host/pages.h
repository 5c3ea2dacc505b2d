/* pages.h - memory for large blocks that are read often. */
#ifndef DUO_PAGES_H
#define DUO_PAGES_H

#include <stddef.h>

/* At least `bytes`, aligned to 64 bytes, for free(). A large block has huge pages, if the system
 * gives any: then the processor finds its addresses faster. *all: its bytes. NULL: there is no
 * memory. */
void *duo_pages_allocate(size_t bytes, size_t *all);

#endif
