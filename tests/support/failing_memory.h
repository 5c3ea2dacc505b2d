/* failing_memory.h - a heap that is empty when a test says so; not under sanitizers, which have a
 * heap of their own. */
#ifndef DUO_TESTS_FAILING_MEMORY_H
#define DUO_TESTS_FAILING_MEMORY_H

#include <stdbool.h>

/* The nth allocation of this thread from now fails, and all after it; 0: none. False: this cannot
 * be done here. */
bool fail_memory_at(int nth);

#endif
