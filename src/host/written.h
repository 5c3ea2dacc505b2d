/*
 * written.h - were pages of memory written since they were watched? By the system's write
 * protection: userfaultfd in its asynchronous mode, and PAGEMAP_SCAN (Linux 6.7 and later).
 *
 * A write to a watched page is let through and noted; it takes 1 us more, once. Every writer that
 * goes by the page tables is seen: threads, system calls, other processes, and also a new mapping
 * in the place of the old one. Not seen are devices that write to pages which were pinned before
 * they were watched, and other mappings of the same memory. So only private anonymous mappings are
 * watched, and only where nothing is found pinned.
 *
 * Memory is whole pages here. One thread at a time watches.
 */
#ifndef DUO_WRITTEN_H
#define DUO_WRITTEN_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Watches the memory from now on; what is written later is seen. It has to lie in one private
 * anonymous mapping, and the process must have no memory that devices or others could write to past
 * the page tables. *why: the reason if not. Ends by itself: when the memory is unmapped, and in a
 * child process.
 */
bool duo_written_watch(void *memory, size_t bytes, const char **why);

/* Can this process watch memory? *why: the reason if not. */
bool duo_written_possible(const char **why);

/* Was a page of watched memory written since? True also if there is memory that is not watched any
 * more. Any number of threads. */
bool duo_written_since(const void *memory, size_t bytes);

#endif
